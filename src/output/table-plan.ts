import type { TableColumn } from './table-columns.ts';

export interface PlannedColumn {
  readonly column: TableColumn;
  readonly width: number;
}

export const gap = 2;
/** Where there is no terminal to ask. */
export const defaultWidth = 100;
/** Below this a row of several columns is noise. */
const narrow = 70;

/** Fewer rows than this say little about the widths of those to come. */
const enoughToTell = 5;

/** The columns that a table of this width can have, or undefined when they don't fit and cards are better. */
export function fittingColumns(
  columns: readonly TableColumn[],
  width: number,
): readonly TableColumn[] | undefined {
  if (width < narrow && columns.length > 2) return undefined;
  for (let left = columns; ; ) {
    if (roomLeft(left, width) >= 0) return left;
    const [first] = left.filter(({ yields }) => yields).sort((a, b) => Number(a.yields) - Number(b.yields));
    if (first === undefined) return undefined;
    left = left.filter((column) => column !== first);
  }
}

/**
 * How wide each of the fitting columns is for the whole table. `seen` is the widest cell of each in the first `rows`
 * rows: no column takes more, or, after a few rows, more than is usual.
 */
export function planTable(
  columns: readonly TableColumn[],
  width: number,
  seen: readonly number[],
  rows: number,
): PlannedColumn[] {
  const wanted = columns.map((column, index) => {
    const usual = rows < enoughToTell ? (column.min + column.max) / 2 : column.min;
    const known = seen[index] ?? 0;
    return { column, known, most: Math.min(column.max, Math.max(usual, known)) };
  });
  return share(wanted, width);
}

function roomLeft(columns: readonly TableColumn[], width: number): number {
  return columns.reduce((left, { min }) => left - min - gap, width + gap);
}

interface Wanted {
  readonly column: TableColumn;
  readonly known: number;
  readonly most: number;
}

/** Everyone gets the least, and what is left goes to whoever has least: short columns are whole before long ones grow. */
function share(wanted: readonly Wanted[], width: number): PlannedColumn[] {
  const columns = wanted.map(({ column }) => column);
  const widths = columns.map(({ min }) => min);
  for (let left = roomLeft(columns, width); left > 0; left--) {
    let poorest = -1;
    let least = Number.POSITIVE_INFINITY;
    wanted.forEach((each, index) => {
      const has = widths[index] as number;
      const rank = rankOf(each, has);
      if (has < each.most && rank < least) [poorest, least] = [index, rank];
    });
    if (poorest === -1) break;
    widths[poorest] = (widths[poorest] as number) + 1;
  }
  return columns.map((column, index) => ({ column, width: widths[index] as number }));
}

/** What is there comes before what may come, and running text last: half a sentence says something, half an address nothing. */
function rankOf({ column, known }: Wanted, has: number): number {
  if (column.role === 'body') return Number.MAX_VALUE;
  return has < known ? has : 1_000_000 + has;
}
