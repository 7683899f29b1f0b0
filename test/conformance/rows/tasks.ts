import { limits } from '../../../src/contract/limits.ts';
import { atMost, bodyLike, type Check, holds, type Problems, same, unless } from '../checks.ts';
import { checks, type Row, rows, type Sample, scenarios, table } from '../row.ts';
import type { TestedService } from '../service.ts';
import { type Answer, creditsOf, hasEnded, notTried, searchIdOf, statusOf } from '../service.ts';
import { entities, listIn, numberIn, page, quoted, taskStatus } from '../shapes.ts';
import { identityOf, leadsIn } from '../stream.ts';
import { ofFinishedTask, ofNewTask, once, post, shared, unknownTask } from './samples.ts';

const ownTask = 'only the API key that created a task can read it';

/** Which tasks `status` and `fetch` read, and which not. */
function taskIdRows(endpoint: 'status' | 'fetch'): Row[] {
  return [
    ...table(`${endpoint}/`, 422, {
      'id-missing: leads_search_id is required': { endpoint },
      'id-empty: leads_search_id has at least one character': { endpoint, query: { leads_search_id: '' } },
    }),
    ...table(`${endpoint}/`, 404, {
      'unknown-task: a task that does not exist gives 404': { endpoint, query: unknownTask },
      'longer-id: an ID with something after it is another one': ofFinishedTask(endpoint, {}, {}, 'x'),
      [`task-of-another-account: ${ownTask}`]: ofFinishedTask(endpoint, {}, { apiKey: 'other' }),
      [`task-of-another-key: ${ownTask}`]: ofFinishedTask(endpoint, {}, { apiKey: 'sibling' }),
    }),
  ];
}

const sizes = [10, 40, 100].map((limit) => post('createTask', { limit }));

/** A task that was seen running with leads ready, between two balances. Its size grows until it runs long enough. */
const runningTask = once(async (service) => {
  for (const request of sizes) {
    const before = await service.steadyBalance();
    const id = searchIdOf(await service.send(request));
    const query = { leads_search_id: id };
    const now = await service.statusWhen(id, ({ status, ready }) => status === 'running' && ready > 0);
    if (hasEnded(now)) continue;
    const items = await service.accepted({ endpoint: 'fetch', query: { ...query, num: '500' } });
    const balance = await service.accepted({ endpoint: 'balance' });
    if (hasEnded(await service.send({ endpoint: 'status', query }))) continue;
    const last = await service.statusWhen(id);
    const after = await service.steadyBalance();
    return { now, items, last, reserved: before - creditsOf(balance), cost: before - after };
  }
  throw notTried('every task ended before it was seen running');
});

export const runningRows: readonly Row[] = [
  ...scenarios('', sizes, {
    'fetch/while-running: results can be fetched while a task is running': async (service) => {
      const { now, items } = await runningTask(service);
      const problem = `no entities, although ${statusOf(now).ready} are ready`;
      return [...bodyLike(page)(items), ...unless(entitiesOf(items).length > 0, problem)];
    },
    'status/while-running: verified_count is never below ready_count': async (service) => {
      const { now, last } = await runningTask(service);
      return [now, last].flatMap((one) => [...bodyLike(taskStatus)(one), ...verifiedBelow(one)]);
    },
    'balance/reserved: credits that a running task has reserved are not available': async (service) => {
      const { items, last, reserved, cost } = await runningTask(service);
      const [limit, { ready }] = [numberIn(items.json, 'limit'), statusOf(last)];
      return unless(
        reserved >= cost && (cost <= 0 || reserved * ready >= cost * limit),
        `${reserved} credits were reserved for ${limit} leads, and ${cost} charged for ${ready}`,
      );
    },
  }),
  // After something was spent: otherwise an unknown account would have the same balance.
  ...scenarios('balance/', [], {
    'foreign-user: the API key alone decides the account: no identifier is accepted': async (service) => {
      const own = await service.steadyBalance();
      const query = { user_id: 'conformance', account_id: 'conformance' };
      return same(
        '$.available_credits',
        creditsOf(await service.accepted({ endpoint: 'balance', query })),
        own,
      );
    },
  }),
];

function verifiedBelow(answer: Answer): Problems {
  const { ready, verified } = statusOf(answer);
  return unless(verified >= ready, `verified_count is ${verified}, but ready_count is ${ready}`);
}

function isOver(answer: Answer): Problems {
  return unless(hasEnded(answer), `the state is ${quoted(statusOf(answer).status)}`);
}

const watched = post('createTask', { limit: 3 });
/** How many times as long to leave a task unwatched as another one took; with a second try, since no two take the same time. */
const unwatched = [4, 12].map((times) => ({ times, create: post('createTask', { limit: 3 }) }));

export const statusRows: readonly Row[] = [
  ...checks('status/', ofNewTask('status', { limit: 3 }), {
    'body: the status of a new task has status, ready_count, verified_count and stop_reason':
      bodyLike(taskStatus),
  }),
  ...checks('status/', ofFinishedTask('status'), {
    'body-when-ended: the status of an ended task has the same fields': bodyLike(taskStatus),
    'ends: a task ends as done or in error': isOver,
    'verified-count: verified_count is never below ready_count': verifiedBelow,
    'at-most-limit: a task gives at most limit leads': (answer) => {
      const { ready } = statusOf(answer);
      return unless(ready <= 7, `ready_count is ${ready}`);
    },
  }),
  ...scenarios('status/', [watched, ...unwatched.map(({ create }) => create)], {
    'without-polling: a task goes on without being asked about': async (service) => {
      const start = service.time();
      await service.statusWhen(searchIdOf(await service.send(watched)));
      const took = Math.max(100, service.time() - start);
      let problems: Problems = [];
      for (const { times, create } of unwatched) {
        const query = { leads_search_id: searchIdOf(await service.send(create)) };
        await service.pause(took * times);
        problems = isOver(await service.accepted({ endpoint: 'status', query }));
        if (problems.length === 0) break;
      }
      return problems;
    },
  }),
  ...taskIdRows('status'),
];

