export interface Clock {
  /** The wall clock. */
  now(): Date;
  /** Milliseconds that never jump. */
  monotonic(): number;
  /** Calls back once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, callback: () => void): () => void;
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
