import { UsageError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';

export const recordFormats = ['csv', 'json', 'jsonl', 'text', 'md', 'xlsx', 'sqlite'] as const;
export type RecordFormat = (typeof recordFormats)[number];

/** A record of a file, or why there is none. */
export interface FileRecord {
  /** The line on which it begins, or the row of a sheet or a table, from 1. */
  readonly line: number;
  /** Whether it is the number of a row, and not that of a line. */
  readonly isRow?: boolean | undefined;
  /** A JSON object; where there are columns, their texts. Undefined for what can't be read. */
  readonly record: JsonText | undefined;
  /** Why it can't be used, to be shown after `line 3` or `row 3`. */
  readonly flaw?: string;
}

export interface Records {
  /** What the records have: columns, the members of JSON, or one text each. */
  readonly format: 'csv' | 'jsonl' | 'text';
  /** The columns in their order, if there are any. */
  readonly columns: readonly string[] | undefined;
  /** Their headers as they stand there: repeated, empty or with white space. */
  readonly rawHeaders?: readonly string[] | undefined;
  readonly rows: AsyncIterable<FileRecord>;
  /** Whether they are lines of plain text, below the name of their one column. */
  readonly isOneColumn?: boolean | undefined;
  /** What stands between the cells of a table of text. */
  readonly delimiter?: string | undefined;
  /** Whether the text begins with a byte order mark. */
  readonly hasMark?: boolean | undefined;
  /** What the user should know before the rows are used: what is not read, and what can't be read right. */
  readonly note?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
  /** The same, for when the rows were read. */
  readonly noteAtEnd?: (() => string | undefined) | undefined;
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
  /** Whether other names are those of columns, too. */
  readonly isKnown?: ((name: string) => boolean) | undefined;
  /** Whether a line of plain text is the name of the column that the lines below are; `below` is the next one. */
  readonly isColumnName?: ((line: string, below: string) => boolean) | undefined;
  /** The line of the header, or the row of a sheet, from 1; 0 if there is none. Undefined: find it. */
  readonly headerRow?: number | undefined;
  /** Leaves the apostrophes before formulas in the cells. */
  readonly isRaw?: boolean | undefined;
  /** The name of the file in messages. */
  readonly what: string;
  /** Its path, where it is a file of its own: others may be writing it. */
  readonly path?: string | undefined;
  /** Which array of a JSON object, or which table of a database. */
  readonly table?: string | undefined;
  /** Which sheet of a workbook, by name or number. */
  readonly sheet?: string | undefined;
}

/** Where a record is in its file. */
export type Place = Pick<FileRecord, 'isRow' | 'line'>;

/** Pure: a place in words: `line 3`, `row 3`. */
export function placeOf({ isRow, line }: Place): string {
  return `${isRow ? 'row' : 'line'} ${line}`;
}

/** Whether a cell is the name of a column. */
export function columnNamesOf({ wanted, isKnown = () => false }: Reading): (cell: string) => boolean {
  return (cell) => isOneOf(cell.trim(), wanted) || isKnown(cell.trim());
}

/** Pure: whether a column contains one of these paths. */
export function isOneOf(cell: string, paths: readonly string[]): boolean {
  const name = cell.toLowerCase();
  return paths.some((path) => path.toLowerCase() === name || path.toLowerCase().startsWith(`${name}.`));
}

/** Pure: the name that is meant: exactly, else in another case. */
export function nameIn(names: Iterable<string>, wanted: string): string | undefined {
  const all = [...names];
  if (all.includes(wanted)) return wanted;
  const lower = wanted.toLowerCase();
  return all.find((name) => name.toLowerCase() === lower);
}

/** Bytes. A workbook is read as a whole, and its content is ten times as large. */
export const maxWorkbook = 100 * 1024 * 1024;

/** What to do with a table that another program can read. */
export const saveAs = 'Save it as CSV or xlsx, and give that file.';

/** All bytes of a file. Throws UsageError for more of them than `max`, in these words. */
export async function wholeOf(
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
