import type { EntityType } from '../contract/types.ts';
import { type Catalogue, firstOf } from './catalogue.ts';
import { bareAddress, plainText } from './catalogue-index.ts';
import type { Lead } from './lead.ts';

/**
 * The one lead a text is about ("e-mail of Lena Weber, CTO at Acme"): the lead that has everything the text
 * says, else the one it names, else the one whose address or handle is in it. Undefined when there is none.
 */
export async function findLead(catalogue: Catalogue, text: string): Promise<Lead | undefined> {
  const about = text.replace(asking, ' ');
  const plain = plainText(about);
  const { matches } = await catalogue.search(undefined, about);
  const fitting = (await firstOf(matches, 100)).filter(({ coverage }) => coverage === 1);
  const byName = fitting.find(({ lead }) => named(plain, lead.name));
  // One word is enough to name a lead, but not to describe one.
  const described = fitting.find(({ words }) => words > 1);
  return byName?.lead ?? described?.lead ?? namedLead(catalogue, plain) ?? linkedLead(catalogue, text);
}

/** What is asked for says nothing about whom. */
const asking =
  /\b(e-?mails?|mail|phones?|mobile|telephone|numbers?|address(es)?|contacts?|business|work|direct|verified|personal|official|professional|company|person|tell|summari[sz]e|latest|news)\b/gi;

/** A longer name is found only when everything in the text is about it. */
const mostNameWords = 12;

/** Of several leads that are named, the one most of whose facts are in the text; then the longer name. */
function namedLead(catalogue: Catalogue, plain: string): Lead | undefined {
  const weightOf = ({ name, facts, links }: Lead): number =>
    [...facts.values(), ...links.values()].filter((fact) => fact.length > 2 && named(plain, fact)).length *
      1000 +
    name.length;
  const leads = catalogue.named(possibleNames(plain)).map((lead) => ({ lead, weight: weightOf(lead) }));
  return leads.sort((a, b) => b.weight - a.weight)[0]?.lead;
}

/** Every row of words of a plain text, once. */
function possibleNames(plain: string): string[] {
  const words = plain.split(' ').filter(Boolean);
  const names = words.flatMap((_, start) =>
    words.slice(start, start + mostNameWords).map((_, more) => words.slice(start, start + more + 1)),
  );
  return [...new Set(names.map((name) => ` ${name.join(' ')} `))];
}

function linkedLead(catalogue: Catalogue, text: string): Lead | undefined {
  const addresses =
    text.match(
      /(?<![\p{L}\p{N}-])(?:https?:\/\/)?[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?:\/[^\s,;)"']*)?/giu,
    ) ?? [];
  for (const address of addresses) {
    const lead = catalogue.linked(bareAddress(address));
    if (lead !== undefined) return lead;
  }
  return undefined;
}

/** Whether a name is in a text, whole words and in a row; the text is plain already. */
function named(plain: string, name: string): boolean {
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

/** The type that a question is about, by its words. */
export function typeIn(question: string): EntityType | undefined {
  return typeHints.find(([hint]) => hint.test(question))?.[1];
}
