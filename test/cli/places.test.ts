import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { creditBalance } from '../helpers/bodies.ts';
import { ending, failing } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { jsonAnswer, searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { startRowService } from '../helpers/row-service.ts';
import { canMount, command, inShell, temporaryFolder } from '../helpers/run.ts';
import { writeSettings } from '../helpers/settings.ts';

/** Unusual environments: containers, shared folders, machines without HOME or WebAssembly. */

const search = 'leadpipe search company x --limit 30 -q -o';
const leads = Array.from({ length: 30 }, (_, nth) =>
  JSON.stringify({ name: `${nth}`, description: 'x'.repeat(200) }),
);
const rows = /^name,.*\r\n(.*\r\n){30}$/;

const createBuyer = () => machineWith(wholeStream(searchFrames([leads])));

const isLinux = process.platform === 'linux';
const can = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;
const canMark = canMarkFiles();
const other = 12345;
const asOther = ['setpriv', `--reuid=${other}`, `--regid=${other}`, '--groups=777'] as const;
const canBeOther = can(asOther[0], ...asOther.slice(1), process.execPath, command, '--version');

function canMarkFiles(): boolean {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  return can('chattr', '+a', file) && can('chattr', '-a', file);
}

describe.runIf(canMount())('a file that is mounted by itself', () => {
  it.each([
    ['true', 'leads.csv', "can't replace leads.csv: it is mounted by itself\nMount its folder instead"],
    ['true', 'leads.csv --append', "can't replace leads.csv: it is mounted by itself"],
    ['true', 'leads.db', "can't replace leads.db: it is mounted by itself"],
    ['true', 'leads.xlsx', "can't replace leads.xlsx: it is mounted by itself"],
    ['mount -o remount,bind,ro', 'leads.csv', "can't write leads.csv: the file system is read-only"],
    ['mount -o remount,bind,ro', 'leads.csv --append', "can't write leads.csv: the file system is read-only"],
  ])('is refused before anything is bought: %s, %s', async (then, output, says) => {
    const at = await createBuyer();
    const [name = ''] = output.split(' ');
    at.write(name, 'below');
    at.write('../host', '');
    const line = `mount --bind ../host ${name} && ${then} ${name} && ${search} ${output}`;
    expect(await inShell(line, at, 'unshare', '-m')).toMatchObject(
      // It names no operation, since nothing is left of one that has sent nothing.
      failing(74, says, /^charged: no$/m),
    );
    expect(at.requests).toEqual([]);
    expect([at.files(), at.read('../host')]).toEqual([[name], '']);
  });
});

it.runIf(canMount())(
  'settings on a mount of their own are not changed, and the error says how to fix it',
  async () => {
    const at = await createBuyer();
    const set = 'leadpipe config set retry.attempts';
    const path = '../config/config.json';
    const mount = `mount --bind ${path} ${path}`;
    const result = await inShell(`${set} 1 && ${mount} && ${set} 2 -q`, at, 'unshare', '-m');
    const says = ["config.json: it is a mount point, so it can't be replaced", 'Mount its folder'];
    expect(result).toMatchObject(failing(74, ...says));
    expect(readdirSync(join(at.cwd, '../config'))).toEqual(['config.json']);
    expect(JSON.parse(at.read(path)).profiles.default).toEqual({ 'retry.attempts': 1 });
  },
);

describe.runIf(canMark)('a file with a mark of its file system', () => {
  const marked = "can't write a.jsonl: it is marked as append-only or immutable\nlsattr";

  it.each([
    ['a', 'a.jsonl', 74, marked],
    ['i', 'a.jsonl', 74, marked],
    ['i', 'a.jsonl --append', 74, marked],
    ['a', 'a.jsonl --append', 74, marked],
  ])('%s: -o %s ends with %i, and what is refused is not bought', async (mark, output, code, says) => {
    const at = await createBuyer();
    at.write('a.jsonl', '{"old":1}\n');
    const line = `chattr +${mark} a.jsonl; ${search} ${output}; code=$?; chattr -${mark} a.jsonl; exit $code`;
    expect(await inShell(line, at)).toMatchObject(ending(code, says));
    expect(at.requests).toEqual([]);
    expect(at.files()).toEqual(['a.jsonl']);
    expect(at.read('a.jsonl')).toBe('{"old":1}\n');
  });
});

it.runIf(canMark && canBeOther)(
  'a marked file of somebody else is refused before anything is bought',
  async () => {
    const at = await createBuyer();
    at.write('a.jsonl', '');
    chmodSync(at.pathOf('a.jsonl'), 0o666);
    for (const folder of [at.cwd, join(at.cwd, '..')]) chownSync(folder, other, other);
    can('chattr', '+a', at.pathOf('a.jsonl'));
    const result = await inShell(`${search} a.jsonl`, at, ...asOther);
    can('chattr', '-a', at.pathOf('a.jsonl'));
    expect(result).toMatchObject(failing(74, 'it is marked as append-only'));
    expect(at.requests).toEqual([]);
  },
);

describe.runIf(canBeOther)('a file that belongs to somebody else, or has rights of its own', () => {
  const isRoot = { through: [] as readonly string[], ls: '' };
  const isOther = { ...isRoot, through: asOther };
  const list = 'it has an access control list (ACL), which would be lost';
  const group = 'it belongs to a group that you are not in, which would lose its rights';
  const sticky = 'it belongs to another user, and in this folder only that user may replace it';

  it.each([
    ['by root: replaced, and stays theirs', isRoot, [other, 888, 0o640], 0o755, [other, 888]],
    ['with an ACL', { ...isRoot, ls: '-rw-rw----+' }, [0, 0, 0o660], 0o755, list],
    ['with a group of its writer: replaced', isOther, [other, 777, 0o640], 0o777, [other, 777]],
    ['with a group that its writer is not in', isOther, [other, 888, 0o640], 0o777, group],
    [
      'that all may write: replaced, and belongs to its writer',
      isOther,
      [0, 0, 0o666],
      0o777,
      [other, other],
    ],
    ['in a sticky folder', isOther, [0, 0, 0o666], 0o1777, sticky],
  ] as const)('%s', async (_, { through, ls }, [uid, gid, mode], folder, ends) => {
    const at = await createBuyer();
    const path = at.pathOf('leads.csv');
    at.write('leads.csv', 'old');
    chmodSync(path, mode);
    chownSync(path, uid, gid);
    chmodSync(path, mode);
    chmodSync(at.cwd, folder);
    if (through.length > 0) chownSync(join(at.cwd, '..'), other, other);
    const programs = temporaryFolder();
    if (ls !== '') writeFileSync(join(programs, 'ls'), `#!/bin/sh\necho '${ls} 1 0 0 3 x'`, { mode: 0o755 });
    const env = { ...at.env, PATH: `${programs}:${at.env.PATH}` };
    const isRefused = typeof ends === 'string';
    expect(await inShell(`${search} leads.csv`, { ...at, env }, ...through)).toMatchObject(
      isRefused ? failing(74, `can't replace leads.csv: ${ends}\n`, /^charged: no$/m) : { code: 0 },
    );
    const found = statSync(path);
    const owner = isRefused ? [uid, gid] : ends;
    expect([found.uid, found.gid, found.mode & 0o7777]).toEqual([...owner, mode]);
    if (isRefused) expect([at.read('leads.csv'), at.requests]).toEqual(['old', []]);
    else expect(at.read('leads.csv')).toMatch(rows);
    expect(readdirSync(at.cwd)).toEqual(['leads.csv']);
  });

  it('is refused before anything is bought where its folder takes no file', async () => {
    const at = await createBuyer();
    at.write('leads.csv', 'old');
    chmodSync(at.pathOf('leads.csv'), 0o666);
    chownSync(join(at.cwd, '..'), other, other);
    expect(await inShell(`${search} leads.csv`, at, ...asOther)).toMatchObject(
      failing(
        74,
        /can't write a file next to \S*leads.csv: permission denied\n.*Make the folder writable/,
        /^charged: no$/m,
      ),
    );
    expect(at.read('leads.csv')).toBe('old');
    expect(at.requests).toEqual([]);
  });
});

it.runIf(isLinux).each(['/dev/stdout', '/dev/fd/1', '-'])(
  'rows for -o %s are added to what a shell adds to',
  async (name) => {
    const at = await createBuyer();
    at.write('all.csv', 'old\n');
    const line = `(echo first; ${search} ${name} -f csv; echo last) >> all.csv`;
    expect(await inShell(line, at)).toMatchObject({ code: 0, stderr: '' });
    const [old, first, ...added] = at.read('all.csv').split('\n');
    expect([old, first, added.length, added.at(-2)]).toEqual(['old', 'first', 33, 'last']);
  },
);

it.runIf(isLinux)('a file that is open under another number is not replaced', async () => {
  const at = await createBuyer();
  at.write('all.csv', 'old\n');
  const refused = failing(2, "can't write /dev/fd/3: it would replace the file that is open there");
  expect(await inShell(`${search} /dev/fd/3 -f csv 3>> all.csv`, at)).toMatchObject(refused);
  expect(at.read('all.csv')).toBe('old\n');
  expect(at.requests).toEqual([]);
});

it.each([
  ['-o', '../config/config.json', 'settings'],
  ['-o', '../state/new.csv', 'records'],
  ['--errors', '../config/new.csv', 'settings'],
  ['--errors', '../state/new.csv', 'records'],
  ['--summary', '../config/config.json', 'settings'],
  ['--summary', '../state/new.json', 'records'],
  ['--summary', 'link/new.json', 'settings'],
])("leadpipe's own folders take no output: %s %s", async (option, name, whose) => {
  const service = await startRowService({ refused: new Set(['b']) });
  const at = createMachine(service.url);
  writeSettings(at.env, { 'retry.attempts': 2 });
  mkdirSync(at.state);
  symlinkSync('../config', at.pathOf('link'));
  at.write('in.csv', 'objective\na\nb\n');
  const settings = at.read('../config/config.json');
  const other = option === '-o' ? '' : '-o out.csv ';
  const line = `contact email --input in.csv ${other}${option} ${name} -f csv`;
  const says = `can't write ${name}: it is in the folder where leadpipe keeps its own ${whose}`;
  expect(await at.leadpipe(line)).toMatchObject(failing(2, says));
  expect(service.requestsOfAll()).toBe(0);
  expect(at.read('../config/config.json')).toBe(settings);
  expect([readdirSync(join(at.cwd, '../config')), at.files()]).toEqual([['config.json'], ['in.csv', 'link']]);
});

const privileged = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
it.runIf(canBeOther && existsSync(privileged) && Number(readFileSync(privileged)) > 80)(
  'a port that only root may use: another one helps',
  async () => {
    const at = createMachine();
    chownSync(join(at.cwd, '..'), other, other);
    const says = "port 80 on 127.0.0.1 can't be used: permission denied\nChoose another port with --port";
    expect(await inShell('leadpipe serve --port 80', at, ...asOther)).toMatchObject(failing(74, says));
  },
);

describe('a machine with something missing', () => {
  const balance = JSON.stringify(creditBalance(7));
  const nobody = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'];
  const noHome = 'error: this user has no home folder for settings and purchases\nSet HOME, or';

  it.runIf(canBeOther).each([
    ['--version', 0, ''],
    ['search --help', 0, ''],
    ['completion bash', 0, ''],
    ['config path', 78, noHome],
    ['balance --local', 78, noHome],
  ])('no HOME, and no entry for the user: %s ends with %i', async (line, code, says) => {
    const at = { cwd: '/', env: { PATH: process.env.PATH ?? '' } };
    const result = await inShell(`unset HOME; leadpipe ${line}`, at, ...nobody);
    expect(result).toMatchObject(ending(code, says));
    expect(result.stderr.split('\n').length).toBe(code === 0 ? 1 : 3);
  });

  it.runIf(canBeOther).each([
    ['LEADPIPE_CONFIG_DIR', 'LEADPIPE_STATE_DIR'],
    ['XDG_CONFIG_HOME', 'XDG_STATE_HOME'],
  ])('no HOME, but folders in %s and %s: works', async (config, state) => {
    const { env, cwd } = await createBuyer();
    const { PATH = '', LEADPIPE_BASE_URL = '', LEADPIPE_API_KEY = '' } = env;
    for (const folder of [cwd, join(cwd, '..')]) chownSync(folder, 54321, 54321);
    const bare = { PATH, LEADPIPE_BASE_URL, LEADPIPE_API_KEY, [config]: `${cwd}/c`, [state]: `${cwd}/s` };
    const line = `unset HOME; ${search} leads.csv`;
    expect(await inShell(line, { cwd, env: bare }, ...nobody)).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(cwd)).toEqual(['leads.csv', 's']);
  });

  it.runIf(canBeOther).each([
    [
      'config get format',
      78,
      "can't read HOME/.config/leadpipe/config.json: permission denied\n",
      'LEADPIPE_CONFIG_DIR',
    ],
    [
      'balance --local',
      78,
      "can't read HOME/.config/leadpipe/config.json: permission denied\n",
      'LEADPIPE_CONFIG_DIR',
    ],
    [
      'history',
      74,
      "can't read HOME/.local/state/leadpipe/operations: permission denied\n",
      'LEADPIPE_STATE_DIR',
    ],
  ])(
    'a HOME that can not be entered: %s ends with %i and says what to do',
    async (line, code, says, hint) => {
      const { cwd } = createMachine();
      chmodSync(cwd, 0o700);
      const at = { cwd: '/', env: { PATH: process.env.PATH ?? '', HOME: cwd } };
      const result = await inShell(`leadpipe ${line}`, at, ...nobody);
      expect(result).toMatchObject(failing(code, says.replace('HOME', cwd), hint));
    },
  );

  it.each(['search company x --local', 'balance', 'contact email --input in.db --dry-run'])(
    'a Node without WebAssembly: %s ends with 78 and names the flag',
    async (line) => {
      const { cwd, env } = await machineWith(jsonAnswer(balance));
      writeFileSync(join(cwd, 'in.db'), Buffer.from('SQLite format 3\0\x10\0'.padEnd(4096, '\0')));
      const result = await inShell(`leadpipe ${line}`, { cwd, env: { ...env, NODE_OPTIONS: '--jitless' } });
      expect(result).toMatchObject(
        failing(78, 'Node runs without WebAssembly, which leadpipe needs\n', 'Remove --jitless'),
      );
    },
  );

  it('a folder that is not absolute in XDG_…_HOME is ignored', async () => {
    const { env, cwd, files } = await machineWith(jsonAnswer(balance));
    const { PATH = '', LEADPIPE_BASE_URL = '', LEADPIPE_API_KEY = '', HOME = '' } = env;
    const relative = { XDG_CONFIG_HOME: 'c', XDG_STATE_HOME: './s', XDG_CACHE_HOME: 'k' };
    const bare = { PATH, HOME, LEADPIPE_BASE_URL, LEADPIPE_API_KEY, ...relative };
    const line = 'leadpipe config set retry.attempts 1 && leadpipe balance && leadpipe config path';
    expect(await inShell(line, { cwd, env: bare })).toMatchObject({
      code: 0,
      stdout: `${balance}\n${HOME}/.config/leadpipe/config.json\n`,
    });
    expect(files()).toEqual([]);
  });

  it.runIf(isLinux).each([
    ['balance -q', ''],
    ['balance --local -q', ''],
    ['balance', 'NODE_OPTIONS=--disable-wasm-trap-handler '],
  ])('a limit of memory: %s %s', async (line, more) => {
    const at = await machineWith(jsonAnswer(balance));
    const result = await inShell(`ulimit -v 4000000; ${more}leadpipe ${line}`, at);
    const says = [
      /^error: the limit on virtual memory \(ulimit -v\) is too low(?: \(GET \S+\))?\n/,
      '--disable-wasm-trap-handler',
    ];
    expect(result).toMatchObject(more === '' ? failing(78, ...says) : { code: 0, stdout: `${balance}\n` });
  });
});

