import type { Yielder } from '../event-loop.ts';
import { eachItem, type JsonText, kindOf, objectMembers, stringOf, toLine } from '../json/text.ts';

/** A cell, as it will stand in a sheet. */
export interface Cell {
  readonly kind: 'text' | 'number' | 'truth' | 'header';
  readonly text: string;
  /** The address, when the whole cell is one. */
  readonly link?: string;
  /** Whether it had more characters than a cell can hold. */
  readonly isCut?: true;
}

/** A column of the rows, and what is known of it after all rows. */
interface Found {
  readonly name: string;
  /** Whether all texts are plain numbers, and whether Excel keeps all numbers as they are. */
  isPlain: boolean;
  isExact: boolean;
  /** For a column of links: their kinds, and whether another column with that name has the same values. Undefined for any other column. */
  kinds: Map<string, boolean> | undefined;
}

/** Rows that decide the widths of the columns. */
const looked = 200;
/** The most kinds of links that get a column each; with more, all stay in one. */
const maxKinds = 100;
/** UTF-16 units, as Excel counts them. */
const longestText = 32_767;
const longestLink = 2_079;
const maxDigits = 15;

// Characters that XML can't hold, or that make a text look like another one.
const dropped =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g;
const address = /^https?:\/\/[^\s<>"]+$/i;

/**
 * Reads all rows once, the header first: only after the last row it is known whether a column holds numbers, and which links there are.
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
        return { name, isPlain: true, isExact: true, kinds: name === 'links' ? new Map() : undefined };
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
  // One invalid score must not turn the others into text: people sort by them.
  if (text && column.name !== 'score') column.isPlain &&= isPlainNumber(text);
  if (kind === 'number') column.isExact &&= fitsNumber(value.trim());
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

/** The columns of the sheet for a column: itself, or one for each kind of link that no other column has. */
function toSources(from: Found, at: number, all: readonly Found[]) {
  const toValue = (row: readonly JsonText[]): JsonText => row[at] ?? 'null';
  if (!from.kinds?.size) return [{ header: from.name, from, toValue }];
  return [...from.kinds]
    .filter(([, isThere]) => !isThere)
    .map(([name]) => ({
      header: all.some((one) => one.name === name) ? `${from.name}.${name}` : name,
      from: { ...from, isPlain: false },
      toValue: (row: readonly JsonText[]) => objectMembers(toValue(row)).get(name) ?? 'null',
    }));
}

/** Widths at which each column can be read, and none fills the screen. */
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
 * Text stays text, even if it looks like a number or a formula, unless the whole column is plain numbers. Numbers are numbers if Excel
 * keeps the whole column exactly; others are IDs, or would be rounded.
 */
function toCell(value: JsonText, { isPlain, isExact }: Found): Cell {
  const kind = kindOf(value);
  const text = kind === 'null' ? '' : (stringOf(value) ?? toLine(value).trim());
  if (kind === 'boolean') return { kind: 'truth', text };
  const isNumber = kind === 'number' || (isPlain && kind === 'string' && isPlainNumber(text));
  return isNumber && isExact ? { kind: 'number', text } : textCell(text);
}

/** Whether a text is only a number, without a leading zero or a plus. */
function isPlainNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && fitsNumber(text);
}

/** Whether Excel keeps a number exactly, which it does up to 15 digits. */
function fitsNumber(written: string): boolean {
  const digits = written.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
  return digits.length <= maxDigits && Math.abs(Number(written)) < 10 ** maxDigits;
}

function textCell(given: string): Cell {
  const text = given.toWellFormed().replace(dropped, '').replace(/\r\n?/g, '\n');
  if (text.length > longestText) {
    // Not inside a character.
    const cut = text.slice(0, longestText - 1).replace(/[\ud800-\udbff]$/, '');
    return { kind: 'text', text: `${cut}…`, isCut: true };
  }
  if (!address.test(text) || !URL.canParse(text)) return { kind: 'text', text };
  const { href } = new URL(text);
  return href.length > longestLink ? { kind: 'text', text } : { kind: 'text', text, link: href };
}
