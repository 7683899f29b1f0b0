import type { Yielder } from '../event-loop.ts';
import { eachItem, type JsonText, kindOf, objectMembers, stringOf } from '../json/text.ts';
import { type Cell, fitsNumber, header, isPlainNumber, toCell } from './workbook-cell.ts';

/** Rows by which the widths of the columns are chosen. */
const looked = 200;
/** Kinds of links that become columns; of more, all stay together. */
const mostKinds = 100;

export interface SheetColumns {
  /** Undefined where there is not even a header. */
  readonly head: readonly Cell[] | undefined;
  /** In characters. */
  readonly widths: readonly number[];
  cellsOf(row: JsonText): Cell[];
}

/** What is known of a column when all rows have been seen. */
interface Found {
  readonly name: string;
  /** Whether all texts are numbers, and all numbers are what Excel keeps as they are. */
  isPlain: boolean;
  isExact: boolean;
  /** Of links: the kinds that were seen, and whether another column of that name has the same. Undefined for anything else. */
  kinds: Map<string, { isThere: boolean }> | undefined;
}

/** Where a cell is taken from. */
interface Source {
  readonly header: string;
  readonly from: Found;
  toValue(row: readonly JsonText[]): JsonText;
}

/** Reads all rows once, the header first: whether a column holds numbers, and which links there are, the last row can tell. */
export async function findColumns(rows: AsyncIterable<JsonText>, yielder: Yielder): Promise<SheetColumns> {
  let found: Found[] | undefined;
  const first: JsonText[] = [];
  for await (const row of rows) {
    const values = [...eachItem(row)];
    if (found === undefined) {
      found = values.map((value) => toFound(stringOf(value) ?? ''));
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
  const head = found && sources.map((source) => header(source.header));
  return { head, widths: widthsOf([head ?? [], ...first.map(cellsOf)]), cellsOf };
}

function toFound(name: string): Found {
  return { name, isPlain: true, isExact: true, kinds: name === 'links' ? new Map() : undefined };
}

function look(column: Found, value: JsonText, row: readonly JsonText[], all: readonly Found[]): void {
  const kind = kindOf(value);
  if (kind === 'null') return;
  const text = stringOf(value);
  // A score that is none leaves the others what they are: they are to be sorted.
  if (text !== undefined && text !== '' && column.name !== 'score') column.isPlain &&= isPlainNumber(text);
  if (kind === 'number') column.isExact &&= fitsNumber(value.trim());
  const { kinds } = column;
  if (kinds === undefined) return;
  const members = kind === 'object' ? objectMembers(value) : undefined;
  if (
    members === undefined ||
    [...members.values()].some((one) => !['string', 'null'].includes(kindOf(one)))
  ) {
    column.kinds = undefined;
    return;
  }
  for (const [name, link] of members) {
    const there = row[all.findIndex((one) => one.name === name)];
    const before = kinds.get(name)?.isThere ?? true;
    kinds.set(name, { isThere: before && there !== undefined && stringOf(there) === stringOf(link) });
  }
  if (kinds.size > mostKinds) column.kinds = undefined;
}

/** A column, or one for each kind of link that no other column has. */
function toSources(from: Found, at: number, all: readonly Found[]): Source[] {
  const toValue = (row: readonly JsonText[]): JsonText => row[at] ?? 'null';
  if (from.kinds === undefined || from.kinds.size === 0) return [{ header: from.name, from, toValue }];
  return [...from.kinds]
    .filter(([, { isThere }]) => !isThere)
    .map(([name]) => ({
      header: all.some((one) => one.name === name) ? `${from.name}.${name}` : name,
      from: { ...from, isPlain: false },
      toValue: (row) => objectMembers(toValue(row)).get(name) ?? 'null',
    }));
}

/** So much of each column can be read, and none takes the whole screen. */
function widthsOf(rows: readonly (readonly Cell[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, { text }] of row.entries()) {
      const line = /^[^\n]{0,60}/.exec(text)?.[0] ?? '';
      // East Asian characters take two places; the button of the filter takes some of a header.
      const places = line.length + (line.match(/[\u1100-\uffdc]/g)?.length ?? 0) + (widths[index] ? 2 : 4);
      widths[index] = Math.min(60, Math.max(widths[index] ?? 8, places));
    }
  }
  return widths;
}
