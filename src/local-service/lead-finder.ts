import { setImmediate as nextTurn } from 'node:timers/promises';
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
  return (
    byName?.lead ?? described?.lead ?? (await namedLead(catalogue, plain)) ?? linkedLead(catalogue, text)
  );
}

/** What is asked for says nothing about whom. */
const asking =
  /\b(e-?mails?|mail|phones?|mobile|telephone|numbers?|address(es)?|contacts?|business|work|direct|verified|personal|official|professional|company|person|tell|summari[sz]e|latest|news)\b/gi;

/** A longer name is found only when everything in the text is about it. */
const mostNameWords = 12;
/** Look-ups of a name that take a few milliseconds; a lead that is found takes as long as `perLead` of them. */
const handful = 300;
const perLead = 10;

/** Of several leads that are named, the one most of whose facts are in the text; then the longer name. */
async function namedLead(catalogue: Catalogue, plain: string): Promise<Lead | undefined> {
  let best: { lead: Lead; weight: number } | undefined;
  let done = 0;
  for (const name of possibleNames(plain)) {
    const leads = catalogue.named(name);
    for (const lead of leads) {
      const facts = [...lead.facts.values(), ...lead.links.values()].filter(
        (fact) => fact.length > 2 && named(plain, fact),
      );
      const weight = facts.length * 1000 + lead.name.length;
      if (best === undefined || weight > best.weight) best = { lead, weight };
    }
    done += 1 + perLead * leads.length;
    if (done < handful) continue;
    done = 0;
    await nextTurn();
  }
  return best?.lead;
}

/** Every row of words of a plain text, once. */
function* possibleNames(plain: string): Generator<string> {
  const words = plain.split(' ').filter(Boolean);
  const seen = new Set<string>();
  for (const start of words.keys())
    for (let end = start + 1; end <= Math.min(start + mostNameWords, words.length); end += 1) {
      const name = ` ${words.slice(start, end).join(' ')} `;
      if (!seen.has(name)) yield name;
      seen.add(name);
    }
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
