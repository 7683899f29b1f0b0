import { LeadpipeError, stoppedBy } from './errors.ts';

/** Milliseconds of work after which the event loop turns. */
const workMs = 50;

export type Yielder = ReturnType<typeof createYielder>;

/** For long computations: Ctrl-C is only noticed when the event loop turns. */
export function createYielder(signal: AbortSignal | undefined) {
  let since = Date.now();
  return {
    // If the clock was set back, it is due, which does no harm.
    isDue: () => Math.abs(Date.now() - since) >= workMs,
    /** Lets the event loop turn. Throws the reason of the signal if that has aborted. */
    async yield(): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) throw new LeadpipeError(stoppedBy(signal), 'stopped while writing the output');
      since = Date.now();
    },
  };
}
