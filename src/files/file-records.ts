import { UsageError } from '../errors.ts';
import { openCsv } from './csv-records.ts';
import { databaseMark, decoded, oldOfficeMark, zipMark } from './decoded.ts';
import { openJson, openJsonLines } from './json-records.ts';
import { openMarkdown } from './markdown-table.ts';
import {
  maxWorkbook,
  type ReadOptions,
  type RecordFormat,
  type Records,
  readAll,
  saveAs,
} from './reading.ts';
import { behind, createTextStart } from './text-begin.ts';
import { findFormat } from './text-format.ts';
import { openLines } from './text-lines.ts';

/**
 * The records of a file in any format. Reads only what is needed to recognise the format. Throws UsageError for an unusable header, or a file that
 * is not text.
 */
export async function openFileRecords(
  bytes: AsyncIterable<Uint8Array | string>,
  reading: ReadOptions,
): Promise<Records> {
  const { format, extension, what } = reading;
  const source = bytes[Symbol.asyncIterator]();
  const first = await source.next();
  const all = behind(first.done ? [] : [first.value], source);
  const begins = (mark: Buffer): boolean =>
    !first.done && Buffer.from(first.value).subarray(0, mark.length).equals(mark);
  // Loaded where they are used, since most inputs are text.
  if (begins(zipMark)) return await (await import('./sheet-records.ts')).openSheet(all, reading);
  if (begins(databaseMark)) return await (await import('./database-input.ts')).openDatabase(all, reading);
  if (begins(oldOfficeMark)) throw await oldOffice(all, what);
  const isWorkbook = (format ?? extension.slice(1)) === 'xlsx';
  if (isWorkbook && !first.done) throw new UsageError(`${what} is not an Excel workbook (.xlsx)`);
  if (format === 'sqlite' && !first.done) throw new UsageError(`${what} is not a SQLite database`);
  const begin = first.done ? '' : Buffer.from(first.value).toString('latin1', 0, 3);
  return {
    ...(await openText(decoded(all, what), reading)),
    hasMark: /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.test(begin),
  };
}

/** The name of the stream that holds a workbook with a password. */
const encrypted = Buffer.from('EncryptedPackage', 'utf16le');

async function oldOffice(bytes: AsyncIterable<Uint8Array | string>, what: string): Promise<UsageError> {
  const whole = await readAll(bytes, maxWorkbook, `${what} is an old Office file`, saveAs);
  return whole.includes(encrypted)
    ? new UsageError(
        `${what} has a password`,
        'Open it in Excel, remove the password (File > Info > Protect Workbook > Encrypt with Password), and save it.',
      )
    : new UsageError(`${what} is an old Office file (.xls, .doc)`, saveAs);
}

async function openText(text: AsyncGenerator<string>, reading: ReadOptions): Promise<Records> {
  const begin = createTextStart(text);
  await begin.readLines(1);
  const { format, column = undefined } =
    reading.format === undefined ? await findFormat(begin, reading) : { format: reading.format };
  // An empty file has nothing to choose from.
  if (!begin.isEmpty) checkChoices(reading, format);
  switch (format) {
    case 'csv':
      return begin.isEmpty ? openLines(begin.pieces(), reading) : await openCsv(begin, reading, column);
    case 'md':
      return await openMarkdown(begin, reading);
    case 'json':
      return await openJson(begin.pieces(), reading, /^\s*\[/.test(begin.head));
    case 'jsonl':
      return openJsonLines(begin.pieces());
    default:
      return openLines(begin.pieces(), reading);
  }
}

/** Throws UsageError for a sheet, a table or a header row that this format does not have. */
function checkChoices({ headerRow, sheet, table, what }: ReadOptions, format: RecordFormat): void {
  if (sheet !== undefined) throw new UsageError(`${what} is not a workbook: it has no sheets`);
  if (table !== undefined && format !== 'json') throw new UsageError(`${what} has no tables to choose from`);
  if (headerRow === undefined || format === 'csv') return;
  const found = format === 'text' ? 'plain lines' : format === 'md' ? 'a Markdown table' : 'JSON';
  throw new UsageError(`the header of ${what} can't be chosen: it has ${found}`);
}
