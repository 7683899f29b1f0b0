import { memberLayout, membersOf, restColumn, unique } from '../../columns/columns.ts';
import type { Column, Layout } from '../../columns/layout.ts';
import type { ExtractRequest } from '../../contract/types.ts';
import { createYielder } from '../../event-loop.ts';
import { arrayItems, type JsonText, kindOf, objectMembers, objectOf, withMembers } from '../../json/text.ts';
import { toExtractRequest } from '../../requests/lookups.ts';
import { createTargetText } from '../../requests/row-texts.ts';
import type { ExtractRows } from './kinds.ts';
import type { Lookup } from './row-kind.ts';
import { notFound, type RowOutcome } from './row-parts.ts';

export const extract = {
  layout: () => itemsLayout,
  // Each item is a line of its own, with its row's type and target.
  rows: (request) => ({
    field: 'target',
    toText: createTargetText(request.type),
    toBody: (target, names) => toExtractRequest({ ...request, target }, names),
    into: 'extract',
    records: 'items',
    join: () => ({
      columns: [],
      members: aboutItem,
      toRecords: ({ record = '{}' }, outcome, toSent) => toItems(request.type, outcome, toSent(record)),
    }),
    layout: itemsOfRowsLayout,
  }),
} as const satisfies Lookup<ExtractRequest, ExtractRows>;

/** Items of an extraction: each field that any item has, in the order of appearance. */
async function itemsLayout(items: readonly JsonText[], signal?: AbortSignal): Promise<Layout> {
  const names = new Set<string>();
  let allObjects = true;
  const yielder = createYielder(signal);
  for (const item of items) {
    for (const name of objectMembers(item).keys()) names.add(name);
    allObjects &&= kindOf(item) === 'object';
    if (yielder.isDue()) await yielder.yield();
  }
  const layout = { ...memberLayout(names), records: 'items' } as const;
  if (allObjects) return layout;
  // The interface promises objects, but anything else is paid for as well, and shown.
  const whole: Column = {
    header: unique(names, 'item', 'item'),
    from: (record) => (kindOf(record.text) === 'object' ? undefined : record.text),
  };
  return { ...layout, columns: [...layout.columns, whole] };
}

/** The members that are added to an item, or replace it. */
const aboutItem = ['type', 'target', 'extract_error'];

/** Pure: the items of a row, one per line, after the type and the target that they belong to. */
function toItems(type: string, { answer, failure }: RowOutcome, target: string): JsonText[] {
  const about = [
    ['type', JSON.stringify(type)],
    ['target', JSON.stringify(target)],
  ] as const;
  const items = answer === undefined ? [] : arrayItems(objectMembers(answer).get('data') ?? '[]');
  if (items.length === 0) {
    return [objectOf([...about, ['extract_error', JSON.stringify(failure?.message ?? notFound)]])];
  }
  return items.map((item) =>
    kindOf(item) === 'object' ? withMembers(about, withoutAbout(item)) : objectOf([...about, ['item', item]]),
  );
}

function itemsOfRowsLayout(records: readonly JsonText[]): Layout {
  const names = new Set(records.flatMap((record) => [...objectMembers(record).keys()]));
  for (const name of aboutItem) names.delete(name);
  const [type, target, error] = membersOf(aboutItem) as [Column, Column, Column];
  const items = membersOf(names);
  // The first rows decide the header. Fields that only later rows have go into this column.
  const other = restColumn(unique(new Set(names), 'other', 'extract'), [...names, ...aboutItem]);
  return {
    records: 'items',
    columns: [
      // On a screen the type is the same in each row, and failures are reported below.
      { ...type, inTable: 'yields' },
      target,
      ...items,
      { ...other, inTable: 'never' },
      { ...error, inTable: 'yields' },
    ],
  };
}

/** The item, with those members renamed that have the name of a column beside it. */
function withoutAbout(item: JsonText): JsonText {
  const members = objectMembers(item);
  if (!aboutItem.some((name) => members.has(name))) return item;
  const taken = new Set(members.keys());
  return objectOf(
    [...members].map(([name, value]) => [
      aboutItem.includes(name) ? unique(taken, name, 'item', '_') : name,
      value,
    ]),
  );
}
