import { createYielder } from '../event-loop.ts';
import { type JsonText, kindOf, objectMembers, stringOf } from '../json/text.ts';
import { free, memberLayout, membersOf } from './columns.ts';
import type { Column, Layout } from './layout.ts';
import { enriched, isContactFound, scoreOf } from './record-parts.ts';

/** Leads of a search, with the requested enrich fields. */
export function entityLayout(enrichFields: readonly string[] = []): Layout {
  return { columns: entityColumns(enrichFields), enrichFields };
}

function entityColumns(enrichFields: readonly string[]): Column[] {
  const columns: Column[] = [
    ...membersOf(['name', 'description']),
    { header: 'score', value: scoreOf },
    { header: 'score_reason', value: (record) => record.inner('score')?.member('reason') },
    ...membersOf(['website', 'linkedin_url'], 'links'),
    ...membersOf(['links']),
  ];
  const taken = new Set(columns.map(({ header }) => header));
  const part = (header: string, field: string, name: 'content' | 'reference'): Column => ({
    header: free(taken, header),
    value: (record) => enriched(record, field, name),
  });
  for (const field of new Set(enrichFields)) {
    columns.push(part(field, field, 'content'), part(`${field}_reference`, field, 'reference'));
  }
  return columns;
}

export const contactLayout: Layout = {
  columns: [
    ...membersOf(['contact_type', 'objective'], 'request'),
    ...membersOf(['content', 'reference'], 'result'),
    ...membersOf(['created_at']),
  ],
  sheet: (record) => [
    {
      header: stringOf(record.inner('request')?.member('contact_type')) ?? 'content',
      value: (answer) => (isContactFound(answer) ? answer.inner('result')?.member('content') : '"not found"'),
    },
    ...membersOf(['reference'], 'result'),
    ...membersOf(['objective'], 'request'),
  ],
};

/** An answer in another form than `{ Result, Citations }` is shown as it is. */
export const researchLayout: Layout = {
  prose: true,
  columns: [
    {
      header: 'result',
      value: (record) => record.inner('answer')?.member('Result') ?? record.member('answer'),
    },
    {
      header: 'citations',
      value: (record) =>
        record.inner('answer')?.member('Result') === undefined
          ? undefined
          : record.inner('answer')?.member('Citations'),
    },
  ],
};

/** The requested fields; for people also the others in the answer. */
export function enrichLayout(fields: readonly string[]): Layout {
  return {
    ...memberLayout(fields, 'answer'),
    sheet(record) {
      const answer = record.inner('answer');
      if (kindOf(answer?.text ?? 'null') !== 'object') return membersOf(['answer']);
      return membersOf(new Set([...fields, ...(answer?.names() ?? [])]), 'answer');
    },
  };
}

/** Items of an extraction: each field that any item has, in the order of appearance. */
export async function itemsLayout(items: readonly JsonText[], signal?: AbortSignal): Promise<Layout> {
  const names = new Set<string>();
  let allObjects = true;
  const yielder = createYielder(signal);
  for (const item of items) {
    for (const name of objectMembers(item).keys()) names.add(name);
    allObjects &&= kindOf(item) === 'object';
    if (yielder.isDue()) await yielder.yield();
  }
  const layout = memberLayout(names);
  if (allObjects) return layout;
  // The interface promises objects, but anything else is paid for as well, and shown.
  const whole: Column = {
    header: free(names, 'item', 'item'),
    value: (record) => (kindOf(record.text) === 'object' ? undefined : record.text),
  };
  return { ...layout, columns: [...layout.columns, whole] };
}
