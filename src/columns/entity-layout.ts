import { objectMembers } from '../json/text.ts';
import { membersOf, unique } from './columns.ts';
import type { Column, Layout, LayoutOf } from './layout.ts';
import { namePartColumns } from './name-parts.ts';
import { enriched, isPerson, score } from './record-parts.ts';

/** Leads of a search, with the requested enrich fields. For people, first and last name are offered as columns. */
export function entityLayout(enrichFields: readonly string[] = [], type?: string): Layout {
  const offered = type === 'person' ? namePartColumns('name') : [];
  return { columns: entityColumns(enrichFields), offered, records: 'leads', enrichFields };
}

/** The columns of leads whose enrich fields are only known from the leads: another user may have created the task. */
export const foundLayout: LayoutOf = (records) => {
  const fields = records.flatMap((record) => [
    ...objectMembers(objectMembers(record).get('enrich_fields') ?? '{}').keys(),
  ]);
  return entityLayout([...new Set(fields)], records.some(isPerson) ? 'person' : undefined);
};

function entityColumns(enrichFields: readonly string[]): Column[] {
  const columns: Column[] = [
    ...membersOf(['name', 'description']),
    { header: 'score', from: score },
    { header: 'score_reason', from: [['score', 'reason']] },
    ...membersOf(['website', 'linkedin_url'], 'links'),
    ...membersOf(['links']),
  ];
  const taken = new Set(columns.map(({ header }) => header));
  const part = (header: string, field: string, name: 'content' | 'reference'): Column => ({
    header: unique(taken, header),
    from: (record) => enriched(record, field, name),
  });
  for (const field of new Set(enrichFields)) {
    columns.push(part(field, field, 'content'), part(`${field}_reference`, field, 'reference'));
  }
  return columns;
}
