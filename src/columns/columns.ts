import { type JsonText, objectMembers, objectOf, valuesIn } from '../json/text.ts';
import { toChosen } from './chosen-names.ts';
import type { Column, Layout } from './layout.ts';

/**
 * The columns that the user chose. A name is looked up among the headers of CSV, then of the screen (`shown`), then of the offered columns.
 * Any other name is a dot path. `found` records for each name whether any record had it.
 */
export function chosenLayout(
  given: readonly string[],
  layout: Layout = { columns: [] },
  shown: readonly Column[] = [],
  found = new Map<string, boolean>(),
): Layout {
  const all = [...(layout.offered ?? []), ...shown, ...layout.columns];
  const byHeader = new Map(all.map((column) => [column.header, column]));
  const known = new Set(byHeader.keys());
  const columns = Array.from(new Set(given), (one): Column => {
    const { header, name } = toChosen(one, known);
    const own = byHeader.get(name);
    return {
      header,
      from(record) {
        const column = own ?? layout.sheet?.(record).find((each) => each.header === name);
        const value = column === undefined ? record.at(name) : record.find(column.from);
        found.set(name, found.get(name) || column !== undefined || value !== undefined);
        return value;
      },
    };
  });
  return { columns, records: layout.records, chosen: true };
}

/** Columns of members by their exact names; with `under`, of members of that member. */
export function membersOf(names: Iterable<string>, under?: string): Column[] {
  return Array.from(names, (name) => ({
    header: name,
    from: [under === undefined ? [name] : [under, name]],
  }));
}

/** A layout for items of an extraction, a task status, and the like. */
export function memberLayout(names: Iterable<string>, under?: string): Layout {
  return { columns: membersOf(names, under) };
}

/** Columns of members. For people, these words replace their names, and empty members are left out. */
export function wordedLayout(words: Readonly<Record<string, string>>): Layout {
  return {
    ...memberLayout(Object.keys(words)),
    sheet: (record) =>
      Object.entries(words)
        .filter(([name]) => !['null', '""'].includes(record.member(name) ?? 'null'))
        .map(([name, header]) => ({ header, from: [[name]] })),
  };
}

/** Pure: the columns by their headers. */
export function headersOf({ columns }: Layout): string[] {
  return columns.map(({ header }) => header);
}

export const taskStatusLayout = wordedLayout({
  leads_search_id: 'task',
  status: 'state',
  ready_count: 'ready',
  verified_count: 'verified',
  stop_reason: 'stop reason',
});

export const balanceLayout = wordedLayout({
  available_credits: 'available',
  updated_at: 'updated',
  next_credit_refresh_at: 'next refresh',
});

/** The record as a flat object with the headers as keys. */
export function toFlatObject(columns: readonly Column[], record: JsonText): JsonText {
  const values = valuesIn(
    record,
    columns.map(({ from }) => from),
  );
  return objectOf(columns.map(({ header }, at) => [header, values[at] as JsonText] as const));
}

/**
 * A column with all other members of a record, as JSON: the columns are fixed before later records are known. For leads, it also has the
 * enrich fields that are not in `enrichFields`.
 */
export function restColumn(
  header: string,
  members: readonly string[],
  enrichFields?: readonly string[],
): Column {
  const known = new Set(members);
  return {
    header,
    from({ text }) {
      const rest: [string, JsonText][] = [];
      for (const [name, value] of objectMembers(text)) {
        if (!known.has(name)) rest.push([name, value]);
        if (name !== 'enrich_fields' || enrichFields === undefined) continue;
        const fields = [...objectMembers(value)].filter(([field]) => !enrichFields.includes(field));
        if (fields.length > 0) rest.push([name, objectOf(fields)]);
      }
      return rest.length === 0 ? undefined : objectOf(rest);
    },
  };
}

/** A header that no other column has: if necessary, with the name of its object before it. Adds it to `taken`. */
export function unique(taken: Set<string>, wanted: string, owner = 'enrich_fields', between = '.'): string {
  let header = wanted;
  while (taken.has(header)) header = `${owner}${between}${header}`;
  taken.add(header);
  return header;
}
