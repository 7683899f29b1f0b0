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

/**
 * How wide each column is for the whole table, or undefined when they don't fit and cards are better. `seen` is the
 * widest cell of each column in the first batch of `rows` rows: no column takes more, or, after a few rows, more than
 * is usual.
 */
export function planTable(
  columns: readonly TableColumn[],
  width: number,
  seen: readonly number[],
  rows: number,
): PlannedColumn[] | undefined {
  if (width < narrow && columns.length > 2) return undefined;
  const wanted = columns.map((column, index) => {
    const usual = rows < enoughToTell ? (column.min + column.max) / 2 : column.min;
    const known = seen[index] ?? 0;
    return { column, known, most: Math.min(column.max, Math.max(usual, known)) };
  });
  for (let left = wanted; ; ) {
    const plan = share(left, width);
    const yielding = left.findIndex(({ column }) => column.yields);
    if (plan !== undefined || yielding === -1) return plan;
    left = left.toSpliced(yielding, 1);
  }
}

interface Wanted {
  readonly column: TableColumn;
  readonly known: number;
  readonly most: number;
}

/** Everyone gets the least, and what is left goes to whoever has least: short columns are whole before long ones grow. */
function share(wanted: readonly Wanted[], width: number): PlannedColumn[] | undefined {
  const widths = wanted.map(({ column }) => column.min);
  let left = width - gap * (wanted.length - 1) - widths.reduce((sum, each) => sum + each, 0);
  if (left < 0) return undefined;
  for (; left > 0; left--) {
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
  return wanted.map(({ column }, index) => ({ column, width: widths[index] as number }));
}

/** What is there comes before what may come, and running text last: half a sentence says something, half an address nothing. */
function rankOf({ column, known }: Wanted, has: number): number {
  if (column.role === 'body') return Number.MAX_VALUE;
  return has < known ? has : 1_000_000 + has;
}
