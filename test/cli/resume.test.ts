import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../src/files/folder-lock.ts';
import { toEntries, toLine } from '../../src/operations/journal/entries.ts';
import { formats } from '../../src/output/writer.ts';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer } from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, resultOf, start, temporaryFolder } from '../helpers/run.ts';
import { readOperations } from '../helpers/stored.ts';
import {
  type Fault,
  type Step,
  someEntities,
  startTaskServer,
  type TaskServer,
} from '../helpers/task-server.ts';

const fast = ['--poll-interval', '0.01'];
const taskRun = ['task', 'run', 'company', 'x', ...fast];
const resume = ['task', 'resume', ...fast];
const linesOf = (leads: readonly string[]): string => leads.map((lead) => `${lead}\n`).join('');
const rows = (count: number, from = 0): string => linesOf(someEntities.slice(from, count));

/** The one task of the service: it grows when a test says so. */
let steps: Step[];
let fault: Fault | undefined;
/** Whether the service knows the first task no more. */
let isForgotten: boolean;
let server: TaskServer;
let env: Record<string, string>;
let file: string;
beforeEach(async () => {
  steps = [['running', 20]];
  fault = undefined;
  isForgotten = false;
  server = await startTaskServer({
    steps,
    entities: someEntities,
    fault(operation) {
      if (operation !== 'create') return isForgotten ? errorAnswer('404 X', 'not_found', 'no') : undefined;
      isForgotten = false;
      return fault;
    },
  });
  env = { ...bareEnvironment(), ...pointedAt(server.url) };
  file = join(temporaryFolder(), 'leads.csv');
});

const leadpipe = (...args: string[]) => runInProcess(args, { env });
const content = (path = file): string => readFileSync(path, 'utf8');
const folder = (): string[] => readdirSync(dirname(file));
const nothingLeft = { code: 0, stderr: 'There is nothing to resume.\n' };

/** Runs a command that is left with 20 of 45 leads; the rest is there afterwards. */
async function leave(...args: string[]) {
  const left = await leadpipe(...args, '--wait-timeout', '0.3');
  expect(left).toMatchObject({ code: 75 });
  steps.push(['done', 45]);
  return left;
}

/** A creation whose answer is lost, and then its service is well again. */
async function loseCreation() {
  fault = errorAnswer('500 X', 'internal_error', 'no');
  const left = await leadpipe(...taskRun, '-o', file);
  fault = undefined;
  steps.push(['done', 45]);
  return left;
}

async function undisturbed(...args: string[]): Promise<string> {
  const there = await startTaskServer({ steps: [['done', 45]] });
  const whole = join(temporaryFolder(), 'whole');
  await runInProcess([...args, '-o', whole], { env: pointedAt(there.url) });
  await there.close();
  return readFileSync(whole, 'utf8');
}

const firstOperation = async (): Promise<string> =>
  (await readOperations(env.LEADPIPE_STATE_DIR ?? '')).operations[0]?.operationId ?? '';
const folderOf = (operation: string): string => join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operation);
const creations = () => server.requests.filter(({ method }) => method === 'POST');

