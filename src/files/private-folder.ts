import { chmod, mkdir, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from './error-code.ts';

/** Makes a folder and its missing parents, 0700 under any umask. */
export function makePrivateFolder(folder: string): Promise<void> {
  return makeFolder(folder, 0o700);
}

/** Makes a folder and those above it. Node's own `recursive` never ends where none can be made, as in /proc. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    await makeOne(folder, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder), mode);
    // Only once: some file systems report ENOENT although the parent is there.
    await makeOne(folder, mode);
  }
}

/** Makes sure that a new name in the folder survives a power cut. Systems that can't do that are ignored. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** Makes a folder unless another process has. Syncs the parent: without its name, the folder's content would not survive a power cut. */
async function makeOne(folder: string, mode?: number): Promise<void> {
  try {
    await mkdir(folder, mode);
    if (mode !== undefined) await chmod(folder, mode);
    await syncFolder(dirname(folder));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** Age at which the folders of killed processes are removed, in milliseconds. */
const staleFolderMs = 86_400_000;

/** Runs `work` with a new temporary folder (0700) in `parent`, and removes it. Throws what `work` and the file system throw. */
export async function withTemporaryFolder<T>(
  parent: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await makePrivateFolder(parent);
  const folder = await mkdtemp(join(parent, 'made-'));
  const { mtimeMs: now } = await stat(folder);
  for (const name of await readdir(parent)) {
    const old = join(parent, name);
    const found = await stat(old).catch(() => undefined);
    if (found && now - found.mtimeMs > staleFolderMs) await rm(old, { recursive: true, force: true });
  }
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
