import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The path of a file in the package. Searches upwards, since the build decides how deep this code is in the package. */
export async function findPackageFile(...names: readonly string[]): Promise<string> {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const path = join(folder, ...names);
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
    if (folder === dirname(folder)) throw new Error(`${names.join('/')} is not in the package`);
  }
}
