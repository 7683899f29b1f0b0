import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './private-folder.ts';

/**
 * Writes a file, 0600: all of it is on the disk under its name, or none. A link in its place is replaced, not followed.
 * For one writer at a time: what a killed one was writing is cleared away. Throws what the file system throws.
 */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const part = `${path}.part`;
  await rm(part, { force: true });
  try {
    await writeFile(part, content, { flag: 'wx', mode: 0o600, flush: true });
    // Whatever the umask took.
    await chmod(part, 0o600);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}
