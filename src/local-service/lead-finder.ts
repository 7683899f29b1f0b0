import type { Catalogue } from './catalogue.ts';
import { bareAddress } from './catalogue-index.ts';
import type { Lead } from './lead.ts';

/**
 * The one lead a text is about ("e-mail of Lena Weber, CTO at Acme"): the lead that has everything the text
 * says, else the one it names, else the one whose address or handle is in it. Undefined when there is none.
 */
export function findLead(catalogue: Catalogue, text: string): Lead | undefined {
  const about = text.replace(asking, ' ');
  const plain = plainText(about);
  const fitting = catalogue.search(undefined, about, 100).matches.filter(({ coverage }) => coverage === 1);
  const byName = fitting.find(({ lead }) => named(plain, lead.name));
  // One word is enough to name a lead, but not to describe one.
  const described = fitting.find(({ words }) => words > 1);
  return byName?.lead ?? described?.lead ?? namedLead(catalogue, about) ?? linkedLead(catalogue, text);
}

/** What is asked for says nothing about whom. */
const asking =
  /\b(e-?mails?|mail|phones?|mobile|telephone|numbers?|address(es)?|contacts?|business|work|direct|verified|personal|official|professional|company|person|tell|summari[sz]e|latest|news)\b/gi;

/** Of several leads that are named, the one most of whose facts are in the text; then the longer name. */
function namedLead(catalogue: Catalogue, text: string): Lead | undefined {
  const plain = plainText(text);
  let best: { lead: Lead; weight: number } | undefined;
  for (const lead of catalogue.named(text)) {
    if (!named(plain, lead.name)) continue;
    const facts = [...Object.values(lead.facts), ...Object.values(lead.links)].filter(
      (fact) => fact.length > 2 && named(plain, fact),
    );
    const weight = facts.length * 1000 + lead.name.length;
    if (best === undefined || weight > best.weight) best = { lead, weight };
  }
  return best?.lead;
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

function plainText(text: string): string {
  const letters = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return ` ${letters.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;
}
