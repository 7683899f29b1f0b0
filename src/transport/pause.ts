import { type Clock, wait } from '../clock.ts';
import { type Charged, stoppedBy } from '../errors.ts';
import { StoppedError } from './errors.ts';

/** Resolves after `ms` milliseconds. Throws StoppedError, at once, when the signal aborts; `charged` is what it says. */
export async function pause(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  charged: Charged = 'no',
): Promise<void> {
  await wait(clock, ms, signal);
  if (signal.aborted) throw new StoppedError(stoppedBy(signal), 'stopped', { charged });
}
