import { limits } from '../contract/limits.ts';
import {
  type ContactSearchRequest,
  type ContactSearchResult,
  type CreditBalance,
  contactTypes,
  noResultTexts,
} from '../contract/types.ts';
import { allMembers } from '../json/text.ts';
import { authenticate, checkEnabled, endOrphans, openAccount } from './admission.ts';
import { answer, noStore } from './answer.ts';
import { answerBilled, type Outcome, toOutcome } from './billed.ts';
import { type Catalogue, firstOf } from './catalogue.ts';
import { fillSchema, toSchema } from './enrichment.ts';
import { type Lead, referenceOf } from './lead.ts';
import { findLead, typeIn } from './lead-finder.ts';
import { oneOf, onlyFields, text } from './request.ts';
import type { Exchange, Service } from './service.ts';
import { fundsOf } from './store.ts';

/** GET /v1/credit/balance */
export async function balance(service: Service, exchange: Exchange): Promise<void> {
  const { store, switches, now } = service;
  const caller = authenticate(service, exchange);
  const funds = store.transaction((rows) => {
    openAccount(rows, caller, switches.opening_credits, now());
    endOrphans(service, rows);
    // rule: balance.account
    return fundsOf(rows, caller.key.account);
  });
  const refresh = switches.next_refresh_s;
  // rule: balance.fields, balance.times, balance.no-store
  const body: CreditBalance = {
    object: 'credit_balance',
    available_credits: funds?.available ?? 0,
    updated_at: toDateTime(funds?.updatedAt ?? now()),
    ...(refresh === 0 ? {} : { next_credit_refresh_at: toDateTime(now() + refresh * 1000) }),
  };
  answer(exchange, 200, body, noStore);
}

function toDateTime(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

/** POST /v1/contact-search */
export function contactSearch(service: Service, exchange: Exchange): Promise<void> {
  return answerBilled(service, exchange, ({ fields }) => {
    onlyFields(fields, ['contact_type', 'objective']);
    const request = {
      contact_type: oneOf(fields, 'contact_type', contactTypes),
      // rule: contact.objective
      objective: text(fields, 'objective', limits.contactObjective),
    };
    checkEnabled(service, request.contact_type);
    const price = service.switches[`price_contact_${request.contact_type}`];
    // rule: contact.headers
    return { cost: { price, units: 1 }, work: () => lookUp(service, request), headers: noStore };
  });
}

async function lookUp(
  { catalogue, switches, now }: Service,
  request: ContactSearchRequest,
): Promise<Outcome> {
  const lead = await findLead(catalogue, request.objective);
  const content = lead?.[request.contact_type] ?? null;
  // rule: contact.fields, contact.echo, contact.not-found, contact.created-at
  const body: ContactSearchResult = {
    object: 'contact_search_result',
    request,
    result: { content, reference: content === null || lead === undefined ? null : referenceOf(lead) || null },
    created_at: new Date(now()).toISOString(),
  };
  // rule: contact.charged
  const charged = content !== null || switches.contact_billing === 'per_request';
  return { text: JSON.stringify(body), units: charged ? 1 : 0 };
}

/** POST /v1/enrich */
export function enrich(service: Service, exchange: Exchange): Promise<void> {
  const { catalogue, switches } = service;
  return answerBilled(service, exchange, ({ fields, text: source }) => {
    // rule: enrich.context
    const context = text(fields, 'entity_context', limits.enrichContext);
    const schemaSource = allMembers(source).find(([name]) => name === 'enrich_fields')?.[1] ?? '';
    const schema = toSchema(fields.enrich_fields, schemaSource);
    const work = async () => {
      const filled = fillSchema(schema, context, await findLead(catalogue, context));
      return toOutcome(service, filled, noResultTexts.enrich);
    };
    return { cost: { price: switches.price_enrich, units: 1 }, work };
  });
}

/** POST /v1/deep-search */
export function deepSearch(service: Service, exchange: Exchange): Promise<void> {
  const { catalogue, switches } = service;
  return answerBilled(service, exchange, ({ fields }) => {
    // rule: research.query
    const query = text(fields, 'query', limits.deepSearchQuery);
    const work = async () => {
      // rule: research.answer
      const findings = (await aboutOne(catalogue, query)) ?? (await aboutMany(catalogue, query));
      return toOutcome(service, findings, noResultTexts.deepSearch);
    };
    return { cost: { price: switches.price_research, units: 1 }, work };
  });
}

interface Findings {
  readonly Result: string;
  readonly Citations: readonly string[];
}

async function aboutOne(catalogue: Catalogue, query: string): Promise<Findings | undefined> {
  const lead = await findLead(catalogue, query);
  if (lead === undefined || !query.toLowerCase().includes(lead.name.toLowerCase())) return undefined;
  const facts = [...lead.facts].map(([name, fact]) => `${name.replaceAll('_', ' ')}: ${fact}`);
  return {
    Result: [describe(lead), facts.length === 0 ? '' : `Known facts: ${facts.join('; ')}.`].join(' ').trim(),
    Citations: [...lead.links.values()],
  };
}

/** Counting stops here: nobody needs the exact number of more leads. */
const mostCounted = 5000;

/** How many fit, and the first of them. */
async function aboutMany(catalogue: Catalogue, query: string): Promise<Findings | undefined> {
  const wanted = typeIn(query);
  const all = await firstOf((await catalogue.search(wanted, query)).matches, mostCounted);
  // If no word names a type: companies, if there are any, otherwise the type of the best match.
  const type =
    wanted ?? (all.some(({ lead }) => lead.entityType === 'company') ? 'company' : all[0]?.lead.entityType);
  const matches = all.filter(({ lead }) => lead.entityType === type || lead.entityType === null);
  const [best] = matches;
  if (best === undefined) return undefined;
  const first = matches.slice(0, 5).map(({ lead }) => lead);
  const more = all.length === mostCounted ? 'at least ' : '';
  const count = matches.length === 1 ? '1 lead' : `${more}${matches.length} leads`;
  return {
    Result: `Found in the catalogue: ${count} (${best.reason}). ${first.map(describe).join(' ')}`,
    Citations: first.map(referenceOf).filter((link) => link !== ''),
  };
}

function describe({ name, description }: Lead): string {
  return description === '' ? `${name}.` : `${name}: ${description}`;
}
