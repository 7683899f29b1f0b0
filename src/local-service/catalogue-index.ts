import type { CatalogueRecord } from './catalogue-file.ts';
import type { Rows } from './database.ts';
import { toIndexText } from './objective.ts';

const schema = `
  CREATE TABLE leads (
    id INTEGER PRIMARY KEY, entity_type TEXT, name TEXT NOT NULL, identity TEXT NOT NULL, record TEXT NOT NULL,
    links TEXT NOT NULL, facts TEXT NOT NULL, email TEXT, phone TEXT
  );
  CREATE TABLE places (place TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE addresses (address TEXT NOT NULL, id INTEGER NOT NULL REFERENCES leads);
  CREATE INDEX leads_by_type ON leads (entity_type);
  CREATE VIRTUAL TABLE words USING fts5 (
    name, description, links, facts, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
  );
`;

/** Facts that say where a lead is. A place that is asked for is never made up for by other words. */
const placeFacts = /^(city|country|location|region|state)$/;

/** Fills a new database with leads. */
export function writeCatalogue(rows: Rows, records: Iterable<CatalogueRecord>): void {
  rows.exec(schema);
  let id = 0;
  for (const { entityType, name, description, links, record, facts, email, phone } of records) {
    id += 1;
    const identity = `${name.trim().toLowerCase()}\n${Object.values(links)[0] ?? ''}`;
    rows.run(
      'INSERT INTO leads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      id,
      entityType ?? null,
      name,
      identity,
      record,
      JSON.stringify(links),
      JSON.stringify(facts),
      email,
      phone,
    );
    for (const link of Object.values(links))
      rows.run('INSERT INTO addresses VALUES (?, ?)', bareAddress(link), id);
    for (const [fact, value] of Object.entries(facts))
      if (placeFacts.test(fact))
        for (const place of placeNames(value)) rows.run('INSERT OR IGNORE INTO places VALUES (?)', place);
    rows.run(
      'INSERT INTO words (rowid, name, description, links, facts) VALUES (?, ?, ?, ?, ?)',
      id,
      toIndexText(name),
      toIndexText(description),
      toIndexText(Object.values(links).join(' ')),
      toIndexText(Object.entries(facts).flat().join(' ')),
    );
  }
  rows.exec('CREATE INDEX addresses_by_address ON addresses (address)');
}

/** "New York (NYC)" is found as a whole and by its words. */
function placeNames(place: string): string[] {
  const lower = place.toLowerCase();
  return [lower, ...(lower.match(/[\p{L}\p{M}]{2,}/gu) ?? [])];
}

/** An address without what is written in different ways: scheme, `www.`, the last slash, letter case. */
export function bareAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^www\./, '')
    .replace(/[/.]+$/, '');
}
