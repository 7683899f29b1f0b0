import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { notStored } from './line-log.ts';
import { syncFolder } from './private-folder.ts';

/**
 * Writes a file with `what`, 0600: it appears complete or not at all. Replaces a link in its place. Only one process may write it at a
 * time; what a killed one has left is removed. Throws LocalIoError.
 */
export async function writeWhole(path: string, content: string | Uint8Array, what: string): Promise<void> {
  const part = `${path}.part`;
  try {
    await rm(part, { force: true });
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
    throw notStored(what, path, error);
  }
  await syncFolder(dirname(path));
}
