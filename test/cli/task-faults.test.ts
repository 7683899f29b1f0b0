import { describe, expect, it } from 'vitest';
import { machineClock } from '../helpers/clock.ts';
import { ending, failing } from '../helpers/ending.ts';
import { errorAnswer, wholeAnswer } from '../helpers/fault-server.ts';
import { pointedAt } from '../helpers/run.ts';
import { toFailure } from '../helpers/settings.ts';
import {
  type Fault,
  type Operation,
  page,
  paging,
  rowsTo,
  type Step,
  someEntities,
  startTaskServer,
  taskId,
} from '../helpers/task-server.ts';

const taskRun = 'task run company x --poll-interval 0.01';
const done: readonly Step[] = [['done', 45]];
/** A task that is there already, and of which each answer is this. */
const answering = (fault: Fault, steps: readonly Step[] = []) =>
  startTaskServer({ steps, fault: (operation) => (operation === 'create' ? undefined : fault) });

const ok = (body: string): string => wholeAnswer('200 OK', 'application/json', body);
const refused = (status: number, type: string): string => errorAnswer(`${status} X`, type, 'no');
const missing = refused(404, 'not_found');
/** The page as it should be, but for these members. */
const wrong = (changes: object) => paging((pts) => someEntities.slice(pts, 20), ['running', 20], changes);
const empty = (ready: number) => paging(() => [], ['running', ready]);

type Case = readonly [
  operation: Operation,
  name: string,
  fault: Fault,
  /** How many requests in a row are hit; others come before those that are hit `later`. */
  times: number,
  exit: number,
  rows: number,
  /** Of the operation, on the wire. */
  requests: number,
  says?: string,
];

const ever = Number.POSITIVE_INFINITY;
const resume = 'leadpipe resume op_';
const more = paging((_, num) => Array(num + 1).fill('{}'), ['running', 20]);
const impossible: readonly (readonly [name: string, changes: object])[] = [
  ['a count above what came', { count: 21 }],
  ['a count below what came', { count: 19 }],
  ['another pts', { pts: 5 }],
  ['another num', { num: 5 }],
  ['another task', { leads_search_id: 'ls_other' }],
];
/** Errors of delivery networks that can't reach the service. */
const pages = Array.from({ length: 11 }, (_, nth) => wholeAnswer(`${520 + nth} X`, 'text/html', '<html>'));
/** A command for each operation meets every fault in test/matrix; here is what becomes of a whole run. */
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
  ['fetch', 'a page without entities', ok('{"pts":0,"num":500,"count":0,"ready_count":0}'), ever, 76, 0, 4],
  ['fetch', '500', refused(500, 'internal_error'), 4, 0, 45, 7],
  ['fetch', 'a reset', (socket) => void socket.resetAndDestroy(), 4, 0, 45, 7],
  ['fetch', '403 later', refused(403, 'authentication_error'), ever, 4, 20, 2, resume],
  ['status', '502 of a proxy', wholeAnswer('502 Bad Gateway', 'text/html', '<html>'), 5, 0, 45, 6],
  ['status', '404 of a proxy', wholeAnswer('404 Not Found', 'text/html', '<html>'), 5, 0, 45, 6],
  ['status', '520 to 530 in turn', (socket) => void socket.write(pages.shift() ?? ''), 11, 0, 45, 12],
  ['status', '429', refused(429, 'concurrency_limit'), 3, 0, 45, 4],
  ['status', '404 right after the creation', missing, 3, 0, 45, 4],
  ['status', '404', missing, ever, 6, 0, 4, 'Nothing was bought in its place'],
  [
    'status',
    'an unknown state, for a while',
    ok('{"status":{"status":"paused","ready_count":0}}'),
    3,
    0,
    45,
    4,
  ],
  ['status', '401', refused(401, 'authentication_error'), ever, 4, 0, 1],
  ['create', '402', refused(402, 'insufficient_credits'), ever, 5, 0, 1],
  ['create', 'no id', ok('{}'), ever, 76, 0, 4],
];

