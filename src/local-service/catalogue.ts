import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EntityType, entityTypes } from '../contract/types.ts';
import { digestOf } from '../digest.ts';
import { openFile, type Rows } from '../sqlite/database.ts';
import {
  type CatalogueSource,
  type FoundLead,
  type IndexedLead,
  type LeadColumns,
  readCatalogueFile,
} from './catalogue-file.ts';
import { columnWeights, createSearch, type LeadsFrom, ofType, typeWord } from './catalogue-search.ts';
import { demonstrationOf } from './demonstration.ts';
import type { Lead, NewLead } from './lead.ts';
import { apart, phrase, toIndexText } from './objective.ts';

/** Version of the index. Increase it when the tables or their content change: older indexes are not read. */
const form = 15;
/** Number of indexes kept: the latest of files; for the demonstration, one for each type and one for all. */
const indexesKept = { catalogue: 4, demonstration: entityTypes.length + 1 };

export type Catalogue = Awaited<ReturnType<typeof openCatalogueOf>>;

/**
 * Opens the catalogue: of the user's own file, with one index, or of the demonstration, with an index for each type. These are built on first use,
 * since all of them take a second.
 */
export async function openCatalogueOf(
  stateDir: string,
  file: string | undefined,
  tell: (line: string) => void,
  columns?: LeadColumns,
) {
  const own = file === undefined ? undefined : readCatalogueFile(file, tell, columns);
  const indexes = new Map<string, ReturnType<typeof openIndex>>();
  const opened: { close: () => void }[] = [];
  async function openIndex(type: EntityType | undefined) {
    const source = own ?? demonstrationOf(type);
    const rows = openFile(await pathOfIndex(stateDir, source), 'immutable');
    opened.push(rows);
    const leadsFrom: LeadsFrom = (sql, values) =>
      rows
        .all<{ id: number; text: string }>(`SELECT leads.id, text FROM ${sql}`, values)
        .map(({ id, text }) => {
          const lead = source.read(id, text);
          return { ...lead, id, identity: identityOf(lead) };
        });
    return { leadsFrom, search: createSearch(rows, leadsFrom) };
  }
  /** Without a type: the index of all leads. */
  async function indexOf(type?: EntityType) {
    const name = own === undefined ? `${type}` : '';
    const index = indexes.get(name) ?? openIndex(type);
    indexes.set(name, index);
    try {
      return await index;
    } catch (error) {
      // The next request tries again.
      indexes.delete(name);
      throw error;
    }
  }
  // Warms up WebAssembly. With a large catalogue, the first request would otherwise block all others.
  if (own !== undefined) await (await indexOf()).search(undefined, 'a lead');
  return {
    fictional: own === undefined,
    close: () => {
      for (const rows of opened) rows.close();
    },
    search: async (type: EntityType | undefined, objective: string) =>
      (await indexOf(type)).search(type, objective),
    all: async (type: EntityType): Promise<Lead[]> => (await indexOf(type)).leadsFrom(...ofType(type)),
    /** Leads with one of these as plain name or as bare address of a link; at most 300. */
    called: async (aliases: readonly string[]): Promise<Lead[]> =>
      (await indexOf()).leadsFrom(
        'aliases JOIN leads USING (id) WHERE alias IN (SELECT value FROM json_each(?)) LIMIT 300',
        [JSON.stringify(aliases)],
      ),
    /** At most `max` leads that have a host in their links or facts. */
    mentioning: async (host: string, max: number): Promise<Lead[]> =>
      (await indexOf()).leadsFrom(
        'words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY words.rowid LIMIT ?',
        [`{links facts} : ${phrase(host)}`, max],
      ),
  };
}

/**
 * The path of the index, which is built if there is none for this content. It is written under another name, renamed when complete and never changed
 * afterwards, so that processes can read it without a lock.
 */
async function pathOfIndex(stateDir: string, source: CatalogueSource): Promise<string> {
  const { of, kind, content } = source;
  const path = join(stateDir, `${of}-${digestOf(`${form}:${kind}:${digestOf(content, 64)}`)}.db`);
  if (existsSync(path)) return path;
  const part = path.replace(/db$/, `${randomUUID()}.part`);
  try {
    const rows = openFile(part);
    try {
      rows.exec('PRAGMA journal_mode = OFF; BEGIN');
      await writeCatalogue(rows, source);
      rows.exec('COMMIT');
    } finally {
      rows.close();
    }
    renameSync(part, path);
  } finally {
    rmSync(part, { force: true });
  }
  prune(stateDir, of, path);
  return path;
}

