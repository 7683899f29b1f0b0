import type { Clock } from '../context.ts';
import type { Outcome } from '../errors.ts';
import { StoppedError } from '../transport/errors.ts';

/** Milliseconds between two looks at a task: the shortest, which is also the first, and the longest. */
export interface PollTimes {
  readonly firstMs: number;
  readonly maxMs: number;
}

const growth = 1.5;
const jitter = 0.2;

/** Pure: how long to wait after `idle` looks in a row that saw no progress; `random` is from 0 to 1. */
export function pollWaitMs(idle: number, { firstMs, maxMs }: PollTimes, random: number): number {
  const base = Math.min(Math.max(firstMs, maxMs), firstMs * growth ** idle);
  return base * (1 + jitter * (2 * random - 1));
}

/** Resolves after `ms` milliseconds. Throws StoppedError, at once, when the signal aborts. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel = (): void => {};
  let stop = (): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      stop = () => reject(new StoppedError(signal.reason as Outcome, 'stopped', { charged: 'no' }));
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      cancel = clock.after(ms, resolve);
    });
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}
