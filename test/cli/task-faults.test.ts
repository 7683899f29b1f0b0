import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, wholeAnswer } from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, run, temporaryFolder } from '../helpers/run.ts';
import {
  type Fault,
  type Operation,
  page,
  queryOf,
  type Step,
  someEntities,
  startTaskServer,
  type TaskScript,
  type TaskServer,
  taskId,
} from '../helpers/task-server.ts';

let server: TaskServer | undefined;

async function serve(script: TaskScript): Promise<TaskServer> {
  await server?.close();
  server = await startTaskServer(script);
  return server;
}

const fast = ['--poll-interval', '0.01'];
const taskRun = ['task', 'run', 'company', 'x', ...fast];
const whole: readonly Step[] = [
  ['created', 0],
  ['running', 20],
  ['running', 20],
  ['running', 40],
  ['done', 45],
];
const rows = (count: number, from = 0): string =>
  someEntities
    .slice(from, count)
    .map((entity) => `${entity}\n`)
    .join('');

const html = wholeAnswer('502 Bad Gateway', 'text/html', '<html>');
const internal = errorAnswer('500 X', 'internal_error', 'no');
const missing = errorAnswer('404 X', 'not_found', 'no such task');
const reset: Fault = (socket) => void socket.resetAndDestroy();

/** The page as it should be, but for these members. */
const wrong =
  (changes: Record<string, unknown>) =>
  (pts: number, num: number): string =>
    page(someEntities.slice(pts, 20), pts, num, ['running', 20], changes);

type Case = readonly [
  operation: Operation,
  name: string,
  fault: Fault | ((pts: number, num: number) => string),
  /** How many requests in a row are hit; others come before those that are hit `later`. */
  times: number,
  exit: number,
  rows: number,
  /** Of the operation, on the wire. */
  requests: number,
  says?: string,
];

const ever = Number.POSITIVE_INFINITY;
const ok = (body: string): string => wholeAnswer('200 OK', 'application/json', body);
const refused = (status: number, type: string): string => errorAnswer(`${status} X`, type, 'no');
const empty = (ready: number) => (pts: number, num: number) => page([], pts, num, ['running', ready]);
const more = (pts: number, num: number) => page(Array(num + 1).fill('{}'), pts, num, ['running', 20]);
const noEntities = '{"pts":0,"num":500,"count":0,"ready_count":0}';
const paused = '{"status":{"status":"paused","ready_count":0}}';
const redirect = 'HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n';
const resume = 'leadpipe task resume op_';

const impossible: readonly (readonly [name: string, changes: Record<string, unknown>])[] = [
  ['a count above what came', { count: 21 }],
  ['a count below what came', { count: 19 }],
  ['another pts', { pts: 5 }],
  ['another num', { num: 5 }],
  ['another task', { leads_search_id: 'ls_other' }],
];
const cases: readonly Case[] = [
  ...impossible.flatMap(([name, changes]): Case[] => [
    ['fetch', name, wrong(changes), 3, 0, 45, 6],
    ['fetch', name, wrong(changes), ever, 76, 0, 4, 'page_impossible'],
  ]),
  ['fetch', 'more leads than asked for', more, ever, 76, 0, 4, 'page_impossible'],
  ['fetch', 'an empty page', empty(20), 5, 0, 45, 8],
  ['fetch', 'an empty page', empty(20), ever, 76, 0, 6, 'page_empty'],
  ['fetch', 'an empty page later', empty(40), ever, 76, 20, 7, resume],
  ['fetch', 'bad JSON', ok('{"object"'), 3, 0, 45, 6],
  ['fetch', 'bad JSON', ok('{"object"'), ever, 76, 0, 4],
  ['fetch', 'a page without entities', ok(noEntities), ever, 76, 0, 4],
  ['fetch', '500', internal, 4, 0, 45, 7],
  ['fetch', 'a reset', reset, 4, 0, 45, 7],
  ['fetch', '403 later', refused(403, 'authentication_error'), ever, 4, 20, 2, resume],
  ['fetch', '302', redirect, ever, 76, 0, 1],
  ['status', '502 of a proxy', html, 5, 0, 45, 6],
  ['status', '429', refused(429, 'concurrency_limit'), 3, 0, 45, 4],
  ['status', '404 right after the creation', missing, 3, 0, 45, 4],
  ['status', '404', missing, ever, 6, 0, 4, resume],
  ['status', 'an unknown state, for a while', ok(paused), 3, 0, 45, 4],
  ['status', '401', refused(401, 'authentication_error'), ever, 4, 0, 1],
  ['status', '503', refused(503, 'service_unavailable'), ever, 9, 0, 1],
  ['create', '402', refused(402, 'insufficient_credits'), ever, 5, 0, 1],
  ['create', '409', refused(409, 'idempotency_error'), ever, 8, 0, 1],
  ['create', '422', refused(422, 'invalid_request_error'), ever, 2, 0, 1],
  ['create', 'no id', ok('{}'), ever, 76, 0, 4],
];

