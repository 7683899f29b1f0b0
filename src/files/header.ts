import { isBlank } from './blank.ts';

/** A row of a table of texts. */
export interface TableRow {
  /** The line of the text on which it begins, or the row of the sheet, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** What the first rows of a table show of its header. */
export type HeaderPlace =
  | { readonly is: 'header'; readonly line: number; readonly known: number }
  /** No line is surely the header. This one looks most like it. */
  | { readonly is: 'header_unsure'; readonly line: number; readonly known: number }
  /** The first row is one of data: it is like those below it. */
  | { readonly is: 'no_header'; readonly line: number; readonly known: 0 };

/** The first rows of a table, and where they show its header; undefined for a table without any text. */
export interface TableBegin {
  readonly head: readonly TableRow[];
  readonly place: HeaderPlace | undefined;
}

/** The header is looked for in this many rows that are not empty, and compared with the same number below it. */
const maxRows = 100;
const maxAbove = 30;

/**
 * Pure: where the header of a table is. Above it may be titles and notes, which have fewer or empty cells. Names that are known decide
 * first, then what the cells look like. Undefined for a table without any text.
 */
export function findHeader(
  rows: readonly TableRow[],
  isKnown: (cell: string) => boolean,
): HeaderPlace | undefined {
  const looked: Measured[] = [];
  for (const { line, cells } of rows) {
    const blank = cells.map(isBlank);
    const filled = blank.filter((one) => !one).length;
    const width = blank.lastIndexOf(false) + 1;
    const at = looked.length;
    const known = at < maxAbove ? cells.filter(isKnown).length : 0;
    if (filled > 0) looked.push({ line, cells, at, known, filled, width });
    if (looked.length === maxRows) break;
  }
  const [first] = looked;
  if (first === undefined) return undefined;
  const sure = ({ line, known }: Measured): HeaderPlace => ({ is: 'header', line, known });
  const unsure = ({ line, known }: Measured): HeaderPlace => ({ is: 'header_unsure', line, known });
  const candidates = looked.slice(1, maxAbove).filter((row) => isBelowTitles(row, looked));

  const best = candidates.reduce((one, row) => (row.known > one.known ? row : one), first);
  const fits = covers(first, looked);
  // Another table may stand above: names, and rows below them.
  const isSecond = looked.slice(0, Math.max(0, best.at - 1)).some(({ known }) => known > 1);
  if (best.known > 1 && best !== first) return fits || isSecond ? unsure(best) : sure(best);
  if (fits && isLikeBelow(first, looked)) return { is: 'no_header', line: first.line, known: 0 };
  const { filled, known } = best;
  if (known > 0) {
    // Lines such as `Owner:,Ada` above a table that is no wider.
    const named = looked.find((row) => row.known > best.known && row.known > 1 && row.known === row.filled);
    if (named !== undefined) return unsure(named);
    const isHeader = best === first ? fits || (known > 1 && known === filled) : isUnlikeBelow(best, looked);
    if (isHeader) return sure(best);
    return unsure(best === first ? (candidates.find(({ cells }) => cells.some(isLabel)) ?? first) : best);
  }
  if (!fits) {
    const labels = candidates.find(({ cells, filled }) => cells.filter(isLabel).length * 2 > filled);
    if (labels === undefined) return unsure(first);
    return isUnlikeBelow(labels, looked) ? sure(labels) : unsure(labels);
  }
  // In one column, a title, a header and a row are all alike.
  const isColumn = looked.every(({ width }) => width === 1);
  return isColumn ? unsure(looked.find(({ known }) => known > 0) ?? first) : sure(first);
}

interface Measured extends TableRow {
  readonly at: number;
  readonly known: number;
  readonly filled: number;
  readonly width: number;
}

/** Whether all rows above have fewer cells, or other ones than the table that begins here. */
function isBelowTitles(row: Measured, all: readonly Measured[]): boolean {
  const isTitle = (one: Measured): boolean => one.filled < row.filled || one.width > row.width;
  return row.width > 1 && covers(row, all) && all.slice(0, row.at).every(isTitle);
}

/** Whether half of the rows below have no more cells, and not many more that are filled. */
function covers(row: Measured, all: readonly Measured[]): boolean {
  const below = all.slice(row.at + 1);
  const fitting = below.filter(({ filled, width }) => width <= row.width && filled <= 2 * row.filled);
  return fitting.length * 2 >= below.length;
}

type Kind = 'address' | 'link' | 'handle' | 'number' | 'long' | 'text';

// Ends of domains that are no names of members: a column may be called address.city, links.website or user.id.
const domain =
  /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.(?:com|org|net|edu|gov|info|biz|app|dev|xyz|tech|shop|store|online|example|(?!id)[a-z]{2})(?:\/\S*)?$/iu;
const numeric = /^[\d\s.,:/+()%€$£TZ-]*\d[\d\s.,:/+()%€$£TZ-]*$/;
const year = /^(?:19|20)\d\d$/;

/** Pure: what a cell has that a name of a column has not. A year may be one. */
function kindOf(cell: string): Kind {
  const text = cell.trim().slice(0, 200);
  if (/\S@\S+\.\S/.test(text)) return 'address';
  if (/^(?:https?:\/\/|www\.)\S+$/i.test(text) || domain.test(text)) return 'link';
  if (/^@\w+$/.test(text)) return 'handle';
  if (numeric.test(text) && !year.test(text)) return 'number';
  return text.length > 60 ? 'long' : 'text';
}

function isLabel(cell: string): boolean {
  return kindOf(cell) === 'text' && /\p{L}/u.test(cell);
}

/** The kinds of the filled cells below a row in a column. */
function kindsBelow(row: Measured, column: number, all: readonly Measured[]): readonly Kind[] {
  const below = all.slice(row.at + 1).map(({ cells }) => cells[column] ?? '');
  return below.filter((cell) => !isBlank(cell)).map(kindOf);
}

const isMost = (part: readonly unknown[], all: readonly unknown[]): boolean => part.length * 2 > all.length;

/** Whether a column has a name in this row, and something else in the rows below. */
function isUnlikeBelow(row: Measured, all: readonly Measured[]): boolean {
  return row.cells.some((cell, column) => {
    const kinds = kindsBelow(row, column, all);
    return (
      isLabel(cell) &&
      isMost(
        kinds.filter((kind) => kind !== 'text'),
        kinds,
      )
    );
  });
}

/** Whether a cell of this row is surely no name of a column, and those below are of its kind. */
function isLikeBelow(row: Measured, all: readonly Measured[]): boolean {
  return row.cells.some((cell, column) => {
    const kind = kindOf(cell);
    // Names of columns can be long, and numbers.
    const isName = kind === 'text' || (row.known > 0 && (kind === 'number' || kind === 'long'));
    if (isName || isBlank(cell)) return false;
    const kinds = kindsBelow(row, column, all);
    return (
      all.length === 1 ||
      isMost(
        kinds.filter((one) => one === kind),
        kinds,
      )
    );
  });
}
