import { type FileHandle, open } from 'node:fs/promises';
import { LocalIoError, tornRow, UsageError } from '../errors.ts';
import { csvRowsOf } from '../files/csv.ts';
import { codeOf } from '../files/error-code.ts';
import { writeBeside } from './aside.ts';
import { fail, readFailure } from './write-failure.ts';
import type { Format } from './writer.ts';

/** What will be added to an existing file. */
export interface AppendTo {
  readonly format: Format;
  /** The header cells of CSV, as `csvHeader` makes them. */
  readonly header?: readonly string[];
}

export interface AppendState {
  /** Bytes in the file. */
  readonly length: number;
  readonly lineEnd: '\r\n' | '\n';
  /** The line end that the last row lacks. */
  readonly before: string;
}

const newline = 0x0a;
const quote = 0x22;
const blockSize = 1 << 16;
const longestHeader = 1 << 20;
const longestLine = 64 << 20;

/**
 * Whether rows can be added to this file: the same header, and a last row that is whole. Changes nothing. `end` is
 * where the rows are to stand, when that is not behind everything.
 *
 * @throws UsageError for another header, LocalIoError for a torn last row.
 */
export async function checkAppend(
  handle: FileHandle,
  path: string,
  append: AppendTo,
  end?: number,
): Promise<AppendState> {
  try {
    const size = end ?? (await handle.stat()).size;
    if (size === 0) return { length: 0, lineEnd: '\r\n', before: '' };
    return append.format === 'csv'
      ? await checkCsv(handle, path, size, append.header ?? [])
      : await checkLines(handle, path, size);
  } catch (error) {
    if (error instanceof LocalIoError || error instanceof UsageError) throw error;
    throw readFailure(path, error);
  }
}

async function checkCsv(
  handle: FileHandle,
  path: string,
  size: number,
  header: readonly string[],
): Promise<AppendState> {
  let quoted = false;
  let headerEnd = -1;
  let last = 0;
  for (let at = 0; at < size; at += blockSize) {
    const block = await readAt(handle, at, Math.min(blockSize, size - at));
    for (let i = 0; i < block.length; i++) {
      const byte = block[i] as number;
      if (byte === quote) quoted = !quoted;
      else if (byte === newline && !quoted && headerEnd === -1) headerEnd = at + i;
    }
    last = block.at(-1) ?? last;
  }
  if (quoted) throw torn(path, 'a quote in its last row is never closed');

  const headerText = (
    await readAt(handle, 0, Math.min(headerEnd === -1 ? size : headerEnd, longestHeader))
  ).toString();
  const found = await cellsOf(headerText);
  if (JSON.stringify(found) !== JSON.stringify(header)) {
    throw new UsageError(
      `${path} has the columns ${found.join(', ')}, but these rows have ${header.join(', ')}`,
      { is: 'other_columns' },
    );
  }
  const lineEnd = headerEnd === -1 || headerText.endsWith('\r') ? '\r\n' : '\n';
  return { length: size, lineEnd, before: last === newline ? '' : lineEnd };
}

async function cellsOf(line: string): Promise<readonly string[]> {
  const { parse } = await import('csv-parse/sync');
  return csvRowsOf(parse, line, ',')[0]?.cells ?? [];
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

/**
 * Moves a last row that was never finished to a file beside, which `warn` is told, where it stands behind `from`: a run of ours
 * began to write there. Returns whether it did. Throws LocalIoError.
 */
export async function moveTornRow(
  path: string,
  format: Format,
  from: number,
  warn: (line: string) => void,
): Promise<boolean> {
  const handle = await open(path, 'r+').catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    return fail(path, error);
  });
  if (handle === undefined) return false;
  try {
    const { size } = await handle.stat();
    const isTorn = await checkAppend(handle, path, { format }).then(
      () => false,
      (error: unknown) => error instanceof LocalIoError && error.details.type === tornRow,
    );
    const start = format === 'csv' ? await lastRowOf(handle, size) : await lastLineOf(handle, path, size);
    if (!isTorn || start < from) return false;
    const beside = await writeBeside(`${path}.torn`, await readAt(handle, start, size - start));
    await handle.truncate(start);
    await handle.sync();
    warn(`the last row of ${path} was incomplete. It was removed, and is now in ${beside}`);
    return true;
  } finally {
    await handle.close();
  }
}

async function lastLineOf(handle: FileHandle, path: string, size: number): Promise<number> {
  return size - Buffer.byteLength(await lastLine(handle, path, size));
}

/** Where the row begins that no line end outside of quotes ends. */
async function lastRowOf(handle: FileHandle, size: number): Promise<number> {
  let quoted = false;
  let start = 0;
  for (let at = 0; at < size; at += blockSize) {
    const block = await readAt(handle, at, Math.min(blockSize, size - at));
    for (let i = 0; i < block.length; i++) {
      if (block[i] === quote) quoted = !quoted;
      else if (block[i] === newline && !quoted) start = at + i + 1;
    }
  }
  return start;
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
export async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
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
