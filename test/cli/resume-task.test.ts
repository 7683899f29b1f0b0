import { appendFileSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../src/files/folder-lock.ts';
import { toEntries, toLine } from '../../src/operations/journal/entries.ts';
import { formats } from '../../src/output/writer.ts';
import { rowsOf } from '../helpers/databases.ts';
import { ending, failing } from '../helpers/ending.ts';
import { errorAnswer } from '../helpers/fault-server.ts';
import { pointedAt, resultOf } from '../helpers/run.ts';
import { writeSettings } from '../helpers/settings.ts';
import { readOperations } from '../helpers/stored.ts';
import {
  type Fault,
  rowsTo,
  type Step,
  someEntities,
  startTaskServer,
  type TaskServer,
} from '../helpers/task-server.ts';

const taskRun = 'task run company x --poll-interval 0.01';
const resume = 'resume --poll-interval 0.01';
const toFile = `${taskRun} -o leads.csv`;

/** The one task of the service: it grows when a test says so. */
let steps: Step[];
let fault: Fault | undefined;
/** Whether the service knows the first task no more. */
let isForgotten: boolean;
let at: TaskServer;
beforeEach(async () => {
  steps = [['running', 20]];
  fault = undefined;
  isForgotten = false;
  at = await startTaskServer({
    steps,
    fault(operation) {
      if (operation !== 'create') return isForgotten ? errorAnswer('404 X', 'not_found', 'no') : undefined;
      isForgotten = false;
      return fault;
    },
  });
});

const nothingLeft = { code: 0, stderr: 'There is nothing to resume.\n' };
const content = (name = 'leads.csv'): string => at.read(name);
const part = (): string => at.pathOf('leads.csv.part');

/** Runs a command that is left with 20 of 45 leads; the rest is there afterwards. */
async function leave(line: string) {
  const left = await at.leadpipe(`${line} --wait-timeout 0.3`);
  expect(left).toMatchObject({ code: 75 });
  steps.push(['done', 45]);
  return left;
}

/** A creation whose answer is lost, and then its service is well again. */
async function loseCreation() {
  fault = errorAnswer('500 X', 'internal_error', 'no');
  const left = await at.leadpipe(toFile);
  fault = undefined;
  steps.push(['done', 45]);
  return left;
}

/** What a file holds. A database also notes which operation wrote it. */
function rowsIn(path: string, format: string): unknown {
  return format === 'sqlite' ? rowsOf(path, 'leads') : readFileSync(path, 'utf8');
}

async function undisturbed(format = 'csv'): Promise<unknown> {
  const there = await startTaskServer({ steps: [['done', 45]] });
  await there.leadpipe(`${taskRun} -f ${format} -o whole`);
  return rowsIn(there.pathOf('whole'), format);
}

const firstOperation = async (): Promise<string> =>
  (await readOperations(at.state)).operations[0]?.operationId ?? '';
const folderOf = (operation: string): string => join(at.state, 'operations', operation);
const creations = () => at.requests.filter(({ method }) => method === 'POST');

describe('resume of a task', () => {
  it.each(formats)('finishes the %s of the interrupted run, and names it', async (format) => {
    await leave(`${toFile} --limit 45 -f ${format}`);
    expect(at.files()).toEqual(['leads.csv.part']);
    const latest =
      /^Resuming op_\S+: task run company x, started .*, into \S+leads.csv\. You are not charged again for what arrived\.\n/;
    const whole =
      /\n45 leads in \S*leads\.csv · limit of 45 reached · cost at most 45 credits \(none of them now\)\n/;
    expect(await at.leadpipe(resume)).toEqual({ ...ending(0, latest, whole), stdout: '' });
    if (format !== 'table') expect(rowsIn(at.pathOf('leads.csv'), format)).toEqual(await undisturbed(format));
    expect(at.files()).toEqual(['leads.csv']);
    expect(creations()).toHaveLength(1);
    expect(at.positions()).toEqual([0, 20]);
  });

  it.each([
    ['', 0],
    [' --pts 5', 5],
  ])('gives all rows their positions, those that are stored too: task wait%s', async (pts, first) => {
    const positions = () =>
      [...content('leads.jsonl').matchAll(/"position":(\d+)/g)].map(([, at]) => Number(at));
    await leave(`task wait ls_task --poll-interval 0.01 --positions -o leads.jsonl${pts}`);
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0 });
    expect(positions()).toEqual(Array.from({ length: 45 - first }, (_, nth) => first + nth));
  });

  it('of a run with --append adds all its rows in one go', async () => {
    at.write('leads.jsonl', '{"name":"before"}');
    await leave(`${taskRun} -o leads.jsonl --append`);
    expect(content('leads.jsonl')).toBe('{"name":"before"}');
    appendFileSync(at.pathOf('leads.jsonl'), '\n{"name":"mine"}\n');
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0 });
    expect(content('leads.jsonl')).toBe(`{"name":"before"}\n{"name":"mine"}\n${rowsTo(45)}`);
    expect(at.files()).toEqual(['leads.jsonl']);
  });

  it.each<[string, () => void]>([
    ['was changed', () => appendFileSync(part(), 'torn')],
    ['was shortened', () => truncateSync(part(), 9)],
    ['is gone', () => rmSync(part())],
    [
      'is a link',
      () => {
        at.write('precious', 'precious');
        const name = part();
        rmSync(name);
        symlinkSync('precious', name);
      },
    ],
  ])('prints the file again from what is stored, though its temporary file %s', async (_, change) => {
    for (const way of [resume, toFile]) {
      await leave(toFile);
      change();
      expect({ way, ...(await at.leadpipe(way)) }).toMatchObject({ way, code: 0 });
      expect(content()).toBe(await undisturbed());
      expect(await at.leadpipe(resume)).toMatchObject(nothingLeft);
      steps.splice(0, steps.length, ['running', 20]);
    }
    if (at.files().includes('precious')) expect(at.read('precious')).toBe('precious');
    expect(at.files().filter((name) => name !== 'precious')).toEqual(['leads.csv']);
    expect(creations()).toHaveLength(2);
    // What is stored is not read from the service again.
    expect(at.positions()).toEqual([0, 20, 0, 20]);
  });

  it('does not replace a file to which a later operation has added rows', async () => {
    await leave(toFile);
    const later = 'task wait ls_task --poll-interval 0.01 -o leads.csv --append';
    expect(await at.leadpipe(later)).toMatchObject({ code: 0 });
    const before = content();
    const id = await firstOperation();
    expect(await at.leadpipe(`${resume} ${id}`)).toMatchObject(
      ending(2, 'has rows of a later operation', `leadpipe resume ${id} -o <file>`),
    );
    expect(content()).toBe(before);
    expect(await at.leadpipe(`${resume} ${id} -o all.csv`)).toMatchObject({ code: 0 });
    expect(content('all.csv')).toBe(await undisturbed());
  });

  it.each(['', '--append'])(
    'into another file leaves the first one to the first command: %s',
    async (append) => {
      await leave(`${toFile} ${append}`);
      steps.splice(0, steps.length, ['running', 20]);
      expect(await at.leadpipe(`${resume} -o other.jsonl --wait-timeout 0.3`)).toMatchObject({ code: 75 });
      expect(content('other.jsonl.part')).toBe(rowsTo(20));
      steps.push(['done', 45]);
      expect(await at.leadpipe(`${toFile} ${append}`)).toMatchObject({ code: 0 });
      expect(content()).toEqual(await undisturbed());
      expect(at.files()).toEqual(['leads.csv']);
      expect(creations()).toHaveLength(1);
    },
  );

  it('of a run with --append adds its rows behind those of a later one', async () => {
    await leave(`${toFile} --append`);
    const id = await firstOperation();
    const other = 'task run company other --poll-interval 0.01 -o leads.csv --append';
    expect(await at.leadpipe(other)).toMatchObject({ code: 0 });
    const before = content();
    expect(await at.leadpipe(`${resume} ${id}`)).toMatchObject({ code: 0 });
    const [, ...added] = String(await undisturbed()).split('\r\n');
    expect(content()).toBe(before + added.join('\r\n'));
    expect(creations()).toHaveLength(2);
  });

  it('prints the rest to standard output', async () => {
    expect((await leave(`${taskRun} --num 15`)).stdout).toBe(rowsTo(20));
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0, stdout: rowsTo(45, 20) });
    expect(at.positions()).toEqual([0, 15, 20, 35]);
  });

  it('finishes a task wait, with the columns that its first page had', async () => {
    const enriched = someEntities.map((_, index) =>
      index < 20 ? `{"name":"${index}","enrich_fields":{"stage":{"content":"seed"}}}` : `{"name":"${index}"}`,
    );
    at = await startTaskServer({ steps, entities: enriched });
    await leave('task wait ls_task --poll-interval 0.01 -o leads.csv');
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0 });
    const lines = content().trimEnd().split('\r\n');
    expect(lines).toHaveLength(46);
    expect(lines[0]).toMatch(/,stage,stage_reference$/);
    expect(new Set(lines.map((line) => line.split(',').length))).toEqual(new Set([9]));
  });

  it('creates the task with the same key and the same bytes when the answer was lost', async () => {
    const left = await loseCreation();
    expect(left.code).not.toBe(0);
    expect(left.stderr).toMatch(/To resume it, without buying it twice: leadpipe resume op_/);
    expect(at.files()).toEqual([]);
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0 });
    const sent = creations().map(({ headers, body }) => `${headers['idempotency-key']} ${body}`);
    expect(sent.length).toBeGreaterThan(1);
    expect(new Set(sent).size).toBe(1);
    expect(content()).toBe(await undisturbed());
  });

  it.each([resume, toFile])(
    'whose answer was lost more than a day ago is unknown: %s sends nothing again',
    async (way) => {
      await loseCreation();
      const journal = join(folderOf(await firstOperation()), 'journal.jsonl');
      const [intent, ...others] = toEntries(readFileSync(journal, 'utf8'), journal).entries;
      if (intent?.type !== 'intent') throw new Error('no intent');
      const dayAgo = new Date(Date.now() - 24 * 3_600_000 - 1000).toISOString();
      const old = [intent, ...others].map((one) => ('time' in one ? { ...one, time: dayAgo } : one));
      writeFileSync(journal, old.map(toLine).join(''));
      const before = creations().length;
      const { code, stderr } = await at.leadpipe(`${way} --json-errors -q`);
      expect(code).toBe(8);
      const hint = expect.stringContaining('run the same command; it is a new purchase');
      expect(JSON.parse(stderr).error).toMatchObject({ type: 'replay_too_old', charged: 'maybe', hint });
      expect(creations()).toHaveLength(before);
      expect(await at.history()).toMatchObject([{ state: 'unknown', charged: 'maybe' }]);
      expect(await at.leadpipe(resume)).toMatchObject(nothingLeft);
      // That has ended: the same command is a new purchase, with a key of its own.
      const lost = /^warning: The same request was sent by op_\w+ \(.*\), and its answer was lost/m;
      expect(await at.leadpipe(toFile)).toMatchObject(ending(0, lost, 'This is a new purchase'));
      expect((await at.leadpipe(toFile)).stderr).not.toContain('lost');
      expect(creations()).toHaveLength(before + 2);
      expect(creations().at(-1)?.headers['idempotency-key']).not.toBe(intent.idempotency_key);
    },
  );

  it.each([
    ['another key', () => pointedAt(at.url, 'another-key-0123456789'), 'with another API key'],
    ['another address', () => pointedAt('http://127.0.0.1:9'), 'not with http://127.0.0.1:9'],
  ])('with %s is refused with 78, and sends and cuts nothing', async (_, other, says) => {
    await leave(toFile);
    appendFileSync(part(), 'torn');
    const before = [at.requests.length, content('leads.csv.part')];
    expect(await at.leadpipe(resume, { env: other() })).toMatchObject(ending(78, says));
    expect([at.requests.length, content('leads.csv.part')]).toEqual(before);
  });

  it('whose stored leads are damaged names them, and leaves the rows that were written', async () => {
    await leave(toFile);
    const [{ operation_id } = {}] = await at.history();
    const path = join(at.state, 'operations', String(operation_id), 'received.jsonl');
    const rows = content('leads.csv.part');
    writeFileSync(path, readFileSync(path, 'utf8').replace('Lead 3', 'Lead X'));
    expect(await at.leadpipe(resume)).toMatchObject(ending(78, path));
    expect(content('leads.csv.part')).toBe(rows);
  });

  it.each([
    ['done', 0],
    ['error', 3],
  ])('of a task that is %s (exit %i) says that it has ended, and sends nothing', async (state, exit) => {
    steps.push([state, 45]);
    expect(await at.leadpipe(toFile)).toMatchObject({ code: exit });
    const sent = at.connections();
    const again = await at.leadpipe(`resume ${await firstOperation()}`, {
      env: { LEADPIPE_API_KEY: '' },
    });
    const place = `; its output is ${at.pathOf('leads.csv')}. Nothing was bought`;
    expect(again).toMatchObject(ending(2, 'has already ended', place));
    expect(await at.leadpipe(resume)).toMatchObject(nothingLeft);
    expect(at.connections()).toBe(sent);
  });

  it('stops at once where another process is at work, naming it', async () => {
    await leave(toFile);
    const lock = await lockFolder(folderOf(await firstOperation()), process.pid, 'this operation');
    for (const line of [resume, toFile]) {
      const { code, stderr } = await at.leadpipe(`${line} --json-errors -q`);
      expect(code).toBe(75);
      expect(JSON.parse(stderr).error.message).toBe('this process is working on this operation');
    }
    await lock.release();
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0 });
  });

  it.each([
    ['created', undefined, 'leadpipe task wait ls_task'],
    ['in doubt', errorAnswer('500 X', 'internal_error', 'no'), 'run the same command again within 24 hours'],
  ])('of a task create that is %s says how to have its task', async (_, answer, says) => {
    writeSettings(at.env, { 'retry.attempts': 1 });
    fault = answer;
    await at.leadpipe('task create company x');
    const refused = await at.leadpipe(`resume ${await firstOperation()}`);
    expect(refused).toMatchObject(failing(2, says));
  });
});

