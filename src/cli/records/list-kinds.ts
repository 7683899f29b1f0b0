import { free, restColumn } from '../../columns/columns.ts';
import type { Column, Layout, LayoutOf, TableColumn } from '../../columns/layout.ts';
import { isContactFound } from '../../columns/record-parts.ts';
import {
  arrayItems,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  objectOf,
  withMembers,
} from '../../json/text.ts';
import type { AnswerKind, BodyOf } from '../../operations/kinds/kinds.ts';
import type { RowOutcome } from '../../operations/kinds/list-outcome.ts';
import type { RowRequest } from '../../operations/kinds/row-request.ts';
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

/** What is bought for each row of a list, and how the answer is joined to the row. */
export interface ListOf {
  readonly kind: AnswerKind;
  /** The field of the interface that a row fills, which is also the name of the column to look for. */
  readonly field: 'objective' | 'query' | 'entity_context' | 'target';
  /** Whether a record that looks like a lead can be sent as it is. */
  readonly takesEntities: boolean;
  /** Throws UsageError. */
  toBody(text: string): BodyOf<AnswerKind>;
  /** Where the answer goes by default. */
  readonly into: string;
  /** `own` are the names that the records have. */
  join(into: string, own: ReadonlySet<string>): Join;
  /** The layout, where something else than the record with its answer is printed. */
  readonly layout?: LayoutOf;
  /** The requested fields: an answer may lack some. */
  readonly fields?: readonly string[];
}

/** How the answer of a row is joined to its record. */
interface Join {
  /** The columns that the answer adds to those of the record. */
  readonly columns: readonly Column[];
  /** The members that it adds to the record itself. */
  readonly members: readonly string[];
  /** `sent` is the text that was sent for the row. */
  toRecords(row: InputRow, outcome: RowOutcome, sent: string): readonly JsonText[];
}

/** Pure: from the row request, given on the command line or stored. */
export function toListOf(request: RowRequest): ListOf {
  const { kind } = request;
  switch (kind) {
    case 'contact': {
      const { contact_type } = request;
      return {
        kind,
        field: 'objective',
        takesEntities: true,
        toBody: (objective) => toContactSearchRequest({ contact_type, objective }, inputNames),
        into: contact_type,
        join: joinWith(toContact, (into) => [
          [into, (found) => found.member('content')],
          [`${into}_reference`, (found) => found.member('reference')],
        ]),
      };
    }
    case 'research':
      return {
        kind,
        field: 'query',
        takesEntities: false,
        toBody: (query) => toDeepSearchRequest({ query }, inputNames),
        into: kind,
        join: joinWith(toAnswer, (into) => [
          [into, (found) => found.member('Result') ?? found.text],
          [`${into}_citations`, (found) => found.member('Citations')],
        ]),
      };
    case 'enrich': {
      const { enrich_fields } = request;
      const fields = Object.keys(enrich_fields.properties as object);
      return {
        kind,
        field: 'entity_context',
        takesEntities: true,
        toBody: (entity_context) => toEnrichRequest({ entity_context, enrich_fields }, inputNames),
        into: kind,
        join: joinWith(toAnswer, () => fields.map((field) => [field, (found) => found.member(field)])),
        fields,
      };
    }
    // Each item is a line of its own, with its row's type and target.
    case 'extract':
      return {
        kind,
        field: 'target',
        takesEntities: false,
        toBody: (target) => toExtractRequest({ ...request, target }, inputNames),
        into: kind,
        join: () => ({
          columns: [],
          members: aboutItem,
          toRecords: (_, outcome, sent) => toItems(request.type, outcome, sent),
        }),
        layout: toItemsLayout,
      };
  }
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

/** Adds an answer under one name. `toValue` cuts it out of the whole answer, and `columnsOf` are its columns. */
function joinWith(
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
      toRecords({ record = '{}' }, { answer, failure }) {
        const why = failure === undefined ? [] : [[error, JSON.stringify(failure.message)] as const];
        const value = answer === undefined ? undefined : toValue(new JsonView(answer));
        return [withLast(record, [[member, value ?? 'null'], ...why])];
      },
    };
  };
}

/** What stands beside an item, or in its place. */
const aboutItem = ['type', 'target', 'extract_error'];

/** Pure: the items of a row, one per line, after the type and the target that they belong to. */
function toItems(type: string, { answer, failure }: RowOutcome, target: string): JsonText[] {
  const about = [
    ['type', JSON.stringify(type)],
    ['target', JSON.stringify(target)],
  ] as const;
  if (answer === undefined) return [objectOf([...about, ['extract_error', JSON.stringify(failure.message)]])];
  return arrayItems(objectMembers(answer).get('data') ?? '[]').map((item) =>
    kindOf(item) === 'object' ? withMembers(about, withoutAbout(item)) : objectOf([...about, ['item', item]]),
  );
}

function toItemsLayout(records: readonly JsonText[]): Layout {
  const names = new Set(records.flatMap((record) => [...objectMembers(record).keys()]));
  for (const name of aboutItem) names.delete(name);
  const [first, second, last] = aboutItem.map(toColumn) as [Column, Column, Column];
  // The first rows decide the header. Fields that only later rows have go into this column.
  const other = restColumn(free(new Set(names), 'other', 'extract'), [...names, ...aboutItem]);
  const items = [...names].map(toColumn);
  // On a screen the type is the same in each row, and failures are reported below.
  const table = (): readonly TableColumn[] =>
    plainTable([first, second, ...items, last]).map((column) =>
      column.header === 'type' || column.header === 'extract_error'
        ? { ...column, extra: true as const, yields: true }
        : column,
    );
  return { columns: [first, second, ...items, other, last], table };
}

/** An item whose members don't have the names of the columns beside it. */
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

/** Pure: the requested fields that an answer lacks. */
export function lackingIn(fields: readonly string[], answer: string): string[] {
  const found = objectMembers(objectMembers(answer).get('answer') ?? '{}');
  return fields.filter((field) => kindOf(found.get(field) ?? 'null') === 'null');
}
