import { type JsonText, type JsonView, kindOf, objectMembers, stringOf } from '../json/text.ts';
import type { Column } from './columns.ts';
import { enrichedContent, scoreOf } from './entity-parts.ts';
import { betweenParts } from './folded-parts.ts';
import { readable, shortLinks } from './readable.ts';

const cardLinks = 4;

export type Tone = 'red' | 'yellow' | 'green';

/** A column for people. It loads nothing, so that the other formats can carry it along. */
export interface TableColumn {
  readonly header: string;
  /** What stands in a cell: one clean line of any length. */
  text(record: JsonView): string;
  /** The same where a cell has no room for all of it. */
  short?(record: JsonView): string;
  /** What is `short` has the fewest columns: between that and the whole, room would be wasted. */
  readonly steps?: true;
  /** The same where there is room for more: on a card. */
  long?(record: JsonView): string;
  /** The JSON that a cell is of, where it is of one value: numbers stand on the right, addresses can be followed. */
  value?(record: JsonView): JsonText | undefined;
  /** The same for a card, in the order of the parts of `long`. */
  values?(record: JsonView): readonly (JsonText | undefined)[];
  /** How a text of this column is coloured. */
  tone?(text: string): Tone | undefined;
  /** How few columns of the terminal still make sense, and how many would be a waste. */
  readonly min: number;
  readonly max: number;
  /** How many it has before a column that yields may stand beside it, where that is more than the fewest. */
  readonly usual?: number;
  /** In the last column: what does not fit goes on below. */
  readonly wraps?: true;
  /** On a card the title and what stands beside it come first, links and body without a label. */
  readonly role?: 'title' | 'aside' | 'link' | 'body';
  /** Left out of a table in which the others would not fit: the lowest number first, and of equals (true is 1) the first. */
  readonly yields?: boolean | number;
  /** Left out, too, where the others would not be whole. */
  readonly extra?: true;
  /** Its header may be cut where the cells of others need the room. */
  readonly shrinks?: true;
}

export function entityTable(enrichFields: readonly string[]): TableColumn[] {
  return [
    { header: 'name', role: 'title', min: 14, max: 32, text: (record) => readable(record.member('name')) },
    {
      header: 'score',
      role: 'aside',
      min: 5,
      max: 8,
      text: (record) => readable(scoreOf(record)),
      value: numberIn,
    },
    {
      header: 'link',
      role: 'link',
      min: 18,
      max: 48,
      text: (record) => firstOf(linksOf(record), 1)[0]?.text ?? '',
      value: (record) => firstOf(linksOf(record), 1)[0]?.value,
      long: (record) =>
        someOf(firstOf(linksOf(record), cardLinks + 1).map(({ text }) => text)).join(betweenParts),
      values: (record) => firstOf(linksOf(record), cardLinks).map(({ value }) => value),
    },
    ...[...new Set(enrichFields)].map((field) => ({
      header: field,
      min: Math.max(10, Math.min(field.length, 16)),
      max: 32,
      text: (record: JsonView) => readable(enrichedContent(record, field)),
      value: (record: JsonView) => enrichedContent(record, field),
    })),
    {
      header: 'description',
      role: 'body',
      min: 24,
      max: Number.POSITIVE_INFINITY,
      yields: true,
      text: (record) => readable(record.member('description')),
    },
  ];
}

/** A column of the member of the same name, as it is. */
export function memberColumn(
  header: string,
  rest: Pick<TableColumn, 'min' | 'max' | 'role' | 'yields' | 'tone'>,
): TableColumn {
  const value = (record: JsonView): JsonText | undefined => record.member(header);
  return { header, ...rest, text: (record) => readable(value(record)), value };
}

/** Columns that nothing is known about. */
export function plainTable(columns: readonly Column[]): TableColumn[] {
  return columns.map(plainColumn);
}

function plainColumn(column: Column): TableColumn {
  return {
    header: column.header,
    min: Math.max(6, Math.min(column.header.length, 16)),
    max: 80,
    shrinks: true,
    text: (record) => {
      const text = readable(column.value(record));
      // A text that is JSON is shown as it came.
      return /^[[{]/.test(text) ? text : shortLinks(text);
    },
    // Here, too, a score may be a text.
    value: (record) => (column.header === 'score' ? decimalIn(column.value(record)) : column.value(record)),
  };
}

/** Rows of a list: what a row is called, what was bought for it, then as much else as there is room for. */
export function listTable(own: readonly TableColumn[], bought: readonly Column[]): TableColumn[] {
  const title = own.find(({ header }) => header === 'name') ?? own[0];
  const rest = own.filter((column) => column !== title);
  // Running text is wide, and stands last.
  rest.sort((a, b) => Number(a.role === 'body') - Number(b.role === 'body'));
  return [
    ...(title === undefined ? [] : [titleOf(title)]),
    ...plainTable(bought),
    ...rest.map((column, at) => ({ ...column, yields: rest.length - at, extra: true as const })),
  ];
}

function titleOf({ shrinks: _, ...column }: TableColumn): TableColumn {
  return { ...column, role: 'title', min: 18, max: 32 };
}

/** As many as a card has room for, each whole: it is there to be followed. */
function someOf(links: readonly string[]): string[] {
  return links.length > cardLinks ? [...links.slice(0, cardLinks), '…'] : [...links];
}

interface Link {
  readonly text: string;
  readonly value: JsonText | undefined;
}

/** The first different ones that are not empty: there may be more than anyone will look at. */
function firstOf(links: Iterable<Link>, count: number): Link[] {
  const found = new Map<string, Link>();
  for (const link of links) {
    if (link.text !== '' && !found.has(link.text)) found.set(link.text, link);
    if (found.size === count) break;
  }
  return [...found.values()];
}

/** The website, the LinkedIn page, then the others in their order. */
function* linksOf(record: JsonView): Generator<Link, void> {
  const links = record.inner('links');
  if (links === undefined) return;
  if (kindOf(links.text) !== 'object') return yield toLink(links.text);
  const known = ['website', 'linkedin_url'].map((key) => links.member(key));
  for (const value of [...known, ...objectMembers(links.text).values()]) {
    if (kindOf(value ?? 'null') === 'string') yield toLink(value);
  }
}

/** One fact, whatever stands in it. */
function toLink(value: JsonText | undefined): Link {
  return { text: shortLinks(readable(value)).replace(/ ·(?= )/g, ''), value };
}

/** Services write scores as text, too. */
function numberIn(record: JsonView): JsonText | undefined {
  return decimalIn(scoreOf(record));
}

function decimalIn(score: JsonText | undefined): JsonText | undefined {
  const text = stringOf(score)?.trim() ?? '';
  return /^-?\d+(?:\.\d+)?$/.test(text) ? text : score;
}
