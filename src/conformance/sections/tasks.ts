import {
  accepted,
  bodyLike,
  holds,
  memberOf,
  noStore,
  refusal,
  requestId,
  suppliedKey,
  table,
  unless,
} from '../expectations.ts';
import { type Action, type Answer, type Expectation, NotJudged, type Row, shared } from '../row.ts';
import { companies, getTask, post, rareObjective, unknownTask } from '../samples.ts';
import { filledText, objectWith, page, quoted, taskStatus } from '../shapes.ts';
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

const replayed = post('createTask', { idempotencyKey: 'create_task/replay' });
const replay: Action = {
  once: 'replayed task',
  pays: [replayed],
  take: async (service) => [await service.send(replayed), await service.send(replayed)],
};

const sameTask = accepted('the same leads_search_id', (answer, earlier) => {
  const before = searchIdOf(earlier[0] as Answer);
  const now = memberOf(answer, 'leads_search_id');
  return unless(now === before, `leads_search_id is ${quoted(now)}, but was ${quoted(before)}`);
});

const replayedLater = post('createTask', { idempotencyKey: 'create_task/replay-when-ended' });

export const createTaskRows: readonly Row[] = [
  ...table('create_task', created, {
    'body: the answer contains leads_search_id': bodyLike(
      'leads_search_id',
      objectWith({ leads_search_id: filledText }),
    ),
    'request-id: the answer has a request ID': requestId,
    'idempotency-key: the answer has the Idempotency-Key of the request': suppliedKey,
    'no-store: the answer must not be cached': noStore,
  }),
  ...searchRows('createTask'),
  ...table('create_task', replay, {
    'replay: the original key and body return the existing task': sameTask,
    'replay-request-id: a replay has a request ID': requestId,
    'replay-idempotency-key: a replay has the Idempotency-Key of the request': suppliedKey,
    'replay-no-store: a replay must not be cached': noStore,
    'replay-when-ended: the original key and body return the existing task, also after it has ended': {
      before: [replayedLater, ended(0)],
      request: replayedLater,
      expect: sameTask,
    },
    'new-key-new-task: another Idempotency-Key creates another task': {
      before: [created],
      request: post('createTask'),
      expect: accepted('another leads_search_id', (answer, [first]) =>
        unless(searchIdOf(answer) !== searchIdOf(first as Answer), 'leads_search_id is the same'),
      ),
    },
    'default-limit: limit is 100 by default': {
      // An objective that finds nothing: a default of 100 leads would cost 100 credits.
      before: [post('createTask', { body: { entity_type: 'company', objective: rareObjective } })],
      request: ofCreatedTask('fetch'),
      expect: accepted('limit 100', holds({ limit: 100 })),
    },
  }),
];

/** Which tasks `status` and `fetch` read, and which not. */
export function taskIdRows(endpoint: 'status' | 'fetch'): Row[] {
  const [invalid, expect] = [refusal(422), refusal(404)];
  const ofKey = (apiKey: 'other' | 'sibling') => ({
    needs: [apiKey],
    request: ofFinishedTask(endpoint, {}, { apiKey }),
    expect,
  });
  return table(endpoint, getTask(endpoint, {}), {
    'id-missing: leads_search_id is required': invalid,
    'id-empty: leads_search_id has at least one character': {
      request: getTask(endpoint, { leads_search_id: '' }),
      expect: invalid,
    },
    'unknown-task: a task that does not exist gives 404': {
      request: getTask(endpoint, { leads_search_id: unknownTask }),
      expect,
    },
    'longer-id: an ID with something after it is another one': {
      request: ofFinishedTask(endpoint, {}, {}, 'x'),
      expect,
    },
    'task-of-another-account: only the API key that created a task can read it': ofKey('other'),
    'task-of-another-key: only the API key that created a task can read it': ofKey('sibling'),
  });
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

function whileRunning(says: string, check: (seen: Running) => readonly string[]): Expectation {
  return accepted(says, (after, earlier) => {
    const [before, status, items, balance, ended] = earlier as [Answer, Answer, Answer, Answer, Answer];
    const limit = Number((memberOf(items, 'limit') as number | undefined) ?? Number.NaN);
    return check({ before, status, page: items, balance, ended, after, limit });
  });
}

export const runningRows: readonly Row[] = [
  ...table('fetch', runningTask, {
    'while-running: results can be fetched while a task is running': whileRunning(
      'the ready entities',
      (seen) => {
        const ready = statusOf(seen.status)?.ready ?? 0;
        const { length } = (memberOf(seen.page, 'entities') as unknown[] | undefined) ?? [];
        return [
          ...page(seen.page.json, '$'),
          ...unless(length > 0, `no entities, although ${ready} are ready`),
        ];
      },
    ),
  }),
  ...table('status', runningTask, {
    'while-running: verified_count is never below ready_count': whileRunning('a task status', (seen) =>
      [seen.status, seen.ended].flatMap((one) => [...taskStatus(one.json, '$'), ...verifiedBelow(one)]),
    ),
  }),
  ...table('balance', runningTask, {
    'reserved: credits that a running task has reserved are not available': whileRunning(
      'fewer credits by the cost of limit leads',
      ({ before, balance, after, ended, limit }) => {
        const reserved = creditsOf(before) - creditsOf(balance);
        const cost = creditsOf(before) - creditsOf(after);
        const ready = statusOf(ended)?.ready ?? 0;
        return unless(
          reserved >= cost && (cost <= 0 || reserved * ready >= cost * limit),
          `${reserved} credits were reserved for ${limit} leads, and ${cost} charged for ${ready}`,
        );
      },
    ),
  }),
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
  ...table('status', ofFinishedTask('status'), {
    'body: the status of a new task has status, ready_count, verified_count and stop_reason': {
      before: [small],
      request: ofCreatedTask('status'),
      expect: bodyLike('a task status', taskStatus),
    },
    'body-when-ended: the status of an ended task has the same fields': bodyLike('a task status', taskStatus),
    'ends: a task ends as done or in error': accepted('done or error', (answer) =>
      unless(hasEnded(answer), `the state is ${quoted(statusOf(answer)?.status)}`),
    ),
    'verified-count: verified_count is never below ready_count': accepted(
      'verified_count >= ready_count',
      verifiedBelow,
    ),
    'at-most-limit: a task gives at most limit leads': accepted('ready_count at most 7', (answer) => {
      const ready = statusOf(answer)?.ready ?? 0;
      return unless(ready <= 7, `ready_count is ${ready}`);
    }),
    'without-polling: a task goes on without being asked about': {
      request: unwatched,
      expect: accepted('done or error at the first look', (answer) => {
        const state = quoted(statusOf(answer)?.status);
        return unless(hasEnded(answer), `the state is ${state}, long after a watched task ended`);
      }),
    },
  }),
  ...taskIdRows('status'),
];
