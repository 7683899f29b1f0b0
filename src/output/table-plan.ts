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

/**
 * How wide each column is for the whole table, or undefined when they don't fit and cards are better. `seen` is the
 * widest cell of each column in the first batch, where that is long enough to tell: no column takes more.
 */
export function planTable(
  columns: readonly TableColumn[],
  width: number,
  seen?: readonly number[],
): PlannedColumn[] | undefined {
  if (width < narrow && columns.length > 2) return undefined;
  const wanted = columns.map((column, index) => ({
    column,
    most: Math.max(column.min, Math.min(column.max, seen?.[index] ?? column.max)),
  }));
  return (
    share(wanted, width) ??
    share(
      wanted.filter(({ column }) => !column.yields),
      width,
    )
  );
}

interface Wanted {
  readonly column: TableColumn;
  readonly most: number;
}

/**
 * Everyone gets the least, and what is left goes to whoever has least: short columns are whole before long ones
 * grow. Running text counts half.
 */
function share(wanted: readonly Wanted[], width: number): PlannedColumn[] | undefined {
  const widths = wanted.map(({ column }) => column.min);
  let left = width - gap * (wanted.length - 1) - widths.reduce((sum, each) => sum + each, 0);
  if (left < 0) return undefined;
  for (; left > 0; left--) {
    let poorest = -1;
    let least = Number.POSITIVE_INFINITY;
    wanted.forEach(({ column, most }, index) => {
      const has = widths[index] as number;
      const counted = column.role === 'body' ? has / 2 : has;
      if (has < most && counted < least) [poorest, least] = [index, counted];
    });
    if (poorest === -1) break;
    widths[poorest] = (widths[poorest] as number) + 1;
  }
  return wanted.map(({ column }, index) => ({ column, width: widths[index] as number }));
}
