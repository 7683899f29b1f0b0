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
  /** The kind of records: with columns, with the members of JSON, or one text each. */
  readonly format: 'csv' | 'jsonl' | 'text';
  /** The columns in their order, if there are any. */
  readonly columns: readonly string[] | undefined;
  /** Their headers as written: perhaps repeated, empty or with white space. */
  readonly rawHeaders?: readonly string[] | undefined;
  readonly rows: AsyncIterable<FileRecord>;
  /** Whether the rows are lines of plain text below the name of a single column. */
  readonly isOneColumn?: boolean | undefined;
  /** The character between the cells of a text table. */
  readonly delimiter?: string | undefined;
  /** Whether the text begins with a byte order mark. */
  readonly hasMark?: boolean | undefined;
  /** Messages shown before the rows are used: `note` names content that is skipped, `warnings` content that may be misread. */
  readonly note?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
  /** As `note`, for after the rows were read. */
  readonly noteAtEnd?: (() => string | undefined) | undefined;
}

export interface ReadOptions {
  /** Undefined: find out from the content, then from the extension. */
  readonly format?: RecordFormat | undefined;
  /** In small letters and with its dot; empty if there is none. */
  readonly extension: string;
  /** The name for the text of a plain line. */
  readonly field: string;
  /** Columns to look for: if the first line has one of them, it is the header of CSV. */
  readonly wanted: readonly string[];
  /** Whether any other name is a column name, too. */
  readonly isKnown?: ((name: string) => boolean) | undefined;
  /** Whether a line of plain text is the name of a column that the next lines form; `below` is the line after it. */
  readonly isColumnName?: ((line: string, below: string) => boolean) | undefined;
  /** The line of the header, or the row of a sheet, from 1; 0 if there is none. Undefined: find it. */
  readonly headerRow?: number | undefined;
  /** Whether to keep the apostrophes before formulas. */
  readonly isRaw?: boolean | undefined;
  /** The name of the file in messages. */
  readonly what: string;
  /** Its path, if it is a file: others may be writing it. */
  readonly path?: string | undefined;
  /** Which array of a JSON object, or which table of a database. */
  readonly table?: string | undefined;
  /** Which sheet of a workbook, by name or number. */
  readonly sheet?: string | undefined;
}

/** The place of a record in its file. */
export type Place = Pick<FileRecord, 'isRow' | 'line'>;

/** Pure: a place in words: `line 3`, `row 3`. */
export function placeOf({ isRow, line }: Place): string {
  return `${isRow ? 'row' : 'line'} ${line}`;
}

/** Whether a cell is the name of a column. */
export function columnNamesOf({ wanted, isKnown = () => false }: ReadOptions): (cell: string) => boolean {
  return (cell) => isOneOf(cell.trim(), wanted) || isKnown(cell.trim());
}

/** Pure: whether a column is one of these paths, or a parent of one. */
export function isOneOf(cell: string, paths: readonly string[]): boolean {
  const name = cell.toLowerCase();
  return paths.some((path) => path.toLowerCase() === name || path.toLowerCase().startsWith(`${name}.`));
}

/** Pure: the exact name, otherwise the first one that differs only in case. */
export function nameIn(names: Iterable<string>, wanted: string): string | undefined {
  const all = [...names];
  if (all.includes(wanted)) return wanted;
  const lower = wanted.toLowerCase();
  return all.find((name) => name.toLowerCase() === lower);
}

/** Bytes. A workbook is read as a whole, and its content is ten times as large. */
export const maxWorkbook = 100 * 1024 * 1024;

/** Advice for a table that another program can read. */
export const saveAs = 'Save it as CSV or xlsx, and give that file.';

/** All bytes of a file. Throws UsageError with these words if there are more than `max`. */
export async function readAll(
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
