import { link, lstat, rename, rm, writeFile } from 'node:fs/promises';
import { codeOf } from '../files/error-code.ts';
import { fail } from './write-failure.ts';

/**
 * Makes way for a new .part: what an earlier run has left there goes to another name beside it, which `warn` is told. One
 * without a row is removed. `named` is what the user calls it. Throws LocalIoError.
 */
export async function setAside(part: string, named: string, warn: (line: string) => void): Promise<void> {
  const { size } = await lstat(part).catch((error) => fail(named, error));
  if (size === 0) return await rm(part).catch((error) => fail(named, error));
  const beside = await besideOf(part, (path) => move(part, path));
  const name = named + beside.slice(part.length);
  warn(`${named} held rows of an earlier run. They are now in ${name}.`);
}

/** Puts bytes into a file that was not there before; returns its name. Throws LocalIoError. */
export async function writeBeside(part: string, bytes: Buffer): Promise<string> {
  return await besideOf(part, (path) => writeFile(path, bytes, { flag: 'wx', flush: true }));
}

/** The first of the names beside a file that nobody has, once `take` has taken it. */
async function besideOf(part: string, take: (path: string) => Promise<void>): Promise<string> {
  for (let number = 1; ; number++) {
    const path = `${part}.${number}`;
    try {
      await take(path);
      return path;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return fail(path, error);
    }
  }
}

/** A rename would replace what has the name already; some file systems have no links. */
async function move(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    const isTaken = await lstat(to).then(
      () => true,
      () => false,
    );
    if (isTaken) throw Object.assign(new Error(`${to} already exists`), { code: 'EEXIST' });
    return await rename(from, to);
  }
  await rm(from);
}
