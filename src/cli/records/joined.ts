import type { Input, InputRow } from '../../input/rows.ts';
import {
  arrayItems,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  objectOf,
  withMembers,
} from '../../json/text.ts';
import { failureOf } from '../../operations/kinds.ts';
import type { RowResult } from '../../operations/list/row-purchase.ts';
import { type Column, entityLayout, free, type Layout, restColumn } from '../../output/columns.ts';
import { listTable, plainTable, type TableColumn } from '../../output/table-columns.ts';

/** How the answer of a row joins its record. */
export interface Join {
  /** The columns that the answer adds to those of the record. */
  readonly columns: readonly Column[];
  /** The members that it adds to the record itself. */
  readonly members: readonly string[];
  /** `sent` is the text that the row stands for. */
  toRecords(row: InputRow, result: RowResult, sent: string): readonly JsonText[];
}

/** Pure: a name that nothing of the row has: what is there keeps its name, ours gets a number. */
export function numbered(taken: ReadonlySet<string>, wanted: string): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`;
  return name;
}

/** What an answer adds to a record: `value` is cut out of the whole answer, and stands in these columns. */
export interface Joined {
  value(answer: JsonView): JsonText | undefined;
  readonly columns: readonly {
    readonly header: string;
    readonly of: (value: JsonView) => JsonText | undefined;
  }[];
  /** What the service says where it has no result. */
  reasonOf?(answer: JsonText): string | undefined;
}

/** Pure: an answer under one name, beside what the record has: `own` are the names that records have. */
export function joinInto(into: string, own: ReadonlySet<string>, { columns, reasonOf, value }: Joined): Join {
  const member = numbered(own, into);
  const error = numbered(own, `${into}_error`);
  return {
    columns: [
      ...columns.map(({ header, of }) => ({
        header,
        overPath: true as const,
        value: (record: JsonView) => {
          const found = record.inner(member);
          return found && of(found);
        },
      })),
      { header: `${into}_error`, value: (record) => record.member(error) },
    ],
    members: [member, error],
    toRecords({ record = '{}' }, result) {
      const reason = result.state === 'answered' ? reasonOf?.(result.answer) : result.message;
      const found =
        result.state === 'answered' && reason === undefined ? value(new JsonView(result.answer)) : undefined;
      const members: [string, JsonText][] = [[member, found ?? 'null']];
      if (reason !== undefined) members.push([error, JSON.stringify(reason)]);
      return [withLast(record, members)];
    },
  };
}

/** What stands beside an item, or in its place. */
const aboutItem = ['type', 'target', 'extract_error'];

/** Pure: items, a line each, with what they are of in front. */
export function itemsOf(type: string): Join & { layout(records: readonly JsonText[]): Layout } {
  const about = (target: string) =>
    [
      ['type', JSON.stringify(type)],
      ['target', JSON.stringify(target)],
    ] as const;
  return {
    columns: [],
    members: aboutItem,
    toRecords(_, result, sent) {
      const reason = result.state === 'answered' ? failureOf('extract', result.answer) : result.message;
      if (result.state !== 'answered' || reason !== undefined) {
        return [objectOf([...about(sent), ['extract_error', JSON.stringify(reason)]])];
      }
      return arrayItems(objectMembers(result.answer).get('data') ?? '[]').map((item) =>
        kindOf(item) === 'object'
          ? withMembers(about(sent), withoutAbout(item))
          : objectOf([...about(sent), ['item', item]]),
      );
    },
    layout(records) {
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
    },
  };
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

/** Pure: the record with these members at its end; what it has of the same name keeps it. */
export function withLast(record: JsonText, members: readonly (readonly [string, JsonText])[]): JsonText {
  const own = new Set(objectMembers(record).keys());
  const added = objectOf(members.map(([name, value]) => [numbered(own, name), value] as const)).slice(1);
  const body = record.slice(0, record.lastIndexOf('}')).trimEnd();
  return own.size === 0 ? `${body}${added}` : `${body},${added}`;
}

/** How the records of an input are shown. */
export interface RecordColumns {
  readonly columns: readonly Column[];
  /** The same for people. */
  readonly table: readonly TableColumn[];
  /** The members that these columns show; undefined where no record has others. */
  readonly members: readonly string[] | undefined;
  /** Of leads: the fields of `enrich_fields` that they show. */
  readonly enrichFields?: readonly string[];
}

const leadMembers = ['name', 'description', 'score', 'links', 'enrich_fields'];

/**
 * Pure: the columns of the records of an input: those of CSV, or all that its first record has; a lead has the columns of a
 * search, and whatever else it has behind them.
 */
export function columnsOf(
  { columns, format }: Pick<Input, 'columns' | 'format'>,
  first: JsonText | undefined,
): RecordColumns {
  const members = objectMembers(first ?? '{}');
  const names = columns ?? [...members.keys()];
  if (columns !== undefined || !members.has('name') || !members.has('links')) {
    const own = names.map(toColumn);
    return { columns: own, table: plainTable(own), members: format === 'jsonl' ? names : undefined };
  }
  const enrichFields = [...objectMembers(members.get('enrich_fields') ?? '{}').keys()];
  const leads = entityLayout(enrichFields);
  const taken = new Set(leads.columns.map(({ header }) => header));
  const more = names
    .filter((name) => !leadMembers.includes(name))
    .map((name) => ({ ...toColumn(name), header: free(taken, name, 'lead') }));
  return {
    columns: [...leads.columns, ...more],
    table: [...(leads.table ?? []), ...plainTable(more)],
    members: [...leadMembers, ...names],
    enrichFields,
  };
}

/**
 * Pure: the columns of a record, then those of its answer; ours have a number where the name is taken. What later records have
 * besides stands in the last column. `members` are those that the answer adds to the record.
 */
export function layoutOf(
  record: RecordColumns,
  answer: readonly Column[],
  members: readonly string[],
): Layout {
  const taken = new Set(record.columns.map(({ header }) => header));
  const freeHeader = (wanted: string): string => {
    const header = numbered(taken, wanted);
    taken.add(header);
    return header;
  };
  const added = answer.map((column) => ({ ...column, header: freeHeader(column.header) }));
  const columns = [...record.columns, ...added];
  if (record.members !== undefined) {
    columns.push(restColumn(freeHeader('other'), [...record.members, ...members], record.enrichFields));
  }
  return { columns, chosen: false, table: listTable(record.table, added) };
}

function toColumn(name: string): Column {
  return { header: name, value: (record) => record.member(name) };
}
