import type { Stats } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from './error-code.ts';
import { writeFailure } from './write-failure.ts';

/** The file that a symbolic link points to, even if that does not exist yet: it is replaced, and not the link. */
export async function targetOf(path: string): Promise<string> {
  let at = resolve(path);
  for (let links = 0; links < 40; links++) {
    const entry = await lstat(at).catch(() => undefined);
    if (!entry?.isSymbolicLink()) break;
    at = resolve(await realpath(dirname(at)), await readlink(at));
  }
  return at;
}

/** Pure: the number of what is open already, where a path stands for that and not for a file. */
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

/** Whether the rows of an unfinished run are beside a file. Throws LocalIoError. */
export async function hasPart(path: string): Promise<boolean> {
  return (await statOrNothing(`${await targetOf(path)}.part`)) !== undefined;
}

/** Whether two names, which need not exist, mean the same regular file, through symbolic or hard links. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  if (a === undefined && b === undefined) return (await realPathOf(one)) === (await realPathOf(other));
  return a?.isFile() === true && a.ino === b?.ino && a.dev === b.dev;
}

/** The real path of a file, which need not exist. */
export async function realPathOf(path: string): Promise<string> {
  const target = await targetOf(path);
  const folder = dirname(target);
  return join(await realpath(folder).catch(() => folder), basename(target));
}

/**
 * How the .part beside the output is opened. `new`: if there is one, it belongs to another operation, and is renamed. `at`: it belongs to
 * this operation, and is continued after this many bytes; after 0 it is written again from the start.
 */
export type Opening = 'new' | { readonly at: number };
