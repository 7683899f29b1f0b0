import { UsageError } from '../errors.ts';
import { allMembers, type JsonText, kindOf, objectOf, piecesOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { type CsvRow, delimiterOf, headerCells, lengthFlaw, longestRow, readCsv } from './csv.ts';
import { unguarded } from './csv-guard.ts';
import { decoded } from './decoded.ts';
import { compact, type JsonValue, jsonValues } from './json-values.ts';

export const recordFormats = ['csv', 'json', 'jsonl', 'text', 'xlsx'] as const;
export type RecordFormat = (typeof recordFormats)[number];

/** A record of a file, or why there is none. */
export interface FileRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** A JSON object; where there are columns, their texts. Undefined for what can't be read. */
  readonly record: JsonText | undefined;
  /** Why it can't be used, to be shown after `line 3`. */
  readonly flaw?: string;
}

export interface Records {
  /** What the records have: columns, the members of JSON, or one text each. */
  readonly format: 'csv' | 'jsonl' | 'text';
  /** The columns in their order, if there are any. */
  readonly columns: readonly string[] | undefined;
  readonly rows: AsyncIterable<FileRecord>;
  /** What the user should know before the rows are used: what is not read, and what can't be read right. */
  readonly note?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
}

export interface Reading {
  /** Undefined: find out from the content, then from the extension. */
  readonly format?: RecordFormat | undefined;
  /** In small letters and with its dot; empty if there is none. */
  readonly extension: string;
  /** The name for the text of a plain line. */
  readonly field: string;
  /** Columns to look for: if the first line has one of them, it is the header of CSV. */
  readonly wanted: readonly string[];
  /** The name of the file in messages. */
  readonly what: string;
  /** Which array of a JSON object. */
  readonly table?: string | undefined;
  /** Which sheet of a workbook, by name or number. */
  readonly sheet?: string | undefined;
}

/**
 * The records of a file in any format. Reads as much as is needed to know the format. Throws UsageError for an unusable header, or for what is
 * not text.
 */
export async function openRecords(
  bytes: AsyncIterable<Uint8Array | string>,
  reading: Reading,
): Promise<Records> {
  const { format, extension, what } = reading;
  const source = bytes[Symbol.asyncIterator]();
  const first = await source.next();
  const all = behind(first.done ? [] : [first.value], source);
  if (!first.done && Buffer.from(first.value).subarray(0, zipMark.length).equals(zipMark)) {
    return await openSheet(all, reading);
  }
  const isWorkbook = (format ?? extension.slice(1)) === 'xlsx';
  if (isWorkbook && !first.done) throw new UsageError(`${what} is no Excel workbook (.xlsx)`);
  return await openText(decoded(all, what), reading);
}

