import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { localKeys } from '../../src/local-service/keys.ts';
import { ending, failing } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { startService } from '../helpers/local-service.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { startTaskServer } from '../helpers/task-server.ts';

const leads = Array.from({ length: 45 }, (_, index) =>
  JSON.stringify({ entity_type: 'company', name: `Tea House ${index}`, description: `Tea, number ${index}` }),
);

/** A machine that knows a service whose tasks take some steps, over 45 leads of its own. */
async function serve(faults: readonly object[] = [], stepMs = 60): Promise<Machine> {
  const switches = { task_start_ms: 30, task_step_ms: stepMs, task_step: 10 };
  const { url } = await startService({ leads, faults, switches });
  return createMachine(url, localKeys[0].key);
}

const taskRun = 'task run company tea --poll-interval 0.02';
const namesIn = (text: string): string[] => text.match(/Tea House \d+/g) ?? [];

describe('a task at the local service', () => {
  it('is written in the order of positions in every format', async () => {
    const at = await serve();
    const { code, stdout } = await at.leadpipe(`${taskRun} --positions`);
    expect(code).toBe(0);
    const records = recordsIn(stdout);
    expect(records.map(({ position }) => position)).toEqual(leads.map((_, index) => index));
    expect(new Set(records.map((one) => one.leads_search_id)).size).toBe(1);
    const names = records.map(({ name }) => name);
    expect(new Set(names).size).toBe(45);

    const json = JSON.parse((await at.leadpipe(`${taskRun} -f json`)).stdout);
    expect(json.map(({ name }: { name: string }) => name)).toEqual(names);
    const csv = parse((await at.leadpipe(`${taskRun} -f csv`)).stdout, { columns: true });
    expect(csv.map((row) => (row as { name: string }).name)).toEqual(names);
    expect(namesIn((await at.leadpipe(`${taskRun} -f table`)).stdout)).toEqual(names);
  });

  it.each(['jsonl', 'json', 'csv', 'table'])(
    'that ends in error exits 3 with every row in place, as %s',
    async (format) => {
      const at = await serve([{ operation: 'createTask', fault: 'task_error', after_batches: 2 }]);
      const says = 'ended in error (the search found nothing new for a long time). Its 20 leads were read';
      expect(await at.leadpipe(`${taskRun} -f ${format} -o leads`)).toMatchObject(ending(3, says));
      expect(namesIn(at.read('leads'))).toHaveLength(20);
    },
  );

  it('is created, asked for, waited for and fetched again', async () => {
    const at = await serve();
    const created = await at.run('task create company tea');
    const record = JSON.parse(created.stdout);
    expect(Object.keys(record)).toEqual(['leads_search_id', 'idempotency_key', 'request_id']);
    const { leads_search_id: id, request_id, idempotency_key } = record;
    expect(created.stderr).toMatch(
      new RegExp(
        `^task created · can cost at most 100 credits\ntask ${id} · request ${request_id} · operation op_\\S+\n$`,
      ),
    );

    const status = JSON.parse((await at.run(`task status ${id}`)).stdout);
    expect(status).toMatchObject({ leads_search_id: id, status: expect.any(String) });
    const { code, stdout } = await at.run(`task wait ${id} --poll-interval 0.02`);
    const lines = stdout.split(/(?<=\n)/);
    expect({ code, rows: lines.length }).toEqual({ code: 0, rows: 45 });
    expect((await at.run(`task fetch ${id} --num 7`)).stdout).toBe(stdout);
    expect((await at.run(`task wait ${id} --pts 40`)).stdout).toBe(lines.slice(40).join(''));
    const past = await at.leadpipe(`task fetch ${id} --pts 99`, { stderrIsTerminal: true, columns: 200 });
    expect(past).toMatchObject({
      ...ending(
        0,
        '0 leads · 45 are ready, and position 99 is past them',
        `To read all of them, for free: leadpipe task fetch ${id}\n`,
      ),
      stdout: '',
    });

    // The same purchase again is the same task.
    const again = await at.run(`task create company tea --idempotency-key ${idempotency_key}`);
    expect(JSON.parse(again.stdout).leads_search_id).toBe(id);
  });

  it('is resumed after --wait-timeout by the command that the error names', async () => {
    const at = await serve([], 500);
    const cut = await at.run(`${taskRun} --wait-timeout 1.2`);
    expect(cut.code).toBe(75);
    const [, goOn = ''] = /To resume: leadpipe (resume .*)/.exec(cut.stderr) ?? [];
    const rest = await at.run(`${goOn} --poll-interval 0.02`);
    expect(rest.code).toBe(0);
    expect(new Set(namesIn(cut.stdout + rest.stdout)).size).toBe(45);
  });

  it('survives faults on the way without losing or repeating a lead', async () => {
    const at = await serve([
      { operation: 'status', skip: 1, count: 2, fault: 'reset' },
      { operation: 'fetch', skip: 1, count: 2, fault: 'cut' },
      { operation: 'fetch', skip: 4, count: 1, fault: 'status', status: 502, body: '<html>' },
    ]);
    const { code, stdout } = await at.run(taskRun);
    expect(code).toBe(0);
    const names = recordsIn(stdout).map(({ name }) => name);
    expect([names.length, new Set(names).size]).toEqual([45, 45]);
  });

  it('of open web search runs with --enable-web-search', async () => {
    const line = 'task run xiaohongshu 咖啡 --enable-web-search --local --limit 3 --poll-interval 0.02';
    expect(await createMachine().run(line)).toMatchObject({ code: 0, stdout: expect.stringContaining('\n') });
  });
});

