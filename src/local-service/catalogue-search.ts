import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityType } from '../contract/types.ts';
import { BestFirst } from './best-first.ts';
import type { Catalogue, Match } from './catalogue.ts';
import { typeWord } from './catalogue-index.ts';
import { type Condition, factOf, numberIn } from './conditions.ts';
import type { FinishedRows } from './database.ts';
import { type Lead, type LeadRow, ofType, toLead } from './lead.ts';
import { type Objective, parseObjective, type Term } from './objective.ts';

/** Below this share of what an objective asks for (by weight), a lead is not an answer but filler. */
const leastCoverage = 0.75;
/** A word that most leads have tells next to nothing; every other counts the same. */
const weightOf = (hits: number, total: number): number => (hits > 0.8 * total ? 0.1 : 1);

/** A lead with a part of what was asked for. */
interface Candidate {
  readonly id: number;
  /** Leads with the same words share the list of them. */
  found: readonly Term[];
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

/** Leads that are looked at in a few milliseconds. */
const handful = 500;

/**
 * Finds leads that have what an objective asks for. Words are looked up one by one; a lead's coverage is the
 * share of them it has. Number conditions and places must be met, whatever else fits. However many leads there
 * are, other requests get their turn after every few of them.
 */
export function createSearch(rows: FinishedRows): Catalogue['search'] {
  const factNames = new Map<string, string[]>();

  return async (entityType, objective) => {
    const type = entityType ?? '';
    const asked = parseObjective(objective);
    const requirements = asked.conditions.flatMap((condition): Requirement[] => {
      const about = factOf(condition, numericFacts(type));
      return about === undefined ? [] : [{ condition, ...about }];
    });
    const look = await lookUp(type, asked, requirements);
    const noWords = look.weights.size + look.unknown === 0;
    if (noWords && (requirements.length > 0 || asked.namesType))
      return { matches: toMatches(everyLead(type), 0, requirements, entityType), considered: count(type) };
    const { best, bestRank } = await fitting(look);
    return {
      matches: toMatches(best, bestRank, requirements, entityType),
      considered: look.candidates.size,
    };
  };

  async function lookUp(
    type: string,
    { terms, runs }: Objective,
    requirements: readonly Requirement[],
  ): Promise<Look> {
    const total = count(type);
    const candidates = new Map<number, Candidate>();
    const weights = new Map<Term, number>();
    const known = async (term: Term): Promise<boolean> => {
      let hits = 0;
      const first = [term];
      const grown = new Map<readonly Term[], readonly Term[]>();
      for await (const part of find(type, term.query)) {
        hits += part.length;
        for (const { id, rank } of part) {
          const candidate = candidates.get(id);
          if (candidate === undefined) {
            candidates.set(id, { id, found: first, rank: -rank });
            continue;
          }
          const found = grown.get(candidate.found) ?? [...candidate.found, term];
          grown.set(candidate.found, found);
          candidate.found = found;
          candidate.rank -= rank;
        }
      }
      if (hits > 0) weights.set(term, weightOf(hits, total));
      return hits > 0;
    };
    let unknown = 0;
    // The noun of a number condition is answered by the number.
    const nouns = new Set(requirements.map(({ word }) => word));
    for (const term of terms)
      if (!nouns.has(term.surface.toLowerCase()) && !(await known(term))) unknown += 1;
    // Without spaces nothing tells where a word ends: pairs that occur nowhere straddle two words.
    for (const { whole, pairs } of runs) {
      let found = await known(whole);
      if (found) continue;
      for (const pair of pairs) if (await known(pair)) found = true;
      if (!found) unknown += 1;
    }
    return { candidates, weights, unknown };
  }

  /** The candidates that cover enough. */
  async function fitting({ candidates, weights, unknown }: Look): Promise<Fitting> {
    const places = [...weights.keys()].filter(({ forms }) => forms.some(isPlace));
    const known = sum(weights.values());
    // A word the catalogue has never seen weighs as much as one it knows.
    const wanted = known + (unknown * known) / Math.max(1, weights.size);
    const coverageOf = (found: readonly Term[]): number => {
      if (!places.every((term) => found.includes(term))) return 0;
      const coverage = sum(found.map((term) => weights.get(term) ?? 0)) / wanted;
      return coverage > 0.999 ? 1 : coverage;
    };
    const coverages = new Map<readonly Term[], number>();
    const best = new BestFirst<Ranked>(isBetter);
    let bestRank = 0;
    let seen = 0;
    for (const candidate of candidates.values()) {
      seen += 1;
      if (seen % (10 * handful) === 0) await nextTurn();
      const coverage = coverages.get(candidate.found) ?? coverageOf(candidate.found);
      coverages.set(candidate.found, coverage);
      if (coverage < leastCoverage) continue;
      best.add({ candidate, coverage });
      bestRank = Math.max(bestRank, candidate.rank);
    }
    return { best, bestRank };
  }

  async function* toMatches(
    ranked: Iterable<Ranked> | AsyncIterable<Ranked>,
    bestRank: number,
    requirements: readonly Requirement[],
    entityType: EntityType | undefined,
  ): AsyncGenerator<Match, void, undefined> {
    let seen = 0;
    for await (const { candidate, coverage } of ranked) {
      seen += 1;
      if (seen % handful === 0) await nextTurn();
      const lead = toLead(rows.get<LeadRow>('SELECT * FROM leads WHERE id = ?', candidate.id) as LeadRow);
      const kept = requirements.map(({ condition, fact }) => reasonOf(condition, fact, lead));
      if (kept.includes(undefined)) continue;
      const words = candidate.found.map(({ surface }) => surface);
      yield {
        lead,
        coverage,
        words: words.length,
        score: coverage * (bestRank === 0 ? 0.9 : 0.8 + 0.19 * (candidate.rank / bestRank)),
        reason: toReason(words, kept as string[], entityType),
      };
    }
  }

  function find(type: string, query: string): AsyncGenerator<{ id: number; rank: number }[]> {
    const ofAll = count(type) === count('');
    return rows.inTurns(
      // A REAL crosses over from WebAssembly as a number, an INTEGER as a BigInt.
      `SELECT CAST(rowid AS REAL) AS id, bm25(words, 8.0, 2.0, 1.0, 6.0, 0.0) AS rank FROM words WHERE words MATCH ?`,
      ofAll ? query : `(types : ${typeWord(type as EntityType)}) AND (${query})`,
    );
  }

  function isPlace(form: string): boolean {
    return rows.get('SELECT 1 FROM places WHERE place = ?', form) !== undefined;
  }

  function count(type: string): number {
    return (
      rows.get<{ total: number }>(`SELECT sum(total) AS total FROM totals WHERE ${ofType}`, type)?.total ?? 0
    );
  }

  /** The facts of a type that hold numbers, from a sample: they are the same for every lead of a type. */
  function numericFacts(type: string): string[] {
    let names = factNames.get(type);
    if (names === undefined) {
      const sample = rows.all<{ facts: string }>(`SELECT facts FROM leads WHERE ${ofType} LIMIT 200`, type);
      const all = new Set<string>();
      for (const { facts } of sample)
        for (const [name, fact] of JSON.parse(facts) as [string, string][])
          if (numberIn(fact) !== undefined) all.add(name);
      names = [...all];
      factNames.set(type, names);
    }
    return names;
  }

  async function* everyLead(type: string): AsyncGenerator<Ranked> {
    for await (const part of rows.inTurns<{ id: number }>(
      `SELECT id FROM leads WHERE ${ofType} ORDER BY id`,
      type,
    ))
      for (const { id } of part) yield { candidate: { id, found: [], rank: 0 }, coverage: 1 };
  }
}

interface Ranked {
  readonly candidate: Candidate;
  readonly coverage: number;
}

interface Fitting {
  readonly best: Iterable<Ranked>;
  readonly bestRank: number;
}

function isBetter(a: Ranked, b: Ranked): boolean {
  return (
    (a.coverage - b.coverage || a.candidate.rank - b.candidate.rank || b.candidate.id - a.candidate.id) > 0
  );
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

function reasonOf({ low, high, text }: Condition, fact: string, { facts }: Lead): string | undefined {
  const known = facts.get(fact) ?? '';
  const value = numberIn(known);
  return value !== undefined && value >= low && value <= high ? `${fact} ${known} (${text})` : undefined;
}

function toReason(words: string[], conditions: string[], entityType: string | undefined): string {
  const named = [...words, ...conditions];
  return named.length === 0
    ? `is a ${(entityType ?? 'lead').replace('_', ' ')}`
    : `matches ${named.join(', ')}`;
}
