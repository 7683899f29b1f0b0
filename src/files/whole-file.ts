import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type HeldLock, LockLostError } from './folder-lock.ts';
import { notStored } from './line-log.ts';
import { syncFolder } from './private-folder.ts';

/**
 * Writes a file with `what`, 0600: it appears complete or not at all. Replaces a link in its place. Only the process with the `lock` may
 * write it; what a killed one has left is removed. Throws LocalIoError, LockLostError.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  what: string,
  lock: HeldLock,
): Promise<void> {
  const part = `${path}.part`;
  try {
    lock.confirm();
    await rm(part, { force: true });
    const handle = await open(part, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    lock.confirm();
    await rename(part, path);
  } catch (error) {
    // It may be the file of the process that has taken over.
    if (!(error instanceof LockLostError)) await rm(part, { force: true }).catch(() => undefined);
    throw notStored(what, path, error);
  }
  await syncFolder(dirname(path));
}
