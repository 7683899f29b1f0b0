import type { Clock } from '../../clock.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Stop } from './list-stop.ts';

/** After this many milliseconds without a refusal, one more request is allowed. */
const quietMs = 2000;
const notSent = new LeadpipeError('interrupted', 'not sent', { charged: 'no' });

/**
 * How many requests may be in progress at once. `max` was asked for, and is never exceeded. The number is halved by a refusal, and then
 * grows by one at a time.
 */
export function createSlots(clock: Clock, max: number, { because, halt }: Stop) {
  const waiting: (() => void)[] = [];
  let allowed = max;
  let used = 0;
  let changed = clock.monotonic();

  function admit(): void {
    if (allowed < max && clock.monotonic() - changed >= quietMs) {
      allowed++;
      changed = clock.monotonic();
    }
    while ((used < allowed || halt.aborted) && waiting.length > 0) {
      used++;
      waiting.shift()?.();
    }
  }

  function take(): Promise<void> {
    return new Promise((resolve) => {
      waiting.push(resolve);
      admit();
    });
  }

  function free(): void {
    used--;
    admit();
  }

  halt.addEventListener('abort', admit);
  return {
    /** Does `work` when there is room. What it throws stops the list, before there is room for anything else. Throws when nothing more is sent. */
    async use<T>(work: () => Promise<T>): Promise<T> {
      await take();
      try {
        if (halt.aborted) throw notSent;
        return await work();
      } catch (error) {
        because(error);
        throw error;
      } finally {
        free();
      }
    },
    /** Resolves when there is room, or when nothing more is sent. */
    async room(): Promise<void> {
      await take();
      free();
    },
    /** The service had too many requests at once, and refused one that began at this time (monotonic). */
    busy(since: number): void {
      // Requests that were sent before the last change say nothing about it.
      if (since < changed && allowed < max) return;
      allowed = Math.max(1, Math.floor(allowed / 2));
      changed = clock.monotonic();
    },
    used: () => used,
  };
}
