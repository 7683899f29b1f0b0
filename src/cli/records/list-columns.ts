import { restColumn, unique } from '../../columns/columns.ts';
import { entityLayout } from '../../columns/entity-layout.ts';
import type { Column, Layout, TableColumn } from '../../columns/layout.ts';
import { type JsonText, objectMembers } from '../../json/text.ts';
import { uniqueNames } from '../../operations/kinds/row-parts.ts';
import { entityTable, listTable, plainTable } from '../../output/table-columns.ts';
import type { Input } from '../../requests/rows.ts';

export interface RecordColumns {
  readonly columns: readonly Column[];
  table(): readonly TableColumn[];
  /** The members of records that these columns show; undefined where there are no others. */
  readonly members: readonly string[] | undefined;
  /** For leads: the fields of `enrich_fields` that they show. */
  readonly enrichFields?: readonly string[];
  /** For leads: the headers of what all leads have. */
  readonly leadHeaders?: readonly string[];
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
  if (columns !== undefined || !members.has('name') || !members.has('links')) {
    const own = names.map((name, at) => ({ ...toColumn(name), rawHeader: rawHeaders?.[at] }));
    return { columns: own, table: () => plainTable(own), members: format === 'jsonl' ? names : undefined };
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
    table: () => [...entityTable(enrichFields), ...plainTable(more)],
    members: [...leadMembers, ...names],
    enrichFields,
    leadHeaders,
  };
}

/**
 * Pure: the columns of a record, then those of its answer, which have other headers. The last column has the members that only later records
 * have. `members` are those that the answer adds to the record.
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
    members:
      record.members === undefined ? [...record.columns.map(({ header }) => header), ...members] : undefined,
    table: () => listTable(record.table(), answer),
  };
}

function toColumn(name: string): Column {
  return { header: name, from: [[name]] };
}