function prune(stateDir: string, of: CatalogueSource['of'], current: string): void {
  const others = readdirSync(stateDir)
    .filter((name) => name.startsWith(`${of}-`) && !current.endsWith(name))
    .map((name) => ({ name, time: statSync(join(stateDir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { name } of others.slice(indexesKept[of] - 1)) rmSync(join(stateDir, name), { force: true });
}

/** `aliases`: plain names and bare addresses of leads. Only the index of all leads has them. */
const schema = `
  CREATE TABLE leads (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE aliases (alias TEXT NOT NULL, id INTEGER NOT NULL REFERENCES leads);
  CREATE VIRTUAL TABLE words USING fts5 (
    name, description, links, facts, kind, place, types, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
  );
  INSERT INTO words (words, rank) VALUES ('rank', '${columnWeights}');
`;
/** Many rows at once, as JSON: a statement per row takes twice as long. */
const insertLeads = 'INSERT INTO leads SELECT key + ?, value FROM json_each(?)';
const insertAliases = 'INSERT INTO aliases SELECT value->>0, value->>1 FROM json_each(?)';
const insertWords = `INSERT INTO words (rowid, types, name, description, links, facts, kind, place)
  SELECT key + ?, value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6 FROM json_each(?)`;
/** Characters of leads in one batch. */
const batchLength = 1 << 18;

/** Fills a new database with leads, and pauses between them for other work. */
async function writeCatalogue(rows: Rows, { leads, isWhole }: CatalogueSource): Promise<void> {
  rows.exec(schema);
  let first = 1;
  let batch: FoundLead[] = [];
  let length = 0;
  const write = () => {
    rows.run(insertLeads, [first, JSON.stringify(batch.map(({ text }) => text))]);
    rows.run(insertWords, [first, JSON.stringify(batch.map(({ lead }) => textsOf(lead)))]);
    if (isWhole) {
      const aliases = batch.flatMap(({ lead }, at) => aliasesOf(lead).map((alias) => [alias, first + at]));
      rows.run(insertAliases, [JSON.stringify(aliases)]);
    }
    first += batch.length;
    batch = [];
    length = 0;
  };
  for await (const one of leads()) {
    batch.push(one);
    length += one.lead.description.length + one.text.length;
    if (length < batchLength) continue;
    write();
    await nextTurn();
  }
  write();
  rows.exec('CREATE INDEX aliases_by_alias ON aliases (alias)');
}

/** Facts with the place and the kind of a lead. A word in these counts more than elsewhere. */
const placeFacts = new Set('city country location region state'.split(' '));
const kindFacts = new Set(
  `industry sector category product_category topic niche title job_title role seniority department format language gender stage
  funding_stage`.split(/\s+/),
);

/** "UK" for the United Kingdom, "SF" for San Francisco. */
function initialsOf(place: string): string[] {
  if (!place.includes(' ')) return [];
  const words = place.split(' ');
  const isName = words.every((word) => /^\p{Lu}\p{Ll}+$/u.test(word));
  return isName ? [words.map(([initial]) => initial).join('')] : [];
}

/** The indexed texts of a lead: its types, then one for each other column. */
function textsOf({ entityType, name, description, links, facts }: IndexedLead): string[] {
  let [others, kinds, places, initials] = [apart, apart, apart, ''];
  for (const [fact, text] of facts) {
    if (kindFacts.has(fact)) kinds += ` ${text} ${apart}`;
    else if (!placeFacts.has(fact)) others += ` ${text} ${apart}`;
    else {
      places += ` ${text} ${apart}`;
      for (const one of initialsOf(text)) initials += ` ${one} ${apart}`;
    }
  }
  let addresses = '';
  for (const [, link] of links) addresses += `${link} `;
  // All texts are converted at once, which takes half as long. A NUL in a text only moves its words to the next column.
  const texts = `${name}\0${description}\0${addresses}\0${others}\0${kinds}\0${places}${initials}`;
  return [typesOf(entityType), ...toIndexText(texts).split('\0')];
}

const anyType = entityTypes.map(typeWord).join(' ');
const typesOf = (type: EntityType | null) => (type === null ? anyType : typeWord(type));

function aliasesOf({ name, links }: IndexedLead): string[] {
  return [plainText(name), ...links.map(([, link]) => bareAddress(link))];
}

/** Equal for leads with the same name and links; without links, everything must be equal. */
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
