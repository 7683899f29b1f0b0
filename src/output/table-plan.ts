import type { TableColumn } from './layout.ts';

export interface PlannedColumn {
  readonly column: TableColumn;
  readonly width: number;
  readonly align: 'left' | 'right';
}

export const gap = 2;
/** Where there is no terminal to ask. */
export const defaultWidth = 100;
/** Below this a row of leads is noise, and a row of anything else where its cells are cut. */
const narrowForLeads = 100;
const narrow = 70;

/** A column that gives way keeps as many, and a text says something from the second number on. */
const fewest = 6;
const telling = 12;
/** What a cell of text, and any other, may ask for at most before others are left out for it. */
const mostOfText = 30;
const mostOfValue = 60;

/** What the first rows have in a column. */
export interface Seen {
  readonly column: TableColumn;
  /** The widest cell. */
  readonly cells: number;
  /** How wide its name is. */
  readonly header: number;
  /** By how much there are more of them than others: values that are numbers, and texts that look like one, or like an address. */
  readonly numbers: number;
  readonly digits: number;
  readonly addresses: number;
}

interface Wanted extends Seen {
  readonly least: number;
  /** With so many it says what it has to say. */
  readonly enough: number;
  readonly most: number;
}

/** Whether cards are better whatever the rows hold: nobody needs to ask each of them for a thousand columns. */
export function cannotFit(columns: readonly TableColumn[], width: number): boolean {
  if (columns.some(({ share }) => share !== undefined)) return width < narrowForLeads;
  return columns.filter((one) => !one.yields).length * (1 + gap) > width + gap;
}

/**
 * The columns that a table of this width has, and how wide they are to its end, as narrow as their content; undefined where
 * cards are better.
 */
export function planTable(
  columns: readonly TableColumn[],
  width: number,
  seen: readonly Seen[],
): PlannedColumn[] | undefined {
  if (cannotFit(columns, width)) return undefined;
  let left = seen
    .map(toWanted)
    .filter(({ cells, column }) => cells > 0 || !column.yields || column.share !== undefined);
  for (;;) {
    const needs = ({ column, least, enough }: Wanted): number => (column.yields ? least : enough);
    const [next] = left
      .filter(({ column }) => column.yields)
      .sort((a, b) => Number(a.column.yields) - Number(b.column.yields));
    if (next === undefined || roomLeft(left, width, needs) >= 0) break;
    left = left.filter((one) => one !== next);
  }
  if (roomLeft(left, width, ({ least }) => least) < 0) return undefined;
  const isWhole = roomLeft(left, width, ({ most }) => most) >= 0;
  if (width < narrow && left.length > 2 && !isWhole) return undefined;
  return share(left, width);
}

function toWanted(seen: Seen): Wanted {
  const { max, min, role, share: part, shrinks } = seen.column;
  if (part !== undefined) return { ...seen, least: min, enough: min, most: max };
  // What is known of a column says how wide it is at least: its rows may come one by one.
  const known = Math.min(max, Math.max(shrinks ? 0 : min, seen.cells, seen.header));
  // One that has no limit takes what the others leave: what comes later may be longer.
  const most = max === Number.POSITIVE_INFINITY ? max : known;
  const least = Math.min(most, shrinks ? Math.min(min, Math.max(fewest, seen.cells)) : min);
  // A number or an address that is cut says nothing.
  const isText = seen.digits <= 0 && seen.addresses <= 0 && role !== 'title';
  const limit = isText ? mostOfText : mostOfValue;
  return { ...seen, least, enough: Math.max(least, Math.min(seen.cells, max, limit)), most };
}

function roomLeft(columns: readonly Wanted[], width: number, needs: (one: Wanted) => number): number {
  return columns.reduce((left, one) => left - needs(one) - gap, width + gap);
}

/** Everyone gets the least, and what is left goes to whoever needs it most: of equals to the one that has least for its part. */
function share(wanted: readonly Wanted[], width: number): PlannedColumn[] {
  const widths = wanted.map(({ least }) => least);
  for (let left = roomLeft(wanted, width, ({ least }) => least); left > 0; left--) {
    let poorest = -1;
    let lowest = Number.POSITIVE_INFINITY;
    wanted.forEach((each, index) => {
      const has = widths[index] as number;
      const rank = rankOf(each, has);
      if (has < each.most && rank < lowest) [poorest, lowest] = [index, rank];
    });
    if (poorest === -1) break;
    widths[poorest] = (widths[poorest] as number) + 1;
  }
  return wanted.map(({ column, numbers }, index) => {
    return { column, width: widths[index] as number, align: numbers > 0 ? 'right' : 'left' };
  });
}

/** Numbers are whole first, then addresses and titles; what is there comes before a header. */
function rankOf({ column, cells, digits, addresses }: Wanted, has: number): number {
  const { role, share: part, shrinks, yields } = column;
  if (part !== undefined) return has / part;
  const turn = (number: number): number => number * 1_000_000 + has;
  // What may be left out has what the others leave.
  if (yields) return turn(5);
  if (has >= cells && shrinks) return turn(4);
  if (digits > 0 && has < cells) return turn(0);
  if (has < telling) return turn(1);
  return turn((digits <= 0 && addresses > 0) || role === 'title' ? 2 : 3);
}
