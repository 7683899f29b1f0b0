import { wait } from '../clock.ts';
import type { Clock } from '../context.ts';
import { taskStates, terminalTaskStates } from '../contract/types.ts';
import { isObject } from '../json/object.ts';
import { type Answer, NotJudged, type Request, type Step, type TestedService } from './row.ts';
import { companies, getTask } from './samples.ts';
import { numberOf, quoted } from './shapes.ts';

export interface TestedServiceOptions {
  readonly send: (request: Request) => Promise<Answer>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Milliseconds between two looks at a task or the balance. */
  readonly pollMs: number;
  /** Milliseconds after which a task that has not ended is given up. */
  readonly taskMs: number;
}

/** What rows share: answers that are asked for once, and a task that has ended. */
export function createTestedService({
  send,
  clock,
  signal,
  pollMs,
  taskMs,
}: TestedServiceOptions): TestedService {
  const shared = new Map<string, Promise<Answer>>();
  let task: Promise<string> | undefined;

  const service: TestedService = {
    send,
    once(name, step) {
      const answer = shared.get(name) ?? take(service, step, []);
      shared.set(name, answer);
      return answer;
    },
    finishedTask() {
      task ??= createTask().then(async (searchId) => {
        await service.statusWhen(searchId, () => false);
        return searchId;
      });
      return task;
    },
    async statusWhen(searchId, wanted) {
      const start = clock.monotonic();
      for (;;) {
        const answer = await send(getTask('status', { leads_search_id: searchId }));
        const status = statusOf(answer);
        if (status === undefined)
          throw new NotJudged(`the status of the task could not be read: ${answer.status}`);
        if (!taskStates.some((state) => state === status.status))
          throw new NotJudged(`the state of the task is ${quoted(status.status)}`);
        const ended = terminalTaskStates.some((state) => state === status.status);
        if (ended || wanted(status.ready)) return answer;
        if (clock.monotonic() - start > taskMs) throw new NotJudged('the task did not end in time');
        await wait(clock, pollMs, signal);
      }
    },
    async steadyBalance() {
      let before = await send({ endpoint: 'balance' });
      for (let reads = 0; reads < 30; reads++) {
        await wait(clock, pollMs, signal);
        const now = await send({ endpoint: 'balance' });
        if (creditsOf(now) === creditsOf(before)) return now;
        before = now;
      }
      throw new NotJudged('the balance keeps changing');
    },
  };

  async function createTask(): Promise<string> {
    const answer = await send({ endpoint: 'createTask', body: companies({ limit: 7 }) });
    return searchIdOf(answer);
  }

  return service;
}

export function take(service: TestedService, step: Step, earlier: readonly Answer[]): Promise<Answer> {
  return typeof step === 'function' ? step(service, earlier) : service.send(step);
}

/** Asks about the task that has ended. */
export function ofFinishedTask(
  endpoint: 'status' | 'fetch',
  query: Readonly<Record<string, string>> = {},
  change: Partial<Request> = {},
): (service: TestedService) => Promise<Answer> {
  return async (service) => {
    const request = getTask(endpoint, { leads_search_id: await service.finishedTask(), ...query });
    return service.send({ ...request, ...change });
  };
}

/** Asks about the task that the first step created. */
export function ofCreatedTask(endpoint: 'status' | 'fetch'): Step {
  return (service, [task]) =>
    service.send(getTask(endpoint, { leads_search_id: searchIdOf(task as Answer) }));
}

/** The task that an answer of create_task names. */
export function searchIdOf(answer: Answer): string {
  const id = isObject(answer.json) ? answer.json.leads_search_id : undefined;
  if (answer.status !== 200 || typeof id !== 'string')
    throw new NotJudged(`create_task created no task: ${answer.status}`);
  return id;
}

export function creditsOf({ json }: Answer): number {
  const credits = isObject(json) ? numberOf(json.available_credits) : Number.NaN;
  if (Number.isNaN(credits)) throw new NotJudged('available_credits of the balance is not a number');
  return credits;
}

export function statusOf({ json }: Answer): { status: unknown; ready: number; verified: number } | undefined {
  if (!isObject(json) || !isObject(json.status)) return undefined;
  const { status, ready_count, verified_count } = json.status;
  return { status, ready: numberOf(ready_count), verified: numberOf(verified_count) };
}
