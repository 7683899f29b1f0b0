import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';
import { syncFolder } from './private-folder.ts';
import { targetOf } from './target.ts';
import { fail, writeFailure } from './write-failure.ts';

/** What is added at the end of a file: where, how many bytes, and the beginning of their SHA-256, in hex. */
export interface Addition {
  readonly at: number;
  readonly length: number;
  readonly digest: string;
}

/** Bytes of a file, as far as they are there, with some in front of them. */
export interface Piece {
  readonly file: FileHandle;
  readonly from: number;
  readonly to?: number;
  /** The line end that the last row of another file lacks. */
  readonly before?: string;
}

const blockSize = 1 << 20;

export async function toAddition(piece: Piece, at: number): Promise<Addition> {
  const digest = createHash('sha256');
  let length = 0;
  for await (const block of blocksOf(piece)) {
    digest.update(block);
    length += block.length;
  }
  return { at, length, digest: digest.digest('hex').slice(0, 32) };
}

/**
 * Adds rows of a .part to the end of its file, `at`, and removes the .part when they are on the disk. Where there is no file, the
 * .part becomes it. The caller holds the lock of the output. Throws LocalIoError, with the file as it was.
 */
export async function addRows(path: string, target: string, rows: Piece, at: number): Promise<void> {
  const file = await openIfThere(target, constants.O_RDWR | constants.O_APPEND).catch((error) =>
    fail(path, error),
  );
  if (file === undefined) {
    await rename(`${target}.part`, target).catch((error) => fail(path, error));
    return await syncFolder(dirname(target));
  }
  let done = 0;
  try {
    for await (const block of blocksOf(rows)) {
      for (let sent = 0; sent < block.length; ) {
        // Behind whatever stands there: another program may just have added a line.
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
 * Completes what a killed run was adding to a file, from its .part. `not_added`: neither the file nor the .part is as it was left,
 * and nothing was changed. The caller holds the lock of the output. Throws LocalIoError.
 */
export async function completeAddition(path: string, addition: Addition): Promise<'done' | 'not_added'> {
  const target = await targetOf(path);
  const end = addition.at + addition.length;
  const opened = await Promise.all([target, `${target}.part`].map((one) => openIfThere(one, 'r'))).catch(
    (error) => fail(path, error),
  );
  const [file, part] = opened;
  try {
    const size = file === undefined ? 0 : (await file.stat()).size;
    const rows = part && (await findRows(part, addition));
    if (file !== undefined && size >= end) {
      if (!isSame(await toAddition({ file, from: addition.at, to: end }, 0), addition)) return 'not_added';
      if (rows !== undefined) await rm(`${target}.part`, { force: true });
      return 'done';
    }
    if (rows === undefined || size < addition.at) return 'not_added';
    const [written, rest] = split(rows, size - addition.at);
    if (file !== undefined) {
      const there = await toAddition({ file, from: addition.at, to: size }, 0);
      if (!isSame(there, await toAddition(written, 0))) return 'not_added';
    }
    await addRows(path, target, rest, size);
    return 'done';
  } finally {
    for (const handle of opened) await handle?.close();
  }
}

/** The rows of a .part that are these bytes: with or without its header, behind a line end or not. */
async function findRows(part: FileHandle, addition: Addition): Promise<Piece | undefined> {
  const { size } = await part.stat();
  for (const before of ['', '\n', '\r\n']) {
    const from = size - (addition.length - before.length);
    if (from < 0 || from > size) continue;
    const rows = { file: part, from, before };
    if (isSame(await toAddition(rows, 0), addition)) return rows;
  }
  return undefined;
}

/** Pure: the first bytes, and the others. */
function split({ before = '', ...piece }: Piece, length: number): [Piece, Piece] {
  const middle = piece.from + Math.max(0, length - before.length);
  return [
    { ...piece, before: before.slice(0, length), to: middle },
    { ...piece, before: before.slice(length), from: middle },
  ];
}

function isSame(one: Addition, other: Addition): boolean {
  return one.length === other.length && one.digest === other.digest;
}

async function* blocksOf({ file, from, to = Number.POSITIVE_INFINITY, before = '' }: Piece) {
  if (before !== '') yield Buffer.from(before);
  for (let at = from; at < to; ) {
    const length = Math.min(blockSize, to - at);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

async function openIfThere(path: string, flags: string | number): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
