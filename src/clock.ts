import { StoppedError } from './errors.ts';

export interface Clock {
  /** The wall clock. */
  now(): Date;
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number;
  /** Calls back once after `ms` milliseconds, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void;
}

/** The time zone of this machine. Times are stored in UTC and shown in this zone. */
export interface Zone {
  /** The offset from UTC at that time, in minutes. */
  minutesFromUtc(time: Date): number;
}

export const dayMs = 86_400_000;

/** Resolves after `ms` milliseconds, or as soon as the signal aborts. */
export async function wait(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal?.addEventListener('abort', finish);
  });
}

/** As `wait`, but throws StoppedError when the signal aborts. */
export async function pause(clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  await wait(clock, ms, signal);
  if (signal.aborted) throw new StoppedError(signal, { charged: 'no' });
}

/** The clock of this process. */
export function createClock(monotonic: () => number = () => performance.now()): Clock {
  return {
    now: () => new Date(),
    monotonic,
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
}

/** Calls back every `ms` milliseconds. Does not keep the process alive. Returns a function that stops it. */
export function every(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms).unref();
  return () => clearInterval(timer);
}

/** Pure: a time for files and programs: `2026-11-22T05:24:39+01:00`. */
export function toZonedTime(time: Date, zone: Zone): string {
  const minutes = zone.minutesFromUtc(time);
  const offset = new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16);
  return `${wallTime(time, minutes).slice(0, 19)}${minutes < 0 ? '-' : '+'}${offset}`;
}

/** Pure: a time for people: `2026-11-22 05:24`. */
export function toMinutes(time: Date, zone: Zone): string {
  return wallTime(time, zone.minutesFromUtc(time)).slice(0, 16).replace('T', ' ');
}

/** Pure: the time for a local date and time of the zone, such as `2026-11-22T05:24`. */
export function fromWallTime(shown: string, zone: Zone): Date {
  const utc = new Date(`${shown}Z`);
  // Near a change to or from summer time, the first guess can be an hour off.
  const guess = new Date(utc.getTime() - zone.minutesFromUtc(utc) * 60_000);
  return new Date(utc.getTime() - zone.minutesFromUtc(guess) * 60_000);
}

function wallTime(time: Date, minutes: number): string {
  return new Date(time.getTime() + minutes * 60_000).toISOString();
}
