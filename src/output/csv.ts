import { stringify } from 'csv-stringify/sync';
import type { Column } from '../columns/layout.ts';
import { delimiters } from '../files/csv.ts';
import { changedBehind, guarded } from '../files/csv-guard.ts';
import type { JsonText } from '../json/text.ts';
import { cellText, withoutControls } from './cell-text.ts';
import { createRowsForm, type WriterForm, type WriterOptions } from './form.ts';

/** Enough for the library to be fast, and few enough to hold: each row of a list can have many columns. */
const cellsAtOnce = 4096;

/** RFC 4180, with the header even if there are no rows. */
export function createCsvForm(options: WriterOptions): WriterForm {
  const { columns } = options.layout;
  const { csvRaw: raw = false, delimiter, lineEnd = '\r\n', mark = false } = options;
  // A row of one empty cell would be a blank line, which readers skip.
  const style = {
    delimiter: delimiter ?? ',',
    record_delimiter: lineEnd,
    quoted_empty: columns.length === 1,
    // The library only quotes cells with its own delimiter and line end, but readers may split at these.
    quoted_match: [...delimiters, '\r', '\n'],
  };
  const header = csvHeader(columns, raw);
  const cellOf = (value: JsonText | undefined): string => csvCell(value, raw);
  let start = mark ? '\ufeff' : '';
  const toText = (rows: readonly (readonly string[])[]): string => {
    const text = start + stringify([...rows], style);
    start = '';
    return text;
  };
  return createRowsForm(options, [header], cellOf, toText, cellsAtOnce);
}

/** The header cells as they are written. A file must have the same ones to be appended to. */
export function csvHeader(columns: readonly Pick<Column, 'header' | 'rawHeader'>[], raw: boolean): string[] {
  return columns.map(({ header, rawHeader = header }) => textCell(raw ? rawHeader : header, raw));
}

/** A JSON value as a cell. */
export function csvCell(value: JsonText | undefined, raw: boolean): string {
  return cellText(value, { text: (text) => textCell(text, raw), json: raw ? (line) => line : jsonCell });
}

// No formula, nothing to remove and no delimiter. Most cells are like this.
const plain = /^[a-z0-9][\x20-\x3a\x3c-\x7e]*$/i;

function textCell(text: string, raw: boolean): string {
  if (plain.test(text)) return text;
  if (raw) return text.toWellFormed();
  return guarded(withoutControls(text));
}

/** The same JSON, with the beginnings of formulas as \uXXXX: after a delimiter, these are always inside a string. */
function jsonCell(line: JsonText): string {
  return changedBehind(
    line.replaceAll('\t', ' '),
    (start) => `\\u${start.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
