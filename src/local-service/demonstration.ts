import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { EntityType } from '../contract/types.ts';
import type { CatalogueFile } from './catalogue-file.ts';
import type { Lead } from './lead.ts';

/**
 * The demonstration catalogue: invented leads of all nine entity types, in the same form as a user's own. Addresses are in the reserved
 * `.example` domain and phone numbers in ranges reserved for fiction, so that they reach no one.
 */
export function demonstrationFile(): CatalogueFile {
  const file = join(import.meta.dirname, 'demonstration.jsonl');
  // The build compresses it.
  const isPacked = existsSync(`${file}.br`);
  const content = readFileSync(isPacked ? `${file}.br` : file);
  const text = () => (isPacked ? brotliDecompressSync(content) : content).toString();
  const bytes = () => Buffer.from(text().split('\n').map(filled).join('\n'));
  return { path: 'the demonstration', kind: 'demonstration', content, bytes };
}

/**
 * The file says nothing twice, which makes the package 74 kB smaller. `{city}` means that fact of the lead, and `{name:-}` its name as in
 * addresses, with this sign between its words (`0`: with none).
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

/** The facts by which leads are found. Types without a row have those of creators. */
const telling: Readonly<Partial<Record<EntityType, readonly [what: string, where: string, ...string[]]>>> = {
  person: ['title', 'city', 'industry'],
  company: ['industry', 'city'],
  shopify_store: ['product_category', 'country'],
  xiaohongshu: ['topic', 'city'],
  wechat: ['topic', 'city'],
};
const maxNamed = 15;

/** Examples of what a search that found nothing could look for, one per line. */
export function whatIsKnown(type: EntityType, leads: readonly Lead[]): string[] {
  const facts = telling[type] ?? ['topic', 'language', 'country'];
  const known = facts.map((fact) => {
    const values = commonestOf(leads, fact);
    const more = values.length > maxNamed ? ` · ${values.length - maxNamed} more` : '';
    return `${fact.replace('_', ' ')}: ${values.slice(0, maxNamed).join(' · ')}${more}`;
  });
  const [what, where] = facts;
  const [example = ''] = commonestOf(leads, what);
  const [place = ''] = commonestOf(
    leads.filter(({ facts }) => new Map(facts).get(what) === example),
    where,
  );
  return [
    `The demonstration has no ${type.replace('_', ' ')} that matches. It has:`,
    ...known,
    `For example: ${example} in ${place}`,
  ];
}

function commonestOf(leads: readonly Lead[], fact: string): string[] {
  const counts = new Map<string, number>();
  for (const [name, text] of leads.flatMap(({ facts }) => facts))
    if (name === fact && text !== '') counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([text]) => text);
}
