import { type JsonText, type JsonView, kindOf, objectMembers } from '../json/text.ts';
import type { Column } from './columns.ts';
import { enrichedContent, scoreOf } from './entity-parts.ts';
import { betweenParts } from './folded-parts.ts';
import { readable, shortLinks } from './readable.ts';

const cardLinks = 4;

/** A column for people. It loads nothing, so that the other formats can carry it along. */
export interface TableColumn {
  readonly header: string;
  /** What stands in a cell: one clean line of any length. */
  text(record: JsonView): string;
  /** The same where there is room for more: on a card. */
  long?(record: JsonView): string;
  /** How few columns of the terminal still make sense, and how many would be a waste. */
  readonly min: number;
  readonly max: number;
  /** In the last column: what does not fit goes on below. */
  readonly wraps?: true;
  /** On a card the title and what stands beside it come first, links and body without a label. */
  readonly role?: 'title' | 'aside' | 'link' | 'body';
  /** Left out of a table in which the others would not fit: the lowest number first, and of equals (true is 1) the first. */
  readonly yields?: boolean | number;
}

export function entityTable(enrichFields: readonly string[]): TableColumn[] {
  return [
    { header: 'name', role: 'title', min: 14, max: 32, text: (record) => readable(record.member('name')) },
    { header: 'score', role: 'aside', min: 5, max: 8, text: (record) => readable(scoreOf(record)) },
    {
      header: 'link',
      role: 'link',
      min: 18,
      max: 48,
      text: (record) => firstOf(linksOf(record), 1)[0] ?? '',
      long: (record) => someOf(firstOf(linksOf(record), cardLinks + 1)).join(betweenParts),
    },
    ...[...new Set(enrichFields)].map((field) => ({
      header: field,
      min: Math.max(10, Math.min(field.length, 16)),
      max: 32,
      text: (record: JsonView) => readable(enrichedContent(record, field)),
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
  rest: Pick<TableColumn, 'min' | 'max' | 'role' | 'yields'>,
): TableColumn {
  return { header, ...rest, text: (record) => readable(record.member(header)) };
}

/** Columns that nothing is known about. */
export function plainTable(columns: readonly Column[]): TableColumn[] {
  return columns.map((column) => ({
    header: column.header,
    min: Math.max(6, Math.min(column.header.length, 16)),
    max: 80,
    text: (record) => {
      const value = column.value(record);
      return value === undefined ? '' : shortLinks(readable(value));
    },
  }));
}

/** As many as a card has room for, each whole: it is there to be followed. */
function someOf(links: readonly string[]): string[] {
  return links.length > cardLinks ? [...links.slice(0, cardLinks), '…'] : [...links];
}

/** The first different ones that are not empty: there may be more than anyone will look at. */
function firstOf(texts: Iterable<string>, count: number): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    if (text !== '') found.add(text);
    if (found.size === count) break;
  }
  return [...found];
}

/** The website, the LinkedIn page, then the others in their order. */
function* linksOf(record: JsonView): Generator<string, void> {
  const links = record.inner('links');
  if (links === undefined) return;
  if (kindOf(links.text) !== 'object') return yield linkText(links.text);
  const known = ['website', 'linkedin_url'].map((key) => links.member(key));
  for (const value of [...known, ...objectMembers(links.text).values()]) {
    if (kindOf(value ?? 'null') === 'string') yield linkText(value);
  }
}

/** One fact, whatever stands in it. */
function linkText(value: JsonText | undefined): string {
  return shortLinks(readable(value)).replace(/ ·(?= )/g, '');
}
