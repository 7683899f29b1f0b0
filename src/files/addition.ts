import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { LocalIoError, outputChanged } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { blocksOf, noFollow, type OwnFile, placeOwnFile } from './own-file.ts';
import { takeRights } from './replacement.ts';
import { readFailure } from './write-failure.ts';

/** Rows that are added to a file: where they are then, and what they are. */
export interface Addition {
  /** The real path of the file. */
  readonly output: string;
  /** Their first byte in the file, how many they are, and the beginning of their SHA-256, in hex. */
  readonly at: number;
  readonly length: number;
  readonly digest: string;
  /** The file that takes the place of the old one, and when it was made: the number of a file is used again. */
  readonly dev: number;
  readonly ino: number;
  readonly birthtimeMs: number;
  /** The name under which a database has noted that they are in it. */
  readonly note?: string;
}

/** Writes the file anew: the bytes of the old one, and the rows behind them. Returns where these begin and what they are. */
export type AddRows = (
  to: OwnFile,
  old: FileHandle | undefined,
) => Promise<Pick<Addition, 'at' | 'length' | 'digest' | 'note'>>;

/** How often an addition begins again because the file has changed meanwhile. */
const maxTries = 5;

/**
 * Adds rows to a file in one step: `add` writes both into the file `to`, which takes its place. `adding` is awaited before, and tells how to see later
 * whether it has happened. Where the file is changed meanwhile, this begins again. The caller holds the lock of this step. Throws LocalIoError with the
 * file as it was, and what `add` and `adding` throw.
 */
export async function addToFile(
  path: string,
  target: string,
  to: OwnFile,
  add: AddRows,
  adding: (addition: Addition) => Promise<void>,
): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    await to.handle.truncate(0);
    const old = await openOld(target, path);
    try {
      const before = await old?.stat();
      const rows = await add(to, old);
      if (before !== undefined) await takeRights(to.handle, before);
      await to.handle.sync();
      const { birthtimeMs, dev, ino } = await to.handle.stat();
      await adding({ output: target, ...rows, dev, ino, birthtimeMs });
      if (!isSame(before, await statOf(target, path))) continue;
      if (await placeOwnFile(to, target)) return;
      throw new LocalIoError(`${to.path} was moved or replaced by another program; ${path} was not changed`, {
        type: outputChanged,
      });
    } finally {
      await old?.close();
    }
  }
  throw new LocalIoError(`${path} is changed by another program again and again; nothing was added to it`, {
    type: outputChanged,
  });
}

function isSame(before: Stats | undefined, now: Stats | undefined): boolean {
  return (['dev', 'ino', 'size', 'mtimeMs'] as const).every((name) => before?.[name] === now?.[name]);
}

/** Whether rows of an earlier run are in the file, as it is now. Others may have added rows behind them. Throws LocalIoError. */
export async function isAdded(addition: Addition): Promise<boolean> {
  const { at, digest, length, output } = addition;
  const file = await openOld(output, output);
  if (file === undefined) return false;
  try {
    const found = await file.stat();
    if ((['dev', 'ino', 'birthtimeMs'] as const).every((name) => found[name] === addition[name])) return true;
    return found.size >= at + length && (await digestOfRows(file, at, at + length)) === digest;
  } finally {
    await file.close();
  }
}

export async function digestOfRows(file: FileHandle, from: number, to?: number): Promise<string> {
  const hash = createHash('sha256');
  for await (const block of blocksOf(file, from, to)) hash.update(block);
  return hash.digest('hex').slice(0, 32);
}

async function openOld(target: string, path: string): Promise<FileHandle | undefined> {
  return await open(target, constants.O_RDONLY | noFollow).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw readFailure(path, error);
  });
}

async function statOf(target: string, path: string): Promise<Stats | undefined> {
  const file = await openOld(target, path);
  try {
    return await file?.stat();
  } finally {
    await file?.close();
  }
}
