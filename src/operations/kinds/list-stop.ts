import { setMaxListeners } from 'node:events';
import { LeadpipeError, StoppedError } from '../../errors.ts';
import { LockLostError } from '../../files/folder-lock.ts';
import type { Buyer } from '../buyer.ts';

/** How long to wait for answers after the user has stopped a list. */
export const graceSeconds = 10;

export type Stop = ReturnType<typeof createStop>;

/**
 * Stops a list before its last row. From then on nothing more is sent; answers that are in progress are still waited for, since they are paid
 * for. `changed` is called each time.
 */
export function createStop({ clock, signal }: Buyer['context'], changed: () => void) {
  const halt = new AbortController();
  const late = new AbortController();
  // Each request adds a listener, which is no leak.
  setMaxListeners(0, halt.signal, late.signal);
  let endGrace = (): void => {};

  /** Stops the list with an error that concerns all rows. The first error is kept. */
  function because(error: unknown): void {
    halt.abort(
      error instanceof LeadpipeError ? error : new LeadpipeError('bug', String(error), { cause: error }),
    );
    // Another process has the lock now, and the answers belong to it.
    if (error instanceof LockLostError) late.abort();
    changed();
  }

  return {
    because,
    byUser(): void {
      because(new StoppedError(signal));
      endGrace = clock.after(1000 * graceSeconds, () => late.abort(signal.reason));
    },
    /** When nothing is awaited any more. A timer would keep the process alive. */
    end: (): void => endGrace(),
    /** Why the list is stopped; undefined while it is not. */
    get error(): LeadpipeError | undefined {
      return halt.signal.reason;
    },
    /** Aborts when nothing more is sent. */
    halt: halt.signal,
    /** Aborts when answers are no longer waited for. */
    late: late.signal,
  };
}
