import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toEntries, toLine } from '../../src/operations/journal/entries.ts';
import {
  openReceived,
  readAnswer,
  readReceived,
  receivedFile,
} from '../../src/operations/journal/received.ts';
import { creditBalance } from '../helpers/bodies.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { jsonAnswer, searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { noLock } from '../helpers/journals.ts';
import {
  bareEnvironment,
  command,
  pointedAt,
  type Result,
  resultOf,
  temporaryFolder,
} from '../helpers/run.ts';
import { type Step, startTaskServer, type TaskServer } from '../helpers/task-server.ts';

/** Stored files that are damaged, or can't be read or written by this user. */

const nobody = 65534;
const asOther = ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, command];
/** Only root can, and only where others may read Node and the command. */
const canBeOther = process.getuid?.() === 0 && spawnSync('setpriv', [...asOther, '--version']).status === 0;

/** Changes one byte, or cuts the file there. */
const injury = (length: number) =>
  fc.record({ at: fc.nat(length - 1), change: fc.option(fc.integer({ min: 1, max: 255 })) });

function injured(whole: Buffer, { at, change }: { at: number; change: number | null }): Buffer {
  if (change === null) return whole.subarray(0, at);
  const bytes = Buffer.from(whole);
  bytes[at] = (bytes[at] as number) ^ change;
  return bytes;
}

/** Stores these records. Returns their folder, and the bytes and the path of their file. */
async function stored(records: readonly string[]) {
  const folder = temporaryFolder();
  const received = await openReceived(folder, noLock);
  received.append(records);
  await received.close();
  const path = join(folder, receivedFile);
  return { folder, path, whole: readFileSync(path) };
}

it('a stored answer with any byte changed, or cut anywhere, is never shown as something else', async () => {
  const answer = '{"success":true,\n "answer":{"id":12345678901234567890,"text":"日 \\u001b[31m"}}';
  const { folder, path, whole } = await stored([answer]);
  expect(await readAnswer(folder)).toBe(answer);
  await fc.assert(
    fc.asyncProperty(injury(whole.length), async (how) => {
      writeFileSync(path, injured(whole, how));
      const message = `the answer in ${path} is damaged`;
      const read = await readAnswer(folder).catch((error: unknown) => error);
      // A cut is what a killed process leaves, which had not stored it yet.
      if (how.change === null) expect(read).toBe(undefined);
      else expect(read).toMatchObject({ outcome: 'configuration', message });
    }),
    { numRuns: 400 },
  );
});

const kept = ['{"a":12345678901234567890}', '"\\u001b[31mtext"', '{"b":\n"日"}', '7', '{"name":"Zoë"}'];

