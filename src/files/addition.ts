import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { LocalIoError, outputChanged } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { blocksOf, readFlags, renameOverTarget, type TemporaryFile } from './own-file.ts';
import { copyPermissions } from './replacement.ts';
import { readFailure } from './write-failure.ts';

/** Rows added to a file: their place in it, and their digest. */
export interface Addition {
  /** The real path of the file. */
  readonly output: string;
  /** Offset of the first byte, length in bytes, and the start of the SHA-256, in hex. */
  readonly at: number;
  readonly length: number;
  readonly digest: string;
  /** Identity of the new file. The creation time is needed because inode numbers are reused. */
  readonly dev: number;
  readonly ino: number;
  readonly birthtimeMs: number;
  /** ID of these rows in the notes table of a database. */
  readonly note?: string;
}

/** Writes the whole file: the old bytes, then the rows. Returns the place and the digest of the rows. */
export type AddRows = (
  to: TemporaryFile,
  old: FileHandle | undefined,
) => Promise<Pick<Addition, 'at' | 'length' | 'digest' | 'note'>>;

/** Maximum attempts if another program keeps changing the file. */
const maxTries = 5;

/**
 * Adds rows to a file in one step: `add` writes the old bytes and the rows into `to`, which is renamed over the file. `adding` is awaited before the
 * rename, and records how to see later whether it happened. Starts over if the file changes meanwhile. The caller holds the lock. Throws LocalIoError
 * (the file is unchanged), and what `add` and `adding` throw.
 */
export async function addToFile(
  path: string,
  target: string,
  to: TemporaryFile,
  add: AddRows,
  adding: (addition: Addition) => Promise<void>,
): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    await to.handle.truncate(0);
    const old = await openOld(target, path);
    try {
      const before = await old?.stat();
      const rows = await add(to, old);
      if (before !== undefined) await copyPermissions(to.handle, before);
      await to.handle.sync();
      const { birthtimeMs, dev, ino } = await to.handle.stat();
      await adding({ output: target, ...rows, dev, ino, birthtimeMs });
      if (!isSame(before, await statOf(target, path))) continue;
      if (await renameOverTarget(to, target)) return;
      throw new LocalIoError(`${to.path} was moved or replaced by another program; ${path} was not changed`, {
        type: outputChanged,
      });
    } finally {
      await old?.close();
    }
  }
  throw new LocalIoError(`another program keeps changing ${path}; nothing was added to it`, {
    type: outputChanged,
  });
}

function isSame(before: Stats | undefined, now: Stats | undefined): boolean {
  return (['dev', 'ino', 'size', 'mtimeMs'] as const).every((name) => before?.[name] === now?.[name]);
}

/** Whether the rows of an earlier run are in the file now. Other rows may follow them. Throws LocalIoError. */
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
  return await open(target, readFlags).catch((error: unknown) => {
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
