import { type Charged, StoppedError } from './errors.ts';

export interface Clock {
  /** The wall clock. */
  now(): Date;
  /** Milliseconds that never jump. */
  monotonic(): number;
  /** Calls back once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, callback: () => void): () => void;
}

/** Where this machine is, for people: times are kept in UTC. */
export interface Zone {
  /** By how many minutes the clocks there are ahead of UTC at that time. */
  minutesFromUtc(time: Date): number;
}

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

/** As `wait`, but throws StoppedError when the signal aborts; `charged` is what it says. */
export async function pause(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal: AbortSignal,
  charged: Charged = 'no',
): Promise<void> {
  await wait(clock, ms, signal);
  if (signal.aborted) throw new StoppedError(signal, { charged });
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

/** Calls back again and again, for as long as the process has other work; returns what ends it. */
export function every(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms).unref();
  return () => clearInterval(timer);
}

/** Pure: a time as files and programs have it: `2026-11-22T05:24:39+01:00`. */
export function toZonedTime(time: Date, zone: Zone): string {
  const minutes = zone.minutesFromUtc(time);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map(twoDigits);
  return `${wallTime(time, minutes).slice(0, 19)}${minutes < 0 ? '-' : '+'}${hours}:${rest}`;
}

/** Pure: a time as people read it: `2026-11-22 05:24`. */
export function toMinutes(time: Date, zone: Zone): string {
  return wallTime(time, zone.minutesFromUtc(time)).slice(0, 16).replace('T', ' ');
}

/** Pure: the time that the clocks of the zone show so: `2026-11-22T05:24`. */
export function fromWallTime(shown: string, zone: Zone): Date {
  const utc = new Date(`${shown}Z`);
  // Near a change of the clocks the first guess is an hour off.
  const guess = new Date(utc.getTime() - zone.minutesFromUtc(utc) * 60_000);
  return new Date(utc.getTime() - zone.minutesFromUtc(guess) * 60_000);
}

function wallTime(time: Date, minutes: number): string {
  return new Date(time.getTime() + minutes * 60_000).toISOString();
}

function twoDigits(count: number): string {
  return String(count).padStart(2, '0');
}