async function openText(text: AsyncGenerator<string>, reading: Reading): Promise<Records> {
  const { extension, field, wanted, what } = reading;
  let head = '';
  let isOver = false;
  const readOn = async (isEnough: (head: string) => boolean): Promise<void> => {
    while (!isOver && !isEnough(head) && head.length <= longestRow) {
      const { done, value = '' } = await text.next();
      isOver = done === true;
      head += value;
    }
  };
  await readOn((found) => linesIn(found, 1));
  const firstLine = /^\s*([^\n\r]*)/.exec(head)?.[1] ?? '';
  const isWanted = (cell: string): boolean => isOneOf(cell, wanted);
  const delimiter = delimiterOf(firstLine, isWanted);
  const toFormat = async (): Promise<RecordFormat> => {
    if (/^\s*\[\s*([{"[\]]|$)/.test(head)) return 'json';
    if (firstLine.startsWith('{')) {
      if (extension === '.json' || !isJson(firstLine)) await readOn((found) => linesIn(found, 2));
      return isDocument(head, extension, isOver) ? 'json' : 'jsonl';
    }
    if (extension === '.csv' || extension === '.tsv') return 'csv';
    if (extension === '.jsonl' || extension === '.ndjson') return 'jsonl';
    if (extension === '.json' && head.trim() !== '') return 'json';
    return headerCells(firstLine, delimiter).some(isWanted) ? 'csv' : 'text';
  };
  const format = reading.format ?? (await toFormat());
  const pieces = behind([head], text);
  if (format === 'json') return await openJson(pieces, reading);
  // An empty file has no header.
  if (format === 'csv' && head.trim() !== '') return await openCsv(pieces, delimiter, what);
  if (format === 'jsonl') return { format, columns: undefined, rows: lineRows(pieces, toJsonRow) };
  return { format: 'text', columns: undefined, rows: lineRows(pieces, toTextRow(field)) };
}

/** Pure: whether a text has so many lines that are not empty, with their ends. */
function linesIn(text: string, count: number): boolean {
  const line = /\s*\S[^\n\r]*[\n\r]/y;
  line.lastIndex = 0;
  for (let at = 0; at < count; at++) if (!line.test(text)) return false;
  return true;
}

/**
 * Pure: whether a text that begins with an object is one JSON text. Otherwise there is an object on each line, the first of which may be
 * damaged.
 */
function isDocument(head: string, extension: string, isWhole: boolean): boolean {
  const [first = '', second] = head.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  if (isWhole && second === undefined) return extension === '.json';
  if (second === undefined) return extension === '.json';
  if (isJson(first)) return false;
  // A line that ends within an object or an array.
  if (/[{[,:]\s*$/.test(first)) return true;
  return !second.startsWith('{') && !/\}\s*$/.test(first);
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

type ToRow = (line: string) => Omit<FileRecord, 'line'>;

const unreadable = (flaw: string) => ({ record: undefined, flaw });

const toJsonRow: ToRow = (text) => {
  if (!isJson(text)) return unreadable('is not valid JSON');
  return kindOf(text) === 'object' ? { record: compact(text) } : unreadable('is not a JSON object');
};

const toTextRow =
  (field: string): ToRow =>
  (line) => ({ record: objectOf([[field, JSON.stringify(line.trim())]]) });

/**
 * Lines end with \n, \r\n or \r; U+2028 is an ordinary character. Of a line that is too long only the length is kept, since it could fill the
 * memory.
 */
async function* lineRows(text: AsyncIterable<string>, toRow: ToRow): AsyncGenerator<FileRecord> {
  let line = 1;
  let pieces: string[] = [];
  let length = 0;
  for await (const piece of withWholeLineEnds(text)) {
    for (const [at, part] of piece.split(/\r{0,2}\n|\r/).entries()) {
      if (at > 0) {
        const found = pieces.join('');
        const flaw = lengthFlaw(length);
        if (flaw !== undefined) yield { line, ...unreadable(flaw) };
        else if (found.trim() !== '') yield { line, ...toRow(found) };
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

/** The same text, with an end for its last line, and cut within no line end. */
async function* withWholeLineEnds(text: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const piece of text) {
    const whole = held + piece;
    const end = /\r{1,2}$/.exec(whole)?.index ?? whole.length;
    held = whole.slice(end);
    yield whole.slice(0, end);
  }
  yield `${held}\n`;
}

/** Characters of a JSON object that is a whole file, which is read as a whole. */
const longestDocument = 100 * 1024 * 1024;

/**
 * The items of a JSON array, or objects that follow each other. A single object is the one array of objects that it has, or, without one, a
 * single record.
 */
async function openJson(text: AsyncIterable<string>, reading: Reading): Promise<Records> {
  const { field, what, table } = reading;
  const values = jsonValues(text, { most: longestDocument });
  const head: JsonValue[] = [];
  for (let next = await values.next(); !next.done; next = await values.next()) {
    head.push(next.value);
    if (head.length === 2) break;
  }
  const toRow: ToRow = (value) =>
    kindOf(value) === 'string' && isJson(value) ? { record: objectOf([[field, value]]) } : toJsonRow(value);
  async function* rows(from: AsyncIterable<JsonValue>): AsyncGenerator<FileRecord> {
    for await (const { line, text: value, length, isWhole } of from) {
      const flaw =
        lengthFlaw(length) ?? (isWhole ? undefined : 'is incomplete: the file ends before the JSON does');
      yield { line, ...(flaw === undefined ? toRow(value) : unreadable(flaw)) };
    }
  }
  const [whole] = head.length === 1 ? head : [];
  if (whole !== undefined && whole.length > longestDocument) {
    throw new UsageError(
      `${what} has more than ${longestDocument} characters, which is too much for one JSON object`,
      'Write its array alone, for example: jq ".leads" <file>',
    );
  }
  const arrays = whole?.isWhole ? arraysIn(whole.text) : [];
  const names = arrays.map(({ name }) => name);
  const array = arrays.find(({ name }) => table === undefined || name === table);
  if (table !== undefined && array === undefined) {
    throw new UsageError(
      `${what} has no array of objects "${table}"`,
      names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
    );
  }
  if (table === undefined && names.length > 1) {
    throw new UsageError(`${what} has several arrays: ${names.join(', ')}`, { is: 'several_tables', names });
  }
  if (whole === undefined || array === undefined) {
    return { format: 'jsonl', columns: undefined, rows: rows(behind(head, values)) };
  }
  const line = whole.line + linesBefore(whole.text, array.text);
  const items = jsonValues(piecesOf(array.text, 1 << 16), { line });
  return { format: 'jsonl', columns: undefined, rows: rows(items) };
}

/** Pure: the arrays of objects that an object has. */
function arraysIn(object: JsonText): { readonly name: string; readonly text: JsonText }[] {
  return allMembers(object).flatMap(([name, text]) => (/^\[\s*\{/.test(text) ? [{ name, text }] : []));
}

/** Pure: how many lines end before a part of a text. */
function linesBefore(text: string, part: string): number {
  return text.slice(0, text.indexOf(part)).match(/\r\n|[\r\n]/g)?.length ?? 0;
}

async function openCsv(text: AsyncIterable<string>, delimiter: string, what: string): Promise<Records> {
  const parsed = readCsv(text, delimiter);
  const first = await parsed.next();
  const { cells: header = [], line = 1, flaw = undefined } = first.done ? {} : first.value;
  if (flaw !== undefined) throw new UsageError(`the header of ${what} can't be read: line ${line} ${flaw}`);
  return toRecords(header, parsed);
}

function toRecords(header: readonly string[], parsed: AsyncIterable<CsvRow> | Iterable<CsvRow>): Records {
  const names = header.map((cell) => unguarded(cell.trim()));
  const columns = names.map((name, at) => distinct(name || `column ${at + 1}`, names.slice(0, at)));
  async function* rows(): AsyncGenerator<FileRecord> {
    for await (const { cells, line, flaw } of parsed) {
      if (flaw !== undefined) yield { line, ...unreadable(flaw) };
      // What a spreadsheet saves for an empty line.
      else if (cells.some((cell) => cell.trim() !== '')) {
        const members = columns.map(
          (name, at) => [name, JSON.stringify(unguarded(cells[at] ?? ''))] as const,
        );
        const tooMany = `has ${cells.length} cells, but the header has ${columns.length}`;
        const more = cells.length > columns.length ? { flaw: tooMany } : {};
        yield { line, record: objectOf(members), ...more };
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

/** The rows of one sheet of a workbook, as the texts that it shows. Throws UsageError. */
async function openSheet(
  bytes: AsyncIterable<Uint8Array | string>,
  { what, sheet, wanted }: Reading,
): Promise<Records> {
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
  const { chooseSheet } = await import('./chosen-sheet.ts');
  const chosen = chooseSheet(Buffer.concat(pieces), what, sheet, (cell) => isOneOf(cell, wanted));
  const { before, width, note, warnings } = chosen;
  function* rows(): Generator<CsvRow> {
    for (const { line, cells } of chosen.rows()) {
      if (cells.length > before) yield { line, cells: cells.slice(before), flaw: undefined };
    }
  }
  const table = rows();
  const { cells: header = [] } = table.next().value ?? {};
  const columns = Array.from({ length: width - before }, (_, at) => header[at] ?? '');
  return { ...toRecords(columns, table), note, warnings };
}
