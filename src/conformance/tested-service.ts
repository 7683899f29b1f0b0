import { wait } from '../clock.ts';
import type { Clock } from '../context.ts';
import { type EndpointName, endpoints } from '../contract/endpoints.ts';
import { taskStates, terminalTaskStates } from '../contract/types.ts';
import { isObject } from '../json/object.ts';
import {
  type Action,
  type Answer,
  free,
  NotJudged,
  type Request,
  type Step,
  type TaskCounts,
  type TestedService,
} from './row.ts';
import { companies, getTask, post } from './samples.ts';
import { numberOf, quoted } from './shapes.ts';

export interface TestedServiceOptions {
  readonly send: (request: Request) => Promise<Answer>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The most milliseconds between two polls of a task or the balance; the first few follow sooner. */
  readonly pollMs: number;
  /** Milliseconds after which a task that has not ended is given up. */
  readonly taskMs: number;
}

/** Polls of the balance, and attempts of a request that finds no room. */
const mostPolls = 60;
/** The first pauses between polls, as parts of the longest: what is quick is soon over, and what is slow is not asked often. */
const firstPauses = [0.1, 0.2, 0.5];
/** For how many of the longest pauses the balance must not have moved: after what was never seen to be charged, and at least. */
const quietPauses = { unseen: 3, least: 0.3 };

/** What rows share: answers that are asked for once, and how to wait for a task or the balance. */
export function createTestedService(options: TestedServiceOptions): TestedService {
  const { clock, signal, pollMs, taskMs } = options;
  const done = new Map<string, Promise<readonly Answer[]>>();
  const pause = (ms: number) => wait(clock, ms, signal);
  const pauseAfter = (polls: number) => pollMs * (firstPauses[polls] ?? 1);
  const readBalance = () => options.send({ endpoint: 'balance' });
  /** How long after an answer the balance moved at most, by what had been asked for. */
  const slowest = new Map<EndpointName, number>();
  /** What can still move the balance, since it was steady, and whether it was admitted; and when the last answer to it came. */
  const moving = new Map<EndpointName, boolean>();
  for (const name of Object.keys(endpoints)) moving.set(name as EndpointName, false);
  let answered = clock.monotonic();
  let steady: number | undefined;

  function learn(ms: number): void {
    for (const [name, isAdmitted] of moving)
      if (isAdmitted) slowest.set(name, Math.max(ms, slowest.get(name) ?? 0));
  }

  /** How long the balance must not have moved: longer than any settlement of this kind that was seen. */
  function quietMs(): number {
    const [unseen, least] = [quietPauses.unseen * pollMs, quietPauses.least * pollMs];
    const timeOf = (name: EndpointName): number => {
      const ms = slowest.get(name);
      return ms === undefined ? unseen : Math.max(least, 2 * ms);
    };
    return Math.max(0, ...[...moving.keys()].map(timeOf));
  }

  const service: TestedService = {
    pause,
    time: () => clock.monotonic(),
    async send(request) {
      // A task of an earlier row may still run: where there is no room, nothing was admitted.
      for (let polls = 0; ; polls++) {
        const answer = await options.send(request);
        const { endpoint } = request;
        if (endpoints[endpoint].method === 'POST')
          moving.set(endpoint, moving.get(endpoint) === true || answer.status === 200);
        answered = clock.monotonic();
        const isFull = answer.status === 429 && (request.apiKey ?? 'main') === 'main';
        if (!isFull || polls === mostPolls) return answer;
        await pause(pauseAfter(polls));
      }
    },
    once(name, take) {
      const answers = done.get(name) ?? take(service, []);
      done.set(name, answers);
      return answers;
    },
    async statusWhen(searchId, wanted = () => false) {
      const start = clock.monotonic();
      for (let polls = 0; ; polls++) {
        const answer = await service.send(getTask('status', { leads_search_id: searchId }));
        const status = statusOf(answer);
        if (status === undefined)
          throw new NotJudged(`the status of the task could not be read: ${answer.status}`, answer);
        if (!taskStates.some((state) => state === status.status))
          throw new NotJudged(`the state of the task is ${quoted(status.status)}`);
        if (hasEnded(answer) || wanted(status)) return answer;
        if (clock.monotonic() - start > taskMs) throw new NotJudged('the task did not end in time');
        await pause(pauseAfter(polls));
      }
    },
    async steadyBalance() {
      let since = answered;
      let last = steady;
      for (let polls = 0; polls < mostPolls * 10; polls++) {
        const now = await readBalance();
        if (creditsOf(now) !== last) since = clock.monotonic();
        last = creditsOf(now);
        const left = since + quietMs() - clock.monotonic();
        if (left <= 0) {
          // What moved nothing has cost nothing: it may be as slow as others, if any were seen.
          if (steady !== undefined && last !== steady) learn(since - answered);
          else if (slowest.size > 0) learn(Math.max(...slowest.values()));
          moving.clear();
          steady = last;
          return now;
        }
        await pause(Math.min(pauseAfter(polls), left));
      }
      throw new NotJudged('the balance keeps changing');
    },
    async balanceWhen(wanted) {
      for (let polls = 0; ; polls++) {
        const now = await readBalance();
        const isWanted = wanted(creditsOf(now));
        if (isWanted && polls > 0) learn(clock.monotonic() - answered);
        if (isWanted || polls === mostPolls) return now;
        await pause(pauseAfter(polls));
      }
    },
  };
  return service;
}