it('a delivery network that answers 520 to 530 in turn costs no row and no credit', async () => {
  const page = { fault: 'status', body: '<html>', headers: { 'content-type': 'text/html' } };
  const pages = (operation: string, last = 530, everyOther = 0) =>
    Array.from({ length: last - 519 }, (_, nth) => {
      return { ...page, operation, status: 520 + nth, skip: nth * everyOther };
    });
  const service = await startLedgerService({}, [
    ...pages('createTask', 523),
    ...pages('status'),
    ...pages('fetch'),
    // A lookup is sent again once.
    ...pages('contactSearch', 530, 1),
  ]);
  const at = createMachine(service.url, ledgerKey);
  at.write('names.txt', Array.from({ length: 12 }, (_, nth) => `Kontora ${nth}\n`).join(''));
  const task = await at.leadpipe('task run company fintech --limit 7 --poll-interval 0.01 -f jsonl');
  const list = await at.leadpipe('contact email --input names.txt --concurrency 1 -f jsonl');
  expect([task.code, list.code]).toEqual([0, 0]);
  expect(recordsIn(task.stdout)).toHaveLength(7);
  expect(list.stdout.match(/hello@kontora\d+\.example/g)).toHaveLength(12);
  const settled = [...(await service.close()).values()].sort();
  expect(settled).toEqual([...Array(12).fill(5), 7]);
});
