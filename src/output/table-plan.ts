import type { TableColumn } from '../columns/layout.ts';
import { columnGap } from './text-width.ts';

export interface PlannedColumn {
  readonly column: TableColumn;
  readonly width: number;
  readonly align: 'left' | 'right';
  /** Maximum lines of a cell. `tears`: a word that is longer than a line continues on the next. */
  readonly lines: number;
  readonly tears: boolean;
}

/** In less than this, rows of leads are hard to read, and so are other rows if their cells are cut. */
const narrow = 70;

/** Minimum width of a column that shrinks for others, and minimum width of a readable text. */
const minCells = 6;
const telling = 12;
/** Maximum width that a text cell, or any other cell, gets before other columns are left out. */
const maxOfText = 30;
const maxOfValue = 60;
/** As above, for text in a column that may be left out. */
const maxOfSpare = 20;
/** More lines than any email address, phone number or score takes. */
const maxLines = 12;

/** Measurements of a column in the first rows. */
export interface Seen {
  readonly column: TableColumn;
  /** The width of the widest cell. */
  readonly cells: number;
  /** The width of the header. */
  readonly header: number;
  /**
   * Above 0 if most values are numbers; if most are useless when cut, such as email addresses, phone numbers and amounts; if most are
   * links.
   */
  readonly numbers: number;
  readonly exact: number;
  readonly links: number;
}

interface Wanted extends Seen {
  readonly keeps: boolean;
  readonly isLink: boolean;
  /** The lowest is left out first; undefined for a column that stays. */
  readonly yields: number | undefined;
  readonly minWidth: number;
  /** The width for the important part of a cell, and the width for the widest cell. */
  readonly enough: number;
  readonly whole: number;
  readonly maxWidth: number;
}

/** True if cards are better for any rows, without measuring them: that takes long for a thousand columns. */
export function cannotFit(columns: readonly TableColumn[], width: number): boolean {
  if (columns.some(({ share }) => share !== undefined)) return width < narrow;
  return columns.filter((one) => !one.yields).length * (1 + columnGap) > width + columnGap;
}

/**
 * The columns of a table for this width, with their own widths, no wider than their content; or cards, if they are better. With `mustFit`,
 * always a table.
 */
export function planTable(
  width: number,
  seen: readonly Seen[],
  mustFit = false,
): readonly PlannedColumn[] | 'cards' {
  const wanted = seen
    .map(toWanted)
    .filter(({ cells, column }) => cells > 0 || !column.yields || column.share !== undefined);
  let left = without(
    wanted,
    width,
    ({ enough }) => enough,
    ({ yields }) => yields,
  );
  // A cell that may have more than two lines is never cut.
  const isWhole =
    roomLeft(left, width, ({ column, enough, maxWidth }) => ((column.lines ?? 1) > 2 ? enough : maxWidth)) >=
    0;
  if (mustFit) {
    left = without(left, width, smallest, (one) => (one === left[0] ? undefined : -left.indexOf(one)));
    const fits = roomLeft(left, width, ({ minWidth }) => minWidth) >= 0;
    return share(left, width, fits ? ({ minWidth }) => minWidth : (one) => Math.min(smallest(one), width));
  }
  if (roomLeft(left, width, ({ minWidth }) => minWidth) < 0) return 'cards';
  if (width < narrow && wanted.length > 2 && !isWhole) return 'cards';
  return share(left, width, ({ minWidth }) => minWidth);
}

function smallest({ minWidth }: Wanted): number {
  return Math.min(minWidth, minCells);
}

/** Leaves out columns until the others fit: the lowest `turn` first, and never one without a turn. */
function without(
  wanted: readonly Wanted[],
  width: number,
  needs: (one: Wanted) => number,
  turn: (one: Wanted) => number | undefined,
): readonly Wanted[] {
  let left = wanted;
  while (roomLeft(left, width, needs) < 0) {
    const [next] = left
      .filter((one) => turn(one) !== undefined)
      .sort((a, b) => Number(turn(a)) - Number(turn(b)));
    if (next === undefined) break;
    left = left.filter((one) => one !== next);
  }
  return left;
}

