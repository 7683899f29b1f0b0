import type { EntityType } from '../contract/types.ts';
import type { CatalogueRecord } from './catalogue-file.ts';
import { type Condition, factOf, numberIn } from './conditions.ts';
import type { Rows } from './database.ts';
import { parseObjective, type Term, toIndexText } from './objective.ts';

/** A lead that fits an objective. */
export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** The share of what was asked for that it has. */
  readonly coverage: number;
  /** How many of the words it has. */
  readonly words: number;
  readonly reason: string;
}

export interface Lead {
  readonly id: number;
  readonly entityType: EntityType | null;
  readonly name: string;
  /** The same for the same lead in every search, whatever its position. */
  readonly identity: string;
  readonly record: string;
  readonly links: Readonly<Record<string, string>>;
  readonly facts: Readonly<Record<string, string>>;
  readonly email: string | null;
  readonly phone: string | null;
}

export interface SearchResult {
  readonly matches: readonly Match[];
  /** How many leads were looked at, rejected ones included. */
  readonly considered: number;
}

export interface Catalogue {
  /** Leads that fit, the best first. */
  search(entityType: EntityType | undefined, objective: string): SearchResult;
  all(entityType: EntityType | undefined): Lead[];
  /** Leads that have a word of the text in their name, the best first; a few dozen at most. */
  named(text: string): Lead[];
  /** The lead with a link to an address, given without scheme, `www.` and last slash. */
  linked(address: string): Lead | undefined;
  /** Leads that have a host in their links or facts. */
  mentioning(host: string): Lead[];
}

/** Below this share of what an objective asks for (by weight), a lead is not an answer but filler. */
const leastCoverage = 0.7;
/** A word that nearly every lead has weighs next to nothing. */
const leastWeight = 0.05;

const schema = `
  CREATE TABLE leads (
    id INTEGER PRIMARY KEY, entity_type TEXT, name TEXT NOT NULL, identity TEXT NOT NULL, record TEXT NOT NULL,
    links TEXT NOT NULL, facts TEXT NOT NULL, email TEXT, phone TEXT
  );
  CREATE TABLE addresses (address TEXT NOT NULL, id INTEGER NOT NULL REFERENCES leads);
  CREATE INDEX leads_by_type ON leads (entity_type);
  CREATE VIRTUAL TABLE words USING fts5 (
    name, description, links, facts, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
  );
`;

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

/** An address without what is written in different ways: scheme, `www.`, the last slash, letter case. */
export function bareAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^www\./, '')
    .replace(/[/.]+$/, '');
}

interface Candidate {
  readonly found: Set<Term>;
  rank: number;
}

