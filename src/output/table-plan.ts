import type { TableColumn } from '../columns/layout.ts';
import { gap } from './text-width.ts';

export interface PlannedColumn {
  readonly column: TableColumn;
  readonly width: number;
  readonly align: 'left' | 'right';
}

/** In less than this, rows of leads are hard to read, and so are other rows if their cells are cut. */
const narrowForLeads = 100;
const narrow = 70;

/** The least width of a column that gives room to others, and the least that tells something of a text. */
const minCells = 6;
const telling = 12;
/** The most that a cell of text, or any other cell, may ask for before other columns are left out. */
const maxOfText = 30;
const maxOfValue = 60;

/** What the first rows have in a column. */
export interface Seen {
  readonly column: TableColumn;
  /** The width of the widest cell. */
  readonly cells: number;
  /** The width of the header. */
  readonly header: number;
  /**
   * The majority of its values: numbers, texts that look like numbers, and texts that look like addresses; above 0 where these are more
   * than the others.
   */
  readonly numbers: number;
  readonly digits: number;
  readonly addresses: number;
}

interface Wanted extends Seen {
  readonly minWidth: number;
  /** With this width it shows what matters. */
  readonly enough: number;
  readonly maxWidth: number;
}

/** Whether cards are better for any rows: measuring a thousand columns of each record would take long. */
export function cannotFit(columns: readonly TableColumn[], width: number): boolean {
  if (columns.some(({ share }) => share !== undefined)) return width < narrowForLeads;
  return columns.filter((one) => !one.yields).length * (1 + gap) > width + gap;
}

/** The columns of a table in this width, and how wide they are, each as narrow as its content; or cards, where these are better. */
export function planTable(width: number, seen: readonly Seen[]): PlannedColumn[] | 'cards' {
  let left = seen
    .map(toWanted)
    .filter(({ cells, column }) => cells > 0 || !column.yields || column.share !== undefined);
  for (;;) {
    const needs = ({ column, minWidth, enough }: Wanted): number => (column.yields ? minWidth : enough);
    const [next] = left
      .filter(({ column }) => column.yields)
      .sort((a, b) => Number(a.column.yields) - Number(b.column.yields));
    if (next === undefined || roomLeft(left, width, needs) >= 0) break;
    left = left.filter((one) => one !== next);
  }
  if (roomLeft(left, width, ({ minWidth }) => minWidth) < 0) return 'cards';
  const isWhole = roomLeft(left, width, ({ maxWidth }) => maxWidth) >= 0;
  if (width < narrow && left.length > 2 && !isWhole) return 'cards';
  return share(left, width);
}

function toWanted(seen: Seen): Wanted {
  const { max, min, role, share: part, shrinks } = seen.column;
  if (part !== undefined) return { ...seen, minWidth: min, enough: min, maxWidth: max };
  // The first rows give the least width, since more rows may come one by one.
  const known = Math.min(max, Math.max(shrinks ? 0 : min, seen.cells, seen.header));
  // A column without a limit takes what the others leave, since later rows may be longer.
  const maxWidth = max === Number.POSITIVE_INFINITY ? max : known;
  const minWidth = Math.min(maxWidth, shrinks ? Math.min(min, Math.max(minCells, seen.cells)) : min);
  // A number or an address that is cut is useless.
  const isText = seen.digits <= 0 && seen.addresses <= 0 && role !== 'title';
  const limit = isText ? maxOfText : maxOfValue;
  return { ...seen, minWidth, enough: Math.max(minWidth, Math.min(seen.cells, max, limit)), maxWidth };
}

function roomLeft(columns: readonly Wanted[], width: number, needs: (one: Wanted) => number): number {
  return columns.reduce((left, one) => left - needs(one) - gap, width + gap);
}

/**
 * Each column gets the least that it needs. The rest goes to those that need it most, and among equals to the one that has the smallest
 * part of its need.
 */
function share(wanted: readonly Wanted[], width: number): PlannedColumn[] {
  const widths = wanted.map(({ minWidth }) => minWidth);
  for (let left = roomLeft(wanted, width, ({ minWidth }) => minWidth); left > 0; left--) {
    let poorest = -1;
    let lowest = Number.POSITIVE_INFINITY;
    wanted.forEach((each, index) => {
      const has = widths[index] as number;
      const rank = rankOf(each, has);
      if (has < each.maxWidth && rank < lowest) [poorest, lowest] = [index, rank];
    });
    if (poorest === -1) break;
    widths[poorest] = (widths[poorest] as number) + 1;
  }
  return wanted.map(({ column, numbers }, index) => {
    return { column, width: widths[index] as number, align: numbers > 0 ? 'right' : 'left' };
  });
}

/** Numbers come first, then addresses and titles; cells come before headers. */
function rankOf({ column, cells, digits, addresses }: Wanted, has: number): number {
  const { role, share: part, shrinks, yields } = column;
  if (part !== undefined) return has / part;
  const turn = (number: number): number => number * 1_000_000 + has;
  // A column that may be left out gets what the others leave.
  if (yields) return turn(5);
  if (has >= cells && shrinks) return turn(4);
  if (digits > 0 && has < cells) return turn(0);
  if (has < telling) return turn(1);
  return turn((digits <= 0 && addresses > 0) || role === 'title' ? 2 : 3);
}
