import type { Column, Layout, Link, TableColumn, Tone } from '../columns/layout.ts';
import { enriched, score, shownLinksIn } from '../columns/record-parts.ts';
import { type JsonText, type JsonView, stringOf } from '../json/text.ts';
import { addressIn, readable, shortLinks } from './readable.ts';

const cardLinks = 3;

export function entityTable(enrichFields: readonly string[]): TableColumn[] {
  return [
    {
      header: 'name',
      role: 'title',
      ...{ min: 14, max: 32, share: 1, lines: 2 },
      value: (record) => record.member('name'),
    },
    {
      header: 'score',
      role: 'detail',
      // Scores may be words.
      ...{ min: 5, max: 14, lines: 2, keeps: true },
      value: (record) => decimalIn(record.find(score)),
      tone: toneOfScore,
    },
    {
      header: 'link',
      role: 'link',
      ...{ min: 20, max: 40, share: 1.3, lines: 2 },
      text: (record) => differentLinks(record, 1)[0]?.text ?? '',
      value: (record) => differentLinks(record, 1)[0]?.value,
      links: (record) => differentLinks(record, cardLinks),
    },
    ...[...new Set(enrichFields)].map((field): TableColumn => {
      const value = (record: JsonView) => enriched(record, field, 'content');
      const min = Math.max(6, Math.min(field.length, 10));
      return { header: field, min, max: 40, share: 0.8, lines: 2, value };
    }),
    {
      header: 'description',
      role: 'body',
      ...{ min: 20, max: Number.POSITIVE_INFINITY, share: 2, lines: 2, yields: true },
      value: (record) => record.member('description'),
    },
  ];
}

/** The columns of the table, as CSV columns. */
export function shownColumns({ enrichFields, table }: Layout): Column[] {
  const shown = table?.() ?? (enrichFields === undefined ? [] : entityTable(enrichFields));
  return shown.map((column) => ({
    header: column.header,
    from: column.value ?? ((record) => JSON.stringify(textOf(column, record))),
  }));
}

/** A column of the member with this name. `header` is what people read in its place. */
export function memberColumn(
  name: string,
  rest: Pick<TableColumn, 'min' | 'max' | 'role' | 'yields' | 'tone'> & { readonly header?: string },
): TableColumn {
  return { header: name, ...rest, value: (record) => record.member(name) };
}

export function textOf({ text, value }: TableColumn, record: JsonView): string {
  return text?.(record) ?? readable(value?.(record));
}

const tones: Readonly<Record<string, Tone>> = {
  ...{ complete: 'green', done: 'green' },
  ...{ created: 'yellow', running: 'yellow', interrupted: 'yellow', partial: 'yellow', unknown: 'yellow' },
  ...{ error: 'red', failed: 'red', damaged: 'red' },
};

/** Pure: the colour of the state of a purchase or a task. */
export function toneOfState(state: string): Tone | undefined {
  return Object.hasOwn(tones, state) ? tones[state] : undefined;
}

/** The interface does not define scores: only those between 0 and 1 have a colour. */
function toneOfScore(text: string): Tone | undefined {
  const score = /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(text) ? Number(text) : undefined;
  if (score === undefined) return undefined;
  return score >= 0.75 ? 'green' : score >= 0.4 ? 'yellow' : undefined;
}

/** Columns without any special form. */
export function plainTable(columns: readonly Column[]): TableColumn[] {
  const shown = columns.filter(({ inTable }) => inTable !== 'never');
  return shown.map((column) => ({
    header: column.header,
    min: column.keeps ?? Math.max(6, Math.min(column.header.length, 12)),
    max: 80,
    lines: 2,
    shrinks: true,
    isSpare: true,
    ...(column.keeps !== undefined || isHandle(column) ? { keeps: true } : {}),
    text: (record) => {
      const text = readable(record.find(column.from));
      // JSON is shown as it came.
      return /^[[{]/.test(text) ? text : shortLinks(text);
    },
    // A score may be a string.
    value: (record) =>
      column.header === 'score' ? decimalIn(record.find(column.from)) : record.find(column.from),
    ...(column.header === 'score' ? { tone: toneOfScore, keeps: true } : {}),
    ...(isId(column) ? { yields: yieldsFirst } : column.inTable === 'yields' ? { yields: true } : {}),
  }));
}

/** A handle that is cut is useless. */
function isHandle({ header }: Column): boolean {
  return /^@?(?:user_?name|screen_?name|login|handle)$/i.test(header);
}

/** Columns of IDs are left out first, since only programs read them. */
const yieldsFirst = 0.5;

function isId({ header }: Pick<Column, 'header'>): boolean {
  return /(?:^|_)id$/i.test(header);
}

/**
 * The rows of a list: the name of the row, what was bought for it, then as many other columns as there is room for. The rows come one by
 * one, so an empty column may be filled later.
 */
export function listTable(own: readonly TableColumn[], bought: readonly Column[]): TableColumn[] {
  const title = own.find(({ header }) => header === 'name') ?? own.find((column) => !isId(column)) ?? own[0];
  const rest = own.filter((column) => column !== title);
  // Running text is wide, and comes last.
  rest.sort((a, b) => Number(a.role === 'body') - Number(b.role === 'body'));
  const titles = title === undefined ? [] : [title];
  return [
    ...titles.map(({ shrinks: _, yields: _yields, ...column }) => {
      return { ...column, share: undefined, role: 'title' as const, min: 14, max: 32, lines: 3 };
    }),
    ...bought.flatMap((column) =>
      plainTable([column]).map(({ yields, ...one }) => ({
        ...one,
        isSpare: column.inTable === 'spare' || undefined,
        ...(yields === true ? { yields } : {}),
      })),
    ),
    ...rest.map((column, at) => ({ ...column, share: undefined, yields: rest.length - at })),
  ];
}

type LinkValue = Link & { readonly value: JsonText | undefined };

/** The first different links, at most `count`. */
function differentLinks(record: JsonView, count: number): LinkValue[] {
  const found = new Map<string, LinkValue>();
  for (const value of shownLinksIn(record.member('links'))) {
    const text = shortLinks(readable(value));
    if (text !== '' && !found.has(text)) found.set(text, { text, value, address: addressIn(value) });
    if (found.size === count) break;
  }
  return [...found.values()];
}

/** Services may write a score as a string. */
function decimalIn(value: JsonText | undefined): JsonText | undefined {
  const text = stringOf(value)?.trim() ?? '';
  return /^-?\d+(?:\.\d+)?$/.test(text) ? text : value;
}
