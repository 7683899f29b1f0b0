import { hash } from 'node:crypto';
import { realpath, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { type FolderLock, lockFolder } from '../files/folder-lock.ts';
import { makePrivateFolder } from '../files/private-folder.ts';

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
  const lock = await take(folder, pid, file);
  try {
    return await work();
  } finally {
    lock?.release();
    await rmdir(folder).catch(() => undefined);
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

/** Undefined where the folder of the state can't be written: then nothing is known of other runs. */
async function take(folder: string, pid: number, file: string): Promise<FolderLock | undefined> {
  for (let attempts = 0; attempts < 20; attempts++) {
    try {
      await makePrivateFolder(folder);
      return await lockFolder(folder, pid, file);
    } catch (error) {
      if (error instanceof LeadpipeError) throw error;
      // Another run has cleared the folder away just then.
      if (codeOf(error) !== 'ENOENT') return undefined;
    }
  }
  return undefined;
}
