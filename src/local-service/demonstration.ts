import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { type EntityType, entityTypes } from '../contract/types.ts';
import type { CatalogueSource } from './catalogue-file.ts';
import type { Lead, NewLead } from './lead.ts';

/**
 * The demonstration catalogue: invented leads of all nine entity types, or of one. Addresses are in the reserved `.example` domain and phone
 * numbers in ranges reserved for fiction, so that they reach no one.
 */
export function demonstrationOf(type: EntityType | undefined) {
  const folder = join(import.meta.dirname, 'demonstration');
  // The build compresses the files.
  const isPacked = existsSync(join(folder, 'company.jsonl.br'));
  const files = (type === undefined ? entityTypes : [type]).map((one) =>
    readFileSync(join(folder, isPacked ? `${one}.jsonl.br` : `${one}.jsonl`)),
  );
  let lines: string[] | undefined;
  const linesOf = () => {
    lines ??= files.flatMap((file) =>
      (isPacked ? brotliDecompressSync(file) : file).toString().trimEnd().split('\n'),
    );
    return lines;
  };
  return {
    of: 'demonstration',
    kind: type ?? 'all',
    content: Buffer.concat(files),
    isWhole: type === undefined,
    // The index stores no text: leads are read from their files.
    leads: () => linesOf().map((line) => ({ lead: toIndexed(line), text: '' })),
    read: (place: number) => toLead(linesOf()[place - 1] as string),
  } as const satisfies CatalogueSource;
}

/**
 * Fills the placeholders of a line, which make the package 74 kB smaller. `{city}` is a fact of the lead; `{name:-}` is its name as in addresses,
 * with this separator between the words (`0`: none).
 */
function toIndexed(line: string) {
  const { entity_type: entityType, name, links, description, facts, email, phone } = JSON.parse(line);
  const filled = (text: string): string =>
    text.includes('{') ? text.replace(/\{(\w+)(?::(.))?\}/g, fill) : text;
  const fill = (_: string, fact: string, separator?: string): string => {
    const value = fact === 'name' ? name : `${facts[fact]}`;
    if (separator === undefined) return value;
    const letters = value.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    return letters.replace(/[^a-z0-9]+/g, separator === '0' ? '' : separator);
  };
  const texts = (some: object) =>
    Object.entries(some).map(([key, value]): [string, string] => [key, filled(`${value}`)]);
  const contact = () => ({ email: email === undefined ? null : filled(email), phone: phone ?? null });
  return {
    entityType,
    name,
    links: texts(links),
    description: filled(description),
    facts: texts(facts),
    contact,
  };
}

function toLead(line: string): NewLead {
  const { contact, ...lead } = toIndexed(line);
  const { name, links, description } = lead;
  const record = JSON.stringify({ name, links: Object.fromEntries(links), description });
  return { ...lead, ...contact(), sources: [], record };
}

/** The facts that the examples show. Types without a row have those of creators. */
const telling: Readonly<Partial<Record<EntityType, readonly [what: string, where: string, ...string[]]>>> = {
  person: ['title', 'city', 'industry'],
  company: ['industry', 'city'],
  shopify_store: ['product_category', 'country'],
  xiaohongshu: ['topic', 'city'],
  wechat: ['topic', 'city'],
};
const maxNamed = 15;

/** Examples for a search that found nothing, one per line. */
export function exampleSearches(type: EntityType, leads: readonly Lead[]): string[] {
  const facts = telling[type] ?? ['topic', 'language', 'country'];
  const known = facts.map((fact) => {
    const values = mostFrequent(leads, fact);
    const more = values.length > maxNamed ? ` · ${values.length - maxNamed} more` : '';
    return `${fact.replace('_', ' ')}: ${values.slice(0, maxNamed).join(' · ')}${more}`;
  });
  const [what, where] = facts;
  const [example = ''] = mostFrequent(leads, what);
  const [place = ''] = mostFrequent(
    leads.filter(({ facts }) => new Map(facts).get(what) === example),
    where,
  );
  return [
    `The demonstration has no ${type.replace('_', ' ')} that matches. It has:`,
    ...known,
    `For example: ${example} in ${place}`,
  ];
}

function mostFrequent(leads: readonly Lead[], fact: string): string[] {
  const counts = new Map<string, number>();
  for (const [name, text] of leads.flatMap(({ facts }) => facts))
    if (name === fact && text !== '') counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([text]) => text);
}