it('stored leads with any byte changed, or cut anywhere, lose that line alone, and not without a word', async () => {
  const { folder, path, whole } = await stored(kept);
  await fc.assert(
    fc.asyncProperty(injury(whole.length), async (how) => {
      writeFileSync(path, injured(whole, how));
      const read: string[] = [];
      let damaged = 0;
      for await (const some of readReceived(folder, () => damaged++))
        read.push(...some.map(({ text }) => text));
      if (how.change === null) {
        // A cut is what a killed process leaves; that leads are missing is known to the journal.
        expect(read).toEqual(kept.slice(0, read.length));
        expect([damaged, read.length]).toEqual([
          0,
          whole.subarray(0, how.at).filter((byte) => byte === 0x0a).length,
        ]);
        return;
      }
      expect(kept.filter((lead) => read.includes(lead))).toEqual(read);
      // A changed line end makes one line of two.
      expect(kept.length - read.length).toBeLessThanOrEqual(2);
      expect(damaged).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
});

const fast = ['--poll-interval', '0.01'];
const ls = 'ls_task';

/** A machine that has bought something, and the service that it bought it from. */
let server: TaskServer;
let steps: Step[];
let home: string;
let env: Record<string, string>;
let file: string;
beforeEach(async () => {
  steps = [['running', 20]];
  server = await startTaskServer({ steps, fault: (_, __, { path }) => answerTo(path) });
  home = temporaryFolder();
  env = { ...bareEnvironment(home), ...pointedAt(server.url) };
  file = join(home, 'leads.jsonl');
});

const leads = ['{"name":"A"}', '{"name":"\\u001b[31mB"}', '{"name":"C"}'];

function answerTo(path: string): string | undefined {
  if (path.endsWith('/contact-search')) return jsonAnswer(contactAnswer, ['X-Request-Id: req_test']);
  if (path.endsWith('/balance')) return jsonAnswer(creditBalance(9));
  return path.endsWith('/entity-search') ? wholeStream(searchFrames([leads])).toString() : undefined;
}
const contactAnswer =
  '{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":{"content":"a@b.example","reference":null},"created_at":"2026-01-31T09:00:00Z"}';

const operations = (): string => join(home, 'state', 'operations');
const inProcess = (...args: string[]) => runInProcess(args, { env });

/** Runs a command, and returns where its operation is kept. */
async function bought(code: number, ...args: string[]): Promise<string> {
  const before = existsSync(operations()) ? readdirSync(operations()) : [];
  const result = await inProcess(...args);
  expect({ args, ...result }).toMatchObject({ code });
  const [name = ''] = readdirSync(operations()).filter((one) => !before.includes(one));
  return join(operations(), name);
}

const idOf = (folder: string): string => folder.split('/').at(-1) ?? '';

function change(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
}

describe('history show', () => {
  it('of a damaged answer prints nothing, names the file, and exits 78', async () => {
    const folder = await bought(0, 'contact', 'email', 'x');
    const path = join(folder, receivedFile);
    change(path, 'a@b.example', 'b@b.example');
    for (const more of [[], ['--answer']]) {
      const { code, stdout, stderr } = await inProcess('history', 'show', idOf(folder), ...more);
      expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
      expect(stderr).toContain(`the answer in ${path} is damaged`);
    }
  });

  it.each([
    ['a lead is damaged', (path: string) => change(path, '"A"', '"B"'), [1, 2]],
    [
      'the last line end is damaged',
      (path: string) => writeFileSync(path, `${readFileSync(path, 'utf8').trimEnd()}x`),
      [0, 1],
    ],
    [
      'leads are gone',
      (path: string) => writeFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`),
      [0],
    ],
    ['all of them are gone', (path: string) => writeFileSync(path, ''), []],
  ] as const)('where %s prints the others, says so, and exits 3', async (_, injure, rest) => {
    const folder = await bought(0, 'search', 'company', 'x');
    const path = join(folder, receivedFile);
    injure(path);
    const { code, stdout, stderr } = await inProcess('history', 'show', idOf(folder), '-f', 'jsonl');
    expect({ code, stdout }).toEqual({ code: 3, stdout: rest.map((at) => `${leads[at]}\n`).join('') });
    expect(stderr).toContain(`${path} is damaged: only ${rest.length} of 3 leads could be read`);
    const into = join(home, 'shown.jsonl');
    expect((await inProcess('history', 'show', idOf(folder), '-o', into)).code).toBe(3);
    // There will never be more: the file is in place.
    expect(readFileSync(into, 'utf8')).toBe(stdout);
  });
});

type Run = (...args: string[]) => Promise<Result>;

/** Other work continues while the operation in `folder` can't be read; commands that list operations name it. */
async function expectOthersGoOn(folder: string, exit: number, runCommand: Run): Promise<void> {
  const journal = join(folder, 'journal.jsonl');
  const into = join(home, 'work', 'other.jsonl');
  const taskRun = ['task', 'run', 'company', 'y', ...fast, '-o', into];
  const expectTold = async (code: number, ...args: string[]): Promise<Result> => {
    const result = await runCommand(...args);
    expect({ args, ...result }).toMatchObject({ code, stderr: expect.stringContaining(journal) });
    return result;
  };
  // Unrelated commands do not even read it.
  expect(await runCommand(...taskRun, '--wait-timeout', '0.2')).toMatchObject({ code: 75 });
  steps.push(['done', 45]);
  expect(await runCommand('resume', ...fast)).toMatchObject({ code: 0 });
  expect(readFileSync(into, 'utf8').split('\n')).toHaveLength(46);
  expect(await runCommand(...taskRun)).toMatchObject({ code: 0 });
  await expectTold(0, 'task', 'list');
  const listed = await runCommand('history', 'list', '-f', 'csv', '--columns', 'operation_id,state');
  expect(listed.stdout.match(/,complete/g)).toHaveLength(2);
  const contact = await runCommand('contact', 'email', 'x');
  expect(contact).toMatchObject({ code: 0, stderr: expect.not.stringContaining(journal) });
  // Whatever is about that very operation is refused, and sends nothing.
  const sent = server.connections();
  await expectTold(exit, 'resume', idOf(folder));
  await expectTold(exit, 'history', 'show', idOf(folder));
  expect(server.connections()).toBe(sent);
}

describe('one operation that can not be read', () => {
  const damages: readonly [name: string, exit: number, injure: (journal: string) => void][] = [
    ['has a damaged line', 78, (journal) => change(journal, '"done"', '"dome"')],
    ['has a damaged last line', 78, (journal) => change(journal, '"complete"', '"compleat"')],
    ['is not text', 78, (journal) => writeFileSync(journal, Buffer.alloc(5000, 0x0a))],
    [
      'is a folder',
      74,
      (journal) => {
        rmSync(journal);
        mkdirSync(journal);
      },
    ],
  ];
  /** An operation that is over, in a machine whose service goes on with others. */
  async function createOver(): Promise<string> {
    mkdirSync(join(home, 'work'));
    steps.push(['done', 20]);
    const folder = await bought(0, 'task', 'wait', ls, ...fast, '-o', file);
    steps.splice(1);
    return folder;
  }

  it.each(damages)(
    'as it %s: unrelated work goes on, with a warning that names it',
    async (_, exit, injure) => {
      const folder = await createOver();
      injure(join(folder, 'journal.jsonl'));
      await expectOthersGoOn(folder, exit, inProcess);
    },
  );

  it.runIf(canBeOther)('as a run under sudo made it: the same', async () => {
    const folder = await createOver();
    giveAway(home);
    chownSync(folder, 0, 0);
    await expectOthersGoOn(folder, 74, asNobody);
    const { stderr } = await asNobody('history', 'show', idOf(folder));
    expect(stderr).toContain(`sudo chown -R "$USER" '${folder}'`);
  });
});

describe.runIf(canBeOther)('for a user who may not write it', () => {
  it('a state directory: free work goes on, purchases are refused and cost nothing', async () => {
    const folder = await bought(0, 'contact', 'email', 'x');
    chmodSync(home, 0o755);
    execFileSync('chmod', ['-R', 'a+rX', home]);
    const sent = server.requests.length;
    expect(await asNobody('contact', 'email', 'x')).toMatchObject({
      code: 74,
      stderr: expect.stringContaining('--no-history'),
    });
    expect(await asNobody('task', 'run', 'company', 'x')).toMatchObject({ code: 74 });
    expect(server.requests.length).toBe(sent);
    expect(await asNobody('history', 'show', idOf(folder))).toMatchObject({
      code: 0,
      stdout: `${contactAnswer}\n`,
    });
    expect(await asNobody('task', 'wait', ls, ...fast, '--wait-timeout', '0.2')).toMatchObject({ code: 75 });
    expect(await asNobody('contact', 'email', 'x', '--no-history')).toMatchObject({ code: 0 });
  });

  it('an old operation: the others are removed, and it is named', async () => {
    const old = [await bought(0, 'contact', 'email', 'x'), await bought(0, 'contact', 'email', 'y')];
    for (const folder of old) makeOld(folder);
    // It knows when they were begun.
    rmSync(join(home, 'state', 'index'), { recursive: true });
    giveAway(home);
    chownSync(old[0] ?? '', 0, 0);
    utimesSync(old[0] ?? '', 0, 0);
    const prune = ['history', 'prune', '-f', 'csv', '--columns', 'operation_id'];
    const { code, stdout, stderr } = await asNobody(...prune);
    expect({ code, stdout }).toEqual({ code: 74, stdout: `operation_id\r\n${idOf(old[1] ?? '')}\r\n` });
    expect(stderr).toContain(`can't remove old operations in ${old[0]}`);
  });
});

describe('a symbolic link', () => {
  const precious = (): string => join(home, 'precious');
  beforeEach(() => writeFileSync(precious(), '{}'));
  afterEach(() => expect(readFileSync(precious(), 'utf8')).toBe('{}'));

  it('in the place of the day of the last removal is replaced', async () => {
    mkdirSync(join(home, 'state'), { mode: 0o700 });
    symlinkSync(precious(), join(home, 'state', 'pruned'));
    await bought(0, 'contact', 'email', 'x');
    expect(lstatSync(join(home, 'state', 'pruned')).isFile()).toBe(true);
  });

  it('in the place of a journal is not written through', async () => {
    const folder = await bought(75, 'task', 'wait', ls, ...fast, '--wait-timeout', '0.2', '-o', file);
    const journal = join(folder, 'journal.jsonl');
    cpSync(journal, precious());
    const before = readFileSync(precious());
    rmSync(journal);
    symlinkSync(precious(), journal);
    const { code, stderr } = await inProcess('resume', idOf(folder));
    expect(code).toBe(74);
    expect(stderr).toContain(`${journal}: it is a symbolic link`);
    expect(readFileSync(precious())).toEqual(before);
    writeFileSync(precious(), '{}');
  });

  it.each(['config', 'credentials'])('in the place of %s.json is not written through', async (name) => {
    mkdirSync(join(home, 'config'), { mode: 0o700 });
    symlinkSync(precious(), join(home, 'config', `${name}.json`));
    const stored = { ...env, LEADPIPE_API_KEY: '', LEADPIPE_CREDENTIAL_STORE: 'file' };
    const args = name === 'config' ? ['config', 'set', 'format', 'csv'] : ['auth', 'login'];
    const { code, stderr } = await runInProcess(args, { env: stored, stdin: 'a-key-0123456789\n' });
    expect(code).toBe(78);
    expect(stderr).toContain(`${name}.json is a symbolic link`);
  });

  it('in the place of the state of the local service is not written through', async () => {
    mkdirSync(join(home, 'state', 'local-service'), { recursive: true, mode: 0o700 });
    symlinkSync(precious(), join(home, 'state', 'local-service', 'state.db'));
    const { LEADPIPE_BASE_URL: _, LEADPIPE_API_KEY: __, ...rest } = env;
    const { code, stderr } = await runInProcess(['balance', '--local'], { env: rest });
    expect(code).toBe(74);
    expect(stderr).toContain('state.db is a symbolic link');
  });
});

/** Makes a folder and all that is in it another user's. */
function giveAway(folder: string): void {
  for (const path of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    chownSync(join(folder, path), nobody, nobody);
  }
}

/** Runs the built command as another user. */
function asNobody(...args: string[]): Promise<Result> {
  const child = spawn('setpriv', [...asOther, ...args], {
    env,
    cwd: '/',
    stdio: 'pipe',
  });
  child.stdin.end();
  return resultOf(child);
}

/** An operation of a month ago. */
function makeOld(folder: string): void {
  const path = join(folder, 'journal.jsonl');
  const [intent, ...rest] = toEntries(readFileSync(path, 'utf8'), path).entries;
  if (intent?.type !== 'intent') throw new Error('no intent');
  const time = new Date(Date.now() - 40 * 86_400_000).toISOString();
  writeFileSync(path, [{ ...intent, time }, ...rest].map(toLine).join(''));
}
