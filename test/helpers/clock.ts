import type { Context } from '../../src/context.ts';

/** The clock of this machine. */
export const machineClock: Context['clock'] = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** A clock on which time passes so many times as fast. */
export function hastened(times: number): Context['clock'] {
  const from = Date.now();
  return {
    now: () => new Date(from + (Date.now() - from) * times),
    monotonic: () => performance.now() * times,
    after: (ms, callback) => machineClock.after(ms / times, callback),
  };
}
