import type { EntityType } from '../contract/types.ts';
import type { Catalogue, Match } from './catalogue.ts';
import { type Condition, factOf, numberIn } from './conditions.ts';
import type { Rows } from './database.ts';
import { type Lead, type LeadRow, ofType, toLead } from './lead.ts';
import { type Objective, parseObjective, type Term } from './objective.ts';

/** Below this share of what an objective asks for (by weight), a lead is not an answer but filler. */
const leastCoverage = 0.75;
/** A word that most leads have tells next to nothing; every other counts the same. */
const weightOf = (hits: number, total: number): number => (hits > 0.8 * total ? 0.1 : 1);

/** A lead with a part of what was asked for. */
interface Candidate {
  readonly id: number;
  readonly found: Set<Term>;
  rank: number;
}

/** What the catalogue knows of an objective's words. */
interface Look {
  readonly candidates: ReadonlyMap<number, Candidate>;
  /** Of the words it knows. */
  readonly weights: ReadonlyMap<Term, number>;
  readonly unknown: number;
}

/** A condition with the fact it is about, and the word that said so. */
interface Requirement {
  readonly condition: Condition;
  readonly fact: string;
  readonly word: string;
}

/**
 * Finds leads that have what an objective asks for. Words are looked up one by one; a lead's coverage is the
 * share of them it has. Number conditions and places must be met, whatever else fits.
 */
export function createSearch(rows: Rows): Catalogue['search'] {
  const factNames = new Map<string, string[]>();

  return (entityType, objective, most = Number.POSITIVE_INFINITY) => {
    const type = entityType ?? '';
    const asked = parseObjective(objective);
    const requirements = asked.conditions.flatMap((condition): Requirement[] => {
      const about = factOf(condition, numericFacts(type));
      return about === undefined ? [] : [{ condition, ...about }];
    });
    const look = lookUp(type, asked, requirements);
    const { candidates, weights, unknown } = look;
    const noWords = weights.size + unknown === 0;
    if (noWords && (requirements.length > 0 || asked.namesType)) {
      const all = everyLead(type).map((candidate) => ({ candidate, coverage: 1 }));
      return { matches: toMatches(all, requirements, entityType, most), considered: all.length };
    }
    return { matches: toMatches(fitting(look), requirements, entityType, most), considered: candidates.size };
  };

  function lookUp(type: string, { terms, runs }: Objective, requirements: readonly Requirement[]): Look {
    const total = count(type);
    const candidates = new Map<number, Candidate>();
    const weights = new Map<Term, number>();
    const known = (term: Term): boolean => {
      const hits = find(type, term.query);
      for (const { id, rank } of hits) {
        const candidate = candidates.get(id) ?? { id, found: new Set(), rank: 0 };
        candidate.found.add(term);
        candidate.rank -= rank;
        candidates.set(id, candidate);
      }
      if (hits.length > 0) weights.set(term, weightOf(hits.length, total));
      return hits.length > 0;
    };
    let unknown = 0;
    // The noun of a number condition is answered by the number.
    const nouns = new Set(requirements.map(({ word }) => word));
    for (const term of terms) if (!nouns.has(term.surface.toLowerCase()) && !known(term)) unknown += 1;
    // Without spaces nothing tells where a word ends: pairs that occur nowhere straddle two words.
    for (const { whole, pairs } of runs) if (!known(whole) && pairs.filter(known).length === 0) unknown += 1;
    return { candidates, weights, unknown };
  }

  /** The candidates that cover enough, the best first. */
  function fitting({ candidates, weights, unknown }: Look): Ranked[] {
    const places = [...weights.keys()].filter(({ forms }) => forms.some(isPlace));
    const known = sum(weights.values());
    // A word the catalogue has never seen weighs as much as one it knows.
    const wanted = known + (unknown * known) / Math.max(1, weights.size);
    const ranked: Ranked[] = [];
    for (const candidate of candidates.values()) {
      const coverage = sum([...candidate.found].map((term) => weights.get(term) ?? 0)) / wanted;
      if (coverage >= leastCoverage && places.every((term) => candidate.found.has(term)))
        ranked.push({ candidate, coverage: coverage > 0.999 ? 1 : coverage });
    }
    return ranked.sort(
      (a, b) =>
        b.coverage - a.coverage || b.candidate.rank - a.candidate.rank || a.candidate.id - b.candidate.id,
    );
  }

  function toMatches(
    ranked: readonly Ranked[],
    requirements: readonly Requirement[],
    entityType: EntityType | undefined,
    most: number,
  ): Match[] {
    const bestRank = ranked.reduce((best, { candidate }) => Math.max(best, candidate.rank), 0);
    const matches: Match[] = [];
    for (const { candidate, coverage } of ranked) {
      if (matches.length === most) break;
      const lead = toLead(rows.get<LeadRow>('SELECT * FROM leads WHERE id = ?', candidate.id) as LeadRow);
      const kept = requirements.map(({ condition, fact }) => reasonOf(condition, fact, lead));
      if (kept.includes(undefined)) continue;
      const words = [...candidate.found].map(({ surface }) => surface);
      matches.push({
        lead,
        coverage,
        words: words.length,
        score: coverage * (bestRank === 0 ? 0.9 : 0.8 + 0.19 * (candidate.rank / bestRank)),
        reason: toReason(words, kept as string[], entityType),
      });
    }
    return matches;
  }

  function find(type: string, query: string): { id: number; rank: number }[] {
    return rows.all(
      `SELECT leads.id AS id, bm25(words, 8.0, 2.0, 1.0, 6.0) AS rank FROM words JOIN leads ON leads.id = words.rowid
       WHERE words MATCH ?2 AND ${ofType}`,
      type,
      query,
    );
  }

  function isPlace(form: string): boolean {
    return rows.get('SELECT 1 FROM places WHERE place = ?', form) !== undefined;
  }

  function count(type: string): number {
    const row = rows.get<{ total: number }>(`SELECT count(*) AS total FROM leads WHERE ${ofType}`, type);
    return row?.total ?? 0;
  }

  /** The facts of a type that hold numbers, from a sample: they are the same for every lead of a type. */
  function numericFacts(type: string): string[] {
    let names = factNames.get(type);
    if (names === undefined) {
      const sample = rows.all<{ facts: string }>(`SELECT facts FROM leads WHERE ${ofType} LIMIT 200`, type);
      const all = new Set<string>();
      for (const { facts } of sample)
        for (const [name, fact] of Object.entries(JSON.parse(facts) as Record<string, string>))
          if (numberIn(fact) !== undefined) all.add(name);
      names = [...all];
      factNames.set(type, names);
    }
    return names;
  }

  function everyLead(type: string): Candidate[] {
    const leads = rows.all<{ id: number }>(`SELECT id FROM leads WHERE ${ofType} ORDER BY id`, type);
    return leads.map(({ id }) => ({ id, found: new Set(), rank: 0 }));
  }
}

interface Ranked {
  readonly candidate: Candidate;
  readonly coverage: number;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
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