describe('task run, when a request goes wrong', () => {
  const named = cases.map((row) => [`${row[0]}: ${row[1]}, ${row[3]} times: exit ${row[4]}`, row] as const);
  it.each(named)('%s', async (_, [operation, name, fault, times, exit, leads, requests, says = '']) => {
    const skip = name.endsWith('later') ? 1 : 0;
    const task = await startTaskServer({
      steps: [['running', 20], ['running', 40], ...done],
      fault: (hit, nth) => (hit === operation && nth >= skip && nth < skip + times ? fault : undefined),
    });
    const { code, stdout, stderr } = await task.leadpipe(`${taskRun} --json-errors`);
    expect({ code, stdout }).toEqual({ code: exit, stdout: rowsTo(leads) });
    expect(task.count(operation)).toBe(requests);
    if (operation !== 'create') expect(task.count('create')).toBe(1);
    if (code === 0) return;
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({ exit: code, operation_id: expect.stringMatching(/^op_/) });
    expect(stderr).toContain(says);
    if (operation !== 'create') expect(error.idempotency_key).toBe('test-1');
  });

  it('a ready_count that falls never prints a lead twice, and warns once', async () => {
    const steps: Step[] = [40, 20, 10].map((ready) => ['running', ready]);
    const task = await startTaskServer({ steps: [...steps, ['done', 40]] });
    const { code, stdout, stderr } = await task.leadpipe(taskRun);
    expect({ code, stdout }).toEqual({ code: 0, stdout: rowsTo(40) });
    expect(stderr.match(/warning.*/g)).toEqual([expect.stringContaining('40 leads were ready, now 20')]);
  });

  it('is done when it has ended and the position is beyond a ready_count that fell', async () => {
    const task = await startTaskServer({
      steps: [
        ['running', 40],
        ['done', 20],
      ],
    });
    expect(await task.leadpipe(taskRun)).toMatchObject({ code: 0, stdout: rowsTo(40) });
  });

  it('status and fetch that contradict each other for ever end it, with both numbers', async () => {
    const fault = paging((pts) => someEntities.slice(pts, 20), ['done', 20]);
    const task = await startTaskServer({
      steps: [['done', 40]],
      fault: (operation) => (operation === 'fetch' ? fault : undefined),
    });
    const says = 'stopped following task ls_task: status says that 40 leads are ready';
    const result = await task.leadpipe(taskRun);
    expect(result).toMatchObject({ ...ending(76, says, resume), stdout: rowsTo(20) });
    expect(task.count('fetch')).toBe(7);
  });

  it('an outage of the service is reported once, immediately', async () => {
    const task = await startTaskServer({
      steps: done,
      fault: (operation, nth) =>
        nth < 7 && operation !== 'create' ? refused(500, 'internal_error') : undefined,
    });
    const { code, stderr } = await task.leadpipe(taskRun);
    expect(code).toBe(0);
    expect(stderr.match(/^warning: trying again: the service failed \(500\)$/gm)).toHaveLength(2);
  });
});

