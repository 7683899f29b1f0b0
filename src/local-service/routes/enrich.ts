import { limits } from '../../contract/limits.ts';
import { type EnrichResponse, noResultTexts } from '../../contract/types.ts';
import type { Schema } from '../../json/schema-size.ts';
import { allMembers } from '../../json/text.ts';
import { authenticate, receive } from '../admission.ts';
import { answer } from '../answer.ts';
import { runBilled } from '../billed.ts';
import { toSchema } from '../enrich-schema.ts';
import { fillSchema } from '../enrichment.ts';
import { text } from '../fields.ts';
import { findLead } from '../lead-finder.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/enrich */
export async function enrich(service: Service, exchange: Exchange): Promise<void> {
  const caller = authenticate(service, exchange);
  const received = await receive(exchange);
  const { fields, text: source } = received.body;
  const context = text(fields, 'entity_context', limits.enrichContext);
  const schemaSource = allMembers(source).find(([name]) => name === 'enrich_fields')?.[1] ?? '';
  const schema = toSchema(fields.enrich_fields, schemaSource);
  const filled = await runBilled(service, exchange, caller, received, {
    cost: { price: service.switches.price_enrich, units: 1 },
    work: async () => {
      const body = await fillFrom(service, context, schema);
      const charged = body.success || service.switches.no_result_bills === 'yes';
      return { text: JSON.stringify(body), units: charged ? 1 : 0 };
    },
  });
  answer(exchange, 200, filled);
}

async function fillFrom({ catalogue }: Service, context: string, schema: Schema): Promise<EnrichResponse> {
  const filled = fillSchema(schema, context, await findLead(catalogue, context));
  return filled === undefined
    ? { success: false, answer: { answer: noResultTexts.enrich } }
    : { success: true, answer: filled };
}