describe('task run, when a request goes wrong', () => {
  const named = cases.map((row) => [`${row[0]}: ${row[1]}, ${row[3]} times: exit ${row[4]}`, row] as const);
  it.each(named)('%s', async (_, [operation, name, fault, times, exit, leads, requests, says = '']) => {
    const skip = name.endsWith('later') ? 1 : 0;
    const steps: Step[] = [
      ['running', 20],
      ['running', 40],
      ['done', 45],
    ];
    const task = await serve({
      steps,
      fault: (hit, nth, request) => {
        if (hit !== operation || nth < skip || nth >= skip + times) return undefined;
        if (typeof fault !== 'function' || fault === reset) return fault as Fault;
        const query = queryOf(request);
        return (fault as (pts: number, num: number) => string)(
          Number(query.get('pts')),
          Number(query.get('num')),
        );
      },
    });
    const { code, stdout, stderr } = await runInProcess([...taskRun, '--json-errors'], {
      env: pointedAt(task.url),
    });
    expect({ code, stdout }).toEqual({ code: exit, stdout: rows(leads) });
    expect(task.count(operation)).toBe(requests);
    if (operation !== 'create') expect(task.count('create')).toBe(1);
    if (code === 0) return;
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({ exit: code, operation_id: expect.stringMatching(/^op_/) });
    expect(stderr).toContain(says);
    if (operation !== 'create') expect(error.idempotency_key).toBe('test-1');
  });

  it('a ready_count that falls never prints a lead twice, and warns once', async () => {
    const task = await serve({
      steps: [
        ['running', 40],
        ['running', 20],
        ['running', 10],
        ['done', 40],
      ],
    });
    const { code, stdout, stderr } = await runInProcess(taskRun, { env: pointedAt(task.url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows(40) });
    expect(stderr.match(/warning: .*40 leads were ready, now 20/g)).toHaveLength(1);
    expect(stderr.match(/warning/g)).toHaveLength(1);
  });

  it('is done when it has ended and the position is beyond a ready_count that fell', async () => {
    const task = await serve({
      steps: [
        ['running', 40],
        ['done', 20],
      ],
    });
    const { code, stdout } = await runInProcess(taskRun, { env: pointedAt(task.url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows(40) });
  });

  it('status and fetch that contradict each other for ever end it, with both numbers', async () => {
    const task = await serve({
      steps: [['done', 40]],
      fault: (operation, _, request) => {
        if (operation !== 'fetch') return undefined;
        const pts = Number(queryOf(request).get('pts'));
        return page(someEntities.slice(pts, 20), pts, 500, ['done', 20]);
      },
    });
    const { code, stdout, stderr } = await runInProcess(taskRun, { env: pointedAt(task.url) });
    expect({ code, stdout }).toEqual({ code: 76, stdout: rows(20) });
    expect(stderr).toContain('stopped following task ls_task: status says that 40 leads are ready');
    expect(stderr).toContain('leadpipe task resume op_');
    expect(task.count('fetch')).toBe(7);
  });
});

describe('task run', () => {
  it('fetches what is ready while the task still runs, from pts + count, and ends only at the end', async () => {
    const task = await serve({ steps: whole });
    const { code, stdout, stderr } = await runInProcess(taskRun, { env: pointedAt(task.url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows(45) });
    expect(task.positions()).toEqual([0, 20, 40]);
    expect(task.count('status')).toBe(5);
    expect(stderr).toMatch(
      /^45 leads · limit reached · cost at most 45 credits\ntask ls_task · request req_create · operation op_\S+\n$/,
    );
  });

  it('does not stop at a terminal state before the position has reached ready_count', async () => {
    const task = await serve({ steps: [['done', 45]] });
    const { stdout } = await runInProcess([...taskRun, '--num', '10'], { env: pointedAt(task.url) });
    expect(stdout).toBe(rows(45));
    expect(task.positions()).toEqual([0, 10, 20, 30, 40]);
    expect(task.count('status')).toBe(1);
  });

  it('takes pages that are shorter than asked for', async () => {
    const task = await serve({
      steps: [['done', 45]],
      fault: (operation, _, request) => {
        if (operation !== 'fetch') return undefined;
        const pts = Number(queryOf(request).get('pts'));
        return page(someEntities.slice(pts, pts + 7), pts, 500, ['done', 45]);
      },
    });
    const { stdout } = await runInProcess(taskRun, { env: pointedAt(task.url) });
    expect(stdout).toBe(rows(45));
    expect(task.positions()).toEqual([0, 7, 14, 21, 28, 35, 42]);
  });

  it('exits 3 after error, with every readable row in place', async () => {
    const task = await serve({
      steps: [
        ['running', 20],
        ['error', 45],
      ],
    });
    const cwd = temporaryFolder();
    const file = join(cwd, 'leads.jsonl');
    const { code, stderr } = await runInProcess([...taskRun, '-o', file], { env: pointedAt(task.url) });
    expect(code).toBe(3);
    expect(readFileSync(file, 'utf8')).toBe(rows(45));
    expect(readdirSync(cwd)).toEqual(['leads.jsonl']);
    expect(stderr).toContain('ended in error');
    expect(stderr).toContain('charged: yes');
  });

  it('gives up after --wait-timeout with 75, the id, and the command that goes on', async () => {
    const task = await serve({ steps: [['running', 20]] });
    const file = join(temporaryFolder(), 'leads.csv');
    const { code, stderr } = await runInProcess([...taskRun, '--wait-timeout', '2', '-o', file], {
      env: pointedAt(task.url),
    });
    expect(code).toBe(75);
    expect(stderr).toContain(`20 leads were written, and are in ${file}.part`);
    expect(stderr).toContain('To resume: leadpipe task resume op_');
    expect(existsSync(file)).toBe(false);
    expect(readFileSync(`${file}.part`, 'utf8').split('\r\n')).toHaveLength(22);
  });

  it('gives up in the middle of a request that never ends', async () => {
    const task = await serve({
      steps: whole,
      fault: (operation) => (operation === 'status' ? () => {} : undefined),
    });
    const { code, stderr } = await runInProcess([...taskRun, '--wait-timeout', '0.2'], {
      env: pointedAt(task.url),
    });
    expect(code).toBe(75);
    expect(stderr).toContain('gave up waiting after 0.2 s');
  });

  it('sends what it was told, once, and --dry-run buys nothing', async () => {
    const task = await serve({ steps: [['done', 0]] });
    const options = [
      '--enable-web-search',
      '--limit',
      '7',
      '--enrich-fields',
      'a',
      '--idempotency-key',
      'mine',
    ];
    const dry = await runInProcess(['task', 'run', 'wechat', ' tea ', ...options, '--dry-run'], {
      env: pointedAt(task.url),
    });
    expect(task.requests.every(({ method }) => method === 'GET')).toBe(true);
    const sent = {
      entity_type: 'wechat',
      objective: 'tea',
      limit: 7,
      enrich_fields: ['a'],
      enable_web_search: true,
    };
    expect(JSON.parse(dry.stdout)).toMatchObject({
      method: 'POST',
      body: sent,
      headers: { 'Idempotency-Key': 'mine' },
    });
    const { code } = await runInProcess(['task', 'run', 'wechat', ' tea ', ...options, ...fast], {
      env: pointedAt(task.url),
    });
    expect(code).toBe(0);
    const posts = task.requests.filter(({ method }) => method === 'POST');
    const [post] = posts;
    expect(posts).toHaveLength(1);
    expect(post).toMatchObject({ path: '/v1/entity-search/create_task' });
    expect(post?.headers['idempotency-key']).toBe('mine');
    expect(JSON.parse(post?.body ?? '')).toEqual(sent);
  });

  it('--exit-status is 7 when nothing was found', async () => {
    const task = await serve({ steps: [['done', 0]] });
    expect((await runInProcess([...taskRun, '--exit-status'], { env: pointedAt(task.url) })).code).toBe(7);
    expect((await runInProcess(taskRun, { env: pointedAt(task.url) })).code).toBe(0);
  });
});

describe('a creation whose answer was lost', () => {
  it.each(['create', 'run'])('is asked for again with its key by the same task %s', async (command) => {
    const keys: (string | undefined)[] = [];
    let isDown = true;
    const task = await serve({
      steps: [['done', 45]],
      fault(operation, _, request) {
        if (operation !== 'create') return undefined;
        keys.push(request.headers['idempotency-key']);
        return isDown ? errorAnswer('500 Internal Server Error', 'internal_error', 'x') : undefined;
      },
    });
    const env = { ...pointedAt(task.url), LEADPIPE_STATE_DIR: temporaryFolder() };
    const again = (objective = 'x') => run(['task', command, 'company', objective], { env });
    expect(await again()).toMatchObject({ code: 75 });
    isDown = false;
    expect(await again('another')).toMatchObject({ code: 0 });
    expect(await again()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('You are not charged twice'),
    });
    // What has been answered is bought anew.
    expect(await again()).toMatchObject({ code: 0 });
    const [lost] = keys;
    const [other, same, next] = keys.slice(-3);
    expect(same).toBe(lost);
    expect(new Set([lost, other, next]).size).toBe(3);
    expect((await run(['task', 'resume'], { env })).stderr).toContain('nothing to resume');
  });
});

describe('a service that stumbles', () => {
  it('is spoken of once per outage, at once', async () => {
    const task = await serve({
      steps: [['done', 45]],
      fault: (operation, nth) => (nth < 7 && operation !== 'create' ? internal : undefined),
    });
    const { code, stderr } = await runInProcess(taskRun, { env: pointedAt(task.url) });
    expect(code).toBe(0);
    expect(stderr.match(/^warning: trying again: the service failed \(500\)$/gm)).toHaveLength(2);
  });
});

describe('task fetch', () => {
  it('prints what is ready from --pts, says where to go on, and asks for no status', async () => {
    const task = await serve({
      steps: [],
      fault: (operation, _, request) => {
        if (operation !== 'fetch') return undefined;
        const pts = Number(queryOf(request).get('pts'));
        return page(someEntities.slice(pts, Math.min(pts + 10, 40)), pts, 10, ['running', 40]);
      },
    });
    const { code, stdout, stderr } = await runInProcess(
      ['task', 'fetch', taskId, '--pts', '5', '--num', '10'],
      {
        env: pointedAt(task.url),
      },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows(40, 5) });
    expect(task.positions()).toEqual([5, 15, 25, 35]);
    expect(task.count('status')).toBe(0);
    expect(stderr).toContain('35 leads · task running');
    expect(stderr).toContain('leadpipe task fetch ls_task --pts 40');
  });

  it('puts leads_search_id and position in front, and leaves the rest to the byte', async () => {
    const task = await serve({
      steps: [],
      fault: (operation) =>
        operation === 'fetch' ? page([' { "a" : 1.10 }', '{}'], 3, 500, ['done', 5]) : undefined,
    });
    const { stdout } = await runInProcess(['task', 'fetch', taskId, '--pts', '3', '--positions'], {
      env: pointedAt(task.url),
    });
    expect(stdout).toBe(
      '{"leads_search_id":"ls_task","position":3,"a" : 1.10 }\n{"leads_search_id":"ls_task","position":4}\n',
    );
  });

  it.each([
    ['done', 0],
    ['error', 3],
  ])('of a task that is %s exits %i', async (state, exit) => {
    const task = await serve({ steps: [], fault: () => page(someEntities.slice(0, 2), 0, 500, [state, 2]) });
    expect(await runInProcess(['task', 'fetch', taskId], { env: pointedAt(task.url) })).toMatchObject({
      code: exit,
      stdout: rows(2),
    });
  });

  it('takes the enrich columns of CSV from the first page', async () => {
    const enriched = '{"name":"A","enrich_fields":{"stage":{"content":"seed","reference":"r"}}}';
    const task = await serve({ steps: [], fault: () => page([enriched], 0, 500, ['done', 1]) });
    const { stdout } = await runInProcess(['task', 'fetch', taskId, '-f', 'csv'], {
      env: pointedAt(task.url),
    });
    expect(stdout).toContain('links,stage,stage_reference\r\nA,');
  });
});

describe('a task that is not there', () => {
  it.each(['status', 'fetch', 'wait'])('%s: exits 6 after one request', async (command) => {
    const task = await serve({ steps: [], fault: () => missing });
    const { code, stderr } = await runInProcess(['task', command, 'ls_none', '--json-errors'], {
      env: pointedAt(task.url),
    });
    expect(code).toBe(6);
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'not_found', charged: 'no' });
    expect(task.requests).toHaveLength(1);
  });

  it.each([
    ['another key', 'another-key-0123456789', 'with another API key'],
    ['another address', undefined, 'not at http://127.0.0.1:'],
    ['the same key and address', undefined, 'Check the ID'],
  ])('says whether it was created with %s', async (what, key, says) => {
    const task = await startTaskServer({
      steps: [],
      fault: (operation) => (operation === 'create' ? undefined : missing),
    });
    const env = bareEnvironment();
    await runInProcess(['task', 'create', 'company', 'x'], { env: { ...env, ...pointedAt(task.url) } });
    const there = what === 'another address' ? await serve({ steps: [], fault: () => missing }) : task;
    for (const command of ['status', 'fetch', 'wait']) {
      const { code, stderr } = await runInProcess(['task', command, taskId], {
        env: { ...env, ...pointedAt(there.url, key) },
      });
      expect(code).toBe(6);
      expect(stderr).toContain(says);
    }
    await task.close();
  });
});

