import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';

/** Makes a folder and those above it, 0700: a umask can take rights from what `mkdir` makes, and from nothing else. */
export function makePrivateFolder(folder: string): Promise<void> {
  return makeFolder(folder, makeOne);
}

/** Makes a folder and those above it. Where none can be made, as in /proc, the `recursive` of Node never ends. */
export async function makeFolder(
  folder: string,
  make: (folder: string) => Promise<void> = makeShared,
): Promise<void> {
  try {
    await make(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder), make);
    // Once: some file systems say the same of a folder whose parent is there.
    await make(folder);
  }
}

/** A new name in it survives a power cut. Not every system can do that, and then it is no error. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, 0o700);
    await chmod(folder, 0o700);
  } catch (error) {
    // Another may make it at the same time.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function makeShared(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
