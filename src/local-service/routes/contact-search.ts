import { limits } from '../../contract/limits.ts';
import { type ContactSearchRequest, type ContactSearchResult, contactTypes } from '../../contract/types.ts';
import { authenticate, checkEnabled, receive } from '../admission.ts';
import { answer, noStore } from '../answer.ts';
import { type Outcome, runBilled } from '../billed.ts';
import { oneOf, onlyFields, text } from '../fields.ts';
import { referenceOf } from '../lead-answers.ts';
import { findLead } from '../lead-finder.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/contact-search */
export async function contactSearch(service: Service, exchange: Exchange): Promise<void> {
  const caller = authenticate(service, exchange);
  const received = await receive(exchange);
  const request = toContactSearch(received.body.fields);
  checkEnabled(service, request.contact_type);
  const { price_contact_email: email, price_contact_phone: phone } = service.switches;
  const found = await runBilled(service, exchange, caller, received, {
    cost: { price: request.contact_type === 'email' ? email : phone, units: 1 },
    work: () => lookUp(service, request),
  });
  answer(exchange, 200, found, noStore);
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
