import type { Layout } from '../columns/layout.ts';
import { type JsonText, type Records, type Source, toLine, valuesIn } from '../json/text.ts';
import type { Styles } from './color.ts';

/** A format: makes the text of records piece by piece. */
export interface WriterForm {
  lines(records: Records): Iterable<string>;
  /** The end of the text, if it needs one. */
  end?(): string;
  /** How many cells so far were changed, so that no spreadsheet runs them. */
  guardedCells?(): number;
}

/** A header and its rows; the header is written even without rows. `toRow` makes the cells of a record, `textOf` the text of rows. */
export function createRowsForm<Cell>(
  { layout: { columns } }: WriterOptions,
  head: readonly (readonly Cell[])[],
  toRow: (record: JsonText, sources: readonly Source[]) => readonly Cell[],
  textOf: (rows: readonly (readonly Cell[])[]) => string,
  cellsAtOnce = 1,
): WriterForm {
  const sources = columns.map(({ from }) => from);
  let rows: (readonly Cell[])[] = columns.length === 0 ? [] : [...head];

  function* lines(records: Records): Generator<string, void> {
    for (const record of records) {
      rows.push(toRow(record, sources));
      if (rows.length * columns.length < cellsAtOnce) continue;
      yield textOf(rows);
      rows = [];
    }
    if (rows.length > 0) yield textOf(rows);
    rows = [];
  }

  return { lines, end: () => [...lines([])].join('') };
}

/**
 * The rows of a file that is made from them at the end: a line for each, with an array of its cells as the service sent them. Those of `head`
 * come first.
 */
export function createRowsToMake(
  options: WriterOptions,
  ...head: readonly (readonly JsonText[])[]
): WriterForm {
  const textOf = (rows: readonly (readonly JsonText[])[]): string =>
    rows.map((cells) => `${toLine(`[${cells.join(',')}]`)}\n`).join('');
  return createRowsForm(options, head, valuesIn, textOf);
}

export interface WriterOptions {
  readonly layout: Layout;
  /** `single` for the one answer of a lookup: an object instead of an array, a sheet instead of a table. */
  readonly shape: 'list' | 'single';
  /** Columns of the terminal; 100 without one. */
  readonly width?: number | undefined;
  /** True: a table at any width. False: cards, if they are better. */
  readonly mustBeTable?: boolean;
  /** Colours, if there are any. They are passed in, so that JSON loads nothing. */
  readonly styles?: Styles | undefined;
  /** Whether a person reads it on a terminal: then JSON is indented. */
  readonly onTerminal?: boolean;
  /** Replaces the signs that the terminal can't show, in the text of a table. */
  readonly signs?: ((text: string) => string) | undefined;
  /** True if the terminal supports links. */
  readonly links?: boolean;
  /** Leaves formulas and control characters in CSV. */
  readonly csvRaw?: boolean;
  /** The line end of the CSV file that is appended to. */
  readonly lineEnd?: '\r\n' | '\n' | undefined;
  /** Between the cells of CSV; a comma by default. */
  readonly delimiter?: string | undefined;
  /** CSV begins with a byte order mark, by which Excel recognizes UTF-8. Only for lists, which are always written from the start. */
  readonly mark?: boolean | undefined;
}
