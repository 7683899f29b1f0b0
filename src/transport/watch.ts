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
  constructor(limit: keyof TimeLimits, seconds: number) {
    super(`${silences[limit]} ${seconds} s`);
    this.name = 'SilenceError';
  }
}

const silences: Record<keyof TimeLimits, string> = {
  headers: 'no answer for',
  idle: 'no data for',
  event: 'no new leads for',
  total: 'the answer was not complete after',
};

/** Waiting is counted in steps of this many milliseconds: of one in which the process was stopped, no more is counted. */
const stepMs = 500;

export interface Watch {
  /** Waits for the head of the answer under `headers` and `total`. */
  head<T>(work: Promise<T>): Promise<T>;
  /** Waits for the next piece of the body under `idle`, `event` and `total`. */
  piece<T>(work: Promise<T>): Promise<T>;
  event(): void;
}

/**
 * The time limits of one answer. Time in which a slow reader keeps us from asking for more is not counted, nor that in which
 * this process was stopped (SIGSTOP, sleep of the machine): neither says anything about the service. When a limit runs out,
 * `abort` is called and the wait rejects with a SilenceError.
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
    const [limit, most] = left.reduce((soonest, one) => (one[1] < soonest[1] ? one : soonest));
    let spent = 0;
    let step = 0;
    let start = clock.monotonic();
    let cancel = (): void => {};
    const count = (): void => {
      const now = clock.monotonic();
      spent += Math.min(now - start, step);
      start = now;
    };
    const silence = new Promise<never>((_, reject) => {
      const give = (): void => {
        const error = new SilenceError(limit, limits[limit] ?? 0);
        abort(error);
        reject(error);
      };
      const next = (): void => {
        step = Math.max(0, Math.min(stepMs, most - spent));
        cancel = clock.after(step, () => {
          count();
          // Timers come first in a turn of the event loop: what lies in the socket is read before the turn ends.
          if (spent < most) return next();
          const end = setImmediate(give);
          cancel = () => clearImmediate(end);
        });
      };
      next();
    });
    try {
      return await Promise.race([work, silence]);
    } finally {
      cancel();
      count();
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