function toWanted(seen: Seen): Wanted {
  const { cells, column, exact, header } = seen;
  const { isSpare, max, min, role, share: part, shrinks, yields: turn } = column;
  const keeps = column.keeps === true || exact > 0;
  const yields = isSpare && cells === 0 ? 0 : turn ? Number(turn) : undefined;
  const isLink = seen.links > 0 || role === 'link';
  const wanted = { ...seen, keeps, isLink, yields };
  // A link or a text can use all of its lines. Breaks between words waste some room.
  const inLines = Math.ceil(cells / (column.lines ?? 1)) + (isLink || cells <= min ? 0 : minCells);
  const needed = keeps ? cells : Math.min(cells, inLines);
  if (part !== undefined) {
    const whole = turn || role === 'title' ? min : Math.min(Math.max(min, needed), max);
    // The person asked for these fields, and not for the description. Numbers need no more than they take.
    const isField = role === undefined;
    const maxWidth = isField && seen.numbers > 0 ? Math.max(whole, telling) : max;
    return { ...wanted, minWidth: min, enough: exact > 0 || isField ? whole : min, whole, maxWidth };
  }
  // The first rows decide the minimum width, since later rows may come one by one.
  const known = Math.min(max, Math.max(shrinks ? 0 : min, cells, header));
  // A column without a limit takes what the others leave, since later rows may be longer.
  const maxWidth = max === Number.POSITIVE_INFINITY ? max : known;
  const least = shrinks ? Math.min(min, Math.max(minCells, cells)) : min;
  const minWidth = column.keeps ? Math.min(max, Math.max(min, cells), maxOfValue) : Math.min(maxWidth, least);
  const asked = Math.min(isLink ? needed : cells, max);
  const limit = keeps || role === 'title' ? maxOfValue : yields === undefined ? maxOfText : maxOfSpare;
  const enough = Math.max(minWidth, Math.min(asked, limit));
  return { ...wanted, minWidth, enough, whole: cells, maxWidth: Math.max(minWidth, maxWidth) };
}

function roomLeft(columns: readonly Wanted[], width: number, needs: (one: Wanted) => number): number {
  return columns.reduce((left, one) => left - needs(one) - columnGap, width + columnGap);
}

/**
 * Each column gets its minimum. The rest goes to the columns of the lowest rank and, among equals, to the one with the smallest part of its
 * need.
 */
function share(
  wanted: readonly Wanted[],
  width: number,
  least: (one: Wanted) => number,
): readonly PlannedColumn[] {
  const widths = wanted.map(least);
  for (let left = roomLeft(wanted, width, least); left > 0; left--) {
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
  return wanted.map(({ column, isLink, keeps, numbers }, index) => ({
    column,
    width: widths[index] as number,
    align: numbers > 0 ? 'right' : 'left',
    lines: keeps ? maxLines : (column.lines ?? 1),
    tears: keeps || isLink || (column.lines ?? 1) > 2,
  }));
}

/** The lowest rank is served first: cells that are useless when cut, then links and titles, then other texts; cells before headers. */
function rankOf(
  { column, cells, enough, isLink, keeps, minWidth, whole, yields }: Wanted,
  has: number,
): number {
  const { role, share: part, shrinks } = column;
  const turn = (number: number): number => number * 1_000_000 + has;
  if (has < minWidth) return turn(keeps ? 0 : 1);
  if (keeps && has < whole) return turn(2);
  if (part !== undefined) return has < whole ? turn(3) : turn(4) + has / part - has;
  // An optional column gets the width that it was kept for and, at the end, the remaining width.
  if (yields !== undefined) return turn(has < enough ? 6.5 : 9);
  // Later rows may fill a column that is empty so far.
  if (has >= cells && shrinks) return turn(cells === 0 ? 6 : 8);
  if (has < telling) return turn(5);
  return turn(isLink || role === 'title' ? 6 : 7);
}