export function openCatalogue(rows: Rows): Catalogue {
  const ofType = "(?1 = '' OR entity_type = ?1 OR entity_type IS NULL)";
  const factNames = new Map<string, string[]>();

  return {
    all: (entityType) =>
      rows.all<LeadRow>(`SELECT * FROM leads WHERE ${ofType} ORDER BY id`, entityType ?? '').map(toLead),

    named(text) {
      const words = toIndexText(text).match(/[\p{L}\p{N}]+/gu) ?? [];
      const query = [...new Set(words.slice(0, 200))].map((word) => `"${word}"`).join(' OR ');
      if (query === '') return [];
      return rows
        .all<LeadRow>(
          `SELECT leads.* FROM words JOIN leads ON leads.id = words.rowid
           WHERE words MATCH ? ORDER BY bm25(words) LIMIT 50`,
          `name : (${query})`,
        )
        .map(toLead);
    },

    linked(address) {
      const row = rows.get<LeadRow>(
        'SELECT leads.* FROM leads JOIN addresses ON addresses.id = leads.id WHERE address = ? LIMIT 1',
        address,
      );
      return row === undefined ? undefined : toLead(row);
    },

    mentioning(host) {
      const words = host.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? '';
      if (words === '') return [];
      return rows
        .all<LeadRow>(
          `SELECT leads.* FROM words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY leads.id`,
          `{links facts} : "${words}"`,
        )
        .map(toLead);
    },

    search(entityType = undefined, objective) {
      const asked = parseObjective(objective);
      const total = count(entityType);
      const conditions = asked.conditions.flatMap((condition) => {
        const about = factOf(condition, numericFacts(entityType));
        return about === undefined ? [] : [{ condition, ...about }];
      });
      const said = new Set(conditions.map(({ word }) => word.toLowerCase()));
      const terms = asked.terms.filter(({ surface }) => !said.has(surface.toLowerCase()));

      const candidates = new Map<number, Candidate>();
      const weights = new Map<Term, number>();
      const unknown: Term[] = [];
      const look = (term: Term): boolean => {
        const hits = find(entityType, term.query);
        for (const { id, rank } of hits) {
          const candidate = candidates.get(id) ?? { found: new Set(), rank: 0 };
          candidate.found.add(term);
          candidate.rank -= rank;
          candidates.set(id, candidate);
        }
        if (hits.length > 0) weights.set(term, Math.max(leastWeight, Math.log(total / hits.length)));
        return hits.length > 0;
      };
      for (const term of terms) if (!look(term)) unknown.push(term);
      for (const { whole, pairs } of asked.runs) {
        // Without spaces nothing tells where a word ends: pairs that occur nowhere straddle two words.
        if (!look(whole) && pairs.filter(look).length === 0) unknown.push(whole);
      }

      const anything =
        weights.size === 0 && unknown.length === 0 && (conditions.length > 0 || asked.namesType);
      if (anything)
        for (const { id } of rows.all<{ id: number }>(
          `SELECT id FROM leads WHERE ${ofType}`,
          entityType ?? '',
        ))
          candidates.set(id, { found: new Set(), rank: 0 });

      // A word the catalogue has never seen weighs as much as one it knows.
      const known = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
      const wanted = known + (unknown.length * known) / Math.max(1, weights.size);
      const coverage = ({ found }: Candidate) =>
        anything ? 1 : [...found].reduce((sum, term) => sum + (weights.get(term) ?? 0), 0) / wanted;

      const fitting = [...candidates]
        .map(([id, candidate]) => ({ id, candidate, coverage: coverage(candidate) }))
        .filter((row) => row.coverage >= leastCoverage)
        .sort((a, b) => b.coverage - a.coverage || b.candidate.rank - a.candidate.rank || a.id - b.id);
      const bestRank = Math.max(...fitting.map(({ candidate }) => candidate.rank), 1e-9);

      const matches: Match[] = [];
      for (const { id, candidate, coverage: share } of fitting) {
        const lead = toLead(rows.get<LeadRow>('SELECT * FROM leads WHERE id = ?', id) as LeadRow);
        const kept = conditions.map(({ condition, fact }) => reasonOf(condition, fact, lead));
        if (kept.includes(undefined)) continue;
        const words = [...candidate.found].map(({ surface }) => surface);
        matches.push({
          lead,
          coverage: share,
          words: words.length,
          score: share * (anything ? 0.9 : 0.8 + 0.19 * (candidate.rank / bestRank)),
          reason: toReason(words, kept as string[], entityType),
        });
      }
      return { matches, considered: candidates.size };
    },
  };

  function find(entityType: string | undefined, query: string): { id: number; rank: number }[] {
    return rows.all(
      `SELECT leads.id AS id, bm25(words, 8.0, 2.0, 1.0, 6.0) AS rank FROM words JOIN leads ON leads.id = words.rowid
       WHERE words MATCH ?2 AND ${ofType}`,
      entityType ?? '',
      query,
    );
  }

  function count(entityType: string | undefined): number {
    const row = rows.get<{ total: number }>(
      `SELECT count(*) AS total FROM leads WHERE ${ofType}`,
      entityType ?? '',
    );
    return row?.total ?? 0;
  }

  /** The facts of a type that hold numbers, from a sample: they are the same for every lead of a type. */
  function numericFacts(entityType = ''): string[] {
    let names = factNames.get(entityType);
    if (names === undefined) {
      const sample = rows.all<{ facts: string }>(
        `SELECT facts FROM leads WHERE ${ofType} LIMIT 200`,
        entityType,
      );
      const all = new Set<string>();
      for (const { facts } of sample)
        for (const [name, fact] of Object.entries(JSON.parse(facts) as Record<string, string>))
          if (numberIn(fact) !== undefined) all.add(name);
      names = [...all];
      factNames.set(entityType, names);
    }
    return names;
  }
}

function reasonOf({ low, high, text }: Condition, fact: string, { facts }: Lead): string | undefined {
  const value = numberIn(facts[fact] ?? '');
  return value !== undefined && value >= low && value <= high
    ? `${fact} ${facts[fact]} (${text})`
    : undefined;
}

function toReason(words: string[], conditions: string[], entityType: string | undefined): string {
  const named = [...words, ...conditions];
  return named.length === 0
    ? `is a ${(entityType ?? 'lead').replace('_', ' ')}`
    : `matches ${named.join(', ')}`;
}

interface LeadRow {
  id: number;
  entity_type: EntityType | null;
  name: string;
  identity: string;
  record: string;
  links: string;
  facts: string;
  email: string | null;
  phone: string | null;
}

function toLead({ links, facts, entity_type: entityType, ...row }: LeadRow): Lead {
  return { ...row, entityType, links: JSON.parse(links), facts: JSON.parse(facts) };
}