describe('the journal of a task', () => {
  const secret = 'canary-key-8f14e45fceea';
  const entriesIn = (state: string): Record<string, unknown>[] =>
    readdirSync(join(state, 'operations')).flatMap((id) =>
      recordsIn(readFileSync(join(state, 'operations', id, 'journal.jsonl'), 'utf8')).map(
        ({ entry }) => entry as Record<string, unknown>,
      ),
    );

  it('has the intent, with the exact body, on the disk before the request is sent', async () => {
    let seen: Record<string, unknown>[] = [];
    const task = await startTaskServer({
      steps: [['done', 45]],
      fault: (operation, nth) => {
        if (operation === 'create' && nth === 0) seen = entriesIn(task.state);
        return undefined;
      },
    });
    const env = { LEADPIPE_API_KEY: secret };
    expect(await task.leadpipe(`${taskRun} -o leads.jsonl`, { env })).toMatchObject({ code: 0 });
    const [request] = task.requests;
    expect(seen).toMatchObject([
      {
        type: 'intent',
        command: 'task run',
        idempotency_key: request?.headers['idempotency-key'],
        body: request?.body,
        origin: task.url,
        profile: 'default',
        output: task.pathOf('leads.jsonl'),
      },
      { type: 'part', file: expect.stringContaining(task.pathOf('leads.jsonl.')) },
      { type: 'sent', time: expect.any(String) },
    ]);
    const end = { state: 'done', ready_count: 45 };
    expect(entriesIn(task.state).slice(3)).toMatchObject([
      { type: 'created', leads_search_id: 'ls_task', request_id: 'req_create' },
      { type: 'page', pts: 0, count: 45, next: 45, ...end },
      { type: 'answered', ...end },
      { type: 'placed' },
      { type: 'terminal', outcome: 'complete', ...end, charged: 'yes', leads: 45, spent: { credits: 45 } },
    ]);
    expect(JSON.stringify(entriesIn(task.state))).not.toContain(secret);
  });

  it.each([
    ['task run company x --poll-interval 0.02', 'file'],
    ['task create company x', 'file'],
    // Says of a new folder what others say of one without a parent.
    ['task run company x --poll-interval 0.02', '/proc/leadpipe'],
  ])('that can not be written: `%s` buys nothing (%s)', async (line, place) => {
    const task = await startTaskServer({ steps: [['done', 2]] });
    const state = resolve(task.cwd, place);
    if (place === 'file') writeFileSync(state, '');
    const env = { LEADPIPE_STATE_DIR: state };
    expect(await task.leadpipe(line, { env })).toMatchObject(
      failing(74, "can't store this operation", 'charged: no'),
    );
    expect(task.requests).toEqual([]);
    expect((await task.leadpipe(`${line} --no-history`, { env })).code).toBe(0);
  });

  it('that can not be written is only a warning for free commands', async () => {
    const task = await startTaskServer({ steps: [['done', 2]] });
    writeFileSync(task.state, '');
    const result = await task.leadpipe('task wait ls_task');
    expect(result).toMatchObject(ending(0, "can't store this operation"));
    expect(recordsIn(result.stdout)).toHaveLength(2);
  });

  it('is listed newest first, without a request, in every format', async () => {
    const task = await startTaskServer({ steps: [['running', 20]] });
    expect((await task.run('task list')).stdout).toBe('');
    await task.run('task create company "a \\"b\\", c"');
    await task.run('task run person x --poll-interval 0.02 --wait-timeout 2');
    const requests = task.requests.length;
    const { code, stdout } = await task.run('task list');
    expect(code).toBe(0);
    // Both are the one task of this service: what is known of it comes together.
    expect(recordsIn(stdout)).toMatchObject([
      {
        leads_search_id: 'ls_task',
        entity_type: 'person',
        state: 'running',
        position: 20,
        ready_count: 20,
        limit: 100,
      },
    ]);
    for (const format of ['json', 'csv', 'table']) {
      expect((await task.run(`task list -f ${format}`)).stdout).toContain('ls_task');
    }
    expect(task.requests).toHaveLength(requests);
  });
});

it('a task of 1,000 leads costs its creation, the polls and two pages, over one connection', async () => {
  const entities = Array.from({ length: 1000 }, (_, index) => `{"name":"Lead ${index}"}`);
  const task = await startTaskServer({
    steps: [
      ['created', 0],
      ['running', 0],
      ['done', 1000],
    ],
    entities,
  });
  const { code, stdout } = await task.leadpipe(`${taskRun} --limit 1000`);
  expect({ code, lines: stdout.trimEnd().split('\n') }).toEqual({ code: 0, lines: entities });
  const status = 'status?leads_search_id=ls_task';
  expect(task.requests.map(({ path }) => path.split('/').at(-1))).toEqual([
    ...['create_task', status, status, status],
    'fetch?leads_search_id=ls_task&pts=0&num=500',
    'fetch?leads_search_id=ls_task&pts=500&num=500',
  ]);
  expect(task.connections()).toBe(1);
});
