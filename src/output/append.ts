import { type FileHandle, open } from 'node:fs/promises';
import { LocalIoError, tornRow, UsageError } from '../errors.ts';
import { csvRowsOf } from '../files/csv.ts';
import { codeOf } from '../files/error-code.ts';
import { readFailure } from '../files/write-failure.ts';
import type { Format } from './writer.ts';

/** What will be added to a file. */
export interface AppendTo {
  readonly format: Format;
  /** The header cells of CSV, as `csvHeader` makes them; undefined where they were compared already. */
  readonly header?: readonly string[];
}

export interface AppendState {
  /** Bytes in the file. */
  readonly length: number;
  readonly lineEnd: '\r\n' | '\n';
  /** The line end that the last row lacks. */
  readonly before: string;
}

/** What an empty file, or none, is to rows that are added. */
const nothingYet: AppendState = { length: 0, lineEnd: '\r\n', before: '' };

const newline = 0x0a;
const quote = 0x22;
const blockSize = 1 << 16;
const longestHeader = 1 << 20;
const longestLine = 64 << 20;

/**
 * Whether rows can be added to this file: the same header, and a last row that is whole. Changes nothing. `path` is what the
 * user calls it.
 *
 * @throws UsageError for another header, LocalIoError for a torn last row.
 */
export async function checkAppend(
  target: string,
  path: string,
  { format, header }: AppendTo,
): Promise<AppendState> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(target, 'r');
    const { size } = await handle.stat();
    if (size === 0) return nothingYet;
    return format === 'csv'
      ? await checkCsv(handle, path, size, header)
      : await checkLines(handle, path, size);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return nothingYet;
    if (error instanceof LocalIoError || error instanceof UsageError) throw error;
    throw readFailure(path, error);
  } finally {
    await handle?.close();
  }
}

async function checkCsv(
  handle: FileHandle,
  path: string,
  size: number,
  header: readonly string[] | undefined,
): Promise<AppendState> {
  const { end, isOpen, last } = await scanCsv(handle, size);
  if (isOpen) throw torn(path, 'a quote in its last row is never closed');
  const { cells: found, lineEnd } = await readHeader(handle, end);
  if (header !== undefined && JSON.stringify(found) !== JSON.stringify(header)) {
    throw new UsageError(
      `${path} has the columns ${found.join(', ')}, but these rows have ${header.join(', ')}`,
      { is: 'other_columns' },
    );
  }
  return { length: size, lineEnd, before: last === newline ? '' : lineEnd };
}

/** The header of CSV: its cells, and its bytes with the line end. */
export async function headerOf(handle: FileHandle): Promise<{ cells: readonly string[]; length: number }> {
  const { end: length } = await scanCsv(handle, (await handle.stat()).size, true);
  return { cells: (await readHeader(handle, length)).cells, length };
}

async function readHeader(handle: FileHandle, length: number) {
  const text = (await readAt(handle, 0, Math.min(length, longestHeader))).toString();
  const { parse } = await import('csv-parse/sync');
  const lineEnd: AppendState['lineEnd'] = /[^\r]\n$/.test(text) ? '\n' : '\r\n';
  return { cells: csvRowsOf(parse, text, ',')[0]?.cells ?? [], lineEnd };
}

/** Where the header ends; whether a quote is still open at the end of the file, and its last byte. */
async function scanCsv(handle: FileHandle, size: number, onlyHeader = false) {
  let isOpen = false;
  let end: number | undefined;
  let last: number | undefined;
  for (let at = 0; at < size && !(onlyHeader && end !== undefined); at += blockSize) {
    const block = await readAt(handle, at, Math.min(blockSize, size - at));
    for (let i = 0; i < block.length; i++) {
      if (block[i] === quote) isOpen = !isOpen;
      else if (block[i] === newline && !isOpen) end ??= at + i + 1;
    }
    last = block.at(-1) ?? last;
  }
  return { end: end ?? size, isOpen, last };
}

async function checkLines(handle: FileHandle, path: string, size: number): Promise<AppendState> {
  const line = await lastLine(handle, path, size);
  if (line.length > 0) {
    try {
      JSON.parse(line);
    } catch {
      throw torn(path, 'its last line is incomplete');
    }
  }
  return { length: size, lineEnd: '\n', before: line.length > 0 ? '\n' : '' };
}

/** What comes after the last line end. */
async function lastLine(handle: FileHandle, path: string, size: number): Promise<string> {
  let tail: Buffer = Buffer.alloc(0);
  for (let at = size; at > 0 && tail.length <= longestLine; ) {
    const from = Math.max(0, at - blockSize);
    const block = await readAt(handle, from, at - from);
    const end = block.lastIndexOf(newline);
    tail = Buffer.concat([block.subarray(end + 1), tail]);
    if (end !== -1) return tail.toString();
    at = from;
  }
  if (tail.length > longestLine) throw torn(path, 'its last line is too long');
  return tail.toString();
}

/** The bytes from a position on: fewer where the file ends. */
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
