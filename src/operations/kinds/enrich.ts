import { memberLayout, membersOf } from '../../columns/columns.ts';
import type { Layout } from '../../columns/layout.ts';
import type { EnrichRequest } from '../../contract/types.ts';
import { kindOf } from '../../json/text.ts';
import { toEnrichRequest } from '../../requests/lookups.ts';
import { createIdentityText } from '../../requests/row-texts.ts';
import { joinWith, type Lookup } from './row-kind.ts';

type Fields = Pick<EnrichRequest, 'enrich_fields'>;

export const enrich = {
  layout: (request) => enrichLayout(fieldsOf(request)),
  rows(request) {
    const { enrich_fields } = request;
    const fields = fieldsOf(request);
    return {
      field: 'entity_context',
      toText: createIdentityText(),
      toBody: (entity_context, names) => toEnrichRequest({ entity_context, enrich_fields }, names),
      into: 'enrich',
      records: 'enriched',
      ...joinWith(
        (answer) => answer.member('answer'),
        () => fields.map((field) => [field, [[field]]]),
      ),
      fields,
    };
  },
} as const satisfies Lookup<EnrichRequest, Fields>;

function fieldsOf({ enrich_fields: { properties } }: Fields): string[] {
  return Object.keys(properties as object);
}

/** The requested fields; for people also the others in the answer. */
function enrichLayout(fields: readonly string[]): Layout {
  return {
    ...memberLayout(fields, 'answer'),
    records: 'enriched',
    sheet(record) {
      const answer = record.inner('answer');
      if (kindOf(answer?.text ?? 'null') !== 'object') return membersOf(['answer']);
      return membersOf(new Set([...fields, ...(answer?.names() ?? [])]), 'answer');
    },
  };
}
