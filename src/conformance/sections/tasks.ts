import { terminalTaskStates } from '../../contract/types.ts';
import {
  accepted,
  bodyLike,
  holds,
  memberOf,
  noStore,
  refusal,
  requestId,
  section,
  suppliedKey,
} from '../expectations.ts';
import { page, taskStatus } from '../resources.ts';
import { type Action, type Answer, NotJudged, type Row, shared, type TestedService } from '../row.ts';
import { companies, getTask, post, rareObjective, unknownTask } from '../samples.ts';
import { filledText, objectWith, quoted } from '../shapes.ts';
import {
  creditsOf,
  ended,
  hasEnded,
  ofCreatedTask,
  ofFinishedTask,
  searchIdOf,
  statusOf,
} from '../tested-service.ts';
import { searchRows } from './searches.ts';

const created = shared('created task', post('createTask'));
const create = section('create_task', () => post('createTask'), created);
const status = section('status', () => post('createTask'), ofFinishedTask('status'));

const replayed = post('createTask', { idempotencyKey: 'create_task/replay' });
const replay = {
  ...created,
  once: 'replayed task',
  pays: [replayed],
  take: (service: TestedService) => twice(service),
};
const twice = async (service: TestedService) => [await service.send(replayed), await service.send(replayed)];

const sameTask = accepted('the same leads_search_id', (answer, earlier) => {
  const before = searchIdOf(earlier[0] as Answer);
  const now = memberOf(answer, 'leads_search_id');
  return now === before ? [] : [`leads_search_id is ${quoted(now)}, but was ${quoted(before)}`];
});

export const createTaskRows: readonly Row[] = [
  create.row(
    'body',
    'the answer contains leads_search_id',
    bodyLike('leads_search_id', objectWith({ leads_search_id: filledText })),
  ),
  create.row('request-id', 'the answer has a request ID', requestId),
  create.row('idempotency-key', 'the answer has the Idempotency-Key of the request', suppliedKey),
  create.row('no-store', 'the answer must not be cached', noStore),
  ...searchRows('createTask'),
  create.row('replay', 'the original key and body return the existing task', sameTask, replay),
  create.row('replay-request-id', 'a replay has a request ID', requestId, replay),
  create.row(
    'replay-idempotency-key',
    'a replay has the Idempotency-Key of the request',
    suppliedKey,
    replay,
  ),
  create.row('replay-no-store', 'a replay must not be cached', noStore, replay),
  create.row(
    'replay-when-ended',
    'the original key and body return the existing task, also after it has ended',
    sameTask,
    post('createTask', { idempotencyKey: 'create_task/replay-when-ended' }),
    [post('createTask', { idempotencyKey: 'create_task/replay-when-ended' }), ended(0)],
  ),
  create.row(
    'new-key-new-task',
    'another Idempotency-Key creates another task',
    accepted('another leads_search_id', (answer, [first]) =>
      searchIdOf(answer) === searchIdOf(first as Answer) ? ['leads_search_id is the same'] : [],
    ),
    post('createTask'),
    [created],
  ),
  create.row(
    'default-limit',
    'limit is 100 by default',
    accepted('limit 100', holds({ limit: 100 })),
    ofCreatedTask('fetch'),
    // An objective that finds nothing: a default of 100 leads would cost 100 credits.
    [post('createTask', { body: { entity_type: 'company', objective: rareObjective } })],
  ),
];

/** Which tasks `status` and `fetch` read, and which not. */
export function taskIdRows(endpoint: 'status' | 'fetch'): Row[] {
  const { row } = section(endpoint, () => getTask(endpoint, {}));
  const [invalid, notFound] = [refusal(422), refusal(404)];
  const foreign = { ...ofFinishedTask(endpoint, {}, { apiKey: 'other' }) };
  const sibling = { ...ofFinishedTask(endpoint, {}, { apiKey: 'sibling' }) };
  return [
    row('id-missing', 'leads_search_id is required', invalid),
    row(
      'id-empty',
      'leads_search_id has at least one character',
      invalid,
      getTask(endpoint, { leads_search_id: '' }),
    ),
    row(
      'unknown-task',
      'a task that does not exist gives 404',
      notFound,
      getTask(endpoint, { leads_search_id: unknownTask }),
    ),
    row(
      'longer-id',
      'an ID with something after it is another one',
      notFound,
      ofFinishedTask(endpoint, {}, {}, 'x'),
    ),
    {
      ...row(
        'task-of-another-account',
        'only the API key that created a task can read it',
        notFound,
        foreign,
      ),
      needs: ['other'],
    },
    {
      ...row('task-of-another-key', 'only the API key that created a task can read it', notFound, sibling),
      needs: ['sibling'],
    },
  ];
}

/** What was seen of a task while it ran. */
interface Running {
  readonly before: Answer;
  readonly status: Answer;
  readonly page: Answer;
  readonly balance: Answer;
  readonly ended: Answer;
  readonly after: Answer;
  readonly limit: number;
}

const sizes = [10, 40, 100];

