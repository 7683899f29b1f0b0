import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeEach, describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { bareEnvironment, command, pointedAt, run, temporaryFolder } from '../helpers/run.ts';
import { startTaskServer, type TaskServer } from '../helpers/task-server.ts';

const leads = Array.from({ length: 45 }, (_, index) =>
  JSON.stringify({ entity_type: 'company', name: `Tea House ${index}`, description: `Tea, number ${index}` }),
);

let service: StartedService | undefined;
let server: TaskServer | undefined;

/** A service whose tasks take some steps, over 45 leads of its own. */
async function serve(faults: readonly object[] = [], stepMs = 60): Promise<Record<string, string>> {
  service = await startService({
    leads,
    faults,
    switches: { task_start_ms: 30, task_step_ms: stepMs, task_step: 10 },
  });
  return service.env();
}

const fast = ['--poll-interval', '0.02'];
const taskRun = ['task', 'run', 'company', 'tea', ...fast];
const nameOf = (line: string): string => JSON.parse(line).name;
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe('a task at the local service', () => {
  it('is written in the order of positions in every format', async () => {
    const env = await serve();
    const jsonl = await runInProcess([...taskRun, '--positions'], { env });
    expect(jsonl.code).toBe(0);
    const records = linesOf(jsonl.stdout).map((line) => JSON.parse(line));
    expect(records.map(({ position }) => position)).toEqual(leads.map((_, index) => index));
    const names: string[] = records.map(({ name }) => name);
    expect(new Set(names).size).toBe(45);
    expect(new Set(records.map((one) => one.leads_search_id)).size).toBe(1);

    const json = await runInProcess([...taskRun, '-f', 'json'], { env });
    expect(JSON.parse(json.stdout).map(({ name }: { name: string }) => name)).toEqual(names);
    const csv = await runInProcess([...taskRun, '-f', 'csv'], { env });
    const rows: { name: string }[] = parse(csv.stdout, { columns: true });
    expect(rows.map(({ name }) => name)).toEqual(names);
    const table = await runInProcess([...taskRun, '-f', 'table'], { env });
    expect(table.stdout.match(/Tea House \d+/g)).toEqual(names);
  });

  it('that ends in error exits 3 with every row in place, in every format', async () => {
    for (const format of ['jsonl', 'json', 'csv', 'table']) {
      const env = await serve([{ operation: 'createTask', fault: 'task_error', after_batches: 2 }]);
      const file = join(temporaryFolder(), 'leads');
      const { code, stderr } = await runInProcess([...taskRun, '-f', format, '-o', file], { env });
      expect(code).toBe(3);
      expect(stderr).toContain(
        'ended in error (the search found nothing new for a long time). Its 20 leads were read',
      );
      expect(readFileSync(file, 'utf8').match(/Tea House \d+/g)).toHaveLength(20);
      await service?.close();
      service = undefined;
    }
  });

  it('is created, asked for, waited for and fetched again', async () => {
    const env = await serve();
    const created = await run(['task', 'create', 'company', 'tea'], { env });
    const record = JSON.parse(created.stdout);
    expect(Object.keys(record)).toEqual(['leads_search_id', 'idempotency_key', 'request_id']);
    const { leads_search_id: id, request_id, idempotency_key } = record;
    expect(created.stderr).toMatch(
      new RegExp(
        `^task created · it can cost at most 100 credits\ntask ${id} · request ${request_id} · operation op_\\S+\n$`,
      ),
    );

    const status = await run(['task', 'status', id], { env });
    expect(JSON.parse(status.stdout)).toMatchObject({ leads_search_id: id, status: expect.any(String) });
    const waited = await run(['task', 'wait', id, ...fast], { env });
    expect(waited.code).toBe(0);
    expect(linesOf(waited.stdout)).toHaveLength(45);
    const fetched = await run(['task', 'fetch', id, '--num', '7'], { env });
    expect(fetched.stdout).toBe(waited.stdout);
    const rest = await run(['task', 'wait', id, '--pts', '40'], { env });
    expect(rest.stdout).toBe(linesOf(waited.stdout).slice(40).join('\n').concat('\n'));

    const past = await runInProcess(['task', 'fetch', id, '--pts', '99'], {
      env,
      stderrIsTerminal: true,
      columns: 200,
    });
    expect(past).toMatchObject({ code: 0, stdout: '' });
    expect(past.stderr).toContain('0 leads · 45 are ready, and position 99 is past them');
    expect(past.stderr).toContain(`To read all of them, for free: leadpipe task fetch ${id}\n`);

    // The same purchase again is the same task.
    const again = await run(['task', 'create', 'company', 'tea', '--idempotency-key', idempotency_key], {
      env,
    });
    expect(JSON.parse(again.stdout).leads_search_id).toBe(id);
  });

  it('goes on after --wait-timeout, with the command that it names', async () => {
    const env = { ...bareEnvironment(), ...(await serve([], 500)) };
    const cut = await run([...taskRun, '--wait-timeout', '1.2'], { env });
    expect(cut.code).toBe(75);
    const [, goOn = ''] = /To resume: leadpipe (task resume .*)/.exec(cut.stderr) ?? [];
    const rest = await run([...goOn.split(' '), ...fast], { env });
    expect(rest.code).toBe(0);
    const names = linesOf(cut.stdout + rest.stdout).map(nameOf);
    expect(new Set(names).size).toBe(45);
  });

  it('survives faults on the way without losing or repeating a lead', async () => {
    const env = await serve([
      { operation: 'status', skip: 1, count: 2, fault: 'reset' },
      { operation: 'fetch', skip: 1, count: 2, fault: 'cut' },
      { operation: 'fetch', skip: 4, count: 1, fault: 'status', status: 502, body: '<html>' },
    ]);
    const { code, stdout } = await run(taskRun, { env });
    expect(code).toBe(0);
    expect(new Set(linesOf(stdout).map(nameOf)).size).toBe(45);
    expect(linesOf(stdout)).toHaveLength(45);
  });

  it('of open web search runs with --enable-web-search', async () => {
    const { code, stdout } = await run(
      ['task', 'run', 'xiaohongshu', '咖啡', '--enable-web-search', '--local', '--limit', '3', ...fast],
      { env: bareEnvironment() },
    );
    expect(code).toBe(0);
    expect(linesOf(stdout).length).toBeGreaterThan(0);
  });
});

