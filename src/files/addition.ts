import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';
import { type HeldLock, LockLostError } from './folder-lock.ts';
import { syncFolder } from './private-folder.ts';
import { targetOf } from './target.ts';
import { fail, writeFailure } from './write-failure.ts';

/** Rows of a .part that are added to the end of a file: where, and which bytes. */
export interface Addition {
  readonly at: number;
  /** Where they begin in the .part, and the line end that the last row of the file lacks before them. */
  readonly from: number;
  readonly before: string;
  /** How many bytes they are together, and the beginning of their SHA-256, in hex. */
  readonly length: number;
  readonly digest: string;
  /** The name under which a database has noted that they are in it. */
  readonly note?: string;
}

/** A range of bytes in a file, as far as they exist, with a text before them. */
interface Piece {
  readonly file: FileHandle;
  readonly from: number;
  readonly to?: number;
  readonly before?: string;
}

export async function readAddition(at: number, rows: Required<Omit<Piece, 'to'>>): Promise<Addition> {
  const { from, before } = rows;
  return { at, from, before, ...(await measure(rows)) };
}

async function measure(...pieces: readonly Piece[]): Promise<Pick<Addition, 'length' | 'digest'>> {
  const digest = createHash('sha256');
  let length = 0;
  for (const piece of pieces) {
    for await (const block of blocksOf(piece)) {
      digest.update(block);
      length += block.length;
    }
  }
  return { length, digest: digest.digest('hex').slice(0, 32) };
}

/**
 * Adds rows of a .part to the end of its file, `at`, and removes the .part when they are on the disk. Where there is no file, the
 * .part becomes it. `lock` is that of the output. Throws LocalIoError, with the file as it was, and LockLostError.
 */
export async function addRows(
  path: string,
  target: string,
  rows: Piece,
  at: number,
  lock: HeldLock,
): Promise<void> {
  lock.confirm();
  const file = await openIfThere(path, target, constants.O_RDWR | constants.O_APPEND);
  if (file === undefined) {
    await rename(`${target}.part`, target).catch((error) => fail(path, error));
    return await syncFolder(dirname(target));
  }
  let done = 0;
  try {
    for await (const block of blocksOf(rows)) {
      for (let sent = 0; sent < block.length; ) {
        lock.confirm();
        // Appends after everything there: another program may just have added a line.
        const { bytesWritten } = await file.write(block, sent, block.length - sent, null);
        sent += bytesWritten;
        done += bytesWritten;
      }
    }
    await file.sync();
  } catch (error) {
    // The process that has taken over completes what is there.
    if (error instanceof LockLostError) throw error;
    if ((await file.stat()).size === at + done) await file.truncate(at).catch(() => undefined);
    throw writeFailure(path, error);
  } finally {
    await file.close();
  }
  lock.confirm();
  await rm(`${target}.part`, { force: true }).catch((error) => fail(path, error));
  await syncFolder(dirname(target));
}

/**
 * Completes, from the .part, what a killed run was adding to a file. `not_added`: the file or the .part has changed since, and nothing was
 * done. Throws LocalIoError, LockLostError.
 */
export async function completeAddition(
  path: string,
  addition: Addition,
  lock: HeldLock,
): Promise<'done' | 'not_added'> {
  const { at, before, from, length } = addition;
  const target = await targetOf(path);
  const file = await openIfThere(path, target, 'r');
  const part = await openIfThere(path, `${target}.part`, 'r');
  const isSame = async (...pieces: readonly Piece[]): Promise<boolean> => {
    const found = await measure(...pieces);
    return found.length === length && found.digest === addition.digest;
  };
  try {
    const size = file === undefined ? 0 : (await file.stat()).size;
    const written = Math.min(size - at, length);
    if (written < 0) return 'not_added';
    const there = file === undefined ? [] : [{ file, from: at, to: at + written }];
    if (written === length) {
      if (!(await isSame(...there))) return 'not_added';
      // A .part with other rows belongs to a later run.
      if (part && (await isSame({ file: part, from, before }))) await rm(`${target}.part`, { force: true });
      return 'done';
    }
    if (part === undefined) return 'not_added';
    const missing = { before: before.slice(written), from: from + Math.max(0, written - before.length) };
    const rest = { file: part, ...missing };
    if (!(await isSame(...there, rest))) return 'not_added';
    await addRows(path, target, rest, size, lock);
    return 'done';
  } finally {
    await file?.close();
    await part?.close();
  }
}

/** In blocks of at most a megabyte. */
export async function* blocksOf({ file, from, to = Number.POSITIVE_INFINITY, before = '' }: Piece) {
  if (before !== '') yield Buffer.from(before);
  for (let at = from; at < to; ) {
    const length = Math.min(1 << 20, to - at);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

async function openIfThere(
  path: string,
  file: string,
  flags: string | number,
): Promise<FileHandle | undefined> {
  return await open(file, flags).catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    return fail(path, error);
  });
}