describe('task resume', () => {
  it.each(formats)('finishes the %s that was begun, and says which', async (format) => {
    await leave(...taskRun, '--limit', '45', '-o', file, '-f', format);
    expect(existsSync(file)).toBe(false);
    expect(await leadpipe(...resume)).toMatchObject(
      failing(
        0,
        /^The latest unfinished operation is op_\S+: task run, started .*, into \S+leads.csv\n/,
        /\n45 leads in \S+leads\.csv · limit of 45 reached\n/,
      ),
    );
    if (format !== 'table') expect(content()).toBe(await undisturbed(...taskRun, '-f', format));
    expect(folder()).toEqual(['leads.csv']);
    expect(creations()).toHaveLength(1);
    expect(server.positions()).toEqual([0, 20]);
  });

  it.each([0, 9, 80, 800])(
    'of a run with --append adds all its rows in one go, also behind a torn one in its .part (%i)',
    async (torn) => {
      file = join(temporaryFolder(), 'leads.jsonl');
      writeFileSync(file, '{"name":"before"}');
      await leave(...taskRun, '-o', file, '--append');
      expect(content()).toBe('{"name":"before"}');
      appendFileSync(`${file}.part`, rows(45, 20).slice(0, torn));
      appendFileSync(file, '\n{"name":"mine"}\n');
      expect(await leadpipe(...resume)).toMatchObject({ code: 0 });
      expect(content()).toBe(`{"name":"before"}\n{"name":"mine"}\n${rows(45)}`);
      expect(folder()).toEqual(['leads.jsonl']);
    },
  );

  it('replaces no file that a later operation has added to', async () => {
    await leave(...taskRun, '-o', file);
    const later = ['task', 'wait', 'ls_task', ...fast, '-o', file, '--append'];
    expect(await leadpipe(...later)).toMatchObject({ code: 0 });
    const before = content();
    expect(await leadpipe(...resume, await firstOperation())).toMatchObject(
      ending(74, 'has rows of a later operation', 'leadpipe task wait ls_task -o <file>'),
    );
    expect(content()).toBe(before);
  });

  it('of a run with --append adds its rows behind those of a later one', async () => {
    await leave(...taskRun, '-o', file, '--append');
    const id = await firstOperation();
    const other = ['task', 'run', 'company', 'other', ...fast, '-o', file, '--append'];
    expect(await leadpipe(...other)).toMatchObject({ code: 0 });
    const before = content();
    expect(await leadpipe(...resume, id)).toMatchObject({ code: 0 });
    const [, ...added] = (await undisturbed(...taskRun, '-f', 'csv')).split('\r\n');
    expect(content()).toBe(before + added.join('\r\n'));
    expect(creations()).toHaveLength(2);
  });

  it('prints the last page to standard output again, which may not have been read, and the rest', async () => {
    expect((await leave(...taskRun, '--num', '15')).stdout).toBe(rows(20));
    expect(await leadpipe(...resume)).toMatchObject({
      ...ending(0, 'Resuming from lead 16. The leads of the last page are printed again'),
      stdout: rows(45, 15),
    });
  });

  it('finishes a task wait, with the columns that its first page had', async () => {
    await server.close();
    const enriched = someEntities.map((_, index) =>
      index < 20 ? `{"name":"${index}","enrich_fields":{"stage":{"content":"seed"}}}` : `{"name":"${index}"}`,
    );
    server = await startTaskServer({ steps, entities: enriched });
    Object.assign(env, pointedAt(server.url));
    await leave('task', 'wait', 'ls_task', ...fast, '-o', file);
    expect(await leadpipe(...resume)).toMatchObject({ code: 0 });
    const lines = content().trimEnd().split('\r\n');
    expect(lines).toHaveLength(46);
    expect(lines[0]).toMatch(/,stage,stage_reference$/);
    expect(new Set(lines.map((line) => line.split(',').length))).toEqual(new Set([9]));
  });

  it('creates the task with the same key and the same bytes when the answer was lost', async () => {
    const left = await loseCreation();
    expect(left.code).not.toBe(0);
    expect(left.stderr).toMatch(/To resume it, without buying it twice: leadpipe task resume op_/);
    expect(folder()).toEqual([]);
    expect(await leadpipe(...resume)).toMatchObject({ code: 0 });
    const sent = creations().map(({ headers, body }) => [headers['idempotency-key'], body]);
    expect(sent.length).toBeGreaterThan(1);
    expect(new Set(sent.map(String)).size).toBe(1);
    expect(content()).toBe(await undisturbed(...taskRun, '-f', 'csv'));
  });

  it('asks for --replay-create when the answer was lost more than a day ago', async () => {
    await loseCreation();
    const journal = join(folderOf(await firstOperation()), 'journal.jsonl');
    const [intent] = toEntries(content(journal), journal);
    if (intent?.type !== 'intent') throw new Error('no intent');
    const dayAgo = new Date(Date.now() - 24 * 3_600_000 - 1000).toISOString();
    writeFileSync(journal, toLine({ ...intent, time: dayAgo }));
    const before = creations().length;
    const { code, stderr } = await leadpipe(...resume, '--json-errors');
    expect(code).toBe(8);
    const hint = expect.stringContaining('--replay-create');
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'replay_too_old', charged: 'maybe', hint });
    expect(creations()).toHaveLength(before);
    // Nobody may be there to ask: the same command asks the service with the same key, and says what that may mean.
    const says = expect.stringContaining('more than 24 hours ago');
    expect(await leadpipe(...taskRun, '-o', file)).toMatchObject({ code: 0, stderr: says });
    expect(creations().at(-1)?.headers['idempotency-key']).toBe(intent.idempotency_key);
    expect(creations()).toHaveLength(before + 1);
  });

  it.each([
    ['another key', () => pointedAt(server.url, 'another-key-0123456789'), 'with another API key'],
    ['another address', () => pointedAt('http://127.0.0.1:9'), 'not with http://127.0.0.1:9'],
  ])('with %s is refused with 78, and sends and cuts nothing', async (_, other, says) => {
    await leave(...taskRun, '-o', file);
    appendFileSync(`${file}.part`, 'torn');
    const before = [server.requests.length, content(`${file}.part`)];
    const refused = { code: 78, stderr: expect.stringContaining(says) };
    expect(await runInProcess(resume, { env: { ...env, ...other() } })).toMatchObject(refused);
    expect([server.requests.length, content(`${file}.part`)]).toEqual(before);
  });

  it.each([
    ['is gone', () => rmSync(`${file}.part`)],
    ['was shortened', () => truncateSync(`${file}.part`, 9)],
  ])('reads all again where the .part %s, as the same command does', async (_, change) => {
    for (const way of [resume, [...taskRun, '-o', file]]) {
      await leave(...taskRun, '-o', file);
      change();
      const says = expect.stringContaining('read again, for free');
      expect({ way, ...(await leadpipe(...way)) }).toMatchObject({ way, code: 0, stderr: says });
      expect(content()).toBe(await undisturbed(...taskRun, '-f', 'csv'));
      expect(await leadpipe(...resume)).toMatchObject(nothingLeft);
      steps.splice(0, steps.length, ['running', 20]);
    }
    expect(creations()).toHaveLength(2);
  });

  it.each([
    ['done', 0],
    ['error', 3],
  ])('of a task that is %s exits %i, and sends nothing', async (state, exit) => {
    steps.push([state, 45]);
    expect(await leadpipe(...taskRun, '-o', file)).toMatchObject({ code: exit });
    const sent = server.connections();
    const withoutKey = { env: { ...env, LEADPIPE_API_KEY: '' } };
    expect(await runInProcess(['task', 'resume', await firstOperation()], withoutKey)).toMatchObject(
      ending(exit, 'is finished'),
    );
    expect(await leadpipe(...resume)).toMatchObject(nothingLeft);
    expect(server.connections()).toBe(sent);
  });

  it('stops at once where another process is at work, naming it', async () => {
    await leave(...taskRun, '-o', file);
    const lock = await lockFolder(folderOf(await firstOperation()), process.pid, 'this operation');
    for (const args of [resume, [...taskRun, '-o', file]]) {
      const { code, stderr } = await leadpipe(...args, '--json-errors', '-q');
      expect(code).toBe(75);
      expect(JSON.parse(stderr).error.message).toBe(`process ${process.pid} is working on this operation`);
    }
    await lock.release();
    expect(await leadpipe(...resume)).toMatchObject({ code: 0 });
  });

  it('of a task create says how to have its task', async () => {
    await leadpipe('task', 'create', 'company', 'x');
    const refused = { code: 2, stderr: expect.stringContaining('--idempotency-key test-1') };
    expect(await leadpipe('task', 'resume', await firstOperation())).toMatchObject(refused);
  });
});

