import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityType } from '../contract/types.ts';
import { toPhraseKey, typeWord } from './catalogue-index.ts';
import { type Condition, factOf, numberIn } from './conditions.ts';
import type { FinishedRows } from './database.ts';
import { type Lead, leadsFrom, ofType } from './lead.ts';
import { parseObjective, type Term } from './objective.ts';
import {
  type Candidate,
  firmStrength,
  groupPlaces,
  type Hit,
  inOrder,
  parts,
  type Ranked,
  strengthOf,
  type Wanted,
} from './ranking.ts';
import { withoutAccents } from './vocabulary.ts';

export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** The share of what was asked for that it has. */
  readonly coverage: number;
  readonly words: number;
  readonly reason: string;
}

export interface SearchResult {
  /** The best first. Each is read when it is asked for, and others get their turn in between. */
  readonly matches: AsyncGenerator<Match, void, undefined>;
  /** How many leads were looked at, rejected ones included. */
  readonly considered: number;
}

export interface Catalogue {
  /** Leads that have what an objective asks for; where there are none, those that have most of it. */
  search(entityType: EntityType | undefined, objective: string): Promise<SearchResult>;
  all(entityType: EntityType | undefined): Lead[];
  /** Leads of exactly one of these names, as plain text; a few hundred at most. */
  named(plainNames: readonly string[]): Lead[];
  /** The lead with a link to an address, given without scheme, `www.` and last slash. */
  linked(address: string): Lead | undefined;
  /** Leads that have a host in their links or facts, `most` of them. */
  mentioning(host: string, most: number): Lead[];
}

export function openCatalogue(rows: FinishedRows): Catalogue {
  return {
    search: createSearch(rows),
    all: (entityType) => leadsFrom(rows, `leads WHERE ${ofType} ORDER BY id`, entityType ?? ''),
    named(plainNames) {
      const sql =
        'names JOIN leads USING (id) WHERE names.name IN (SELECT value FROM json_each(?)) LIMIT 300';
      return leadsFrom(rows, sql, JSON.stringify(plainNames));
    },
    linked: (address) =>
      leadsFrom(rows, 'leads JOIN addresses USING (id) WHERE address = ? LIMIT 1', address)[0],
    mentioning(host, most) {
      const words = host.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? '';
      if (words === '') return [];
      const sql =
        'words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY words.rowid LIMIT ?';
      return leadsFrom(rows, sql, `{links facts} : "${words}"`, most);
    },
  };
}

export async function firstOf<Item>(
  items: AsyncGenerator<Item, void, undefined>,
  most: number,
): Promise<Item[]> {
  const first: Item[] = [];
  for await (const item of items) if (first.push(item) >= most) break;
  return first;
}

/** A condition with the fact it is about, and the word that said so. */
interface Requirement {
  readonly condition: Condition;
  readonly fact: string;
  readonly word: string;
}

/** Leads that are looked at in a few milliseconds. */
const handful = 500;
/** Where only numbers, the type or what is denied were to be met. */
const scoreWithoutWords = 0.7;

/**
 * Words are looked up one by one; a lead's coverage is the share of them it has. Number conditions and what
 * somebody is must be met, and what is denied be absent, whatever else fits. However many leads there are, other
 * requests get their turn after every few of them.
 */
