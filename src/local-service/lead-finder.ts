import type { EntityType } from '../contract/types.ts';
import { bareAddress, type Catalogue, plainText } from './catalogue.ts';
import type { Lead } from './lead.ts';

export function firstOf<Item>(items: Iterable<Item>, max: number): Item[] {
  const first: Item[] = [];
  for (const item of items) if (first.push(item) >= max) break;
  return first;
}

/**
 * The lead that a text is about ("e-mail of Lena Weber, CTO at Acme"): one that matches the whole text, otherwise one that is named in it, otherwise
 * one whose address or handle is in it. Undefined if there is none.
 */
export async function findLead(catalogue: Catalogue, text: string): Promise<Lead | undefined> {
  const about = text.replace(asking, ' ');
  const plain = plainText(about);
  const { matches } = await catalogue.search(undefined, about);
  const fitting = firstOf(matches, 100).filter(({ isWhole }) => isWhole);
  const byName = fitting.find(({ lead }) => isNamed(plain, lead.name));
  // One word is enough to name a lead, but not to describe one.
  const described = byName ?? fitting.find(({ words }) => words > 1);
  const found = described?.lead ?? (await namedLead(catalogue, plain));
  return found ?? (await catalogue.called(addressesIn(text)))[0];
}

/** Words that say what is wanted, and nothing about the lead. */
const asking =
  /\b(e-?mails?|mail|phones?|mobile|telephone|numbers?|address(es)?|contacts?|business|work|direct|verified|personal|official|professional|company|person|tell|summari[sz]e|latest|news)\b/gi;

/** A longer name is only found if the whole text describes the lead. */
const maxNameWords = 12;

/** If several leads are named, the one with the most facts in the text, then the one with the longer name. */
async function namedLead(catalogue: Catalogue, plain: string): Promise<Lead | undefined> {
  const words = plain.trim().split(' ');
  const names = words.flatMap((_, start) => {
    const run = words.slice(start, start + maxNameWords);
    return run.map((_, more) => ` ${run.slice(0, more + 1).join(' ')} `);
  });
  const weighed = (await catalogue.called([...new Set(names)])).map((lead) => {
    const stated = [...lead.facts, ...lead.links].filter(
      ([, text]) => text.length > 2 && isNamed(plain, text),
    );
    return { lead, weight: 1000 * stated.length + lead.name.length };
  });
  return weighed.sort((a, b) => b.weight - a.weight)[0]?.lead;
}

function addressesIn(text: string): string[] {
  const addresses = text.match(
    /(?<![\p{L}\p{N}-])(?:https?:\/\/)?[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?:\/[^\s,;)"']*)?/giu,
  );
  return (addresses ?? []).map(bareAddress);
}

/** Whether a plain text contains a name, as whole words in a row. */
function isNamed(plain: string, name: string): boolean {
  const plainName = plainText(name);
  return plainName.length > 2 && plain.includes(plainName);
}

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

/** The type that a question mentions. */
export function typeIn(question: string): EntityType | undefined {
  return typeHints.find(([hint]) => hint.test(question))?.[1];
}
