import { UsageError } from '../errors.ts';
import { allMembers, type JsonText, kindOf, objectOf, piecesOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { type CsvRow, lengthFlaw, longestRow, readCsv } from './csv.ts';
import { databaseMark, decoded, zipMark } from './decoded.ts';
import { findHeader } from './header.ts';
import { compact, type JsonValue, jsonValues } from './json-values.ts';
import { isMarkdownTable, readMarkdown } from './markdown-table.ts';
import { isProse, seemsToBe } from './not-a-list.ts';
import { columnNamesOf, type FileRecord, type Reading, type RecordFormat, type Records } from './reading.ts';
import { openTable } from './table-records.ts';
import { linesOf } from './text-lines.ts';
import { isTable, rowsOfHead, type TableView, viewAsColumn, viewAsTable } from './text-table.ts';

/**
 * The records of a file in any format. Reads as much as is needed to know the format. Throws UsageError for an unusable header, or for what is
 * not text.
 */
export async function openFileRecords(
  bytes: AsyncIterable<Uint8Array | string>,
  reading: Reading,
): Promise<Records> {
  const { format, extension, what } = reading;
  const source = bytes[Symbol.asyncIterator]();
  const first = await source.next();
  const all = behind(first.done ? [] : [first.value], source);
  const begins = (mark: Buffer): boolean =>
    !first.done && Buffer.from(first.value).subarray(0, mark.length).equals(mark);
  if (begins(zipMark)) return await openSheet(all, reading);
  if (begins(databaseMark)) return await openDatabase(all, reading);
  const isWorkbook = (format ?? extension.slice(1)) === 'xlsx';
  if (isWorkbook && !first.done) throw new UsageError(`${what} is no Excel workbook (.xlsx)`);
  if (format === 'sqlite' && !first.done) throw new UsageError(`${what} is no SQLite database`);
  const begin = first.done ? '' : Buffer.from(first.value).toString('latin1', 0, 3);
  return {
    ...(await openText(decoded(all, what), reading)),
    hasMark: /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.test(begin),
  };
}

async function openText(text: AsyncGenerator<string>, reading: Reading): Promise<Records> {
  const { extension, field, headerRow, sheet, table: chosen, what } = reading;
  let head = '';
  let isOver = false;
  const readMore = async (): Promise<void> => {
    const { done, value = '' } = await text.next();
    isOver = done === true;
    head += value;
  };
  const readOn = async (isEnough: (head: string) => boolean): Promise<void> => {
    while (!isOver && !isEnough(head) && head.length <= longestRow) await readMore();
  };
  // A last line that may go on says nothing yet.
  const view = (): Promise<TableView> =>
    viewAsTable(
      isOver ? head : head.slice(0, 1 + Math.max(head.lastIndexOf('\n'), head.lastIndexOf('\r'))),
      reading,
    );
  await readOn((found) => linesIn(found, 1));
  const firstLine = /^\s*([^\n\r]*)/.exec(head)?.[1] ?? '';
  const noList = (kind: string): UsageError =>
    new UsageError(`${what} is no list: it looks like ${kind}`, { is: 'no_list' });
  let column: TableView | undefined;
  const toFormat = async (): Promise<RecordFormat> => {
    if (firstLine.includes('|')) await readOn((found) => linesIn(found, 2));
    if (isMarkdownTable(head)) return 'md';
    const other = seemsToBe(head.slice(0, enough)) ?? ownKinds[extension];
    if (other !== undefined && head.trim() !== '') throw noList(other);
    if (/^\s*\[\s*([{"[\]]|$)/.test(head)) return 'json';
    if (firstLine.startsWith('{')) {
      if (extension === '.json' || !isJson(firstLine)) await readOn((found) => linesIn(found, 2));
      return isDocument(head, extension, isOver) ? 'json' : 'jsonl';
    }
    if (extension === '.csv' || extension === '.tsv' || headerRow !== undefined) return 'csv';
    if (extension === '.jsonl' || extension === '.ndjson') return 'jsonl';
    if (extension === '.json' && head.trim() !== '') return 'json';
    // The first line of a pipe may be the name of a column, if there is another below it.
    if (reading.isColumnName?.(firstLine, '@')) await readOn((found) => linesIn(found, 2));
    const table = await view();
    // A title may be such a name, too.
    if (table.place === undefined || table.place.known < 2) column = await viewAsColumn(head, reading);
    if (column !== undefined || isTable(table, reading)) return 'csv';
    if (isProse(head.slice(0, enough))) throw noList('one text of sentences');
    return 'text';
  };
  const format = reading.format ?? (await toFormat());
  // An empty file has no header.
  const isEmpty = head.trim() === '';
  if (sheet !== undefined && !isEmpty)
    throw new UsageError(`${what} is no workbook: it has no sheets to choose from`);
  if (chosen !== undefined && !isEmpty && format !== 'json')
    throw new UsageError(`${what} has no tables to choose from`);
  if (column !== undefined) {
    return { ...(await openCsv(behind([head], text), column, reading)), isOneColumn: true };
  }
  if (format === 'csv' && !isEmpty) {
    let table = await view();
    // A pipe may bring a line at a time. Where no name is known, the delimiter is the one that fits most rows.
    const isClear = (): boolean => table.place !== undefined && table.place.known > 0;
    while (!isOver && head.length < enough && table.head.length < rowsOfHead && !isClear()) {
      await readMore();
      table = await view();
    }
    return await openCsv(behind([head], text), table, reading);
  }
  if (headerRow !== undefined && !isEmpty) {
    const found = format === 'text' ? 'plain lines' : format === 'md' ? 'a Markdown table' : 'JSON';
    throw new UsageError(`the header of ${what} can't be chosen: it has ${found}`);
  }
  const pieces = behind([head], text);
  if (format === 'md') {
    if (!isMarkdownTable(head)) throw new UsageError(`${what} does not begin with a Markdown table`);
    const own = { ...reading, headerRow: 1 + linesBefore(head, firstLine) };
    return await openTable(readMarkdown(pieces), { head: [], place: undefined }, own, 'md');
  }
  if (format === 'json') return await openJson(pieces, reading, /^\s*\[/.test(head));
  if (format === 'jsonl') return { format, columns: undefined, rows: lineRows(pieces, toJsonRow) };
  return { format: 'text', columns: undefined, rows: lineRows(pieces, toTextRow(field)) };
}

/** What files with these extensions are, unless they have a table. */
const ownKinds: Readonly<Record<string, string>> = {
  '.md': 'Markdown',
  '.markdown': 'Markdown',
  '.yaml': 'YAML',
  '.yml': 'YAML',
};

/** Characters in which the header of a table is looked for. */
const enough = 1 << 16;

async function openCsv(text: AsyncIterable<string>, table: TableView, reading: Reading): Promise<Records> {
  const { delimiter, isSaid } = table;
  async function* rows(): AsyncGenerator<CsvRow> {
    for await (const row of readCsv(text, delimiter)) if (!isSaid || row.line > 1) yield row;
  }
  const records = await openTable(isSaid ? rows() : readCsv(text, delimiter), table, reading, 'csv');
  return { ...records, delimiter };
}

/** Pure: whether a text has this many lines that are not empty, with their ends. */
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

type ToRow = (line: string) => Omit<FileRecord, 'line'>;

const unreadable = (flaw: string) => ({ record: undefined, flaw });

const toJsonRow: ToRow = (text) => {
  if (!isJson(text)) return unreadable('is not valid JSON');
  return kindOf(text) === 'object' ? { record: compact(text) } : unreadable('is not a JSON object');
};

const toTextRow =
  (field: string): ToRow =>
  (line) => ({ record: objectOf([[field, JSON.stringify(line.trim())]]) });

async function* lineRows(text: AsyncIterable<string>, toRow: ToRow): AsyncGenerator<FileRecord> {
  for await (const { line, text: found, length } of linesOf(text)) {
    const flaw = lengthFlaw(length);
    yield { line, ...(flaw === undefined ? toRow(found) : unreadable(flaw)) };
  }
}

/** Characters of a JSON object that is a whole file, which is read as a whole. */
const longestDocument = 100 * 1024 * 1024;

/**
 * The items of a JSON array, or objects that follow each other. A single object is the one array of objects that it has, or, without one, a
 * single record.
 */
async function openJson(text: AsyncIterable<string>, reading: Reading, isArray: boolean): Promise<Records> {
  const { field, what, table } = reading;
  const values = jsonValues(text, { max: longestDocument });
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
  // An object that is alone in an array is a record.
  const [whole] = head.length === 1 && !isArray ? head : [];
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

/** Bytes. A workbook is read as a whole, and its content is ten times as large. */
const maxWorkbook = 100 * 1024 * 1024;
/** A database is read as a whole, too, since it may come from a pipe. */
const maxDatabase = 1024 * 1024 * 1024;

/** The rows of one sheet of a workbook, as the texts that it shows. Throws UsageError. */
async function openSheet(bytes: AsyncIterable<Uint8Array | string>, reading: Reading): Promise<Records> {
  const { what, sheet, table } = reading;
  if (table !== undefined)
    throw new UsageError(`${what} is a workbook: it has sheets to choose from, no tables`);
  const workbook = await wholeOf(
    bytes,
    maxWorkbook,
    `${what} has more than ${maxWorkbook} bytes, which is too much for a workbook`,
    'Save it as CSV (in Excel: "CSV UTF-8").',
  );
  // Loaded here, since most inputs are not workbooks.
  const { chooseSheet } = await import('./chosen-sheet.ts');
  const isName = columnNamesOf(reading);
  const chosen = chooseSheet(workbook, what, sheet, isName);
  const { before, width, note } = chosen;
  function* rows(): Generator<CsvRow> {
    for (const { line, cells } of chosen.rows()) {
      const filled = Array.from({ length: width - before }, (_, at) => cells[before + at] ?? '');
      if (cells.length > before) yield { line, cells: filled, flaw: undefined };
    }
  }
  const head: CsvRow[] = [];
  for (const row of rows()) if (head.push(row) === rowsOfHead) break;
  const place = findHeader(head, isName);
  const records = await openTable(rows(), { head, place }, reading, 'sheet');
  const warnings = chosen.warnings(reading.headerRow ?? place?.line ?? 0);
  const notes = [note, records.note].filter((one) => one !== undefined);
  return { ...records, note: notes.length === 0 ? undefined : notes.join('\n'), warnings };
}

/** The rows of a table of a database, as texts. Throws UsageError, and `temporary` where another program is writing it. */
async function openDatabase(
  bytes: AsyncIterable<Uint8Array | string>,
  { what, sheet, table, path }: Reading,
): Promise<Records> {
  if (sheet !== undefined)
    throw new UsageError(`${what} is a database: it has tables to choose from, no sheets`);
  const database = await wholeOf(
    bytes,
    maxDatabase,
    `${what} has more than ${maxDatabase} bytes, which is too much`,
    'Write the table into a CSV file, for example: sqlite3 -csv -header <file> "SELECT * FROM <table>" > rows.csv',
  );
  // Loaded here, since it brings SQLite.
  const { openDatabaseTable } = await import('./database-input.ts');
  const { columns, rows, warnings } = await openDatabaseTable(database, what, table, path);
  async function* records(): AsyncGenerator<FileRecord> {
    for (const { line, cells } of rows()) {
      const members = columns.map((name, at) => [name, JSON.stringify(cells[at] ?? '')] as const);
      yield { line, record: objectOf(members) };
    }
  }
  return { format: 'csv', columns, rows: records(), warnings };
}

/** Throws UsageError for more bytes than `max`, in these words. */
async function wholeOf(
  bytes: AsyncIterable<Uint8Array | string>,
  max: number,
  words: string,
  hint: string,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > max) throw new UsageError(words, hint);
  }
  return Buffer.concat(pieces);
}
