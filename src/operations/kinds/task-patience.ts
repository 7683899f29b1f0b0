import { pause } from '../../clock.ts';
import type { Context } from '../../context.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { Running } from '../events.ts';
import { PageError } from './task-page.ts';

/** The shortest and the longest wait between two polls of a task that takes long, in milliseconds. */
export interface PollTimes {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The first waits, if they are shorter: many tasks end soon. */
const soonMs = [500, 1000, 2000];
export const settledPoll = soonMs.length;
const growth = 1.5;
const jitter = 0.2;

/** Pure: how long to wait after this many polls of a task; `random` is from 0 to 1. */
export function pollWaitMs(polls: number, { firstMs, maxMs }: PollTimes, random: number): number {
  const steadyMs = Math.min(Math.max(firstMs, maxMs), firstMs * growth ** Math.max(0, polls - settledPoll));
  return Math.min(soonMs[polls] ?? steadyMs, steadyMs) * (1 + jitter * (2 * random - 1));
}

/** The failures of a free read that are retried. */
type ReadFault = 'outage' | 'garbled' | 'empty' | 'missing';

export interface PatienceOptions {
  readonly poll: PollTimes;
  /** How long the service may be unreachable. With 0, the first temporary failure ends the run. */
  readonly outageMs: number;
  /** Whether this machine has created the task: then one "not found" does not mean that it is gone. */
  readonly isOurs?: boolean | undefined;
}

export type Waiting = Pick<Context, 'clock' | 'random' | 'signal'>;

const maxTries = { garbled: 3, empty: 5, missing: 3 } as const;

/**
 * Retries after a wait, as often as the fault allows. Reports the first of several faults, because the user would see no progress otherwise.
 * Throws the last error of `ask`, and StoppedError.
 */
export function createReadRetry(waiting: Waiting, options: PatienceOptions) {
  const { clock, random, signal } = waiting;
  return async function* <T>(ask: () => Promise<T>): Running<T> {
    const tries = { outage: 0, garbled: 0, empty: 0, missing: 0 };
    let failingSince: number | undefined;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const fault = readFaultOf(error);
        if (fault === undefined) throw error;
        const now = clock.monotonic();
        const isFirst = failingSince === undefined;
        failingSince ??= now;
        const tried = tries[fault]++;
        const isOver =
          fault === 'outage'
            ? now - failingSince >= options.outageMs
            : tried >= maxTries[fault] || (fault === 'missing' && options.isOurs !== true);
        if (isOver) throw error;
        if (isFirst) yield { is: 'stumbled', fault: error as Error };
        await pause(clock, retryWaitMs(fault, tried, options.poll, random()), signal);
      }
    }
  };
}

function readFaultOf(error: unknown): ReadFault | undefined {
  if (error instanceof PageError) return error.empty ? 'empty' : 'garbled';
  if (!(error instanceof RequestError)) return undefined;
  if (error.fault === 'missing') return error.fault;
  // Other faults have been retried already. For an outage, it is worth waiting longer.
  return error.outcome === 'temporary' ? 'outage' : undefined;
}

/** Pure: the wait before a try, as a part of the time between two polls (5 s: 1, 2, 3 s; 5, 10, … 60 s). */
function retryWaitMs(fault: ReadFault, tries: number, poll: PollTimes, random: number): number {
  if (fault === 'outage') return pollWaitMs(settledPoll + tries, poll, random);
  if (fault === 'empty') return poll.firstMs * Math.min(2 ** tries, 12);
  return (poll.firstMs / 5) * (tries + 1);
}
