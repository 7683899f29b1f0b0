import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type HeldLock, LockLostError } from './folder-lock.ts';
import { notStored } from './line-log.ts';
import { syncFolder } from './private-folder.ts';

/**
 * Writes a file atomically, 0600; a link at its path is replaced. Only the process with the `lock` may write it, so the temporary file of a killed
 * one is removed. `what` is its content, for messages. Throws LocalIoError, LockLostError.
 */
export async function writeAtomically(
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
    // Another process may already have taken over, and this may be its temporary file.
    if (!(error instanceof LockLostError)) await rm(part, { force: true }).catch(() => undefined);
    throw notStored(what, path, error);
  }
  await syncFolder(dirname(path));
}