describe('the same task run again, into the same file', () => {
  it('goes on with what is unfinished; once that is done, it is a new purchase', async () => {
    await leave(...taskRun, '-o', file);
    const says = /^Resuming op_\w+ \(the same task, unfinished since .*\)\. You are not charged again\.$/m;
    const again = { code: 0, stderr: expect.stringMatching(says) };
    expect(await leadpipe(...taskRun, '-o', file)).toMatchObject(again);
    expect(creations()).toHaveLength(1);
    expect(await leadpipe(...taskRun, '-o', file)).toMatchObject({ code: 0 });
    expect(creations()).toHaveLength(2);
  });

  it.each([
    ['another search', ['task', 'run', 'company', 'y', ...fast]],
    ['other columns', [...taskRun, '--columns', 'name']],
    ['a key of its own', [...taskRun, '--idempotency-key', 'mine']],
    ['another key of the service', taskRun],
  ])('%s begins anew, and puts aside what is there', async (name, args) => {
    await leave(...taskRun, '-o', file);
    const part = content(`${file}.part`);
    if (name === 'another key of the service')
      Object.assign(env, pointedAt(server.url, 'another-key-0123456789'));
    const says = expect.stringContaining('held rows of an earlier run');
    expect(await leadpipe(...args, '-o', file)).toMatchObject({ code: 0, stderr: says });
    expect(content(`${file}.part.1`)).toBe(part);
    expect(creations()).toHaveLength(2);
  });

  it('whose task the service does not know any more begins anew', async () => {
    await leave(...taskRun, '-o', file);
    steps.push(['done', 45]);
    isForgotten = true;
    const says = expect.stringContaining('A new task is created');
    expect(await leadpipe(...taskRun, '-o', file)).toMatchObject({ code: 0, stderr: says });
    expect(creations()).toHaveLength(2);
  });
});

describe('a run that is stopped', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s while the task is created is finished by resume, with one key', async (signal, exit) => {
    fault = () => {};
    const child = start([...taskRun, '-o', file], { env });
    const ended = resultOf(child);
    await expect.poll(() => server.requests.length, { timeout: 10_000 }).toBe(1);
    child.kill(signal);
    const says = expect.stringContaining('leadpipe task resume op_');
    expect(await ended).toMatchObject({ code: exit, stderr: says });
    fault = undefined;
    steps.push(['done', 45]);
    expect(await leadpipe(...resume)).toMatchObject({ code: 0 });
    expect(new Set(creations().map(({ headers, body }) => headers['idempotency-key'] + body)).size).toBe(1);
    expect(content().split('\r\n')).toHaveLength(47);
  });
});
