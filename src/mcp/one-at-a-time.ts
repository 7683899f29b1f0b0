import { join } from 'node:path';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { type FolderLock, lockPlace } from '../files/folder-lock.ts';
import { pause } from '../transport/pause.ts';

/**
 * Runs `work` while no other process does the same under this name; `release` ends that earlier. It is for what takes moments:
 * to look for a purchase, and to write down that one begins. Where nothing can be kept, `work` runs all the same. Throws when
 * `signal` aborts, and what `work` throws.
 */
export async function oneAtATime<T>(
  context: Pick<Context, 'clock' | 'directories' | 'pid' | 'random'>,
  name: string,
  signal: AbortSignal,
  work: (release: () => void) => Promise<T>,
): Promise<T> {
  const lock = await take(context, join(context.directories.state, 'beginning', name), signal);
  const release = (): void => lock?.release();
  try {
    return await work(release);
  } finally {
    release();
  }
}

async function take(
  { clock, pid, random }: Pick<Context, 'clock' | 'pid' | 'random'>,
  folder: string,
  signal: AbortSignal,
): Promise<FolderLock | undefined> {
  for (;;) {
    try {
      return await lockPlace(folder, pid, 'the same purchase');
    } catch (error) {
      if (!(error instanceof LeadpipeError)) return undefined;
      if (error.outcome !== 'temporary') throw error;
    }
    await pause(clock, 5 + 20 * random(), signal);
  }
}
