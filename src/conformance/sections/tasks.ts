import {
  bodyLike,
  type Check,
  holds,
  invalid,
  noStore,
  ofLast,
  type Row,
  refusal,
  requestId,
  same,
  suppliedKey,
  table,
  unless,
} from '../row.ts';
import { ended, ofCreatedTask, ofFinishedTask, post, rare, shared, unknownTask } from '../samples.ts';
import {
  type Action,
  type Answer,
  creditsOf,
  hasEnded,
  NotJudged,
  searchIdOf,
  statusOf,
} from '../service.ts';
import { createdTask, flawsOf, listIn, memberOf, numberOf, page, quoted, taskStatus } from '../shapes.ts';
import { searchRows } from './searches.ts';

const created = shared(post('createTask'));
const replayed = post('createTask', {}, { idempotencyKey: 'create_task/replay' });
const replayedLater = post('createTask', {}, { idempotencyKey: 'create_task/replay-when-ended' });
const replay: Action = {
  once: true,
  sends: [replayed],
  take: async (service) => [await service.send(replayed), await service.send(replayed)],
};

const sameTask: Check = (...answers) => {
  const [first, last] = [answers[0], answers.at(-1)] as [Answer, Answer];
  return same('$.leads_search_id', memberOf(last.json, 'leads_search_id'), searchIdOf(first));
};

export const createTaskRows: readonly Row[] = [
  ...table('create_task/', created, {
    'body: the answer contains leads_search_id': bodyLike(createdTask),
    'request-id: the answer has a request ID': requestId,
    'idempotency-key: the answer has the Idempotency-Key of the request': suppliedKey,
    'no-store: the answer must not be cached': noStore,
  }),
  ...searchRows('createTask'),
  ...table('create_task/', replay, {
    'replay: the original key and body return the existing task': sameTask,
    'replay-request-id: a replay has a request ID': requestId,
    'replay-idempotency-key: a replay has the Idempotency-Key of the request': suppliedKey,
    'replay-no-store: a replay must not be cached': noStore,
    'replay-when-ended: the original key and body return the existing task, also after it has ended': [
      replayedLater,
      ended(0),
      replayedLater,
      sameTask,
    ],
    'new-key-new-task: another Idempotency-Key creates another task': [
      created,
      post('createTask'),
      (first, answer) => unless(searchIdOf(answer) !== searchIdOf(first), 'leads_search_id is the same'),
    ],
    'default-limit: limit is 100 by default': [
      // An objective that finds nothing: a default of 100 leads would cost 100 credits.
      post('createTask', { ...rare, limit: undefined }),
      ofCreatedTask('fetch'),
      holds({ limit: 100 }),
    ],
  }),
];

/** Which tasks `status` and `fetch` read, and which not. */
export function taskIdRows(endpoint: 'status' | 'fetch'): Row[] {
  return [
    ...table(`${endpoint}/`, invalid, {
      'id-missing: leads_search_id is required': { endpoint },
      'id-empty: leads_search_id has at least one character': { endpoint, query: { leads_search_id: '' } },
    }),
    ...table(`${endpoint}/`, refusal(404), {
      'unknown-task: a task that does not exist gives 404': { endpoint, query: unknownTask },
      'longer-id: an ID with something after it is another one': ofFinishedTask(endpoint, {}, {}, 'x'),
      'task-of-another-account: only the API key that created a task can read it': ofFinishedTask(
        endpoint,
        {},
        { apiKey: 'other' },
      ),
      'task-of-another-key: only the API key that created a task can read it': ofFinishedTask(
        endpoint,
        {},
        { apiKey: 'sibling' },
      ),
    }),
  ];
}

const sizes = [10, 40, 100].map((limit) => post('createTask', { limit }));

/** A task that was seen running with something ready, between two balances; of growing size until one runs for long enough. */
const runningTask: Action = {
  once: true,
  sends: sizes,
  async take(service) {
    for (const request of sizes) {
      const before = await service.steadyBalance();
      const id = searchIdOf(await service.send(request));
      const query = { leads_search_id: id };
      const now = await service.statusWhen(id, ({ status, ready }) => status === 'running' && ready > 0);
      if (hasEnded(now)) continue;
      const items = await service.send({ endpoint: 'fetch', query: { ...query, num: '500' } });
      const balance = await service.send({ endpoint: 'balance' });
      if (hasEnded(await service.send({ endpoint: 'status', query }))) continue;
      const last = await service.statusWhen(id);
      return [before, now, items, balance, last, await service.steadyBalance()];
    }
    throw new NotJudged('every task ended before it was seen running');
  },
};

export const runningRows: readonly Row[] = table('', runningTask, {
  'fetch/while-running: results can be fetched while a task is running': (_, status, items) => [
    ...flawsOf(page, items.json),
    ...unless(
      listIn(items.json, 'entities').length > 0,
      `no entities, although ${statusOf(status).ready} are ready`,
    ),
  ],
  'status/while-running: verified_count is never below ready_count': (_, status, __, ___, last) =>
    [status, last].flatMap((one) => [...flawsOf(taskStatus, one.json), ...verifiedBelow(one)]),
  'balance/reserved: credits that a running task has reserved are not available': (
    before,
    _,
    items,
    balance,
    last,
    after,
  ) => {
    const reserved = creditsOf(before) - creditsOf(balance);
    const cost = creditsOf(before) - creditsOf(after);
    const [limit, { ready }] = [numberOf(memberOf(items.json, 'limit')), statusOf(last)];
    return unless(
      reserved >= cost && (cost <= 0 || reserved * ready >= cost * limit),
      `${reserved} credits were reserved for ${limit} leads, and ${cost} charged for ${ready}`,
    );
  },
});

function verifiedBelow(answer: Answer): readonly string[] {
  const { ready, verified } = statusOf(answer);
  return unless(verified >= ready, `verified_count is ${verified}, but ready_count is ${ready}`);
}

const small = post('createTask', { limit: 3 });

/** How often as long as a watched task an unwatched one is left alone; a second try, since no two take the same time. */
const patience = [4, 12];

const unwatched: Action = {
  sends: [small, ...patience.map(() => small)],
  async take(service) {
    const start = service.time();
    await service.statusWhen(searchIdOf(await service.send(small)));
    const took = Math.max(100, service.time() - start);
    let seen: Answer | undefined;
    for (const times of patience) {
      const query = { leads_search_id: searchIdOf(await service.send(small)) };
      await service.pause(took * times);
      seen = await service.send({ endpoint: 'status', query });
      if (hasEnded(seen)) break;
    }
    return [seen as Answer];
  },
};

const isOver: Check = ofLast((answer) =>
  unless(hasEnded(answer), `the state is ${quoted(statusOf(answer).status)}`),
);

export const statusRows: readonly Row[] = [
  ...table('status/', ofFinishedTask('status'), {
    'body: the status of a new task has status, ready_count, verified_count and stop_reason': [
      small,
      ofCreatedTask('status'),
      bodyLike(taskStatus),
    ],
    'body-when-ended: the status of an ended task has the same fields': bodyLike(taskStatus),
    'ends: a task ends as done or in error': isOver,
    'verified-count: verified_count is never below ready_count': verifiedBelow,
    'at-most-limit: a task gives at most limit leads': (answer) => {
      const { ready } = statusOf(answer);
      return unless(ready <= 7, `ready_count is ${ready}`);
    },
    'without-polling: a task goes on without being asked about': [unwatched, isOver],
  }),
  ...taskIdRows('status'),
];
