import { type FileHandle, open, rm } from 'node:fs/promises';
import { LeadpipeError, LocalIoError, outputChanged, tornRow, UsageError } from '../errors.ts';
import { type Addition, addRows, blocksOf, toAddition } from '../files/addition.ts';
import { readCsv } from '../files/csv.ts';
import { codeOf } from '../files/error-code.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import { readFailure } from '../files/write-failure.ts';

const newline = 0x0a;
const quote = 0x22;
const longestHeader = 1 << 20;
const longestLine = 64 << 20;

/**
 * A file that rows will be added to, if that can be done: under the same header, behind a last row that is whole. Changes nothing
 * before `add`. `path` is what the user calls it, and `header` are the cells of CSV as `csvHeader` makes them; without them it is JSONL.
 *
 * @throws UsageError for another header, LocalIoError for a torn last row.
 */
export async function openAppend(
  target: string,
  path: string,
  header: readonly string[] | undefined,
  lock: HeldLock,
) {
  const { lineEnd } = await checkAppend(target, path, header);
  return {
    /** The line end of the file. */
    lineEnd,
    /**
     * Adds the `length` bytes of the .part, which the user calls `named`, and removes the .part. Throws LocalIoError, with the file as it
     * was.
     */
    async add(
      part: FileHandle,
      named: string,
      length: number,
      adding: (addition: Addition) => Promise<void>,
    ): Promise<void> {
      // Another program may have added rows to the file, or replaced it, since it was opened.
      const { length: at, before } = await checkAppend(target, path, header).catch((error: LeadpipeError) => {
        const message = `${error.message}: it was changed while this run was writing ${named}`;
        throw new LocalIoError(message, { type: outputChanged, cause: error });
      });
      const from = at > 0 && header !== undefined ? (await scanCsv(part, true)).end : 0;
      if (at > 0 && from === length) return await rm(`${target}.part`);
      const rows = { file: part, from, before };
      await adding(await toAddition(at, rows));
      await addRows(path, target, rows, at, lock);
    },
  };
}

/** The length of the file, its line end, and the line end that its last row lacks. */
async function checkAppend(target: string, path: string, header: readonly string[] | undefined) {
  let handle: FileHandle | undefined;
  try {
    handle = await open(target, 'r');
    const { size: length } = await handle.stat();
    if (length > 0 && header !== undefined) return { length, ...(await checkCsv(handle, path, header)) };
    const line = await lastLine(handle, path, length);
    if (line !== '') JSON.parse(line);
    return { length, lineEnd: length === 0 ? '\r\n' : '\n', before: line === '' ? '' : '\n' } as const;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { length: 0, lineEnd: '\r\n', before: '' } as const;
    if (error instanceof SyntaxError) throw torn(path, 'its last line is incomplete');
    throw error instanceof LeadpipeError ? error : readFailure(path, error);
  } finally {
    await handle?.close();
  }
}

async function checkCsv(handle: FileHandle, path: string, header: readonly string[]) {
  const { end, isOpen, last } = await scanCsv(handle);
  if (isOpen) throw torn(path, 'a quote in its last row is never closed');
  const text = (await readAt(handle, 0, Math.min(end, longestHeader))).toString();
  const lineEnd = /[^\r]\n$/.test(text) ? '\n' : '\r\n';
  const { value: found } = await readCsv([text], ',').next();
  if (JSON.stringify(found?.cells ?? []) !== JSON.stringify(header)) {
    throw new UsageError(
      `${path} has the columns ${found?.cells.join(', ')}, but these rows have ${header.join(', ')}`,
      { is: 'other_columns' },
    );
  }
  return { lineEnd, before: last === newline ? '' : lineEnd } as const;
}

/** Finds the end of the header, whether a quote is open at the end of the file, and the last byte. */
async function scanCsv(handle: FileHandle, onlyHeader = false) {
  let isOpen = false;
  let end: number | undefined;
  let last: number | undefined;
  let at = 0;
  for await (const block of blocksOf({ file: handle, from: 0 })) {
    for (let i = 0; i < block.length; i++) {
      if (block[i] === quote) isOpen = !isOpen;
      else if (block[i] === newline && !isOpen) end ??= at + i + 1;
    }
    at += block.length;
    last = block.at(-1);
    if (onlyHeader && end !== undefined) break;
  }
  return { end: end ?? at, isOpen, last };
}

/** The text after the last line end. */
async function lastLine(handle: FileHandle, path: string, size: number): Promise<string> {
  for (let length = 1 << 16; length <= longestLine; length *= 2) {
    const tail = await readAt(handle, Math.max(0, size - length), Math.min(size, length));
    const line = tail.subarray(tail.lastIndexOf(newline) + 1);
    if (line.length < tail.length || length >= size) return line.toString();
  }
  throw torn(path, 'its last line is too long');
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

function torn(path: string, why: string): LocalIoError {
  return new LocalIoError(`can't append to ${path}: ${why}`, {
    type: tornRow,
    hint: 'Repair or move the file, or write to another file.',
    charged: 'no',
  });
}
