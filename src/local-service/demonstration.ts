import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { EntityType } from '../contract/types.ts';
import type { Lead } from './lead.ts';

/**
 * The demonstration catalogue: invented leads of all nine entity types, in the form of anybody's own. Addresses are
 * on the reserved `.example` domain and phone numbers in ranges kept for fiction, so that none reaches anyone.
 */
export function demonstrationFile(): { content: Buffer; text: () => string } {
  const file = join(import.meta.dirname, 'demonstration.jsonl');
  // The build packs it.
  const packed = `${file}.br`;
  const isPacked = existsSync(packed);
  const content = readFileSync(isPacked ? packed : file);
  return { content, text: () => (isPacked ? brotliDecompressSync(content) : content).toString() };
}

interface Knowledge {
  readonly one: string;
  /** The facts that leads are found by, and how several of each are called. */
  readonly facts: Readonly<Record<string, string>>;
  readonly example: string;
}

const account = (one: string): Knowledge => ({
  one,
  facts: { topic: 'topics', language: 'languages', country: 'countries' },
  example: '{topic} in {language}',
});
const page = (one: string): Knowledge => ({
  one,
  facts: { topic: 'topics', city: 'cities' },
  example: '{topic}, {city}',
});
const knowledge: Readonly<Record<EntityType, Knowledge>> = {
  person: {
    one: 'person',
    facts: { title: 'titles', industry: 'industries', city: 'cities' },
    example: '{title} in {city}',
  },
  company: {
    one: 'company',
    facts: { industry: 'industries', city: 'cities' },
    example: '{industry} in {city}',
  },
  twitter_creator: account('creator on X'),
  youtube_creator: account('creator on YouTube'),
  tiktok_creator: account('creator on TikTok'),
  instagram_creator: account('creator on Instagram'),
  shopify_store: {
    one: 'store',
    facts: { product_category: 'products', country: 'countries' },
    example: '{product_category} in {country}',
  },
  xiaohongshu: page('account on Xiaohongshu'),
  wechat: page('account on WeChat'),
};

const mostNamed = 15;

/** What a search that found nothing might have looked for, line by line. */
export function whatIsKnown(type: EntityType, leads: readonly Lead[]): string[] {
  const { one, facts, example } = knowledge[type];
  let fitting = leads;
  const filled = example.replace(/\{(\w+)\}/g, (_, fact: string) => {
    const [commonest = ''] = commonestOf(fitting, fact);
    fitting = fitting.filter((lead) => lead.facts.get(fact) === commonest);
    return commonest;
  });
  return [
    `The demonstration has no ${one} that matches. It has:`,
    ...Object.entries(facts).map(([fact, several]) => `${several}: ${toList(commonestOf(leads, fact))}`),
    `For example: ${filled}`,
  ];
}

function commonestOf(leads: readonly Lead[], fact: string): string[] {
  const counts = new Map<string, number>();
  for (const { facts } of leads) {
    const value = facts.get(fact) ?? '';
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
}

function toList(values: readonly string[]): string {
  const more = values.length - mostNamed;
  // One more to name takes no more room than to say that there is one.
  return (more <= 1 ? values : [...values.slice(0, mostNamed), `${more} more`]).join(' · ');
}
