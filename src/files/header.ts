import { isBlank } from './blank.ts';

/** A row of a table of texts. */
export interface TableRow {
  /** The line of the text on which it begins, or the row of the sheet, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
  /** Set if it can't be read. */
  readonly flaw?: string | undefined;
}

/** The place of a table's header. */
export interface HeaderPlace {
  readonly line: number;
  readonly width: number;
  /** Number of its cells that are known column names; 0 if it is the header only because it is the first row. */
  readonly known: number;
  /** Whether the table is one column without a known name. It has no header then: its cells are plain lines. */
  readonly isLines: boolean;
}

/** The first rows of a table, and where its header is; undefined for a table without any text. */
export interface TableBegin {
  readonly head: readonly TableRow[];
  readonly place: HeaderPlace | undefined;
}

/** Rows in which the header is searched: titles and notes above it seldom have more. */
const maxLooked = 10;

/** Pure: the header is the first of ten rows with a cell that `isKnown`, otherwise the first row, even if it can't be read. */
export function findHeader(
  rows: readonly TableRow[],
  isKnown: (cell: string) => boolean,
): HeaderPlace | undefined {
  const filled = rows.filter(({ cells, flaw }) => flaw !== undefined || !cells.every(isBlank));
  const looked = filled
    .slice(0, maxLooked)
    .map(({ line, cells }) => ({ line, width: cells.length, known: cells.filter(isKnown).length }));
  const header = looked.find(({ known }) => known > 0) ?? looked[0];
  if (header === undefined) return undefined;
  const isOneColumn = filled.every(({ cells }) => cells.slice(1).every(isBlank));
  return { ...header, isLines: header.known === 0 && isOneColumn };
}
