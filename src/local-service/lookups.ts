import { limits } from '../contract/limits.ts';
import { type ContactSearchResult, contactTypes, noResultTexts } from '../contract/types.ts';
import { allMembers } from '../json/text.ts';
import { billed, type Outcome } from './admission.ts';
import { checkEnabled } from './authentication.ts';
import { fillSchema, toSchema } from './enrichment.ts';
import { oneOf, readFields, text } from './fields.ts';
import { type Lead, referenceOf } from './lead.ts';
import { findLead, firstOf, typeIn } from './lead-finder.ts';
import type { Service } from './service.ts';

const contactFields = { contact_type: oneOf(contactTypes), objective: text(limits.contactObjective) };

/** POST /v1/contact-search */
export const contactSearch = billed((service, { fields }) => {
  const request = readFields(fields, contactFields);
  checkEnabled(service, request.contact_type);
  const { catalogue, switches, now } = service;
  const work = async () => {
    const lead = await findLead(catalogue, request.objective);
    const content = lead?.[request.contact_type] ?? null;
    const reference = lead === undefined || content === null ? null : referenceOf(lead) || null;
    const body: ContactSearchResult = {
      object: 'contact_search_result',
      request,
      result: { content, reference },
      created_at: new Date(now()).toISOString(),
    };
    const isCharged = content !== null || switches.contact_billing === 'per_request';
    return { text: JSON.stringify(body), units: isCharged ? 1 : 0 };
  };
  return { price: switches[`price_contact_${request.contact_type}`], units: 1, work };
});

/** POST /v1/enrich */
export const enrich = billed((service, { fields, text: source }) => {
  const { entity_context } = readFields(fields, { entity_context: text(limits.enrichContext) }, 'open');
  const [, schemaSource = ''] = allMembers(source).find(([name]) => name === 'enrich_fields') ?? [];
  const schema = toSchema(fields.enrich_fields, schemaSource);
  const work = async () => {
    const lead = await findLead(service.catalogue, entity_context);
    return toOutcome(service, fillSchema(schema, entity_context, lead), noResultTexts.enrich);
  };
  return { price: service.switches.price_enrich, units: 1, work };
});

/** POST /v1/deep-search */
export const deepSearch = billed((service, { fields }) => {
  const { query } = readFields(fields, { query: text(limits.deepSearchQuery) }, 'open');
  const { catalogue, switches } = service;
  const work = async () => {
    const findings = (await aboutOne(catalogue, query)) ?? (await aboutMany(catalogue, query));
    return toOutcome(service, findings, noResultTexts.deepSearch);
  };
  return { price: switches.price_research, units: 1, work };
});

/** The answer of an operation that may have no result; `none` is the text for that. */
function toOutcome({ switches }: Service, answer: object | undefined, none: string): Outcome {
  const success = answer !== undefined;
  const text = JSON.stringify({ success, answer: answer ?? { answer: none } });
  return { text, units: success || switches.no_result_bills === 'yes' ? 1 : 0 };
}

async function aboutOne(catalogue: Service['catalogue'], query: string) {
  const lead = await findLead(catalogue, query);
  if (lead === undefined || !query.toLowerCase().includes(lead.name.toLowerCase())) return undefined;
  const facts = lead.facts.map(([name, fact]) => `${name.replaceAll('_', ' ')}: ${fact}`);
  const known = facts.length === 0 ? '' : ` Known facts: ${facts.join('; ')}.`;
  return { Result: `${describe(lead)}${known}`, Citations: lead.links.map(([, link]) => link) };
}

/** Maximum matches that are counted exactly. */
const maxCounted = 5000;

/** An answer with the number of matching leads, and the first of them. */
async function aboutMany(catalogue: Service['catalogue'], query: string) {
  const wanted = typeIn(query);
  const all = firstOf((await catalogue.search(wanted, query)).matches, maxCounted);
  // If the query names no type, take companies if there are any, otherwise the type of the best lead.
  const isCompany = all.some(({ lead }) => lead.entityType === 'company');
  const type = wanted ?? (isCompany ? 'company' : all[0]?.lead.entityType);
  const matches = all.filter(({ lead }) => lead.entityType === type || lead.entityType === null);
  if (matches[0] === undefined) return undefined;
  const first = matches.slice(0, 5).map(({ lead }) => lead);
  const more = all.length === maxCounted ? 'at least ' : '';
  const count = matches.length === 1 ? '1 lead' : `${more}${matches.length} leads`;
  return {
    Result: `Found in the catalogue: ${count} (${matches[0].reason}). ${first.map(describe).join(' ')}`,
    Citations: first.map(referenceOf).filter((link) => link !== ''),
  };
}

function describe({ name, description }: Lead): string {
  return description === '' ? `${name}.` : `${name}: ${description}`;
}
