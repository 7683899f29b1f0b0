import { limits } from '../../contract/limits.ts';
import { type ContactSearchRequest, type ContactSearchResult, contactTypes } from '../../contract/types.ts';
import { checkEnabled } from '../admission.ts';
import { noStore } from '../answer.ts';
import { answerBilled, type Outcome } from '../billed.ts';
import { oneOf, onlyFields, text } from '../fields.ts';
import { referenceOf } from '../lead.ts';
import { findLead } from '../lead-finder.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/contact-search */
export function contactSearch(service: Service, exchange: Exchange): Promise<void> {
  return answerBilled(service, exchange, ({ fields }) => {
    const request = toContactSearch(fields);
    checkEnabled(service, request.contact_type);
    const price = service.switches[`price_contact_${request.contact_type}`];
    return { cost: { price, units: 1 }, work: () => lookUp(service, request), headers: noStore };
  });
}

function toContactSearch(fields: Readonly<Record<string, unknown>>): ContactSearchRequest {
  onlyFields(fields, ['contact_type', 'objective']);
  return {
    contact_type: oneOf(fields, 'contact_type', contactTypes),
    objective: text(fields, 'objective', limits.contactObjective),
  };
}

async function lookUp(
  { catalogue, switches, now }: Service,
  request: ContactSearchRequest,
): Promise<Outcome> {
  const lead = await findLead(catalogue, request.objective);
  const content = lead?.[request.contact_type] ?? null;
  const reference = content === null || lead === undefined ? null : referenceOf(lead) || null;
  const body: ContactSearchResult = {
    object: 'contact_search_result',
    request,
    result: { content, reference },
    created_at: new Date(now()).toISOString(),
  };
  const charged = content !== null || switches.contact_billing === 'per_request';
  return { text: JSON.stringify(body), units: charged ? 1 : 0 };
}
