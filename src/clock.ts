import type { Clock } from './context.ts';

/** The clock of this process. */
export function createClock(): Clock {
  return {
    now: () => new Date(),
    monotonic: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
}
