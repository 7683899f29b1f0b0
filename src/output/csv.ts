import { stringify } from 'csv-stringify/sync';
import { behindDelimiters, isFormula } from '../files/csv-guard.ts';
import { type JsonText, kindOf, stringOf, toLine } from '../json/text.ts';
import type { Column } from './layout.ts';
import { createRowsForm, type WriterForm, type WriterOptions } from './writer.ts';

/** Enough for the library to be quick, and few enough to hold: a list can have ten columns of its own in each row. */
const cellsAtOnce = 4096;

/** RFC 4180, with the header even when no row follows. */
export function createCsvForm(options: WriterOptions): WriterForm {
  const { columns } = options.layout;
  const raw = options.csvRaw ?? false;
  // A row of one empty cell would be a blank line, which readers skip.
  const style = {
    record_delimiter: options.lineEnd ?? '\r\n',
    quoted_empty: columns.length === 1,
    // The library quotes only cells that hold its own line end and delimiter, and readers take others for one.
    quoted_match: [';', '\t', '|', '\r', '\n'],
  };
  const header = csvHeader(columns, raw);
  const cellOf = (value: JsonText | undefined): string => csvCell(value, raw);
  return createRowsForm(options, [header], cellOf, (rows) => stringify([...rows], style), cellsAtOnce);
}

/** The header cells as they are written, which is also what a file must have to be appended to. */
export function csvHeader(columns: readonly Column[], raw: boolean): string[] {
  return columns.map(({ header }) => textCell(header, raw));
}

/** A JSON value as a cell: numbers as they were written, objects and arrays as JSON, nothing for null. */
export function csvCell(value: JsonText | undefined, raw: boolean): string {
  if (value === undefined) return '';
  switch (kindOf(value)) {
    case 'null':
      return '';
    case 'string':
      return textCell(stringOf(value) ?? '', raw);
    case 'object':
    case 'array':
      return raw ? toLine(value) : jsonCell(toLine(value));
    default:
      return value.trim();
  }
}

// Begins no formula, and has nothing to drop and no delimiter. Most cells are so, and need no second look.
const plain = /^[a-z0-9][\x20-\x3a\x3c-\x7e]*$/i;
const dropped = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const phoneNumber = /^\+[1-9]\d{6,14}$/;

function textCell(text: string, raw: boolean): string {
  if (plain.test(text)) return text;
  if (raw) return text.toWellFormed();
  const clean = text.replace(dropped, '').toWellFormed();
  if (phoneNumber.test(clean)) return clean;
  const safe = behindDelimiters(clean, (start) => `'${start}`);
  return isFormula(clean) ? `'${safe}` : safe;
}

/** The same JSON, with what would begin a formula as \uXXXX: behind a delimiter it is always within a string. */
function jsonCell(line: JsonText): string {
  return behindDelimiters(
    line.replaceAll('\t', ' '),
    (start) => `\\u${start.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