const most = String(limits.fetchNum.max);
const ofTask = (query: Readonly<Record<string, string>>) => ofFinishedTask('fetch', query);
const whole = shared(ofTask({ pts: '0', num: most }));
/** The task has at most 7 leads, and a page may have only one. */
const mostPages = 7;

/** Reads the task from its first position to `ready_count`, in pages of at most this size. */
async function walk(service: TestedService, num: string): Promise<{ leads: string[]; ready: number }> {
  const leads: string[] = [];
  for (let pts = 0, pages = 1; ; pages++) {
    const answer = await ofTask({ pts: String(pts), num }).take(service);
    const [count, ready] = [numberIn(answer.json, 'count'), numberIn(answer.json, 'ready_count')];
    if (Number.isNaN(count + ready)) throw notTried('the page has no count or no ready_count', answer);
    leads.push(...leadsOf(answer));
    pts += count;
    if (pts >= ready || count === 0 || pages === mostPages) return { leads, ready };
  }
}

function leadsOf(answer: Answer): string[] {
  return leadsIn(answer).map(identityOf);
}

function entitiesOf({ json }: Answer): readonly unknown[] {
  return listIn(json, 'entities');
}

/** A page that repeats what was requested. */
function echoed(pts: number, num: number, more = {}): [Sample, Check] {
  return [ofTask({ pts: `${pts}`, num: `${num}` }), holds({ pts, num, ...more })];
}

export const fetchRows: readonly Row[] = [
  ...table('fetch/', 422, {
    'num-0: num is at least 1': ofTask({ num: '0' }),
    'num-501: num is at most 500': ofTask({ num: '501' }),
    'num-a-word: num is an integer': ofTask({ num: 'many' }),
    'num-a-fraction: num is an integer': ofTask({ num: '1.5' }),
    'pts-negative: pts is at least 0': ofTask({ pts: '-1' }),
    'pts-a-word: pts is an integer': ofTask({ pts: 'first' }),
    'pts-a-fraction: pts is an integer': ofTask({ pts: '0.5' }),
  }),
  ...taskIdRows('fetch'),
  ...checks('fetch/', whole, {
    'body: a page has all its fields': bodyLike(page),
    'num-500: num is at most 500': holds({ num: limits.fetchNum.max }),
    'task: a page has the leads_search_id of its task': (answer) =>
      holds({ leads_search_id: answer.request.query?.leads_search_id })(answer),
    'limit: limit is the limit of the task': holds({ limit: 7 }),
    'count: count is the number of entities in the page': (answer) =>
      holds({ count: entitiesOf(answer).length })(answer),
    'entity-body: if an entity has name, links, description or score, they have the form that the interface gives':
      (answer) => {
        if (entitiesOf(answer).length === 0) throw notTried('the task found nothing');
        return bodyLike({ entities })(answer);
      },
  }),
  ...rows('fetch/', {
    'defaults: pts is 0 and num is 5 by default': [ofTask({}), holds({ pts: 0, num: 5 })],
    'num-1: num is at least 1': echoed(0, 1),
    'echo: a page repeats pts and num of the request': echoed(2, 3),
    'beyond: a page beyond ready_count is empty': echoed(100_000, 3, { count: 0 }),
    'at-most-num: a page has at most num entities': [ofTask({ num: '2' }), atMost(2, 'entities')],
    'before-anything-is-ready: a task can be fetched as soon as it is created': [
      ofNewTask('fetch', { limit: 3 }),
      bodyLike(page),
    ],
  }),
  // What several answers about the finished task show together.
  ...scenarios('fetch/', whole.pays, {
    'agrees-with-status: status and ready_count are those of the task': async (service) => {
      const { status, ready } = statusOf(await ofFinishedTask('status').take(service));
      return holds({ status, ready_count: ready })(await whole.take(service));
    },
    'all-ready: pages give everything that is ready, even if they are short': async (service) => {
      const { leads, ready } = await walk(service, most);
      return same('the number of entities', leads.length, ready);
    },
    'next-position: the next page begins at pts plus count': async (service) => {
      const { leads: large } = await walk(service, most);
      const { leads: small } = await walk(service, '2');
      if (large.length < 2) throw notTried('the task found fewer than two leads');
      const odd = large.findIndex((lead, at) => lead !== small[at]);
      const counts = `${small.length} entities in pages of 2, ${large.length} in pages of ${most}`;
      const problem = `${counts}; entity ${odd < 0 ? large.length : odd} differs`;
      return unless(odd < 0 && small.length === large.length, problem);
    },
    'positions: each position has another lead': async (service) => {
      const { leads } = await walk(service, '1');
      return unless(new Set(leads).size === leads.length, 'a lead stands at two positions');
    },
    'again: the same position can be read again': async (service) => {
      const [first] = leadsOf(await whole.take(service));
      const [again] = leadsOf(await ofTask({ pts: '0', num: '1' }).take(service));
      return unless(again === first, 'the entities differ');
    },
  }),
];
