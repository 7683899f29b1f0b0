import { createYielder } from '../event-loop.ts';
import { type JsonText, JsonView, type Records } from '../json/text.ts';
import type { Styles } from './color.ts';
import type { Layout } from './layout.ts';

/** What can go to a stream as it comes; a workbook is whole or it is nothing. */
export const printedFormats = ['table', 'cards', 'jsonl', 'json', 'csv', 'md'] as const;
export const formats = [...printedFormats, 'xlsx'] as const;
export type Format = (typeof formats)[number];

/** A format: the text of records, made piece by piece while it is written. */
export interface WriterForm {
  lines(records: Records): Iterable<string>;
  /** What completes it, where that takes anything. */
  end?(): string;
}

/** Rows under a header, which also an output without rows has: `cellsOf` makes the cells of a row, `textOf` the text of some. */
export function createRowsForm<Cell>(
  { layout: { columns }, continued }: WriterOptions,
  head: readonly (readonly Cell[])[],
  cellOf: (value: JsonText | undefined) => Cell,
  textOf: (rows: readonly (readonly Cell[])[]) => string,
  cellsAtOnce = 1,
): WriterForm {
  let rows: (readonly Cell[])[] = continued || columns.length === 0 ? [] : [...head];

  function* lines(records: Records): Generator<string, void> {
    for (const record of records) {
      const view = new JsonView(record);
      rows.push(columns.map((column) => cellOf(column.value(view))));
      if (rows.length * columns.length < cellsAtOnce) continue;
      yield textOf(rows);
      rows = [];
    }
    if (rows.length > 0) yield textOf(rows);
    rows = [];
  }

  return { lines, end: () => [...lines([])].join('') };
}

export interface WriterOptions {
  readonly layout: Layout;
  /** `single` for the one answer of a lookup: an object instead of an array, a sheet instead of a table. */
  readonly shape: 'list' | 'single';
  /** Columns of the terminal; 100 where there is none. */
  readonly width?: number | undefined;
  readonly color?: boolean;
  /** Of these colours, where JSON has them: it loads nothing by itself. */
  readonly styles?: Styles;
  /** Whether it is a terminal that a person reads: JSON is indented there. */
  readonly onTerminal?: boolean;
  /** Whether addresses can be followed there. */
  readonly links?: boolean;
  /** Leaves formulas and control characters in CSV as they are. */
  readonly csvRaw?: boolean;
  /** The sink already holds rows of this output (resumed or appended to), and so the header or the bracket. */
  readonly continued?: boolean;
  /** How lines end in the CSV file that is appended to. */
  readonly lineEnd?: '\r\n' | '\n' | undefined;
}

/** Loads the one that is wanted: a pipe of JSONL pays for no table. */
export async function createForm(format: Format, options: WriterOptions): Promise<WriterForm> {
  switch (format) {
    case 'jsonl':
      return (await import('./json.ts')).createJsonForm({ ...options, onTerminal: false }, false);
    case 'json':
      return (await import('./json.ts')).createJsonForm(
        options.color ? { ...options, styles: (await import('./color.ts')).stylesOf(true) } : options,
        options.shape === 'list',
      );
    case 'csv':
      return (await import('./csv.ts')).createCsvForm(options);
    case 'md':
      return (await import('./markdown.ts')).createMarkdownForm(options);
    case 'xlsx':
      return (await import('./workbook.ts')).createWorkbookRows(options);
    case 'table':
    case 'cards':
      if (options.shape === 'list')
        return (await import('./table.ts')).createTableForm(options, format === 'cards');
      return (await import('./single-answer.ts')).createAnswerForm(options);
  }
}

/** Characters after which a write is due. A page of a search is nearly always one write, and no more than this waits. */
const worthAWrite = 1 << 20;
/** The same when they were slow to make. */
const worthShowing = 1 << 12;

/**
 * Writes text that is made piece by piece while it is written. Few or small pieces are one write; of many, or of large ones, no more
 * is made before `write` has taken it. Throws what that throws, and, between two pieces, what the signal says.
 */
export async function writePieces(
  write: (text: string) => Promise<void>,
  pieces: Iterable<string>,
  signal?: AbortSignal,
): Promise<void> {
  const yielder = createYielder(signal);
  let text = '';
  for (const piece of pieces) {
    text += piece;
    const isDue = yielder.isDue();
    if (text.length >= (isDue ? worthShowing : worthAWrite)) {
      await write(text);
      text = '';
    }
    if (isDue) await yielder.yield();
  }
  if (text !== '') await write(text);
}