describe('task run', () => {
  it('fetches what is ready while the task still runs, from pts + count, and ends only at the end', async () => {
    const steps: Step[] = [20, 20, 40].map((ready) => ['running', ready]);
    const task = await startTaskServer({ steps: [['created', 0], ...steps, ...done] });
    expect(await task.leadpipe(taskRun)).toEqual({
      code: 0,
      stdout: rowsTo(45),
      stderr: expect.stringMatching(
        /^45 leads · limit reached · cost at most 45 credits\ntask ls_task · request req_create · operation op_\S+\n$/,
      ),
    });
    expect(task.positions()).toEqual([0, 20, 40]);
    expect(task.count('status')).toBe(5);
  });

  it.each([
    ['does not stop at a terminal state before the position has reached ready_count', 10, undefined],
    [
      'takes pages that are shorter than asked for',
      7,
      paging((pts) => someEntities.slice(pts, pts + 7), ['done', 45]),
    ],
  ])('%s', async (_, size, fault) => {
    const task = await startTaskServer({
      steps: done,
      fault: (operation) => (operation === 'fetch' ? fault : undefined),
    });
    const num = fault === undefined ? `--num ${size}` : '';
    expect((await task.leadpipe(`${taskRun} ${num}`)).stdout).toBe(rowsTo(45));
    expect(task.positions()).toEqual(Array.from({ length: Math.ceil(45 / size) }, (_each, at) => at * size));
    expect(task.count('status')).toBe(1);
  });

  it.each([
    [45, 'yes'],
    [0, 'no'],
  ])('exits 3 after error, with every readable row in place: %i are charged: %s', async (ready, charged) => {
    const task = await startTaskServer({
      steps: [
        ['running', Math.min(20, ready)],
        ['error', ready],
      ],
    });
    task.write('leads.jsonl', 'of yesterday');
    const result = await task.leadpipe(`${taskRun} -o leads.jsonl`);
    expect(result).toMatchObject(ending(3, 'ended in error', `charged: ${charged}`));
    expect(await task.history()).toMatchObject([{ charged, leads: ready }]);
    expect(task.read('leads.jsonl')).toBe(ready > 0 ? rowsTo(ready) : 'of yesterday');
    expect(task.files()).toEqual(['leads.jsonl']);
  });

  it.each([
    ['its run', `${taskRun} --wait-timeout 1`, ['running', 20], { charged: 'maybe', retryable: false }],
    [
      'a run that waits for it',
      `task wait ${taskId} --wait-timeout 1`,
      ['running', 20],
      { charged: 'no', retryable: true },
    ],
    ['a run that waits for one that fails', `task wait ${taskId}`, ['error', 3], { charged: 'no' }],
  ] as const)('is charged to the run that bought it: %s', async (_, line, step, told) => {
    const task = await startTaskServer({ steps: [step] });
    expect(toFailure(await task.leadpipe(`${line} -q --json-errors`)).error).toMatchObject(told);
  });

  it('gives up after --wait-timeout with 75, the ID, and the command that resumes it', async () => {
    const task = await startTaskServer({ steps: [['running', 20]] });
    expect(await task.leadpipe(`${taskRun} --wait-timeout 2 -o leads.csv`)).toMatchObject(
      ending(75, '20 leads were written, and are in leads.csv.part', `To resume: ${resume}`),
    );
    expect(task.files()).toEqual(['leads.csv.part']);
    expect(task.read('leads.csv.part').split('\r\n')).toHaveLength(22);
  });

  it('gives up in the middle of a request that never ends', async () => {
    const task = await answering(() => {});
    const says = 'gave up waiting after 0.2 s';
    expect(await task.leadpipe(`${taskRun} --wait-timeout 0.2`)).toMatchObject(ending(75, says));
  });

  it.each(['interrupted', 'reader_closed'] as const)(
    'that is left before its first lead (%s) may be charged: it goes on at the service',
    async (reason) => {
      const stop = new AbortController();
      const task = await answering(() => stop.abort(reason));
      const context = { signal: stop.signal };
      const { stderr } = await task.leadpipe(`${taskRun} --limit 5 --json-errors --summary s.json`, {
        context,
      });
      if (reason === 'interrupted')
        expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.charged).toBe('maybe');
      expect(JSON.parse(task.read('s.json'))).toMatchObject({ charged: 'maybe', credits_at_most: 5 });
      // Nothing but the service knows what a task costs that it still works on.
      const charged = reason === 'interrupted' ? null : 'maybe';
      expect(await task.history()).toMatchObject([{ charged, credits_at_most: 5 }]);
    },
  );

  it('that was read without a record is read on from the same service', async () => {
    const task = await answering(() => {}, [['running', 20]]);
    const line = `${taskRun} --wait-timeout 0.2 --no-history --base-url ${task.url}`;
    expect(await task.leadpipe(line)).toMatchObject(ending(75, `--base-url ${task.url}`));
  });

  it('that the service no longer knows may have been charged', async () => {
    const task = await answering(missing);
    const { stderr } = await task.leadpipe(`${taskRun} --limit 5 --json-errors`);
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error).toMatchObject({
      type: 'not_found',
      charged: 'maybe',
    });
    expect(await task.history()).toMatchObject([{ charged: 'maybe', credits_at_most: 5 }]);
  });

  it('sends its options once, and --dry-run buys nothing', async () => {
    const task = await startTaskServer({ steps: [['done', 0]] });
    const line =
      'task run wechat " tea " --enable-web-search --limit 7 --enrich-fields a --idempotency-key mine --poll-interval 0.01';
    const body = {
      entity_type: 'wechat',
      objective: 'tea',
      limit: 7,
      enrich_fields: ['a'],
      enable_web_search: true,
    };
    const dry = JSON.parse((await task.leadpipe(`${line} --dry-run`)).stdout);
    expect(dry).toMatchObject({ method: 'POST', body, headers: { 'Idempotency-Key': 'mine' } });
    expect(task.count('create')).toBe(0);
    expect((await task.leadpipe(line)).code).toBe(0);
    const [post, ...others] = task.requests.filter(({ method }) => method === 'POST');
    expect(others).toEqual([]);
    expect(post).toMatchObject({
      path: '/v1/entity-search/create_task',
      headers: { 'idempotency-key': 'mine' },
    });
    expect(JSON.parse(post?.body ?? '')).toEqual(body);
  });

  it('--exit-status is 7 when nothing was found', async () => {
    const task = await startTaskServer({ steps: [['done', 0]] });
    expect((await task.leadpipe(`${taskRun} --exit-status`)).code).toBe(7);
    expect((await task.leadpipe(taskRun)).code).toBe(0);
  });
});

