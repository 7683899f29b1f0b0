import { type FileHandle, open, rm } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { LeadpipeError, LocalIoError, outputChanged, tornRow, UsageError } from '../errors.ts';
import { type Addition, addRows, blocksOf, readAddition } from '../files/addition.ts';
import { delimiters, readCsv } from '../files/csv.ts';
import { codeOf } from '../files/error-code.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import { readFailure } from '../files/write-failure.ts';

const newline = 0x0a;
const longestLine = 64 << 20;

/** What a file must be like to be appended to. */
export interface Appended {
  readonly header?: readonly string[] | undefined;
  readonly delimiter?: string | undefined;
}

/**
 * A file that rows will be added to, if that can be done: under the same header, behind a last row that is whole. Changes nothing
 * before `add`. `path` is what the user calls it, and `header` are the cells of CSV as `csvHeader` makes them; without them it is JSONL.
 * `delimiter` is the one that the file must have; by default, any.
 *
 * @throws UsageError for another header, LocalIoError for a torn last row.
 */
export async function openAppend(
  target: string,
  path: string,
  { header, delimiter: wanted }: Appended,
  lock: HeldLock,
) {
  const { lineEnd, delimiter } = await checkAppend(target, path, { header, delimiter: wanted });
  return {
    /** The line end of the file, and its delimiter, if it has a header. */
    lineEnd,
    delimiter,
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
      const now = await checkAppend(target, path, { header, delimiter: delimiter ?? wanted }).catch(
        (error: LeadpipeError) => {
          const message = `${error.message}: it was changed while this run was writing ${named}`;
          throw new LocalIoError(message, { type: outputChanged, cause: error });
        },
      );
      const { length: at, before } = now;
      const from = now.delimiter === undefined ? 0 : (await headOf(part, now.delimiter)).below;
      if (at > 0 && from === length) return await rm(`${target}.part`);
      const rows = { file: part, from, before };
      await adding(await readAddition(at, rows));
      await addRows(path, target, rows, at, lock);
    },
  };
}

/** The length of the file, its line end, and the line end that its last row lacks. */
async function checkAppend(target: string, path: string, appended: Appended) {
  let handle: FileHandle | undefined;
  try {
    handle = await open(target, 'r');
    const { size: length } = await handle.stat();
    if (length > 0 && appended.header !== undefined)
      return { length, ...(await checkCsv(handle, path, length, appended)) };
    const line = await lastLine(handle, path, length);
    if (line !== '') JSON.parse(line);
    const lineEnd = length === 0 ? '\r\n' : '\n';
    return { length, lineEnd, delimiter: undefined, before: line === '' ? '' : '\n' } as const;
  } catch (error) {
    if (codeOf(error) === 'ENOENT')
      return { length: 0, lineEnd: '\r\n', delimiter: undefined, before: '' } as const;
    if (error instanceof SyntaxError) throw torn(path, 'its last line is incomplete');
    throw error instanceof LeadpipeError ? error : readFailure(path, error);
  } finally {
    await handle?.close();
  }
}

async function checkCsv(
  file: FileHandle,
  path: string,
  length: number,
  { header = [], delimiter: wanted }: Appended,
) {
  const found: (readonly string[])[] = [];
  for (const delimiter of wanted === undefined ? delimiters : [wanted]) {
    const { cells, isOpen, lineEnd } = await headOf(file, delimiter);
    found.push(cells);
    if (!isOpen && !isDeepStrictEqual(cells, header)) continue;
    for await (const row of readCsv(textOf(file), delimiter)) {
      if (row.isOpen) throw torn(path, `a quote in line ${row.line} is never closed`);
    }
    const own = lineEnd === '\n' ? '\n' : '\r\n';
    const last = (await readAt(file, length - 1, 1)).toString();
    return { lineEnd: own, delimiter, before: /[\r\n]/.test(last) ? '' : own } as const;
  }
  // The delimiter that gives the most columns is that of the file.
  const [columns = []] = found.sort((one, other) => other.length - one.length);
  throw new UsageError(
    `${path} has the columns ${columns.join(', ')}, but these rows have ${header.join(', ')}`,
    { is: 'other_columns' },
  );
}

/**
 * A file of CSV as if each byte of it was a character: a place in the text is one in the file, and what CSV is made of is the same in UTF-8.
 */
async function* textOf(file: FileHandle): AsyncGenerator<string, void> {
  for await (const block of blocksOf({ file, from: await beginOf(file) })) yield block.toString('latin1');
}

const mark = Buffer.from('\ufeff');

/** Where the text begins. */
async function beginOf(file: FileHandle): Promise<number> {
  return (await readAt(file, 0, mark.length)).equals(mark) ? mark.length : 0;
}

/** The first row of a file of CSV, its line end, and the place of the row below it. */
async function headOf(file: FileHandle, delimiter: string) {
  const { value: row } = await readCsv(textOf(file), delimiter).next();
  const end = (await beginOf(file)) + (row?.end ?? 0);
  const [lineEnd = ''] = /^(?:\r{0,2}\n|\r)/.exec((await readAt(file, end, 3)).toString('latin1')) ?? [];
  const cells = (row?.cells ?? []).map((cell) => Buffer.from(cell, 'latin1').toString());
  return { cells, isOpen: row?.isOpen ?? false, lineEnd, below: end + lineEnd.length };
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
