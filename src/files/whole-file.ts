import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Context } from '../context.ts';
import { awaitLock } from './folder-lock.ts';
import { makePrivateFolder, syncFolder } from './private-folder.ts';

/**
 * Writes a file, 0600: all of it is on the disk under its name, or none. A link in its place is replaced, not followed.
 * For one writer at a time: what a killed one was writing is cleared away. Throws what the file system throws.
 */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const part = `${path}.part`;
  await rm(part, { force: true });
  try {
    const handle = await open(part, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Writes a file, as `writeWhole`, in a folder that only this user may look into. */
export async function writePrivate(path: string, content: string | Uint8Array): Promise<void> {
  await makePrivateFolder(dirname(path));
  await writeWhole(path, content);
}

/**
 * Changes a file under the lock of its folder, which is made when it isn't there, so that of any number of processes
 * none loses another's change. `change` reads what there is and returns what the file holds from now on; undefined leaves
 * it. `what` is what the folder is about. Throws as `change` and the file system do, and `temporary` when another process
 * does not give up the lock.
 */
export async function changeFile(
  context: Pick<Context, 'pid' | 'clock' | 'random'>,
  path: string,
  what: string,
  change: () => Promise<string | undefined>,
): Promise<void> {
  const folder = dirname(path);
  await makePrivateFolder(folder);
  const lock = await awaitLock(folder, context, what);
  try {
    const text = await change();
    if (text !== undefined) await writeWhole(path, text);
  } finally {
    lock.release();
  }
}
