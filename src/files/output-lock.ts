import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { type FolderLock, lockPlace } from './folder-lock.ts';
import { makeOne } from './private-folder.ts';
import { realPathOf, statOrNothing } from './target.ts';
import { writeFailure } from './write-failure.ts';

/**
 * Runs `work` as the one run that writes a file, in whichever container: whatever stands beside it is then of a run that is over.
 * The lock stands beside the file. What is no regular file (a FIFO, /dev/null) many may write at once. Throws `temporary`,
 * naming the process, where another run has it, LocalIoError, and what `work` throws.
 */
export async function withOutputLock<T>(
  { pid }: Pick<Context, 'pid'>,
  file: string,
  work: (lock: FolderLock | undefined) => Promise<T>,
): Promise<T> {
  const found = await statOrNothing(file);
  if (found !== undefined && !found.isFile()) return await work(undefined);
  const folder = `${await realPathOf(file)}.lock`;
  // Others of the group may see who has it.
  const lock = await lockPlace(folder, pid, file, makeOne).catch((error: unknown) => {
    throw error instanceof LeadpipeError ? error : writeFailure(file, error);
  });
  try {
    return await work(lock);
  } finally {
    lock.release();
  }
}
