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

/** A clock that runs faster by a factor. */
export function hastened(times: number): Context['clock'] {
  const from = Date.now();
  return {
    now: () => new Date(from + (Date.now() - from) * times),
    monotonic: () => performance.now() * times,
    after: (ms, callback) => machineClock.after(ms / times, callback),
  };
}

/** A clock whose waits end at once. It records them. */
export function createLeapingClock(): Context['clock'] & { readonly waits: number[] } {
  let time = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => new Date(Date.UTC(2026, 0, 1) + time),
    monotonic: () => time,
    after(ms, callback) {
      waits.push(ms);
      time += ms;
      queueMicrotask(callback);
      return () => {};
    },
  };
}
