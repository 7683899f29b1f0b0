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
  const text = () => (isPacked ? brotliDecompressSync(content) : content).toString();
  return { content, text: () => text().split('\n').map(filled).join('\n') };
}

/**
 * The file says nothing twice, which makes the package 74 kB smaller: `{city}` stands for that fact of the lead, and
 * `{name:-}` for its name as addresses have it, with this sign between its words (`0`: with none).
 */
function filled(line: string): string {
  if (line === '') return line;
  const { name, facts } = JSON.parse(line);
  return line.replace(/\{(\w+)(?::(.))?\}/g, (_, fact: string, separator?: string) => {
    const value = fact === 'name' ? name : String(facts[fact]);
    if (separator === undefined) return JSON.stringify(value).slice(1, -1);
    const letters = value.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    return letters.replace(/[^a-z0-9]+/g, separator === '0' ? '' : separator);
  });
}

/** What a lead of each type is called, and the facts by which they are found. */
const knowledge: Readonly<Record<EntityType, readonly [one: string, ...facts: string[]]>> = {
  person: ['person', 'title', 'city', 'industry'],
  company: ['company', 'industry', 'city'],
  twitter_creator: ['creator on X', 'topic', 'language', 'country'],
  youtube_creator: ['creator on YouTube', 'topic', 'language', 'country'],
  tiktok_creator: ['creator on TikTok', 'topic', 'language', 'country'],
  instagram_creator: ['creator on Instagram', 'topic', 'language', 'country'],
  shopify_store: ['store', 'product_category', 'country'],
  xiaohongshu: ['account on Xiaohongshu', 'topic', 'city'],
  wechat: ['account on WeChat', 'topic', 'city'],
};
const mostNamed = 15;

/** What a search that found nothing might have looked for, line by line. */
export function whatIsKnown(type: EntityType, leads: readonly Lead[]): string[] {
  const [one, ...facts] = knowledge[type];
  const known = facts.map((fact) => {
    const values = commonestOf(leads, fact);
    const more = values.length > mostNamed ? ` · ${values.length - mostNamed} more` : '';
    return `${fact.replace('_', ' ')}: ${values.slice(0, mostNamed).join(' · ')}${more}`;
  });
  const [what = '', where = ''] = facts;
  const [example = ''] = commonestOf(leads, what);
  const [place = ''] = commonestOf(
    leads.filter((lead) => lead.facts.get(what) === example),
    where,
  );
  return [
    `The demonstration has no ${one} that matches. It has:`,
    ...known,
    `For example: ${example} in ${place}`,
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