/** A task that was seen running with something ready; of growing size until one runs for long enough. */
const runningTask: Action = {
  once: 'running task',
  pays: sizes.map((limit) => post('createTask', { body: companies({ limit }) })),
  async take(service) {
    for (const limit of sizes) {
      const before = await service.steadyBalance();
      const id = searchIdOf(await service.send(post('createTask', { body: companies({ limit }) })));
      const now = await service.statusWhen(id, ({ status, ready }) => status === 'running' && ready > 0);
      if (hasEnded(now)) continue;
      const items = await service.send(getTask('fetch', { leads_search_id: id, num: '500' }));
      const balance = await service.send({ endpoint: 'balance' });
      const later = await service.send(getTask('status', { leads_search_id: id }));
      if (hasEnded(later)) continue;
      const last = await service.statusWhen(id);
      return [before, now, items, balance, last, await service.steadyBalance()];
    }
    throw new NotJudged('every task ended before it was seen running');
  },
};

function whileRunning(id: string, rule: string, says: string, check: (seen: Running) => string[]): Row {
  const expect = accepted(says, (after, earlier) => {
    const [before, now, items, balance, last] = earlier as [Answer, Answer, Answer, Answer, Answer];
    const limit = Number((memberOf(items, 'limit') as number | undefined) ?? Number.NaN);
    return check({ before, status: now, page: items, balance, ended: last, after, limit });
  });
  return { id, rule, request: runningTask, expect };
}

export const runningRows: readonly Row[] = [
  whileRunning(
    'fetch/while-running',
    'results can be fetched while a task is running',
    'the ready entities',
    (seen) => {
      const ready = statusOf(seen.status)?.ready ?? 0;
      const { length } = (memberOf(seen.page, 'entities') as unknown[] | undefined) ?? [];
      const problems = [...page(seen.page.json, '$')];
      return length > 0 ? problems : [...problems, `no entities, although ${ready} are ready`];
    },
  ),
  whileRunning('status/while-running', 'verified_count is never below ready_count', 'a task status', (seen) =>
    [seen.status, seen.ended].flatMap((one) => [...taskStatus(one.json, '$'), ...verifiedBelow(one)]),
  ),
  whileRunning(
    'balance/reserved',
    'credits that a running task has reserved are not available',
    'fewer credits by the cost of limit leads',
    ({ before, balance, after, ended: last, limit }) => {
      const [reserved, cost] = [balance, after].map((one) => creditsOf(before) - creditsOf(one)) as [
        number,
        number,
      ];
      const ready = statusOf(last)?.ready ?? 0;
      return reserved >= cost && (cost <= 0 || reserved * ready >= cost * limit)
        ? []
        : [`${reserved} credits were reserved for ${limit} leads, and ${cost} charged for ${ready}`];
    },
  ),
];

function verifiedBelow(answer: Answer): string[] {
  const counts = statusOf(answer);
  if (counts === undefined || counts.verified >= counts.ready) return [];
  return [`verified_count is ${counts.verified}, but ready_count is ${counts.ready}`];
}

const small = post('createTask', { body: companies({ limit: 3 }) });

/** How often as long as a watched task an unwatched one is left alone; a second try, since no two take the same time. */
const patience = [4, 12];

const unwatched: Action = {
  pays: [small, ...patience.map(() => small)],
  async take(service) {
    const start = service.time();
    const watched = searchIdOf(await service.send(small));
    await service.statusWhen(watched);
    const took = Math.max(100, service.time() - start);
    let seen: Answer[] = [];
    for (const times of patience) {
      const id = searchIdOf(await service.send(small));
      await service.pause(took * times);
      seen = [await service.send(getTask('status', { leads_search_id: id }))];
      if (seen.some(hasEnded)) break;
    }
    return seen;
  },
};

export const statusRows: readonly Row[] = [
  status.row(
    'body',
    'the status of a new task has status, ready_count, verified_count and stop_reason',
    bodyLike('a task status', taskStatus),
    ofCreatedTask('status'),
    [small],
  ),
  status.row(
    'body-when-ended',
    'the status of an ended task has the same fields',
    bodyLike('a task status', taskStatus),
  ),
  status.holdsThat('ends', 'a task ends as done or in error', 'done or error', (answer) => {
    const state = statusOf(answer)?.status;
    return terminalTaskStates.some((one) => one === state) ? [] : [`the state is ${quoted(state)}`];
  }),
  status.holdsThat(
    'verified-count',
    'verified_count is never below ready_count',
    'verified_count >= ready_count',
    verifiedBelow,
  ),
  status.holdsThat('at-most-limit', 'a task gives at most limit leads', 'ready_count at most 7', (answer) => {
    const ready = statusOf(answer)?.ready ?? 0;
    return ready <= 7 ? [] : [`ready_count is ${ready}`];
  }),
  status.row(
    'without-polling',
    'a task goes on without being asked about',
    accepted('done or error at the first look', (answer) =>
      hasEnded(answer)
        ? []
        : [`the state is ${quoted(statusOf(answer)?.status)}, long after a watched task ended`],
    ),
    unwatched,
  ),
  ...taskIdRows('status'),
];
