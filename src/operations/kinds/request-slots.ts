import type { Clock } from '../../clock.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Stop } from './list-stop.ts';

/** After this many milliseconds without a refusal, one more request is allowed. */
const quietMs = 2000;
const notSent = new LeadpipeError('interrupted', 'not sent', { charged: 'no' });

/**
 * Limits the number of concurrent requests, to `max` at most. A refusal halves the limit, which then grows by one at a time.
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
    /** Runs `work` when a slot is free. An error of `work` stops the list before the slot is free again. Throws `notSent` after a stop. */
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
    /** Resolves when a slot is free, or after a stop. */
    async room(): Promise<void> {
      await take();
      free();
    },
    /** Call this when the service was busy and refused a request that began at this time (monotonic). */
    busy(since: number): void {
      // A request that began before the last change says nothing about the present limit.
      if (since < changed && allowed < max) return;
      allowed = Math.max(1, Math.floor(allowed / 2));
      changed = clock.monotonic();
    },
    used: () => used,
  };
}
