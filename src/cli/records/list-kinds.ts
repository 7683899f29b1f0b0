import {
  arrayItems,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  objectOf,
  withMembers,
} from '../../json/text.ts';
import type { AnswerKind, BodyOf } from '../../operations/kinds.ts';
import { type RowResult, toFailure } from '../../operations/list/outcome.ts';
import type { RowRequest } from '../../operations/row-request.ts';
import { free, isContactFound, restColumn } from '../../output/columns.ts';
import type { Column, Layout, LayoutOf } from '../../output/layout.ts';
import { plainTable } from '../../output/table-columns.ts';
import {
  toContactSearchRequest,
  toDeepSearchRequest,
  toEnrichRequest,
  toExtractRequest,
} from '../../requests/lookups.ts';
import type { InputRow } from '../../requests/rows.ts';
import { inputNames } from '../options/options.ts';
import { numbered, toColumn, withLast } from './list-columns.ts';

/** What is bought for each row of a list, and how it joins its row. */
export interface ListOf<Kind extends AnswerKind = AnswerKind> {
  readonly kind: Kind;
  /** The field of the interface that a row fills: the column that is looked for. */
  readonly field: 'objective' | 'query' | 'entity_context' | 'target';
  /** Whether a record that looks like a lead says by itself what to send. */
  readonly takesEntities: boolean;
  /** Throws UsageError. */
  toBody(text: string): BodyOf<Kind>;
  /** A request that costs what any of them does. */
  readonly sample: BodyOf<Kind>;
  /** Where the answer goes, when it is not said. */
  readonly into: string;
  /** `own` are the names that the records have. */
  join(into: string, own: ReadonlySet<string>): Join;
  /** Of what is printed, where it is not the record with the answer beside it. */
  readonly layout?: LayoutOf;
  /** The fields that were asked for: an answer may lack some. */
  readonly fields?: readonly string[];
}

/** How the answer of a row joins its record. */
interface Join {
  /** The columns that the answer adds to those of the record. */
  readonly columns: readonly Column[];
  /** The members that it adds to the record itself. */
  readonly members: readonly string[];
  /** `sent` is the text that the row stands for. */
  toRecords(row: InputRow, result: RowResult, sent: string): readonly JsonText[];
}

type Kinds = {
  readonly [Kind in AnswerKind]: (request: Extract<RowRequest, { kind: Kind }>) => Omit<ListOf<Kind>, 'kind'>;
};

const kinds: Kinds = {
  contact: ({ contact_type: type }) => ({
    field: 'objective',
    takesEntities: true,
    sample: { contact_type: type, objective: '' },
    toBody: (text) => toContactSearchRequest({ contact_type: type, objective: text }, inputNames),
    into: type,
    join: joinWith('contact', toContact, (into) => [
      [into, (found) => found.member('content')],
      [`${into}_reference`, (found) => found.member('reference')],
    ]),
  }),
  research: () => ({
    field: 'query',
    takesEntities: false,
    sample: { query: '' },
    toBody: (query) => toDeepSearchRequest({ query }, inputNames),
    into: 'research',
    join: joinWith('research', toAnswer, (into) => [
      [into, (found) => found.member('Result') ?? found.text],
      [`${into}_citations`, (found) => found.member('Citations')],
    ]),
  }),
  enrich({ enrich_fields: schema }) {
    const fields = Object.keys(schema.properties as object);
    return {
      field: 'entity_context',
      takesEntities: true,
      sample: { entity_context: '', enrich_fields: schema },
      toBody: (text) => toEnrichRequest({ entity_context: text, enrich_fields: schema }, inputNames),
      into: 'enrich',
      join: joinWith('enrich', toAnswer, () =>
        fields.map((field) => [field, (found) => found.member(field)]),
      ),
      fields,
    };
  },
  // An item is a line of its own, which says whose it is.
  extract: ({ type, instruction, limit }) => ({
    field: 'target',
    takesEntities: false,
    sample: { type, target: '', ...(limit === undefined ? {} : { limit }) },
    toBody: (target) => toExtractRequest({ type, target, instruction, limit }, inputNames),
    into: 'extract',
    join: () => ({
      columns: [],
      members: aboutItem,
      toRecords: (_, result, sent) => toItems(type, result, sent),
    }),
    layout: toItemsLayout,
  }),
};

