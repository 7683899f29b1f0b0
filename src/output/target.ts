import type { Stats } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { codeOf } from '../files/error-code.ts';
import { writeFailure } from './write-failure.ts';

/** The file that a symbolic link means, also when that does not exist yet: it is replaced, not the link. */
export async function targetOf(path: string): Promise<string> {
  let at = resolve(path);
  for (let links = 0; links < 40; links++) {
    const entry = await lstat(at).catch(() => undefined);
    if (!entry?.isSymbolicLink()) break;
    at = resolve(await realpath(dirname(at)), await readlink(at));
  }
  return at;
}

export async function statOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw writeFailure(path, error);
  }
}
