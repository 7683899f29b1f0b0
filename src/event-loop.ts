import { LeadpipeError, stoppedBy } from './errors.ts';

/** Maximum milliseconds of work before yielding to the event loop. */
const workMs = 50;

export type Yielder = ReturnType<typeof createYielder>;

/** For long computations, which must yield to the event loop so that Ctrl-C is noticed. */
export function createYielder(signal: AbortSignal | undefined) {
  let since = Date.now();
  return {
    // After a clock change this may yield too early, which is harmless.
    isDue: () => Math.abs(Date.now() - since) >= workMs,
    /** Yields to the event loop. Throws if the signal has aborted. */
    async yield(): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) throw new LeadpipeError(stoppedBy(signal), 'stopped while writing the output');
      since = Date.now();
    },
  };
}
