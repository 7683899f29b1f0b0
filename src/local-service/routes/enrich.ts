import { limits } from '../../contract/limits.ts';
import { type EnrichResponse, noResultTexts } from '../../contract/types.ts';
import type { Schema } from '../../json/schema-size.ts';
import { allMembers } from '../../json/text.ts';
import { answerBilled, toOutcome } from '../billed.ts';
import { toSchema } from '../enrich-schema.ts';
import { fillSchema } from '../enrichment.ts';
import { text } from '../fields.ts';
import { findLead } from '../lead-finder.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/enrich */
export function enrich(service: Service, exchange: Exchange): Promise<void> {
  return answerBilled(service, exchange, ({ fields, text: source }) => {
    const context = text(fields, 'entity_context', limits.enrichContext);
    const schemaSource = allMembers(source).find(([name]) => name === 'enrich_fields')?.[1] ?? '';
    const schema = toSchema(fields.enrich_fields, schemaSource);
    return {
      cost: { price: service.switches.price_enrich, units: 1 },
      work: async () => toOutcome(service, await fillFrom(service, context, schema)),
    };
  });
}

async function fillFrom({ catalogue }: Service, context: string, schema: Schema): Promise<EnrichResponse> {
  const filled = fillSchema(schema, context, await findLead(catalogue, context));
  return filled === undefined
    ? { success: false, answer: { answer: noResultTexts.enrich } }
    : { success: true, answer: filled };
}
