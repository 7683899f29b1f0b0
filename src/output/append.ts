import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { LeadpipeError, LocalIoError, outputChanged, UsageError } from '../errors.ts';
import { type AddRows, digestOfRows } from '../files/addition.ts';
import { delimiters, readCsv } from '../files/csv.ts';
import { codeOf } from '../files/error-code.ts';
import { blocksOf, copyInto, readFlags } from '../files/own-file.ts';
import { readFailure } from '../files/write-failure.ts';
import { isJson } from '../json/valid.ts';

const newline = 0x0a;
const longestLine = 64 << 20;

/** The header and delimiter that a file must have to be appended to. */
export interface Appended {
  readonly header?: readonly string[] | undefined;
  readonly delimiter?: string | undefined;
}

/** How rows are added to a file. */
export interface Appending {
  /** The line end of a file of CSV, and its delimiter, if it has any rows. */
  readonly lineEnd: '\r\n' | '\n' | undefined;
  readonly delimiter: string | undefined;
  /** True if there are no rows to add to the file. */
  isNothing(rows: FileHandle, target: string): Promise<boolean>;
  write(rows: FileHandle): AddRows;
}

/**
 * Prepares adding rows to a file. `path` is the name that the user gave. Throws UsageError for another header and for an incomplete last row,
 * LocalIoError.
 */
export async function openAppending(target: string, path: string, appended: Appended): Promise<Appending> {
  const { lineEnd, delimiter } = await check(target, path, appended);
  const wanted = { ...appended, delimiter: delimiter ?? appended.delimiter };
  return {
    lineEnd,
    delimiter,
    async isNothing(rows, there) {
      const known = (await check(there, path, wanted).catch(throwFileChanged)).delimiter;
      if (known === undefined) return (await rows.stat()).size === 0;
      return (await headOf(rows, known)).below >= (await rows.stat()).size;
    },
    write: (rows) => async (to, old) => {
      if (old !== undefined) await copyInto(old, to.handle);
      const { size: at } = await to.handle.stat();
      const now =
        old === undefined ? nothingThere : await checkOpen(old, path, wanted).catch(throwFileChanged);
      if (now.before !== '') await to.handle.appendFile(now.before);
      const from = now.delimiter === undefined ? 0 : (await headOf(rows, now.delimiter)).below;
      for await (const block of blocksOf(rows, from)) await to.handle.appendFile(block);
      const { size } = await to.handle.stat();
      return { at, length: size - at, digest: await digestOfRows(to.handle, at) };
    },
  };
}

async function check(target: string, path: string, appended: Appended): Promise<Checked> {
  let file: FileHandle | undefined;
  try {
    file = await open(target, readFlags);
    return await checkOpen(file, path, appended);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return nothingThere;
    throw error instanceof LeadpipeError ? error : readFailure(path, error);
  } finally {
    await file?.close();
  }
}

/** By now the rows are paid for: a changed file is no UsageError. */
function throwFileChanged(error: unknown): never {
  if (!(error instanceof UsageError)) throw error;
  const message = `${error.message}: another program has changed it since this run began`;
  throw new LocalIoError(message, { type: outputChanged, cause: error });
}

/** The line end of the file, its delimiter if it has a header, and in `before` the missing line end of its last row. */
interface Checked {
  readonly lineEnd: '\r\n' | '\n';
  readonly delimiter: string | undefined;
  readonly before: string;
}

const nothingThere: Checked = { lineEnd: '\r\n', delimiter: undefined, before: '' };

async function checkOpen(file: FileHandle, path: string, appended: Appended): Promise<Checked> {
  const { size } = await file.stat();
  if (size === 0) return nothingThere;
  if (appended.header !== undefined) return await checkCsv(file, path, size, appended);
  const line = await lastLine(file, path, size);
  if (line !== '' && !isJson(line)) throw torn(path, `line ${await countLines(file)} is incomplete`);
  // A file in another format, such as CSV, also ends with a whole line.
  const first = await firstLine(file, path, size);
  if (first.trim() !== '' && !isJson(first)) throw torn(path, 'line 1 is not JSON');
  return { lineEnd: '\n', delimiter: undefined, before: line === '' ? '' : '\n' };
}

async function countLines(file: FileHandle): Promise<number> {
  let count = 1;
  for await (const block of blocksOf(file)) for (const byte of block) if (byte === newline) count++;
  return count;
}

async function checkCsv(
  file: FileHandle,
  path: string,
  length: number,
  { header = [], delimiter: wanted }: Appended,
): Promise<Checked> {
  const found: (readonly string[])[] = [];
  for (const delimiter of wanted === undefined ? delimiters : [wanted]) {
    const { cells, isOpen, lineEnd } = await headOf(file, delimiter);
    found.push(cells);
    if (!isOpen && !isDeepStrictEqual(cells, header)) continue;
    for await (const row of readCsv(textOf(file), delimiter)) {
      if (row.isOpen) throw torn(path, `a quote in line ${row.line} is never closed`);
      // The rows that are added are UTF-8, and no program reads a mixture.
      if (!isUtf8(Buffer.from(row.cells.join(), 'latin1')))
        throw torn(path, `line ${row.line} is not UTF-8 text`);
    }
    const own = lineEnd === '\n' ? '\n' : '\r\n';
    const last = (await readAt(file, length - 1, 1)).toString();
    return { lineEnd: own, delimiter, before: /[\r\n]/.test(last) ? '' : own };
  }
  // The delimiter with the most columns is probably the right one.
  const [columns = []] = found.sort((one, other) => other.length - one.length);
  throw new UsageError(
    `${path} has the columns ${columns.join(', ')}, but these rows have ${header.join(', ')}`,
    { is: 'other_columns' },
  );
}

/** A CSV file as Latin-1, so that positions in the text are positions in the file. Delimiters, quotes and line ends are ASCII. */
async function* textOf(file: FileHandle): AsyncGenerator<string, void> {
  for await (const block of blocksOf(file, await beginOf(file))) yield block.toString('latin1');
}

const mark = Buffer.from('\ufeff');

/** Where the text begins. */
async function beginOf(file: FileHandle): Promise<number> {
  return (await readAt(file, 0, mark.length)).equals(mark) ? mark.length : 0;
}

/** The first row of a CSV file, its line end, and the position of the next row. */
async function headOf(file: FileHandle, delimiter: string) {
  const { value: row } = await readCsv(textOf(file), delimiter).next();
  const end = (await beginOf(file)) + (row?.end ?? 0);
  const [lineEnd = ''] = /^(?:\r{0,2}\n|\r)/.exec((await readAt(file, end, 3)).toString('latin1')) ?? [];
  const cells = (row?.cells ?? []).map((cell) => Buffer.from(cell, 'latin1').toString());
  return { cells, isOpen: row?.isOpen ?? false, lineEnd, below: end + lineEnd.length };
}

/** The text before the first line end, without a byte order mark. */
async function firstLine(handle: FileHandle, path: string, size: number): Promise<string> {
  for (let length = 1 << 16; length <= longestLine; length *= 2) {
    const head = await readAt(handle, 0, Math.min(size, length));
    const end = head.indexOf(newline);
    if (end !== -1) return head.toString('utf8', 0, end).replace(/^\ufeff/, '');
    if (length >= size) return head.toString().replace(/^\ufeff/, '');
  }
  throw torn(path, 'its first line is too long');
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

function torn(path: string, why: string): UsageError {
  return new UsageError(
    `can't append to ${path}: ${why}`,
    'Repair or move the file, or write to another file.',
  );
}
