import type { Clock } from '../context.ts';
import { type Charged, stoppedBy } from '../errors.ts';
import { StoppedError } from './errors.ts';

/** Resolves after `ms` milliseconds. Throws StoppedError, at once, when the signal aborts; `charged` is what it says. */
export async function pause(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  charged: Charged = 'no',
): Promise<void> {
  let cancel = (): void => {};
  let stop = (): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      stop = () => reject(new StoppedError(stoppedBy(signal), 'stopped', { charged }));
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      cancel = clock.after(ms, resolve);
    });
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}