function createSearch(rows: FinishedRows): Catalogue['search'] {
  const samples = new Map<string, Sample>();

  return async (entityType, objective) => {
    const type = entityType ?? '';
    const { numeric, hasTitles } = sample(type);
    const asked = parseObjective(objective, {
      isPhrase: (text) => isKnown('phrases', toPhraseKey(text)),
      isPlace,
      hasTitles: hasTitles && type === 'person',
    });
    const requirements = asked.conditions.flatMap((condition): Requirement[] => {
      const about = factOf(condition, numeric);
      return about === undefined ? [] : [{ condition, ...about }];
    });
    const excluded = new Set<number>();
    for (const { query } of asked.excluded)
      for await (const hits of find(type, query)) for (const { id } of hits) excluded.add(id);
    // The noun of a number condition is answered by the number.
    const nouns = new Set(requirements.map(({ word }) => word));
    const terms = asked.terms.filter(({ surface }) => !nouns.has(surface.toLowerCase()));
    const anyLead =
      terms.length === 0 && (requirements.length > 0 || asked.excluded.length > 0 || asked.namesType);
    const { wanted, candidates } = await lookUp(type, terms, excluded);
    const every = anyLead ? everyLead(type, excluded) : undefined;
    const kind = `is a ${(entityType ?? 'lead').replace('_', ' ')}`;
    const without = asked.excluded.map(({ surface }) => `not ${surface}`);
    return {
      considered: (every ?? candidates).length,
      matches: toMatches(
        every === undefined ? inOrder(wanted, candidates) : [every],
        requirements,
        (has, kept) => {
          const words = [...has.map((at) => wanted.words[at]?.surface), ...kept];
          const positive = words.length === 0 ? kind : `matches ${words.join(', ')}`;
          const lacks = missing(wanted, has).map(({ surface }) => surface);
          const reason = [positive, ...without].join(', ');
          return lacks.length === 0 ? reason : `${reason}; lacks ${lacks.join(', ')}`;
        },
      ),
    };
  };

  async function lookUp(
    type: string,
    terms: readonly Term[],
    excluded: ReadonlySet<number>,
  ): Promise<{ wanted: Wanted; candidates: Candidate[] }> {
    const candidates = new Map<number, Candidate>();
    const words: Wanted['words'][number][] = [];
    const places: number[] = [];
    const firm = sample(type).hasFacts ? firmStrength : 0;
    const isFound = async ({ query, forms, surface, isRole: isNeeded = false }: Term): Promise<boolean> => {
      const at = words.length;
      let any = false;
      for await (const hits of find(type, query))
        for (const hit of hits) {
          any = true;
          const { id } = hit;
          const candidate = candidates.get(id) ?? { id, has: [], firm: 0, strength: 0, rank: 0 };
          const strength = strengthOf(hit);
          candidate.has.push(at);
          candidate.strength += strength;
          candidate.firm += strength >= firm ? 1 : 0;
          candidate.rank += hit.rank;
          if (!excluded.has(id)) candidates.set(id, candidate);
        }
      if (any) words.push({ surface, isNeeded });
      if (any && forms.some(isPlace)) places.push(at);
      return any;
    };
    for (const term of terms) {
      let found = await isFound(term);
      // Pairs that occur nowhere straddle two words.
      if (!found)
        for (const pair of term.pairs ?? [])
          if (words.length < mostWords && (await isFound(pair))) found = true;
      if (!found) words.push({ surface: term.surface, isNeeded: term.isRole === true });
    }
    const all = [...candidates.values()];
    return { wanted: { words, places: groupPlaces(places, all) }, candidates: all };
  }

  async function* toMatches(
    tiers: Iterable<Iterable<Ranked>>,
    requirements: readonly Requirement[],
    reasonOf: (has: readonly number[], kept: readonly string[]) => string,
  ): AsyncGenerator<Match, void, undefined> {
    let seen = 0;
    for (const tier of tiers) {
      let hasMatches = false;
      for (const { id, has, coverage, score } of tier) {
        seen += 1;
        if (seen % handful === 0) await nextTurn();
        const lead = leadsFrom(rows, 'leads WHERE id = ?', id)[0] as Lead;
        const kept = requirements.map(({ condition, fact }) => keptBy(lead, condition, fact));
        if (kept.includes(undefined)) continue;
        hasMatches = true;
        yield { lead, coverage, words: has.length, score, reason: reasonOf(has, kept as string[]) };
      }
      if (hasMatches) return;
    }
  }

  /** Leads with a word: a part of them that lacks it adds nothing to the rank of that part alone. */
  function find(type: string, query: string): AsyncGenerator<Hit[]> {
    const flags = parts.map((part, at) => {
      const alone = parts.map((_, other) => (other === at ? 1 : 0)).join(', ');
      return `CAST(bm25(words, ${alone}, 0) < 0 AS REAL) AS ${part}`;
    });
    return rows.inTurns<Hit>(
      // A REAL crosses over from WebAssembly as a number, an INTEGER as a BigInt.
      `SELECT CAST(rowid AS REAL) AS id, -bm25(words, 8.0, 2.0, 1.0, 4.0, 8.0, 0.0) AS rank, ${flags.join(', ')}
       FROM words WHERE words MATCH ?`,
      type === '' ? query : `(types : ${typeWord(type as EntityType)}) AND (${query})`,
    );
  }

  function isPlace(form: string): boolean {
    return isKnown('places', withoutAccents(form));
  }

  function isKnown(table: 'phrases' | 'places', text: string): boolean {
    return rows.get(`SELECT 1 FROM ${table} WHERE ${table.slice(0, -1)} = ?`, text) !== undefined;
  }

  /** What the facts of a type are, from some of its leads: they are the same for every lead of a type. */
  function sample(type: string): Sample {
    const known = samples.get(type);
    if (known !== undefined) return known;
    const leads = rows.all<{ facts: string }>(`SELECT facts FROM leads WHERE ${ofType} LIMIT 200`, type);
    const facts = leads.flatMap((lead) => JSON.parse(lead.facts) as [string, string][]);
    const numeric = facts.filter(([, fact]) => numberIn(fact) !== undefined).map(([name]) => name);
    const made = {
      numeric: [...new Set(numeric)],
      hasFacts: facts.length > 0,
      hasTitles: facts.some(([name]) => /^(job_)?title$/.test(name)),
    };
    samples.set(type, made);
    return made;
  }

  function everyLead(type: string, excluded: ReadonlySet<number>): Ranked[] {
    return rows
      .all<{ id: number }>(`SELECT id FROM leads WHERE ${ofType} ORDER BY id`, type)
      .filter(({ id }) => !excluded.has(id))
      .map(({ id }) => ({ id, has: [], coverage: 1, score: scoreWithoutWords }));
  }
}

/** More of them make no search better, only slower. */
const mostWords = 50;

interface Sample {
  readonly numeric: readonly string[];
  readonly hasFacts: boolean;
  readonly hasTitles: boolean;
}

/** What a lead lacks. "Berlin and Munich": who is in one of them lacks nothing. */
function missing({ words, places }: Wanted, has: readonly number[]): Wanted['words'] {
  const isMadeUpFor = (at: number) =>
    places.some((group) => group.includes(at) && group.some((other) => has.includes(other)));
  return words.filter((_, at) => !has.includes(at) && !isMadeUpFor(at));
}

function keptBy({ facts }: Lead, { low, high, denied, text }: Condition, fact: string): string | undefined {
  const known = facts.get(fact) ?? '';
  const value = numberIn(known);
  return value !== undefined && (value >= low && value <= high) !== denied
    ? `${fact} ${known} (${text})`
    : undefined;
}
