import { stringify } from 'csv-stringify/sync';
import type { Column } from '../columns/layout.ts';
import { delimiters } from '../files/csv.ts';
import { guarded, replaceFormulaStarts } from '../files/csv-guard.ts';
import { type JsonText, textOf, textsIn, type ValueText } from '../json/text.ts';
import { withoutControls } from './clean.ts';
import { createRowsForm, type WriterForm, type WriterOptions } from './form.ts';

/** Cells per call of the library: enough to be fast, and bounded, since a row can have many columns. */
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
  const cells = createCells(raw, style.delimiter);
  const header = csvHeader(columns, raw, style.delimiter);
  let start = mark ? '\ufeff' : '';
  const toText = (rows: readonly (readonly string[])[]): string => {
    const text = start + stringify([...rows], style);
    start = '';
    return text;
  };
  const rows = createRowsForm(
    options,
    [header],
    (record, sources) => textsIn(record, sources).map(cells.toCell),
    toText,
    cellsAtOnce,
  );
  return { ...rows, guardedCells: cells.guardedCells };
}

/** The header cells as they are written. A file must have the same ones to be appended to. */
export function csvHeader(
  columns: readonly Pick<Column, 'header' | 'rawHeader'>[],
  raw: boolean,
  delimiter?: string,
): string[] {
  const { toCell } = createCells(raw, delimiter);
  return columns.map(({ header, rawHeader = header }) =>
    toCell({ text: raw ? rawHeader : header, isString: true }),
  );
}

/** A JSON value as a cell. */
export function csvCell(value: JsonText, raw: boolean, delimiter?: string): string {
  return createCells(raw, delimiter).toCell(textOf(value));
}

// No formula, nothing to remove and no delimiter. Most cells are like this.
const plain = /^(?:[a-z0-9][\x20-\x3a\x3c-\x7e]*)?$/i;
const plainWithoutCommas = /^(?:[a-z0-9][\x20-\x2b\x2d-\x3a\x3c-\x7e]*)?$/i;

/** Makes the cells of a file, and counts those that got an apostrophe. */
function createCells(raw: boolean, delimiter = ',') {
  const isPlain = delimiter === ',' ? plain : plainWithoutCommas;
  let count = 0;
  return {
    guardedCells: (): number => count,
    toCell({ text, isString }: ValueText): string {
      if (isPlain.test(text)) return text;
      if (!isString) return raw ? text : jsonCell(text, delimiter);
      if (raw) return text.toWellFormed();
      const clean = withoutControls(text);
      const safe = guarded(clean, delimiter);
      if (safe !== clean) count++;
      return safe;
    },
  };
}

/** The same JSON, with the beginnings of formulas as \uXXXX: after a delimiter, these are always inside a string. */
function jsonCell(line: JsonText, delimiter: string): string {
  return replaceFormulaStarts(
    line.replaceAll('\t', ' '),
    delimiter,
    (start) => `\\u${start.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
