import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EntityType, entityTypes } from '../contract/types.ts';
import type { Rows } from './database.ts';
import type { CatalogueRecord } from './lead.ts';
import { longestPhrase, toIndexText } from './objective.ts';
import { toKey, withoutAccents } from './vocabulary.ts';

const schema = `
  CREATE TABLE leads (
    id INTEGER PRIMARY KEY, entity_type TEXT, name TEXT NOT NULL, identity TEXT NOT NULL, record TEXT NOT NULL,
    links TEXT NOT NULL, facts TEXT NOT NULL, sources TEXT NOT NULL, email TEXT, phone TEXT
  );
  CREATE TABLE places (place TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE phrases (phrase TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE names (name TEXT NOT NULL, id INTEGER NOT NULL REFERENCES leads);
  CREATE TABLE addresses (address TEXT NOT NULL, id INTEGER NOT NULL REFERENCES leads);
  CREATE VIRTUAL TABLE words USING fts5 (
    name, description, links, facts, kind, types, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
  );
`;

/** Facts that say where a lead is. A place that is asked for is never made up for by other words. */
const placeFacts = /^(city|country|location|region|state)$/;
/** Facts that say what a lead is. A word that is in one of these says more than the same word elsewhere. */
const kindFacts =
  /^(industry|sector|(product_)?category|topic|niche|(job_)?title|role|seniority|department|format|language|gender|(funding_)?stage|city|country|location|region|state)$/;

/** A word that nobody writes, so that no phrase goes on from one fact to the next. */
const apart = ' ǀ ';

/** Leads that are indexed in a few milliseconds. */
const handful = 100;

/** Fills a new database with leads, and gives everything else its turn in between. */
export async function writeCatalogue(rows: Rows, records: Iterable<CatalogueRecord>): Promise<void> {
  rows.exec(schema);
  let id = 0;
  for (const record of records) {
    id += 1;
    writeLead(rows, id, record);
    if (id % handful === 0) await nextTurn();
  }
  rows.exec(`
    CREATE INDEX leads_by_type ON leads (entity_type);
    CREATE INDEX names_by_name ON names (name);
    CREATE INDEX addresses_by_address ON addresses (address);
  `);
}

function writeLead(rows: Rows, id: number, lead: CatalogueRecord): void {
  const { entityType, name, description, links, record, facts, sources, email, phone } = lead;
  rows.run(
    'INSERT INTO leads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    id,
    entityType,
    name,
    identityOf(lead),
    record,
    JSON.stringify([...links]),
    JSON.stringify([...facts]),
    JSON.stringify([...sources]),
    email,
    phone,
  );
  rows.run('INSERT INTO names VALUES (?, ?)', plainText(name), id);
  for (const link of links.values()) rows.run('INSERT INTO addresses VALUES (?, ?)', bareAddress(link), id);
  for (const [fact, value] of facts)
    if (placeFacts.test(fact))
      for (const place of placeNames(value)) rows.run('INSERT OR IGNORE INTO places VALUES (?)', place);
  const factsThat = (areKind: boolean) =>
    [...facts].filter(([fact]) => kindFacts.test(fact) === areKind).map(([, value]) => value);
  for (const phrase of new Set(factsThat(true).flatMap(phrasesIn)))
    rows.run('INSERT OR IGNORE INTO phrases VALUES (?)', phrase);
  rows.run(
    'INSERT INTO words (rowid, name, description, links, facts, kind, types) VALUES (?, ?, ?, ?, ?, ?, ?)',
    id,
    toIndexText(name),
    toIndexText(description),
    toIndexText([...links.values()].join(' ')),
    toIndexText(factsThat(false).join(apart)),
    toIndexText(factsThat(true).join(apart)),
    (entityType === null ? entityTypes : [entityType]).map(typeWord).join(' '),
  );
}

/** The same lead has the same name and the same links. Without links, two are the same when nothing differs. */
function identityOf({ name, links, record, facts, email, phone }: CatalogueRecord): string {
  const rest =
    links.size > 0
      ? [...links.values()].sort().join('\n')
      : createHash('sha256')
          .update(JSON.stringify([record, [...facts], email, phone]))
          .digest('hex');
  return `${name.trim().toLowerCase()}\n${rest}`;
}

/** How a type stands in the index; as a word that no objective has. */
export function typeWord(type: EntityType): string {
  return `type${type.replaceAll('_', '')}`;
}

/** "New York (NYC)" and "Berlin, Germany" are found as a whole and by their parts, but not as "New" and "York". */
function placeNames(place: string): string[] {
  const lower = withoutAccents(place.toLowerCase());
  return [lower, ...lower.split(/[,;/()]+/).map((part) => part.trim())].filter((part) => part.length > 1);
}

/** Words that stand beside each other in what a lead is: "Head of Product" is that, and "Head of" and "of Product". */
function phrasesIn(value: string): string[] {
  const words = toPhraseKey(value).split(' ');
  return words.flatMap((_, at) =>
    [2, longestPhrase]
      .filter((length) => at + length <= words.length)
      .map((length) => words.slice(at, at + length).join(' ')),
  );
}

/** A phrase as it is looked up, in the singular. */
export function toPhraseKey(text: string): string {
  return toKey(
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}&+#]+/gu, ' ')
      .trim(),
  );
}

/** An address without what is written in different ways: scheme, `www.`, the last slash, letter case. */
export function bareAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^www\./, '')
    .replace(/(?<![/.])[/.]+$/, '');
}

/** A text as its words alone, each between two spaces: without letter case, accents and punctuation. */
export function plainText(text: string): string {
  const letters = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return ` ${letters.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;
}
