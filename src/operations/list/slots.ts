import type { Clock } from '../../clock.ts';

/** Without a refusal for this long, one more is allowed. */
const quietMs = 2000;

/**
 * How many requests may be under way at once. `most` is what was asked for, and never exceeded. Halved on a refusal, it grows again
 * one by one.
 */
export function createSlots(clock: Clock, most: number, halt: AbortSignal) {
  const waiting: (() => void)[] = [];
  let allowed = most;
  let used = 0;
  let changed = clock.monotonic();

  function admit(): void {
    const now = clock.monotonic();
    if (allowed < most && now - changed >= quietMs) {
      allowed++;
      changed = now;
    }
    while ((used < allowed || halt.aborted) && waiting.length > 0) {
      used++;
      waiting.shift()?.();
    }
  }

  halt.addEventListener('abort', admit);
  return {
    /** Resolves when there is room, which the caller frees, or when nothing more is sent. */
    take: () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        admit();
      }),
    free(): void {
      used--;
      admit();
    },
    /** The service has refused a request of that time (monotonic) because of too many at once. */
    busy(since: number): void {
      // Those that went out before the last change say nothing about it.
      if (since < changed && allowed < most) return;
      allowed = Math.max(1, Math.floor(allowed / 2));
      changed = clock.monotonic();
    },
    get used() {
      return used;
    },
  };
}
