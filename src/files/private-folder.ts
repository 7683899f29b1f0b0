import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';

/** Makes a folder and those above it, 0700: a umask can take rights from what `mkdir` makes, and from nothing else. */
export function makePrivateFolder(folder: string): Promise<void> {
  return makeFolder(folder, 0o700);
}

/** Makes a folder and those above it. Where none can be made, as in /proc, the `recursive` of Node never ends. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    await makeOne(folder, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder), mode);
    // Once: some file systems say the same of a folder whose parent is there.
    await makeOne(folder, mode);
  }
}

/** A new name in it survives a power cut. Not every system can do that, and then it is no error. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** Makes a folder, unless it is there: another may make it at the same time. */
export async function makeOne(folder: string, mode?: number): Promise<void> {
  try {
    await mkdir(folder, mode);
    if (mode !== undefined) await chmod(folder, mode);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
