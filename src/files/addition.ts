import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';
import { syncFolder } from './private-folder.ts';
import { targetOf } from './target.ts';
import { fail, writeFailure } from './write-failure.ts';

/** What is added to the end of a file: where, how many bytes, and the beginning of their SHA-256, in hex. */
export interface Addition {
  readonly at: number;
  readonly length: number;
  readonly digest: string;
}

/** A range of bytes in a file, as far as they exist, with a text before them. */
interface Piece {
  readonly file: FileHandle;
  readonly from: number;
  readonly to?: number;
  /** The line end that is missing after the last row of the other file. */
  readonly before?: string;
}

export async function toAddition(at: number, ...pieces: readonly Piece[]): Promise<Addition> {
  const digest = createHash('sha256');
  let length = 0;
  for (const piece of pieces) {
    for await (const block of blocksOf(piece)) {
      digest.update(block);
      length += block.length;
    }
  }
  return { at, length, digest: digest.digest('hex').slice(0, 32) };
}

/**
 * Adds rows of a .part to the end of its file, `at`, and removes the .part when they are on the disk. Where there is no file, the
 * .part becomes it. The caller holds the lock of the output. Throws LocalIoError, with the file as it was.
 */
export async function addRows(path: string, target: string, rows: Piece, at: number): Promise<void> {
  const file = await openIfThere(path, target, constants.O_RDWR | constants.O_APPEND);
  if (file === undefined) {
    await rename(`${target}.part`, target).catch((error) => fail(path, error));
    return await syncFolder(dirname(target));
  }
  let done = 0;
  try {
    for await (const block of blocksOf(rows)) {
      for (let sent = 0; sent < block.length; ) {
        // Appends after everything there: another program may just have added a line.
        const { bytesWritten } = await file.write(block, sent, block.length - sent, null);
        sent += bytesWritten;
        done += bytesWritten;
      }
    }
    await file.sync();
  } catch (error) {
    if ((await file.stat()).size === at + done) await file.truncate(at).catch(() => undefined);
    throw writeFailure(path, error);
  } finally {
    await file.close();
  }
  await rm(`${target}.part`, { force: true });
  await syncFolder(dirname(target));
}

/**
 * Completes, from the .part, what a killed run was adding to a file. `not_added`: the file or the .part has changed since, and nothing was
 * done. The caller holds the lock of the output. Throws LocalIoError.
 */
export async function completeAddition(path: string, addition: Addition): Promise<'done' | 'not_added'> {
  const { at, length } = addition;
  const target = await targetOf(path);
  const file = await openIfThere(path, target, 'r');
  const part = await openIfThere(path, `${target}.part`, 'r');
  try {
    const size = file === undefined ? 0 : (await file.stat()).size;
    if (file !== undefined && size >= at + length) {
      if (!isSame(await toAddition(at, { file, from: at, to: at + length }), addition)) return 'not_added';
      if (await findRest(undefined, part, addition, at)) await rm(`${target}.part`, { force: true });
      return 'done';
    }
    const rest = await findRest(file, part, addition, size);
    if (rest === undefined) return 'not_added';
    await addRows(path, target, rest, size);
    return 'done';
  } finally {
    await file?.close();
    await part?.close();
  }
}

/**
 * The end of the .part that, behind what the file has already, makes exactly these bytes: with or without a header or a line end before it.
 * Undefined where there is none.
 */
async function findRest(
  file: FileHandle | undefined,
  part: FileHandle | undefined,
  addition: Addition,
  size: number,
): Promise<Piece | undefined> {
  const written = size - addition.at;
  if (part === undefined || written < 0) return undefined;
  const { size: partSize } = await part.stat();
  for (const before of ['', '\n', '\r\n'].map((lineEnd) => lineEnd.slice(written))) {
    const rest = { file: part, from: partSize - (addition.length - written - before.length), before };
    if (rest.from < 0 || rest.from > partSize) continue;
    const there = file === undefined ? [] : [{ file, from: addition.at, to: size }];
    if (isSame(await toAddition(addition.at, ...there, rest), addition)) return rest;
  }
  return undefined;
}

function isSame(one: Addition, other: Addition): boolean {
  return one.length === other.length && one.digest === other.digest;
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
