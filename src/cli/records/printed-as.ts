import { type BodyOf, kinds, type PaidKind } from '../../operations/kinds.ts';
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

/** Pure: how the records of a purchase are printed. */
export function printedAs<Kind extends PaidKind>(kind: Kind, body: BodyOf<Kind>): Looks {
  return { shape: kinds[kind].prints, layout: looks[kind](body) };
}
