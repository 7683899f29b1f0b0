import { hash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Context } from '../context.ts';
import { lockPlace } from '../files/folder-lock.ts';

/**
 * Runs `work` as the one run of this machine that writes a file: whatever stands beside it is then of a run that is over.
 * Throws `temporary`, naming the process, where another run has it, and what `work` throws. Where nothing can be kept, it
 * can't be known either, and `work` runs all the same.
 */
export async function holdingOutput<T>(
  { directories, pid }: Pick<Context, 'directories' | 'pid'>,
  file: string,
  work: () => Promise<T>,
): Promise<T> {
  const path = await fileOf(file);
  if (path === undefined) return await work();
  const folder = join(directories.state, 'outputs', hash('sha256', path).slice(0, 16));
  const lock = await lockPlace(folder, pid, file);
  try {
    return await work();
  } finally {
    lock?.release();
  }
}

/** Where the file really is; undefined for what many may write at once: a FIFO, /dev/null. */
async function fileOf(file: string): Promise<string | undefined> {
  const path = resolve(file);
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined) return found.isFile() ? await realpath(path).catch(() => path) : undefined;
  const folder = await realpath(dirname(path)).catch(() => dirname(path));
  return join(folder, basename(path));
}
