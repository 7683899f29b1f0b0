import { limits } from '../../contract/limits.ts';
import { type DeepSearchResponse, type EntityType, noResultTexts } from '../../contract/types.ts';
import { answerBilled, type Outcome, toOutcome } from '../billed.ts';
import { type Catalogue, firstOf } from '../catalogue.ts';
import { text } from '../fields.ts';
import { type Lead, referenceOf } from '../lead.ts';
import { findLead } from '../lead-finder.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/deep-search */
export function deepSearch(service: Service, exchange: Exchange): Promise<void> {
  return answerBilled(service, exchange, ({ fields }) => {
    const query = text(fields, 'query', limits.deepSearchQuery);
    return {
      cost: { price: service.switches.price_research, units: 1 },
      work: () => research(service, query),
    };
  });
}

async function research(service: Service, query: string): Promise<Outcome> {
  const { catalogue } = service;
  const findings = (await aboutOne(catalogue, query)) ?? (await aboutMany(catalogue, query));
  const body: DeepSearchResponse =
    findings === undefined
      ? { success: false, answer: { answer: noResultTexts.deepSearch } }
      : { success: true, answer: findings };
  return toOutcome(service, body);
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

/** Counting stops here: nobody needs the exact number of more leads. */
const mostCounted = 5000;

/** How many fit, and the first of them. */
async function aboutMany(catalogue: Catalogue, query: string): Promise<Findings | undefined> {
  const wanted = typeHints.find(([hint]) => hint.test(query))?.[1];
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

function describe(lead: Lead): string {
  return lead.description === '' ? `${lead.name}.` : `${lead.name}: ${lead.description}`;
}