/** Pure: by what is sent, as the command line says it or as it was stored. */
export function toListOf(request: RowRequest): ListOf {
  const list: (request: never) => Omit<ListOf, 'kind'> = kinds[request.kind];
  return { kind: request.kind, ...list(request as never) };
}

function toContact(answer: JsonView): JsonText {
  const result = answer.inner('result');
  const content = isContactFound(answer) ? result?.member('content') : undefined;
  return objectOf([
    ['content', content ?? 'null'],
    ['reference', result?.member('reference') ?? 'null'],
  ]);
}

function toAnswer(answer: JsonView): JsonText | undefined {
  return answer.member('answer');
}

/** An answer under one name, beside what the record has: `toValue` cuts it out of the whole answer, and it stands in `columnsOf`. */
function joinWith(
  kind: AnswerKind,
  toValue: (answer: JsonView) => JsonText | undefined,
  columnsOf: (into: string) => readonly (readonly [string, (value: JsonView) => JsonText | undefined])[],
): ListOf['join'] {
  return (into, own) => {
    const member = numbered(own, into);
    const error = numbered(own, `${into}_error`);
    const columns: Column[] = columnsOf(into).map(([header, of]) => ({
      header,
      overPath: true,
      value(record) {
        const found = record.inner(member);
        return found && of(found);
      },
    }));
    columns.push({ header: `${into}_error`, value: (record) => record.member(error) });
    return {
      columns,
      members: [member, error],
      toRecords({ record = '{}' }, result) {
        const failure = toFailure(kind, result);
        const why = failure === undefined ? [] : [[error, JSON.stringify(failure.message)] as const];
        const isFound = result.state === 'answered' && failure === undefined;
        const value = isFound ? toValue(new JsonView(result.answer)) : undefined;
        return [withLast(record, [[member, value ?? 'null'], ...why])];
      },
    };
  };
}

/** What stands beside an item, or in its place. */
const aboutItem = ['type', 'target', 'extract_error'];

/** Pure: items, a line each, with what they are of in front. */
function toItems(type: string, result: RowResult, target: string): JsonText[] {
  const about = [
    ['type', JSON.stringify(type)],
    ['target', JSON.stringify(target)],
  ] as const;
  const failure = toFailure('extract', result);
  if (result.state !== 'answered' || failure !== undefined)
    return [objectOf([...about, ['extract_error', JSON.stringify(failure?.message)]])];
  return arrayItems(objectMembers(result.answer).get('data') ?? '[]').map((item) =>
    kindOf(item) === 'object' ? withMembers(about, withoutAbout(item)) : objectOf([...about, ['item', item]]),
  );
}

function toItemsLayout(records: readonly JsonText[]): Layout {
  const names = new Set(records.flatMap((record) => [...objectMembers(record).keys()]));
  for (const name of aboutItem) names.delete(name);
  const [first, second, last] = aboutItem.map(toColumn) as [Column, Column, Column];
  // The header is fixed by the first rows: what later ones have besides is not lost.
  const other = restColumn(free(new Set(names), 'other', 'extract'), [...names, ...aboutItem]);
  const items = [...names].map(toColumn);
  // On a screen the type is the same in each row, and what failed is said below.
  const table = plainTable([first, second, ...items, last]).map((column) =>
    column.header === 'type' || column.header === 'extract_error'
      ? { ...column, extra: true as const, yields: true }
      : column,
  );
  return { columns: [first, second, ...items, other, last], chosen: false, table };
}

/** An item in which what is called as the columns beside it has another name. */
function withoutAbout(item: JsonText): JsonText {
  const members = objectMembers(item);
  if (!aboutItem.some((name) => members.has(name))) return item;
  const taken = new Set(members.keys());
  return objectOf(
    [...members].map(([name, value]) => [
      aboutItem.includes(name) ? free(taken, name, 'item', '_') : name,
      value,
    ]),
  );
}

/** Pure: which of the fields that were asked for an answer does not have. */
export function lackingIn(fields: readonly string[], answer: string): string[] {
  const found = objectMembers(objectMembers(answer).get('answer') ?? '{}');
  return fields.filter((field) => kindOf(found.get(field) ?? 'null') === 'null');
}