export function take(
  service: TestedService,
  step: Step,
  earlier: readonly Answer[],
): Promise<readonly Answer[]> {
  if (!('take' in step)) return service.send(step).then((answer) => [answer]);
  return step.once === undefined ? step.take(service, earlier) : service.once(step.once, step.take);
}

export const steady = free((service) => service.steadyBalance());

/** Waits until the task that an earlier answer created has ended. */
export function ended(created: number): Action {
  return free((service, earlier) => service.statusWhen(searchIdOf(earlier[created] as Answer)));
}

const seven = post('createTask', { body: companies({ limit: 7 }) });

/** Seven leads, once for all rows that read a task which has ended. */
const finishedTask: Action = {
  once: 'finished task',
  pays: [seven],
  async take(service) {
    const created = await service.send(seven);
    return [created, await service.statusWhen(searchIdOf(created))];
  },
};

export function ofFinishedTask(
  endpoint: 'status' | 'fetch',
  query: Readonly<Record<string, string>> = {},
  change: Partial<Request> = {},
  tail = '',
): Action {
  return {
    after: finishedTask,
    async take(service) {
      const [created] = await take(service, finishedTask, []);
      const leads_search_id = searchIdOf(created as Answer) + tail;
      return [await service.send({ ...getTask(endpoint, { leads_search_id, ...query }), ...change })];
    },
  };
}

export function ofCreatedTask(endpoint: 'status' | 'fetch'): Action {
  return free((service, [task]) =>
    service.send(getTask(endpoint, { leads_search_id: searchIdOf(task as Answer) })),
  );
}

/** The task that an answer of create_task names. */
export function searchIdOf(answer: Answer): string {
  const id = isObject(answer.json) ? answer.json.leads_search_id : undefined;
  if (answer.status !== 200 || typeof id !== 'string')
    throw new NotJudged(`create_task created no task: ${answer.status}`, answer);
  return id;
}

export function creditsOf(answer: Answer): number {
  const credits = isObject(answer.json) ? numberOf(answer.json.available_credits) : Number.NaN;
  if (Number.isNaN(credits)) throw new NotJudged('available_credits of the balance is not a number', answer);
  return credits;
}

export function statusOf({ json }: Answer): TaskCounts | undefined {
  if (!isObject(json) || !isObject(json.status)) return undefined;
  const { status, ready_count, verified_count } = json.status;
  return { status, ready: numberOf(ready_count), verified: numberOf(verified_count) };
}

export function hasEnded(answer: Answer): boolean {
  return terminalTaskStates.some((state) => state === statusOf(answer)?.status);
}
