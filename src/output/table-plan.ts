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

/** A column that gives way keeps as many, and a text says something from the second number on. */
const fewest = 6;
const telling = 12;

/** Fewer rows than this say little about the widths of those to come. */
const enoughToTell = 5;

/** The columns that a table of this width can have, or undefined when they don't fit and cards are better. */
export function fittingColumns(
  columns: readonly TableColumn[],
  width: number,
): readonly TableColumn[] | undefined {
  if (width < narrow && columns.length > 2) return undefined;
  for (let left = columns; ; ) {
    const isFull = left.some(({ yields }) => yields);
    if (roomLeft(left, width, isFull) >= 0) return left;
    const [first] = left.filter(({ yields }) => yields).sort((a, b) => Number(a.yields) - Number(b.yields));
    if (first === undefined) return undefined;
    left = left.filter((column) => column !== first);
  }
}

/** What the first rows have in a column. */
export interface Seen {
  /** The widest cell. */
  readonly cells: number;
  /** How wide its name is. */
  readonly header: number;
  /** What most of the cells are. A number or an address that is cut says nothing. */
  readonly holds: 'numbers' | 'addresses' | 'text';
}

/**
 * How wide each of the fitting columns is for the whole table. `seen` is of the first `rows` rows: no column takes more, or,
 * after a few rows, more than is usual.
 */
export function planTable(
  columns: readonly TableColumn[],
  width: number,
  seen: readonly Seen[],
  rows: number,
): PlannedColumn[] {
  const wanted = columns.map((column, index) => {
    const usual = rows < enoughToTell ? (column.min + column.max) / 2 : column.min;
    const own = seen[index] ?? { cells: 0, header: 0, holds: 'text' };
    return { ...own, column, most: Math.min(column.max, Math.max(usual, own.cells, own.header)) };
  });
  const fitting = withoutExtras(wanted, width);
  const isCut = ({ column, width: has }: PlannedColumn, at: number): boolean =>
    column.steps === true && has < Math.min(column.max, fitting[at]?.cells ?? 0);
  const cut = share(fitting, width).map(isCut);
  return share(
    fitting.map((each, at) => (cut[at] ? { ...each, most: each.column.min } : each)),
    width,
  );
}

/** What a cell of running text, and any other, may ask for at most before others are left out for it. */
const mostOfText = 30;
const mostOfValue = 48;

/** Extra columns are there where all others are whole. */
function withoutExtras(wanted: readonly Wanted[], width: number): readonly Wanted[] {
  const needs = wanted.map((one) => {
    const most = one.holds === 'text' ? mostOfText : mostOfValue;
    return one.column.extra ? one.column.min : Math.max(leastOf(one), Math.min(one.cells, most));
  });
  let left = needs.reduce((rest, need) => rest - need - gap, width + gap);
  const dropped = new Set<Wanted>();
  const extras = wanted.filter(({ column }) => column.extra);
  for (const one of extras.sort((a, b) => Number(a.column.yields) - Number(b.column.yields))) {
    if (left >= 0) break;
    left += one.column.min + gap;
    dropped.add(one);
  }
  return wanted.filter((one) => !dropped.has(one));
}

function roomLeft(columns: readonly TableColumn[], width: number, isFull = false): number {
  const least = ({ min, usual = min }: TableColumn): number => (isFull ? usual : min);
  return columns.reduce((left, column) => left - least(column) - gap, width + gap);
}

interface Wanted extends Seen {
  readonly column: TableColumn;
  readonly most: number;
}

function leastOf({ column: { min, shrinks }, cells }: Wanted): number {
  return shrinks ? Math.min(min, Math.max(fewest, cells)) : min;
}

/** Everyone gets the least, and what is left goes to whoever needs it most: of equals to the one that has least. */
function share(wanted: readonly Wanted[], width: number): PlannedColumn[] {
  const widths = wanted.map(leastOf);
  let left = widths.reduce((rest, taken) => rest - taken - gap, width + gap);
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

/**
 * What is there comes before what may come, and running text last: half a sentence says something, half an address nothing.
 * Headers may be cut where nothing else is known of a column.
 */
function rankOf({ column, cells, header, holds }: Wanted, has: number): number {
  const { extra, role, shrinks } = column;
  if (role === 'body') return Number.MAX_VALUE;
  const turn = (number: number): number => number * 1_000_000 + has;
  if (extra) return turn(has < Math.max(cells, header) ? 5 : 6);
  if (!shrinks) return turn(has < Math.max(cells, header) ? 3 : 6);
  if (has >= cells) return turn(has < header ? 4 : 6);
  if (holds === 'numbers') return turn(0);
  if (has < telling) return turn(1);
  return turn(holds === 'addresses' || role === 'title' ? 2 : 3);
}
