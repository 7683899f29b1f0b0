import { limits } from '../../contract/limits.ts';
import { type DeepSearchResponse, type EntityType, noResultTexts } from '../../contract/types.ts';
import { authenticate, receive } from '../admission.ts';
import { answer } from '../answer.ts';
import { type Outcome, runBilled } from '../billed.ts';
import type { Catalogue } from '../catalogue.ts';
import { referenceOf } from '../facts.ts';
import { text } from '../fields.ts';
import type { Lead } from '../lead.ts';
import { findLead } from '../lead-finder.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/deep-search */
export async function deepSearch(service: Service, exchange: Exchange): Promise<void> {
  const caller = authenticate(service, exchange);
  const received = await receive(exchange);
  const query = text(received.body.fields, 'query', limits.deepSearchQuery);
  const found = runBilled(service, exchange, caller, received, {
    cost: { price: service.switches.price_research, units: 1 },
    work: () => research(service, query),
  });
  answer(exchange, 200, found);
}

function research({ catalogue, switches }: Service, query: string): Outcome {
  const findings = aboutOne(catalogue, query) ?? aboutMany(catalogue, query);
  const body: DeepSearchResponse =
    findings === undefined
      ? { success: false, answer: { answer: noResultTexts.deepSearch } }
      : { success: true, answer: findings };
  return { text: JSON.stringify(body), units: body.success || switches.no_result_bills === 'yes' ? 1 : 0 };
}

interface Findings {
  readonly Result: string;
  readonly Citations: readonly string[];
}

function aboutOne(catalogue: Catalogue, query: string): Findings | undefined {
  const lead = findLead(catalogue, query);
  if (lead === undefined || !query.toLowerCase().includes(lead.name.toLowerCase())) return undefined;
  const facts = Object.entries(lead.facts).map(([name, fact]) => `${name.replaceAll('_', ' ')}: ${fact}`);
  return {
    Result: [describe(lead), facts.length === 0 ? '' : `Known facts: ${facts.join('; ')}.`].join(' ').trim(),
    Citations: Object.values(lead.links),
  };
}

/** What a question is about, by its words. */
const typeHints: readonly (readonly [RegExp, EntityType])[] = [
  [/youtube/i, 'youtube_creator'],
  [/tiktok/i, 'tiktok_creator'],
  [/instagram/i, 'instagram_creator'],
  [/twitter|\bX creators?\b/i, 'twitter_creator'],
  [/xiaohongshu|小红书/i, 'xiaohongshu'],
  [/wechat|微信|公众号/i, 'wechat'],
  [/\b(stores?|shops?|shopify)\b/i, 'shopify_store'],
  [/\b(who|people|persons?|founders?|c[etfmo]os?|managers?|engineers?|designers?)\b/i, 'person'],
  [/\b(compan(y|ies)|startups?|firms?|businesses)\b/i, 'company'],
];

/** How many fit, and the first of them. */
function aboutMany(catalogue: Catalogue, query: string): Findings | undefined {
  const wanted = typeHints.find(([hint]) => hint.test(query))?.[1];
  const all = catalogue.search(wanted, query).matches;
  // Without a word that says so: companies where there are any, else the kind of the best match.
  const type =
    wanted ?? (all.some(({ lead }) => lead.entityType === 'company') ? 'company' : all[0]?.lead.entityType);
  const matches = all.filter(({ lead }) => lead.entityType === type);
  const [best] = matches;
  if (best === undefined) return undefined;
  const first = matches.slice(0, 5).map(({ lead }) => lead);
  const count = matches.length === 1 ? 'One lead' : `${matches.length} leads`;
  return {
    Result: `${count} of the catalogue fit (${best.reason}). ${first.map(describe).join(' ')}`,
    Citations: first.map(referenceOf).filter((link) => link !== ''),
  };
}

function describe({ name, record }: Lead): string {
  const { description } = JSON.parse(record) as { description?: unknown };
  return typeof description === 'string' && description !== '' ? `${name}: ${description}` : `${name}.`;
}