describe('the same task run again, into the same file', () => {
  it('resumes an unfinished task; after that, it is a new purchase', async () => {
    await leave(toFile);
    const says =
      /^Resuming op_\w+ \(the same task, unfinished since .*\)\. You are not charged again for what arrived\.$/m;
    expect(await at.leadpipe(toFile)).toMatchObject(ending(0, says));
    expect(creations()).toHaveLength(1);
    expect(await at.leadpipe(toFile)).toMatchObject({ code: 0 });
    expect(creations()).toHaveLength(2);
  });

  it.each([
    ['another search', 'task run company y --poll-interval 0.01 -o leads.csv'],
    ['other columns', `${toFile} --columns name`],
    ['a key of its own', `${toFile} --idempotency-key mine`],
    ['another key of the service', toFile, 'another-key-0123456789'],
  ])('%s is a new purchase, and leaves what is there', async (_, line, key = at.env.LEADPIPE_API_KEY) => {
    await leave(toFile);
    const rows = content('leads.csv.part');
    const other = await at.leadpipe(line, { env: pointedAt(at.url, key) });
    expect(other).toMatchObject({ code: 0 });
    expect(content('leads.csv.part')).toBe(rows);
    expect(creations()).toHaveLength(2);
  });

  it('with a task that the service no longer has ends as lost, and buys nothing', async () => {
    await leave(toFile);
    isForgotten = true;
    expect(await at.leadpipe(toFile)).toMatchObject(ending(6, 'Nothing was bought', 'charged: maybe'));
    expect(creations()).toHaveLength(1);
    expect(await at.leadpipe(resume)).toMatchObject(nothingLeft);
    const [lost] = await at.history();
    const ended = 'has already ended (state: lost). Nothing was bought';
    expect(await at.leadpipe(`${resume} ${lost?.operation_id}`)).toMatchObject(ending(2, ended));
    // The next run is a new purchase, and says so.
    const gone =
      /^warning: The service no longer knows the task of op_\w+ \(.*\)\. It may have been charged/m;
    expect(await at.leadpipe(toFile)).toMatchObject(ending(0, gone, 'This is a new purchase'));
    expect((await at.leadpipe(toFile)).stderr).not.toContain('no longer');
    expect(creations()).toHaveLength(3);
  });
});

describe('a run that is stopped', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s while the task is created is finished by resume, with one key', async (signal, exit) => {
    fault = () => {};
    const child = at.start(toFile);
    const ended = resultOf(child);
    await expect.poll(() => at.requests.length).toBe(1);
    child.kill(signal);
    expect(await ended).toMatchObject(ending(exit, 'leadpipe resume op_'));
    fault = undefined;
    steps.push(['done', 45]);
    expect(await at.leadpipe(resume)).toMatchObject({ code: 0 });
    expect(new Set(creations().map(({ headers, body }) => headers['idempotency-key'] + body)).size).toBe(1);
    expect(content().split('\r\n')).toHaveLength(47);
  });
});

it('a task that is left again has the leads of all its runs in the summary', async () => {
  expect((await at.leadpipe(`${toFile} --wait-timeout 0.3`)).code).toBe(75);
  expect((await at.leadpipe(`${resume} --yes --wait-timeout 0.3 --summary s.json`)).code).toBe(75);
  expect(JSON.parse(at.read('s.json'))).toMatchObject({ leads: 20 });
});