describe('task status', () => {
  it('prints the status object with the id in front, numbers exact', async () => {
    const body =
      '{"status": {"status":"running","ready_count":3,"verified_count":4,"cost":12345678901234567890.10}}';
    const task = await serve({ steps: [], fault: () => wholeAnswer('200 OK', 'application/json', body) });
    const env = pointedAt(task.url);
    const { stdout } = await runInProcess(['task', 'status', taskId], { env });
    expect(stdout).toBe(
      '{"leads_search_id":"ls_task","status":"running","ready_count":3,"verified_count":4,"cost":12345678901234567890.10}\n',
    );
    const csv = await runInProcess(['task', 'status', taskId, '-f', 'csv'], { env });
    expect(csv.stdout).toBe(
      'leads_search_id,status,ready_count,verified_count,stop_reason\r\nls_task,running,3,4,\r\n',
    );
  });
});

describe('bad input is refused before anything is sent', () => {
  const refused: readonly [args: string[], says: string][] = [
    [['task', 'run', 'xiaohongshu', 'x'], '--enable-web-search'],
    [['task', 'create', 'wechat', 'x'], '--enable-web-search'],
    [['task', 'run', 'companies', 'x'], 'did you mean company?'],
    [['task', 'run', 'company', ' '], 'the objective is empty'],
    [['task', 'run', 'company', 'x', '--limit', '1001'], '1 to 1000'],
    [['task', 'run', 'company', 'x', '--num', '501'], '1 to 500'],
    [['task', 'run', 'company', 'x', '--poll-interval', '0'], '--poll-interval must be a number of seconds'],
    [['task', 'run', 'company', 'x', '--wait-timeout', 'soon'], '--wait-timeout must be a number of seconds'],
    [['task', 'run', 'company', 'x', '--positions', '-f', 'csv'], '--positions works only with jsonl'],
    [['task', 'wait', 'ls', '--positions', '-o', 'x.csv'], '--positions works only with jsonl'],
    [['task', 'fetch', 'ls', '--pts', '-1'], '--pts is -1'],
    [['task', 'fetch', ''], 'leads_search_id is empty'],
    [['task', 'wiat', 'ls'], 'did you mean wait?'],
    [['task', 'resume', 'op_none'], 'no operation op_none'],
    [['task', 'resume', '../state'], 'no operation'],
  ];
  it.each(refused)('%s', async (args, says) => {
    const task = await serve({ steps: whole });
    const { code, stdout, stderr } = await runInProcess(args, { env: pointedAt(task.url) });
    expect({ code, stdout }).toEqual({ code: args[1] === 'resume' ? 6 : 2, stdout: '' });
    expect(stderr).toContain(says);
    expect(task.connections()).toBe(0);
  });
});
