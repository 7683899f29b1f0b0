import { extname } from 'node:path';
import { UsageError } from '../errors.ts';
import { type CsvRow, delimiterOf, headerCells, lengthFlaw, longestRow, readCsv } from '../files/csv.ts';
import { unguarded } from '../files/csv-guard.ts';
import { decoded } from '../files/decoded.ts';
import { type JsonText, kindOf, objectOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';

export const inputFormats = ['csv', 'jsonl', 'text', 'xlsx'] as const;
export type InputFormat = (typeof inputFormats)[number];

/** A row of an input: its record, or why it has none. */
export interface InputRow {
  /** From 1, without the header. */
  readonly number: number;
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** A JSON object; for CSV, the texts by column. Undefined for a row that can't be read. */
  readonly record: JsonText | undefined;
  /** Why it can't be sent. */
  readonly flaw?: string;
}

export interface Input {
  /** The format. A workbook has columns and texts as CSV has, and counts as CSV. */
  readonly format: Exclude<InputFormat, 'xlsx'>;
  /** For CSV: the columns in their order. */
  readonly columns: readonly string[] | undefined;
  readonly rows: AsyncIterable<InputRow>;
}

interface InputOptions {
  /** Undefined: find out from the content. */
  readonly format: InputFormat | undefined;
  /** The name for the text of a plain line. */
  readonly field: string;
  /** Columns to look for: if the first line has one of them, it is the header of CSV. */
  readonly wanted: readonly string[];
  /** The name of the input in messages. */
  readonly what: string;
}

/** Pure: the format by the extension of a file. A .txt can have any format. */
export function formatOfName(name: string): InputFormat | undefined {
  const extension = extname(name).toLowerCase();
  if (['.csv', '.tsv'].includes(extension)) return 'csv';
  if (extension === '.xlsx') return 'xlsx';
  return ['.jsonl', '.ndjson'].includes(extension) ? 'jsonl' : undefined;
}

/** Reads as much as is needed to know the format. Throws UsageError for an unusable header, or for what is not text. */
export async function openInput(
  bytes: AsyncIterable<Uint8Array | string>,
  { format: asked, field, wanted, what }: InputOptions,
): Promise<Input> {
  const source = bytes[Symbol.asyncIterator]();
  const first = await source.next();
  const all = behind(first.done ? [] : [first.value], source);
  if (!first.done && Buffer.from(first.value).subarray(0, zipMark.length).equals(zipMark)) {
    const [header = [], ...rows] = await readWorkbook(all, what);
    return toInput(
      header,
      rows.map((cells, at) => ({ line: at + 2, cells, flaw: undefined })),
    );
  }
  if (asked === 'xlsx' && !first.done) throw new UsageError(`${what} is no Excel workbook (.xlsx)`);
  const given = asked === 'xlsx' ? undefined : asked;

  const text = decoded(all, what);
  let head = '';
  while (!/^\s*\S[^\n\r]*[\n\r]/.test(head) && head.length <= longestRow) {
    const { done, value } = await text.next();
    if (done) break;
    head += value;
  }
  const pieces = behind([head], text);
  const firstLine = /^\s*([^\n\r]*)/.exec(head)?.[1] ?? '';
  const array = given === undefined ? /^\s*\[\s*([{"[\]]|$)/.exec(head) : null;
  if (array !== null) {
    const [is, jq] = array[1] === '"' ? ['a text', 'jq -r'] : ['a JSON object', 'jq -c'];
    throw new UsageError(
      `${what} is a JSON array, but ${is} on each line is needed`,
      `To convert a file: ${jq} ".[]" <file>`,
    );
  }
  const isWanted = (cell: string): boolean => isOneOf(cell, wanted);
  const delimiter = delimiterOf(firstLine, isWanted);
  const isHeader = headerCells(firstLine, delimiter).some(isWanted);
  const format = given ?? (firstLine.startsWith('{') ? 'jsonl' : isHeader ? 'csv' : 'text');
  // An empty input has no header.
  if (format === 'csv' && head.trim() !== '') return await openCsv(pieces, delimiter, what);
  const toRow = format === 'jsonl' ? toJsonRow : toTextRow(field);
  return { format, columns: undefined, rows: lineRows(pieces, toRow) };
}

async function* behind<T>(first: readonly T[], rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield* first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Whether a column contains one of these paths. */
function isOneOf(cell: string, paths: readonly string[]): boolean {
  const name = cell.toLowerCase();
  return paths.some((path) => path.toLowerCase() === name || path.toLowerCase().startsWith(`${name}.`));
}

type ToRow = (line: string) => { readonly record: JsonText } | { readonly flaw: string };

const toJsonRow: ToRow = (line) => {
  if (!isJson(line)) return { flaw: 'is not valid JSON' };
  return kindOf(line) === 'object' ? { record: line.trim() } : { flaw: 'is not a JSON object' };
};

const toTextRow =
  (field: string): ToRow =>
  (line) => ({ record: objectOf([[field, JSON.stringify(line.trim())]]) });

/**
 * Lines end with \n or \r\n; U+2028 is an ordinary character. Of a line that is too long only the length is kept, since it could fill the
 * memory.
 */
async function* lineRows(text: AsyncIterable<string>, toRow: ToRow): AsyncGenerator<InputRow> {
  let number = 0;
  let line = 1;
  let pieces: string[] = [];
  let length = 0;
  for await (const piece of withLineEnd(text)) {
    for (const [at, part] of piece.split('\n').entries()) {
      if (at > 0) {
        const found = pieces.join('');
        const flaw = lengthFlaw(length);
        if (flaw !== undefined || found.trim() !== '')
          yield { number: ++number, line, record: undefined, ...(flaw ? { flaw } : toRow(found)) };
        line++;
        pieces = [];
        length = 0;
      }
      length += part.length;
      if (length <= longestRow) pieces.push(part);
      else pieces = [];
    }
  }
}

async function* withLineEnd(text: AsyncIterable<string>): AsyncGenerator<string> {
  yield* text;
  yield '\n';
}

async function openCsv(text: AsyncIterable<string>, delimiter: string, what: string): Promise<Input> {
  const parsed = readCsv(text, delimiter);
  const first = await parsed.next();
  const { cells: header = [], line = 1, flaw = undefined } = first.done ? {} : first.value;
  if (flaw !== undefined) throw new UsageError(`the header of ${what} can't be read: line ${line} ${flaw}`);
  return toInput(header, parsed);
}

function toInput(header: readonly string[], parsed: AsyncIterable<CsvRow> | readonly CsvRow[]): Input {
  const names = header.map((cell) => unguarded(cell.trim()));
  const columns = names.map((name, at) => distinct(name || `column ${at + 1}`, names.slice(0, at)));
  async function* rows(): AsyncGenerator<InputRow> {
    let number = 0;
    for await (const { cells, line, flaw } of parsed) {
      number++;
      if (flaw !== undefined) yield { number, line, record: undefined, flaw };
      // What a spreadsheet saves for an empty line.
      else if (cells.some((cell) => cell.trim() !== '')) {
        const members = columns.map(
          (name, at) => [name, JSON.stringify(unguarded(cells[at] ?? ''))] as const,
        );
        const tooMany = `has ${cells.length} cells, but the header has ${columns.length}`;
        const more = cells.length > columns.length ? { flaw: tooMany } : {};
        yield { number, line, record: objectOf(members), ...more };
      }
    }
  }
  return { format: 'csv', columns, rows: rows() };
}

/** Names a second column with the same name differently: in an object it would replace the first. */
function distinct(name: string, before: readonly string[]): string {
  const times = before.filter((one) => one === name).length;
  return times === 0 ? name : `${name} (${times + 1})`;
}

/** Bytes. A workbook is read as a whole, and its content is ten times as large. */
const most = 100 * 1024 * 1024;

const zipMark = Buffer.from('PK\u0003\u0004');

/**
 * The rows of the first sheet of a workbook, as texts, and of the next sheets that have the same header. The first row is the header.
 * Throws UsageError.
 */
async function readWorkbook(bytes: AsyncIterable<Uint8Array | string>, what: string): Promise<string[][]> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > most) {
      throw new UsageError(
        `${what} has more than ${most} bytes, which is too much for a workbook`,
        'Save it as CSV (in Excel: "CSV UTF-8").',
      );
    }
  }
  // Loaded here, since most inputs are not workbooks.
  const { default: read } = await import('read-excel-file/node');
  const sheets = await read(Buffer.concat(pieces)).catch(() => {
    throw new UsageError(
      `${what} can't be read as an Excel workbook (.xlsx)`,
      'Save it as CSV (in Excel: "CSV UTF-8").',
    );
  });
  const [first = [], ...others] = sheets.map(({ data }) => data.map((row) => row.map(toText)));
  const header = JSON.stringify(first[0]);
  return first.concat(
    ...others.filter(([head]) => JSON.stringify(head) === header).map((rows) => rows.slice(1)),
  );
}

function toText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  if (!(cell instanceof Date)) return String(cell);
  return cell.toISOString().replace(/T00:00:00\.000Z$/, '');
}