describe('a creation whose answer was lost', () => {
  it.each(['create', 'run', 'create -o out.jsonl', 'run -o out.jsonl'])(
    'is asked for again with its key by the same task %s',
    async (words) => {
      const [command, ...output] = words.split(' ');
      const keys: (string | undefined)[] = [];
      let isDown = true;
      const task = await startTaskServer({
        steps: done,
        fault(operation, _, request) {
          if (operation !== 'create') return undefined;
          keys.push(request.headers['idempotency-key']);
          return isDown ? refused(500, 'internal_error') : undefined;
        },
      });
      const again = (objective = 'x') => task.run(`task ${command} company ${objective} ${output.join(' ')}`);
      expect(await again()).toMatchObject({ code: 75 });
      isDown = false;
      expect(await again('another')).toMatchObject({ code: 0 });
      const says =
        /^Resuming op_\w+ \(the same task, .*\)\. The same request is sent again, so you are not charged twice\.$/m;
      expect(await again()).toMatchObject(ending(0, says));
      // An answered purchase is bought again.
      expect(await again()).toMatchObject({ code: 0 });
      const [lost] = keys;
      const [other, same, next] = keys.slice(-3);
      expect(same).toBe(lost);
      expect(new Set([lost, other, next]).size).toBe(3);
      expect((await task.run('resume')).stderr).toContain('nothing to resume');
    },
  );

  const day = 24 * 3_600_000;
  it.each([
    [
      'is still to be had where the user sent its key again and was refused',
      refused(402, 'insufficient_credits'),
      1000,
      true,
    ],
    ['is over where the user sent its key again and got the task', undefined, 1000, false],
    ['is looked for by the same command within a day', 'not sent', day - 1000, true],
    ['is not looked for later', 'not sent', day + 1000, false],
  ])('%s', async (_, second, after, isSame) => {
    const keys: (string | undefined)[] = [];
    let answer: string | undefined = refused(500, 'internal_error');
    let ahead = 0;
    const task = await startTaskServer({
      steps: done,
      fault(operation, _, { headers }) {
        if (operation === 'create') keys.push(headers['idempotency-key']);
        return operation === 'create' ? answer : undefined;
      },
    });
    const clock = { ...machineClock, now: () => new Date(Date.now() + ahead) };
    const create = (more = '') => task.leadpipe(`task create company x ${more}`, { context: { clock } });
    expect((await create()).code).toBe(75);
    const [lost] = keys;
    answer = second === 'not sent' ? undefined : second;
    if (second !== 'not sent') await create(`--idempotency-key ${lost}`);
    answer = undefined;
    ahead = after;
    expect(await create()).toMatchObject({ code: 0 });
    expect(keys.at(-1) === lost).toBe(isSame);
  });
});