describe('the journal of a task', () => {
  const operations = (env: Record<string, string>): string =>
    join(env.LEADPIPE_STATE_DIR ?? '', 'operations');
  const entriesOf = (env: Record<string, string>): Record<string, unknown>[] =>
    readdirSync(operations(env)).flatMap((id) =>
      linesOf(readFileSync(join(operations(env), id, 'journal.jsonl'), 'utf8')).map(
        (line) => JSON.parse(line).entry,
      ),
    );
  const secret = 'canary-key-8f14e45fceea';
  let env: Record<string, string>;
  beforeEach(() => {
    env = bareEnvironment();
  });

  it('has the intent, with the exact body, on the disk before the request is sent', async () => {
    let seen: Record<string, unknown>[] = [];
    server = await startTaskServer({
      steps: [['done', 45]],
      fault: (operation, nth) => {
        if (operation === 'create' && nth === 0) seen = entriesOf(env);
        return undefined;
      },
    });
    const file = join(temporaryFolder(), 'leads.jsonl');
    const { code } = await runInProcess([...taskRun, '-o', file], {
      env: { ...env, ...pointedAt(server.url, secret) },
    });
    expect(code).toBe(0);
    const [{ headers, body } = { headers: {}, body: '' }] = server.requests;
    expect(seen).toMatchObject([
      {
        type: 'intent',
        command: 'task run',
        idempotency_key: (headers as Record<string, string>)['idempotency-key'],
        body,
        origin: server.url,
        profile: 'default',
        output: file,
      },
      { type: 'opened', output_length: 0 },
      { type: 'sent', time: expect.any(String) },
    ]);
    expect(entriesOf(env).slice(3)).toEqual([
      { type: 'created', leads_search_id: 'ls_task', request_id: 'req_create' },
      {
        type: 'page',
        pts: 0,
        count: 45,
        next: 45,
        ready_count: 45,
        state: 'done',
        output_length: statSync(file).size,
      },
      { type: 'written', state: 'done', ready_count: 45, output_length: statSync(file).size },
      { type: 'terminal', outcome: 'complete', state: 'done', ready_count: 45, charged: 'yes', leads: 45 },
    ]);
    expect(JSON.stringify(entriesOf(env))).not.toContain(secret);
  });

  it.each(['000', '022', '377', '777'])('is private under umask %s', async (umask) => {
    server = await startTaskServer({ steps: [['done', 0]] });
    const state = join(temporaryFolder(), 'a', 'b');
    const all = { ...env, ...pointedAt(server.url), LEADPIPE_STATE_DIR: state };
    const line = `umask ${umask}; exec "$0" "$@"`;
    const args = ['-c', line, process.execPath, command, 'task', 'create', 'company', 'x'];
    await new Promise<void>((resolve, reject) => {
      execFile('sh', args, { env: all }, (error) => (error ? reject(error) : resolve()));
    });
    const [id = ''] = readdirSync(join(state, 'operations'));
    const modes = ['', 'operations', `operations/${id}`].map(
      (path) => statSync(join(state, path)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o700]);
    expect(statSync(join(state, 'operations', id, 'journal.jsonl')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['run', 74, 'file'],
    ['create', 74, 'file'],
    ['wait', 0, 'file'],
    // Says of a new folder what others say of one without a parent.
    ['run', 74, '/proc/leadpipe'],
  ])('that can not be written: task %s exits %i (%s)', async (name, exit, place) => {
    server = await startTaskServer({ steps: [['done', 2]] });
    const state = resolve(temporaryFolder(), place);
    if (place === 'file') writeFileSync(state, '');
    const all = { ...env, ...pointedAt(server.url), LEADPIPE_STATE_DIR: state };
    const args =
      name === 'wait'
        ? ['task', 'wait', 'ls_task']
        : ['task', name, 'company', 'x', ...(name === 'run' ? fast : [])];
    const { code, stdout, stderr } = await runInProcess(args, { env: all });
    expect(code).toBe(exit);
    expect(stderr).toContain("can't store this operation");
    if (exit === 0) return expect(linesOf(stdout)).toHaveLength(2);
    expect(server.requests).toEqual([]);
    expect(stderr).toContain('charged: no');
    const without = await runInProcess([...args, '--no-history'], { env: all });
    expect(without.code).toBe(0);
  });

  it('is listed newest first, without a request, in every format', async () => {
    server = await startTaskServer({ steps: [['running', 20]] });
    const all = { ...env, ...pointedAt(server.url) };
    expect((await run(['task', 'list'], { env })).stdout).toBe('');
    await run(['task', 'create', 'company', 'a "b", c'], { env: all });
    await run(['task', 'run', 'person', 'x', ...fast, '--wait-timeout', '2'], { env: all });
    const requests = server.requests.length;
    const { code, stdout } = await run(['task', 'list'], { env });
    expect(code).toBe(0);
    // Both are the one task of this service: what is known of it comes together.
    expect(linesOf(stdout).map((line) => JSON.parse(line))).toMatchObject([
      { leads_search_id: 'ls_task', entity_type: 'person', state: 'running', position: 20, ready_count: 20 },
    ]);
    for (const format of ['json', 'csv', 'table']) {
      expect((await run(['task', 'list', '-f', format], { env })).stdout).toContain('ls_task');
    }
    expect(server.requests).toHaveLength(requests);
  });
});

it('a task of 1,000 leads costs its creation, the polls and two pages, over one connection', async () => {
  const entities = Array.from({ length: 1000 }, (_, index) => `{"name":"Lead ${index}"}`);
  const steps = [
    ['created', 0],
    ['running', 0],
    ['done', 1000],
  ] as const;
  server = await startTaskServer({ steps, entities });
  const env = { ...bareEnvironment(), ...pointedAt(server.url) };
  const { code, stdout } = await runInProcess([...taskRun, '--limit', '1000'], { env });
  expect(code).toBe(0);
  expect(linesOf(stdout)).toEqual(entities);
  const paths = server.requests.map(({ path }) => path.split('/').at(-1));
  expect(paths).toEqual([
    'create_task',
    ...steps.map(() => 'status?leads_search_id=ls_task'),
    'fetch?leads_search_id=ls_task&pts=0&num=500',
    'fetch?leads_search_id=ls_task&pts=500&num=500',
  ]);
  expect(server.connections()).toBe(1);
});
