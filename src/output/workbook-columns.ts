import type { Yielder } from '../event-loop.ts';
import { ColumnKind, fitsNumber, isPlainNumber } from '../files/column-kind.ts';
import { eachItem, type JsonText, kindOf, objectMembers, stringOf, toLine } from '../json/text.ts';

/** A cell of a sheet. */
export interface Cell {
  readonly kind: 'text' | 'number' | 'truth' | 'header';
  readonly text: string;
  /** The address, when the whole cell is one. */
  readonly link?: string;
  /** Whether it had more characters than a cell can hold. */
  readonly isCut?: true;
}

/** A column of the rows, and facts about it after the last row. */
interface Found {
  readonly name: string;
  /** For all cells, and for only those that are JSON numbers. */
  readonly cells: ColumnKind;
  readonly numbers: ColumnKind;
  /** For a column of links: their kinds, and whether another column with that name has the same values. Undefined for any other column. */
  kinds: Map<string, boolean> | undefined;
}

/** Rows that decide the widths of the columns. */
const looked = 200;
/** Maximum number of link columns; with more kinds, all links stay in one column. */
const maxKinds = 100;
/** UTF-16 units, as Excel counts them. */
const longestText = 32_767;
const longestLink = 2_079;

// Characters that XML can't hold, or that make a text look like another one.
const dropped =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g;
const address = /^https?:\/\/[^\s<>"]+$/i;

/**
 * Reads all rows once, the header first. Columns of numbers and kinds of links are only known after the last row.
 * Returns the header (undefined without one), widths in characters, and a function that makes the cells of a row.
 */
export async function findColumns(rows: AsyncIterable<JsonText>, yielder: Yielder) {
  let found: Found[] | undefined;
  const first: JsonText[] = [];
  for await (const row of rows) {
    const values = [...eachItem(row)];
    if (found === undefined) {
      found = values.map((value) => {
        const name = stringOf(value) ?? '';
        const kinds = name === 'links' ? new Map() : undefined;
        return { name, cells: new ColumnKind(), numbers: new ColumnKind(), kinds };
      });
      continue;
    }
    if (first.length < looked) first.push(row);
    for (const [at, column] of found.entries()) look(column, values[at] ?? 'null', values, found);
    if (yielder.isDue()) await yielder.yield();
  }
  const sources = (found ?? []).flatMap(toSources);
  const cellsOf = (row: JsonText): Cell[] => {
    const values = [...eachItem(row)];
    return sources.map(({ from, toValue }) => toCell(toValue(values), from));
  };
  const head = found && sources.map(({ header }): Cell => ({ ...textCell(header), kind: 'header' }));
  return { head, widths: widthsOf([head ?? [], ...first.map(cellsOf)]), cellsOf };
}

function look(column: Found, value: JsonText, row: readonly JsonText[], all: readonly Found[]): void {
  const kind = kindOf(value);
  const text = stringOf(value);
  if (text) column.cells.add(text, false);
  if (kind === 'number') {
    column.cells.add(value.trim(), true);
    column.numbers.add(value.trim(), true);
  }
  if (column.kinds === undefined || kind === 'null') return;
  const links = [...objectMembers(value)];
  for (const [name, link] of links) {
    const there = row[all.findIndex((one) => one.name === name)];
    const isThere = there !== undefined && stringOf(there) === stringOf(link);
    column.kinds.set(name, isThere && (column.kinds.get(name) ?? true));
  }
  const areLinks = kind === 'object' && links.every(([, link]) => ['string', 'null'].includes(kindOf(link)));
  if (!areLinks || column.kinds.size > maxKinds) column.kinds = undefined;
}

interface Source {
  readonly header: string;
  /** Undefined for a column of texts. */
  readonly from: Found | undefined;
  toValue(row: readonly JsonText[]): JsonText;
}

/** The columns of the sheet for a column: itself, or one for each kind of link that no other column has. */
function toSources(from: Found, at: number, all: readonly Found[]): Source[] {
  const toValue = (row: readonly JsonText[]): JsonText => row[at] ?? 'null';
  if (!from.kinds?.size) return [{ header: from.name, from, toValue }];
  return [...from.kinds]
    .filter(([, isThere]) => !isThere)
    .map(([name]) => ({
      header: all.some((one) => one.name === name) ? `${from.name}.${name}` : name,
      from: undefined,
      toValue: (row: readonly JsonText[]) => objectMembers(toValue(row)).get(name) ?? 'null',
    }));
}

/** Widths at which each column is readable; at most 60. */
function widthsOf(rows: readonly (readonly Cell[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, { text }] of row.entries()) {
      const line = /^[^\n]{0,60}/.exec(text)?.[0] ?? '';
      // East Asian characters take two places; the filter's button covers part of a header.
      const places = line.length + (line.match(/[\u1100-\uffdc]/g)?.length ?? 0) + (widths[index] ? 2 : 4);
      widths[index] = Math.min(60, Math.max(widths[index] ?? 8, places));
    }
  }
  return widths;
}

/**
 * Text stays text, even if it looks like a number or a formula, unless nearly the whole column is plain numbers. A number that Excel would
 * round is text, and so are all numbers of a column of IDs. `from` is undefined for a column of texts.
 */
function toCell(value: JsonText, from: Found | undefined): Cell {
  const kind = kindOf(value);
  const text = kind === 'null' ? '' : (stringOf(value) ?? toLine(value).trim());
  if (kind === 'boolean') return { kind: 'truth', text };
  if (kind === 'number') {
    return from?.numbers.isNumeric && fitsNumber(text) ? { kind: 'number', text } : textCell(text);
  }
  // Invalid scores must not turn the others into text: people sort by them.
  const isNumeric = from?.name === 'score' || from?.cells.isNumeric;
  return kind === 'string' && isNumeric && isPlainNumber(text) ? { kind: 'number', text } : textCell(text);
}

function textCell(given: string): Cell {
  const text = given.toWellFormed().replace(dropped, '').replace(/\r\n?/g, '\n');
  if (text.length > longestText) {
    // Don't cut inside a surrogate pair.
    const cut = text.slice(0, longestText - 1).replace(/[\ud800-\udbff]$/, '');
    return { kind: 'text', text: `${cut}…`, isCut: true };
  }
  if (!address.test(text) || !URL.canParse(text)) return { kind: 'text', text };
  const { href } = new URL(text);
  return href.length > longestLink ? { kind: 'text', text } : { kind: 'text', text, link: href };
}