describe('task fetch', () => {
  const fetching = (...args: Parameters<typeof page>) => answering(page(...args));

  it('prints the ready leads from --pts, names the next position, and reads no status', async () => {
    const task = await answering(
      paging((pts) => someEntities.slice(pts, Math.min(pts + 10, 40)), ['running', 40]),
    );
    expect(await task.leadpipe(`task fetch ${taskId} --pts 5 --num 10`)).toMatchObject({
      ...ending(0, '35 leads · task running', 'leadpipe task fetch ls_task --pts 40'),
      stdout: rowsTo(40, 5),
    });
    expect(task.positions()).toEqual([5, 15, 25, 35]);
    expect(task.count('status')).toBe(0);
  });

  it.each([
    ['', '--pts 10'],
    ['-o all.jsonl --append', '--pts 5 -o all.jsonl --append'],
    ['-o a.jsonl --append --positions', '--pts 5 -o a.jsonl --append --positions'],
    [
      '-o a.txt --append -f csv --columns name --csv-raw',
      '--pts 5 -o a.txt --append -f csv --columns name --csv-raw',
    ],
  ])('that is cut, with "%s", says how all leads are read', async (output, again) => {
    const pages = paging((pts) => someEntities.slice(pts, pts + 5), ['running', 40]);
    const task = await answering((socket, request) => {
      if (request.path.includes('pts=10')) socket.end(missing);
      else if (typeof pages === 'function') pages(socket, request);
    });
    expect(await task.leadpipe(`task fetch ${taskId} --pts 5 --num 5 ${output}`)).toMatchObject({
      stderr: expect.stringContaining(`To resume: leadpipe task fetch ls_task ${again}\n`),
    });
  });

  it('puts leads_search_id and position in front, and leaves the rest to the byte', async () => {
    const task = await fetching([' { "a" : 1.10 }', '{}'], 3, 500, ['done', 5]);
    expect((await task.leadpipe(`task fetch ${taskId} --pts 3 --positions`)).stdout).toBe(
      '{"leads_search_id":"ls_task","position":3,"a" : 1.10 }\n{"leads_search_id":"ls_task","position":4}\n',
    );
  });

  it.each([
    ['done', 0],
    ['error', 3],
  ])('of a task that is %s exits %i', async (state, code) => {
    const task = await fetching(someEntities.slice(0, 2), 0, 500, [state, 2]);
    expect(await task.leadpipe(`task fetch ${taskId}`)).toMatchObject({ code, stdout: rowsTo(2) });
  });

  it('takes the enrich columns of CSV from the first page', async () => {
    const enriched = '{"name":"A","enrich_fields":{"stage":{"content":"seed","reference":"r"}}}';
    const task = await fetching([enriched], 0, 500, ['done', 1]);
    const { stdout } = await task.leadpipe(`task fetch ${taskId} -f csv`);
    expect(stdout).toContain('links,stage,stage_reference\r\nA,');
  });
});

describe('a task that is not there', () => {
  it.each(['status', 'fetch', 'wait'])('%s: exits 6 after one request', async (command) => {
    const task = await answering(missing);
    const { code, stderr } = await task.leadpipe(`task ${command} ls_none --json-errors`);
    expect(code).toBe(6);
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'not_found', charged: 'no' });
    expect(task.requests).toHaveLength(1);
  });

  it.each([
    ['another key', 'another-key-0123456789', 'with another API key'],
    ['another address', undefined, 'not at http://127.0.0.1:'],
    ['the same key and address', undefined, 'Check the ID'],
  ])('says whether it was created with %s', async (what, key, says) => {
    const task = await answering(missing);
    await task.leadpipe('task create company x');
    const there = what === 'another address' ? await answering(missing) : task;
    for (const command of ['status', 'fetch', 'wait']) {
      const result = await task.leadpipe(`task ${command} ${taskId}`, { env: pointedAt(there.url, key) });
      expect(result).toMatchObject(failing(6, says));
    }
  });
});

it('task status prints the status object with the id in front, numbers exact', async () => {
  const counts = '"status":"running","ready_count":3,"verified_count":4';
  const task = await answering(ok(`{"status": {${counts},"cost":12345678901234567890.10}}`));
  expect((await task.leadpipe(`task status ${taskId}`)).stdout).toBe(
    `{"leads_search_id":"ls_task",${counts},"cost":12345678901234567890.10}\n`,
  );
  expect((await task.leadpipe(`task status ${taskId} -f csv`)).stdout).toBe(
    'leads_search_id,status,ready_count,verified_count,stop_reason\r\nls_task,running,3,4,\r\n',
  );
});
