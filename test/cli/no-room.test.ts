import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runWith } from '../durability/faulty-run.ts';
import { creditBalance } from '../helpers/bodies.ts';
import { ending, failing } from '../helpers/ending.ts';
import { jsonAnswer, searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { canMount, inShell, run, temporaryFolder, until } from '../helpers/run.ts';

/** An output, a state or a home that nothing can be written to. */

const isLinux = process.platform === 'linux';
const leads = ['{"name":"A"}\n', '{"name":"B"}\n'];
const balance = JSON.stringify(creditBalance(7));
const search = 'search company x --limit 9';

const serve = (...batches: string[][]) =>
  machineWith((socket, { method }) => {
    if (method === 'GET') return void socket.write(jsonAnswer(balance));
    socket.write(wholeStream(searchFrames(batches)));
  });
const few = () => serve(leads.map((lead) => lead.trimEnd()));

/** What `history show` prints of the operation that this names. */
async function shown(at: Machine, stderr: string, named: RegExp): Promise<string> {
  const [, operation] = named.exec(stderr) ?? [];
  return (await at.run(`history show ${operation} -f jsonl`)).stdout;
}

describe.runIf(isLinux)('standard output', () => {
  it('that is full: says which results are stored, and how to read them for free', async () => {
    const at = await few();
    const full = await inShell(`leadpipe ${search} > /dev/full`, at);
    const says = 'no space left on the device. 2 leads arrived, but not all of them could be written';
    expect(full).toMatchObject(ending(74, says, 'charged: yes'));
    expect(await at.history()).toMatchObject([{ state: 'partial', leads: 2, charged: 'yes' }]);
    const named = /To print them, for free: leadpipe history show (op_\w+)/;
    expect(await shown(at, full.stderr, named)).toBe(leads.join(''));
  });

  it('that is closed loses nothing: results are stored; with --no-history nothing is bought', async () => {
    const at = await few();
    const unkept = await inShell(`leadpipe ${search} --no-history >&-`, at);
    expect(unkept).toMatchObject(ending(74, 'standard output is closed', 'charged: no'));
    expect(at.requests).toEqual([]);
    const closed = await inShell(`leadpipe ${search} >&-`, at);
    expect(closed).toMatchObject(ending(0, 'warning: standard output is closed'));
    expect(await shown(at, closed.stderr, /operation (op_\w+)/)).toBe(leads.join(''));
    const away = await inShell(`leadpipe ${search} --no-history -q > /dev/null`, at);
    expect(away).toMatchObject({ code: 0, stderr: '' });
  });
});

it.runIf(isLinux)(
  'neither for the output nor for what is kept: says that not all of what arrived is stored',
  async () => {
    const large = Array.from({ length: 20 }, (_, nth) =>
      JSON.stringify({ name: `${nth} ${'x'.repeat(2000)}` }),
    );
    const at = await serve(large.slice(0, 10), large.slice(10));
    const line = `ulimit -f 30; leadpipe ${search} -o a.jsonl --summary s.json`;
    const { code, stderr } = await inShell(line, at);
    expect(code).toBe(74);
    // It can't be resumed, and nothing says that it can.
    expect(JSON.parse(at.read('s.json'))).toMatchObject({ charged: 'yes', resume: null });
    expect(stderr).not.toContain('leadpipe resume');
    const named =
      /^Not all of these leads could be stored, .*\nTo print what is stored, for free: leadpipe history show (op_\w+)$/m;
    const stored = (await shown(at, stderr, named)).split('\n').slice(0, -1);
    expect(stored.length).toBeGreaterThan(9);
    expect(stored).toEqual(large.slice(0, stored.length));
  },
);

it.runIf(isLinux)('an answer for which there is room nowhere is not said to be stored', async () => {
  const at = await machineWith(jsonAnswer({ success: true, answer: 'x'.repeat(40_000) }));
  const ended = await inShell('ulimit -f 30; leadpipe research y -o a.json', at);
  expect(ended).toMatchObject(ending(74, "The answer can't be fetched again", 'charged: yes'));
});

it('leads whose file can not be put in its place are not said to be stored with --no-history', async () => {
  const at = await machineWith((socket) => {
    mkdirSync(at.pathOf('a.jsonl/full'), { recursive: true });
    socket.write(wholeStream(searchFrames([leads.map((lead) => lead.trimEnd())])));
  });
  const ended = await at.leadpipe(`${search} --no-history -o a.jsonl`);
  expect(ended).toMatchObject(ending(74, 'Nothing is stored, because of --no-history.'));
});

it.runIf(isLinux).each(['search company x --limit 20', 'extract github_user_followers x --limit 20'])(
  'for what is kept: %s is bought, is told as complete, and nothing says that it is stored',
  async (line) => {
    const large = Array.from({ length: 20 }, (_, nth) => `{"name":"${nth} ${'x'.repeat(2000)}"}`);
    const at = await machineWith((socket, { path }) => {
      if (path.endsWith('/extract')) {
        socket.write(jsonAnswer(`{"success":true,"data":[${large.join(',')}],"metadata":{"limit":20}}`));
      } else socket.write(wholeStream(searchFrames([large])));
    });
    const limited = `ulimit -f 30; leadpipe ${line}`;
    const { code, stdout } = await inShell(limited, at);
    expect({ code, stdout }).toEqual({ code: 0, stdout: large.map((one) => `${one}\n`).join('') });
    expect(await at.history()).toMatchObject([{ state: 'complete', charged: 'yes', leads: 20 }]);
    const again = await inShell(limited, at);
    expect(again).toMatchObject(ending(0, 'warning: You already bought this at '));
    expect(again.stderr).not.toContain('history show');
  },
);

it('a home that is no folder: free reads work with a key of the environment; --local says what to do', async () => {
  const { LEADPIPE_BASE_URL = '', LEADPIPE_API_KEY = '', PATH = '' } = (await few()).env;
  const bare = { PATH, HOME: '/dev/null', LEADPIPE_CONFIG_DIR: '', LEADPIPE_STATE_DIR: '' };
  const free = await run('balance', { env: { ...bare, LEADPIPE_BASE_URL, LEADPIPE_API_KEY } });
  expect(free).toEqual({ code: 0, stderr: '', stdout: `${balance}\n` });
  expect(await run('balance --local', { env: bare })).toMatchObject(ending(74, 'LEADPIPE_STATE_DIR'));
});

describe.runIf(canMount())('a disk without any room', () => {
  const full = 'mkdir full && mount -t tmpfs -o size=4k none full && echo x > full/x';

  it('for the output: nothing is bought, and nothing is left there', async () => {
    const at = await few();
    const line = `${full}; leadpipe ${search} -o full/a.csv; echo $? $(ls -A full)`;
    const says = 'full/a.csv: no space left on the device\n';
    expect(await inShell(line, at, 'unshare', '-m')).toMatchObject({ ...ending(0, says), stdout: '74 x\n' });
    expect(at.requests).toEqual([]);
  });

  it('for the database that is made of the rows: says so in words', async () => {
    const at = await few();
    const line = `mkdir full && mount -t tmpfs -o size=12k none full && leadpipe ${search} -o full/a.db`;
    const says = ["can't write full/a.db: no space left on the device", 'The rows are in full/a.db.part'];
    expect(await inShell(line, at, 'unshare', '-m')).toMatchObject(failing(74, ...says));
  });

  it('for what is stored: nothing is bought', async () => {
    const at = await few();
    const line = `${full}; LEADPIPE_STATE_DIR=full/s leadpipe ${search} -o a.csv`;
    const says = [/can't store this operation in .*: no space left on the device\n/, 'Nothing was sent.'];
    expect(await inShell(line, at, 'unshare', '-m')).toMatchObject(failing(74, ...says, 'charged: no'));
    expect(at.requests).toEqual([]);
    expect(at.files()).toEqual(['full']);
  });
});

it.runIf(canMount())(
  'a disk that is full amid a request of --local: says which folder, and what to do',
  async () => {
    const at = createMachine();
    at.write('rows.txt', '1\n2\n');
    const says = "the local service can't write its state in full/local-service: database or disk is full\n";
    const full = 'mkdir -p full && mount -t tmpfs -o size=300k none full && LEADPIPE_STATE_DIR=full leadpipe';
    for (const command of ['search company fintech', 'contact email --input rows.txt']) {
      const { code, stderr } = await inShell(`${full} ${command} --local`, at, 'unshare', '-m');
      expect({ command, code, stderr }).toMatchObject({ command, ...ending(74, says, 'LEADPIPE_STATE_DIR') });
    }
  },
);

it.runIf(canMount())('a read-only home is reported in plain words', async () => {
  const at = createMachine();
  const { PATH = '' } = at.env;
  const line = (command: string) => `mount -t tmpfs -o ro none . && cd . && HOME=$PWD leadpipe ${command}`;
  const bare = { cwd: at.cwd, env: { PATH } };
  const folder = `${at.cwd}/.local/state/leadpipe`;
  const local = `can't write its state in ${folder}/local-service: the file system is read-only\n`;
  expect(await inShell(line('balance --local'), bare, 'unshare', '-m')).toMatchObject(failing(74, local));
  const settings = `can't write ${at.cwd}/.config/leadpipe/config.json: the file system is read-only\n`;
  expect(await inShell(line('config set format csv'), bare, 'unshare', '-m')).toMatchObject(
    failing(74, settings, 'or set LEADPIPE_CONFIG_DIR to another folder'),
  );
  expect(await inShell(line('doctor'), bare, 'unshare', '-m')).toMatchObject({
    stdout: expect.stringContaining(`${folder}: the file system is read-only"`),
  });
});

it('a full disk under --local is no bug: 74, and what to do', async () => {
  const at = createMachine();
  const create = 'task create company x --local --no-history';
  expect(await at.run('config set retry.attempts 0')).toMatchObject({ code: 0 });
  expect(await at.run(create)).toMatchObject({ code: 0 });
  for (const nth of [1, 2, 3]) {
    const full = await runWith({ mode: 'ENOSPC', at: nth }, at, create.split(' '));
    expect({ nth, ...full }).toMatchObject({ nth, ...ending(74, 'LEADPIPE_STATE_DIR') });
  }
  expect(await at.run(create)).toMatchObject({ code: 0 });
});

it('answers that come when the disk is full are stored in the spare room: they are paid for', async () => {
  const { gate, open } = createGate();
  const service = await startRowService({ gate });
  const at = createMachine(service.url);
  at.write('rows.txt', '1\n2\n3\n4\n5\n6\n');
  const list = 'contact email --input rows.txt -o out.csv --concurrency 6'.split(' ');
  const disk = { of: at.state, after: at.pathOf('now') };
  const ended = runWith({ mode: 'full', at: 0, disks: [disk] }, at, list);
  await until(() => service.requests() === 6);
  at.write('now', '');
  open();
  expect(await ended).toMatchObject({ code: 0 });
  expect(await at.run('resume')).toMatchObject(ending(0, 'There is nothing to resume'));
  expect([service.charged.size, service.requests()]).toEqual([6, 6]);
});

it.runIf(isLinux)('a folder that was removed under the run is no bug of leadpipe', async () => {
  const at = await few();
  const gone = temporaryFolder();
  expect(await inShell(`cd ${gone} && rmdir ${gone} && leadpipe ${search} -o leads.csv`, at)).toMatchObject({
    code: 74,
    stderr: 'error: the current directory no longer exists\nChange to another folder, and run it again.\n',
  });
  expect(at.requests).toEqual([]);
});
