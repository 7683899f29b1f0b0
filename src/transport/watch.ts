import type { Clock } from '../context.ts';

/** Seconds of silence after which an answer is given up; each is measured while waiting for the service only. */
export interface TimeLimits {
  /** From the request to the answer's head. */
  readonly headers: number;
  /** Between two pieces of the body. */
  readonly idle: number;
  /** Between two events of a stream; absent where there are none. Comments do not count. */
  readonly event?: number;
  /** All waiting together. */
  readonly total: number;
}

/** What ran out, and after how many seconds. */
export class SilenceError extends Error {
  readonly limit: keyof TimeLimits;
  readonly seconds: number;

  constructor(limit: keyof TimeLimits, seconds: number) {
    super(`${silences[limit]} ${seconds} s`);
    this.name = 'SilenceError';
    this.limit = limit;
    this.seconds = seconds;
  }
}

const silences: Record<keyof TimeLimits, string> = {
  headers: 'no answer for',
  idle: 'no data for',
  event: 'no new leads for',
  total: 'the answer was not complete after',
};

export interface Watch {
  /** Waits for the head of the answer under `headers` and `total`. */
  head<T>(work: Promise<T>): Promise<T>;
  /** Waits for the next piece of the body under `idle`, `event` and `total`. */
  piece<T>(work: Promise<T>): Promise<T>;
  /** An event has arrived. */
  event(): void;
}

/**
 * The time limits of one answer. Time in which a slow reader keeps us from asking for more is not counted: it says
 * nothing about the service. When a limit runs out, `abort` is called and the wait rejects with a SilenceError.
 */
export function createWatch(clock: Clock, limits: TimeLimits, abort: (reason: SilenceError) => void): Watch {
  let waited = 0;
  let waitedSinceEvent = 0;

  async function wait<T>(work: Promise<T>, first: 'headers' | 'idle'): Promise<T> {
    const left: [keyof TimeLimits, number][] = [
      [first, limits[first] * 1000],
      ['total', limits.total * 1000 - waited],
    ];
    if (first === 'idle' && limits.event !== undefined) {
      left.push(['event', limits.event * 1000 - waitedSinceEvent]);
    }
    const [limit, ms] = left.reduce((soonest, one) => (one[1] < soonest[1] ? one : soonest));
    const start = clock.monotonic();
    let cancel = (): void => {};
    const silence = new Promise<never>((_, reject) => {
      cancel = clock.after(Math.max(0, ms), () => {
        const error = new SilenceError(limit, limits[limit] ?? 0);
        abort(error);
        reject(error);
      });
    });
    try {
      return await Promise.race([work, silence]);
    } finally {
      cancel();
      const spent = clock.monotonic() - start;
      waited += spent;
      waitedSinceEvent += spent;
    }
  }

  return {
    head: (work) => wait(work, 'headers'),
    piece: (work) => wait(work, 'idle'),
    event: () => {
      waitedSinceEvent = 0;
    },
  };
}
