import { LeadpipeError, stoppedBy } from './errors.ts';

/** Milliseconds of work after which everything else has its turn. */
const workMs = 50;

export type Yielder = ReturnType<typeof createYielder>;

/** For work that may compute for long: Ctrl-C is heard only when the event loop turns. */
export function createYielder(signal: AbortSignal | undefined) {
  let since = Date.now();
  return {
    // A clock that was set back makes it due, which does no harm.
    isDue: () => Math.abs(Date.now() - since) >= workMs,
    /** Lets the event loop turn. Throws what the signal says when it has aborted. */
    async yield(): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) throw new LeadpipeError(stoppedBy(signal), 'stopped while writing the output');
      since = Date.now();
    },
  };
}
