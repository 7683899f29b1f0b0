import { restColumn, unique } from '../../columns/columns.ts';
import { entityLayout } from '../../columns/entity-layout.ts';
import type { Column, Layout, TableColumn } from '../../columns/layout.ts';
import { namePartColumns } from '../../columns/name-parts.ts';
import { isPerson } from '../../columns/record-parts.ts';
import { type JsonText, JsonView, objectMembers, stringOf } from '../../json/text.ts';
import { uniqueNames } from '../../operations/kinds/row-parts.ts';
import { entityTable, listTable, plainTable } from '../../output/table-columns.ts';
import { columnsByMeaning, joinName, nameColumnsOf } from '../../requests/column-meanings.ts';
import type { Input } from '../../requests/rows.ts';

export interface RecordColumns {
  readonly columns: readonly Column[];
  table(): readonly TableColumn[];
  /** The members that these columns show; undefined if records can have no others. */
  readonly members: readonly string[] | undefined;
  /** For leads: the fields of `enrich_fields` that they show. */
  readonly enrichFields?: readonly string[];
  /** For leads: the headers of the standard columns. */
  readonly leadHeaders?: readonly string[];
  /** Columns that --columns can choose. */
  readonly offered: readonly Column[];
}

const leadMembers = ['name', 'description', 'score', 'links', 'enrich_fields'];

/**
 * Pure: the columns for the records of an input: those of CSV, or the members of its first record; for leads those of a search and then
 * everything else. Those of the members in `without` are left out.
 */
export function columnsOf(
  { columns, format, rawHeaders }: Pick<Input, 'columns' | 'format' | 'rawHeaders'>,
  first: JsonText | undefined,
  without: readonly string[] = [],
): RecordColumns {
  const members = objectMembers(first ?? '{}');
  const names = columns ?? [...members.keys()].filter((name) => !without.includes(name));
  const offered = namePartsIn(names, first);
  if (columns !== undefined || !members.has('name') || !members.has('links')) {
    const own = names.map((name, at) => ({ ...toColumn(name), rawHeader: rawHeaders?.[at] }));
    const rest = format === 'jsonl' ? names : undefined;
    return { columns: own, offered, table: () => plainTable(withWholeName(own, names)), members: rest };
  }
  const enrichFields = [...objectMembers(members.get('enrich_fields') ?? '{}').keys()];
  const leads = entityLayout(enrichFields);
  const leadHeaders = leads.columns.map(({ header }) => header);
  const taken = new Set(leadHeaders);
  const more = names
    .filter((name) => !leadMembers.includes(name))
    .map((name) => ({ ...toColumn(name), header: unique(taken, name, 'lead') }));
  return {
    columns: [...leads.columns, ...more],
    offered,
    table: () => [...entityTable(enrichFields), ...plainTable(more)],
    members: [...leadMembers, ...names],
    enrichFields,
    leadHeaders,
  };
}

/** Pure: for people, one column `name` in place of those for first and last name. */
function withWholeName(columns: readonly Column[], names: readonly string[]): readonly Column[] {
  const parts = nameColumnsOf(names);
  if (parts.length < 2) return columns;
  const name: Column = {
    header: 'name',
    from: (record) =>
      JSON.stringify(joinName(parts.map((part) => (stringOf(record.member(part)) ?? '').trim()))),
  };
  return [name, ...columns.filter(({ header }) => !parts.includes(header))];
}

/** Pure: columns for first and last name, if the rows are people with their name in one column. */
function namePartsIn(names: readonly string[], first: JsonText = '{}'): readonly Column[] {
  const [name, part] = nameColumnsOf(names);
  const columnsFor = columnsByMeaning(names);
  if (name === undefined || part !== undefined || !columnsFor('name').includes(name)) return [];
  const [profile = ''] = columnsFor('profile');
  const isOfPerson =
    isPerson(first) || stringOf(new JsonView(first).member(profile))?.includes('/in/') === true;
  const ofPeople = (['title', 'company'] as const).flatMap(columnsFor);
  return isOfPerson || ofPeople.length > 0 ? namePartColumns(name) : [];
}

/**
 * Pure: the columns of a record, then those of its answer, whose headers differ. A last column collects members that only later records have.
 * `members` are the members that the answer adds.
 */
export function layoutOf(
  record: RecordColumns,
  answer: readonly Column[],
  members: readonly string[],
): Layout {
  const columns = [...record.columns, ...answer];
  if (record.members !== undefined) {
    const header = uniqueNames(
      columns.map((column) => column.header),
      ['other'],
    )('other');
    columns.push(restColumn(header, [...record.members, ...members], record.enrichFields));
  }
  return {
    columns,
    offered: record.offered,
    members:
      record.members === undefined ? [...record.columns.map(({ header }) => header), ...members] : undefined,
    table: () => listTable(record.table(), answer),
  };
}

function toColumn(name: string): Column {
  return { header: name, from: [[name]] };
}
