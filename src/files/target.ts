import type { Stats } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { codeOf } from './error-code.ts';
import { writeFailure } from './write-failure.ts';

/**
 * The file that a symbolic link points to, existing or not: that file is replaced, not the link. If its folder does not exist, the path is returned
 * unchanged: `sub/..` can't be shortened without the system.
 */
export async function targetOf(path: string): Promise<string> {
  let at = await inRealFolder(resolve('.'), path);
  for (let links = 0; links < 40; links++) {
    const entry = await lstat(at).catch(() => undefined);
    if (!entry?.isSymbolicLink()) break;
    at = await inRealFolder(dirname(at), await readlink(at));
  }
  return at;
}

async function inRealFolder(from: string, path: string): Promise<string> {
  const whole = isAbsolute(path) ? path : `${from}/${path}`;
  const folder = await realpath(dirname(whole)).catch(() => undefined);
  return folder === undefined ? whole : join(folder, basename(whole));
}

/** Pure: the number of the open descriptor that a path stands for, such as /dev/stdout; undefined for a file. */
export function descriptorOf(path: string): number | undefined {
  const number = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path)?.[1];
  const name = { '/dev/stdin': '0', '/dev/stdout': '1', '/dev/stderr': '2' }[path] ?? number;
  return name === undefined ? undefined : Number(name);
}

export async function statOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw writeFailure(path, error);
  }
}

/** Whether it can be read twice. A pipe can't. */
export async function isRegularFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** Whether two names, which need not exist, mean the same regular file, through symbolic or hard links. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  // A folder in a path that does not exist (`sub/..`) could be made at any time.
  if ((a === undefined || b === undefined) && resolve(one) === resolve(other)) return true;
  if (a === undefined && b === undefined) return (await targetOf(one)) === (await targetOf(other));
  return a?.isFile() === true && a.ino === b?.ino && a.dev === b.dev;
}
