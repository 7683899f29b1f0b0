import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EntityType, entityTypes } from '../contract/types.ts';
import { digestOf } from '../digest.ts';
import { openFile, type Rows } from '../sqlite/database.ts';
import { type CatalogueFile, type LeadColumns, leadsOf, readCatalogueFile } from './catalogue-file.ts';
import { columnWeights, createSearch, typeWord } from './catalogue-search.ts';
import { demonstrationFile } from './demonstration.ts';
import { type Lead, leadsFrom, type NewLead, ofType } from './lead.ts';
import { apart, phrase, toIndexText } from './objective.ts';

/** Increase this when the tables or their content change: indexes of an older form are not read. */
const form = 14;
/** How many indexes of recently used catalogues stay. */
const indexesKept = 4;

export type Catalogue = Awaited<ReturnType<typeof openCatalogueOf>>;

/** Opens the catalogue of the user's own file, or of the demonstration. */
export async function openCatalogueOf(
  stateDir: string,
  file: string | undefined,
  tell: (line: string) => void,
  columns?: LeadColumns,
) {
  const path = await indexOf(
    stateDir,
    file === undefined ? demonstrationFile() : readCatalogueFile(file),
    tell,
    columns,
  );
  const rows = openFile(path, 'immutable');
  const search = createSearch(rows);
  // WebAssembly is slow at first. With a large catalogue, that would hold up the first request and all others.
  if (file !== undefined) await search(undefined, 'a lead');
  return {
    fictional: file === undefined,
    close: rows.close,
    search,
    all: (type: EntityType): Lead[] => leadsFrom(rows, `leads WHERE ${ofType} ORDER BY id`, type),
    /** Leads whose plain name, or the bare address of a link, is one of these; a few hundred at most. */
    called: (aliases: readonly string[]): Lead[] =>
      leadsFrom(
        rows,
        'aliases JOIN leads USING (id) WHERE alias IN (SELECT value FROM json_each(?)) LIMIT 300',
        JSON.stringify(aliases),
      ),
    /** At most `max` leads that have a host in their links or facts. */
    mentioning: (host: string, max: number): Lead[] =>
      leadsFrom(
        rows,
        'words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY words.rowid LIMIT ?',
        [`{links facts} : ${phrase(host)}`, max],
      ),
  };
}

/**
 * The index of a catalogue, which is made if there is none for this content. It is written under another name, renamed when it is complete,
 * and never changed afterwards, so any number of processes may read it without a lock.
 */
async function indexOf(
  stateDir: string,
  file: CatalogueFile,
  tell: (line: string) => void,
  columns?: LeadColumns,
): Promise<string> {
  const content = digestOf(file.content, 64);
  const path = join(stateDir, `catalogue-${digestOf(`${form}:${file.kind}:${content}`)}.db`);
  if (existsSync(path)) return path;
  const part = path.replace(/db$/, `${randomUUID()}.part`);
  try {
    const rows = openFile(part);
    try {
      rows.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
      await writeCatalogue(rows, leadsOf(file, tell, columns));
      rows.exec('COMMIT');
    } finally {
      rows.close();
    }
    renameSync(part, path);
  } finally {
    rmSync(part, { force: true });
  }
  prune(stateDir, path);
  return path;
}

function prune(stateDir: string, current: string): void {
  const others = readdirSync(stateDir)
    .filter((name) => /^catalogue-[0-9a-f]{16}\./.test(name) && !current.endsWith(name))
    .map((name) => ({ name, time: statSync(join(stateDir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { name } of others.slice(indexesKept - 1)) rmSync(join(stateDir, name), { force: true });
}

/** `aliases`: plain names and bare addresses of leads. */
const schema = `
  CREATE TABLE leads (id INTEGER PRIMARY KEY, entity_type TEXT, lead TEXT NOT NULL);
  CREATE TABLE aliases (alias TEXT NOT NULL, id INTEGER NOT NULL REFERENCES leads);
  CREATE VIRTUAL TABLE words USING fts5 (
    name, description, links, facts, kind, place, types, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
  );
  INSERT INTO words (words, rank) VALUES ('rank', '${columnWeights}');
`;

/** Facts that say where a lead is, and what it is. A word in one of these counts more than elsewhere. */
const placeFacts = /^(city|country|location|region|state)$/;
const kindFacts =
  /^(industry|sector|(product_)?category|topic|niche|(job_)?title|role|seniority|department|format|language|gender|(funding_)?stage)$/;

function separate(texts: readonly string[]): string {
  return [apart, ...texts.flatMap((text) => [text, apart])].join(' ');
}

/** "UK" for the United Kingdom, "SF" for San Francisco. */
function initialsOf(place: string): string[] {
  const words = place.split(' ');
  const isName = words.length > 1 && words.every((word) => /^\p{Lu}\p{Ll}+$/u.test(word));
  return isName ? [words.map(([initial]) => initial).join('')] : [];
}

/** Fills a new database with leads, and pauses between them for other work. */
async function writeCatalogue(rows: Rows, leads: AsyncIterable<NewLead>): Promise<void> {
  rows.exec(schema);
  let id = 0;
  for await (const lead of leads) {
    id += 1;
    const { entityType, name, description, facts } = lead;
    const links = lead.links.map(([, link]) => link);
    const textsOf = (isMeant: (fact: string) => boolean) =>
      facts.filter(([fact]) => isMeant(fact)).map(([, text]) => text);
    const isOther = (fact: string) => !kindFacts.test(fact) && !placeFacts.test(fact);
    const places = textsOf((fact) => placeFacts.test(fact));
    const kinds = textsOf((fact) => kindFacts.test(fact));
    const texts = [textsOf(isOther), kinds, [...places, ...places.flatMap(initialsOf)]];
    const whole: Lead = { ...lead, id, identity: identityOf(lead) };
    rows.run('INSERT INTO leads VALUES (?, ?, ?)', [id, entityType, JSON.stringify(whole)]);
    for (const alias of [plainText(name), ...links.map(bareAddress)])
      rows.run('INSERT INTO aliases VALUES (?, ?)', [alias, id]);
    rows.run(
      'INSERT INTO words (rowid, name, description, links, facts, kind, place, types) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      [
        id,
        ...[name, description, links.join(' '), ...texts.map(separate)].map(toIndexText),
        (entityType === null ? entityTypes : [entityType]).map(typeWord).join(' '),
      ],
    );
    if (id % 100 === 0) await nextTurn();
  }
  rows.exec(
    'CREATE INDEX leads_by_type ON leads (entity_type); CREATE INDEX aliases_by_alias ON aliases (alias)',
  );
}

/** The same for leads with the same name and links. Without links, everything must be the same. */
function identityOf({ name, links, record, facts, email, phone }: NewLead): string {
  const addresses = links.map(([, link]) => link).sort();
  const whole = JSON.stringify([record, facts, email, phone]);
  return `${name.trim().toLowerCase()}\n${addresses.join('\n') || digestOf(whole, 64)}`;
}

/** An address without the parts that vary: scheme, `www.`, the last slash, case. */
export function bareAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^www\./, '')
    .replace(/(?<![/.])[/.]+$/, '');
}

/** The words of a text, each between two spaces, without case, accents and punctuation. */
export function plainText(text: string): string {
  const letters = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return ` ${letters.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;
}
