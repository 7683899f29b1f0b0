import { type BodyOf, kinds, type ListKind, type PaidKind } from '../../operations/kinds.ts';
import {
  contactLayout,
  enrichLayout,
  entityLayout,
  itemsLayout,
  memberLayout,
  researchLayout,
} from '../../output/columns.ts';
import type { Printed } from './record-output.ts';

type Looks = Pick<Printed, 'shape' | 'layout'>;

/** How what each paid kind brings is laid out, by its request: the first time, and when it is shown again. */
const looks: { readonly [Kind in PaidKind]: (body: BodyOf<Kind>) => Looks['layout'] } = {
  search: ({ enrich_fields }) => entityLayout(enrich_fields),
  'task create': () => memberLayout(['leads_search_id', 'idempotency_key', 'request_id']),
  'task run': ({ enrich_fields }) => entityLayout(enrich_fields),
  contact: () => contactLayout,
  research: () => researchLayout,
  enrich: ({ enrich_fields: { properties } }) => enrichLayout(Object.keys(properties as object)),
  extract: () => itemsLayout,
};

/** How the answers of a list are laid out when they are shown again, without the rows that they were bought for. */
export function answersAs(list: ListKind, { schema }: Readonly<Record<string, unknown>>): Looks['layout'] {
  switch (list) {
    case 'contact list':
      return contactLayout;
    case 'research list':
      return researchLayout;
    case 'enrich list':
      return enrichLayout(Object.keys(JSON.parse(String(schema)).properties));
    case 'extract list':
      return itemsLayout;
  }
}

/** Pure: how the records of a purchase are printed. */
export function printedAs<Kind extends PaidKind>(kind: Kind, body: BodyOf<Kind>): Looks {
  return { shape: kinds[kind].prints, layout: looks[kind](body) };
}
