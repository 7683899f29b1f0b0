import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityType } from '../contract/types.ts';
import type { Catalogue, Match } from './catalogue.ts';
import { toPhraseKey, typeWord } from './catalogue-index.ts';
import { type Condition, factOf, numberIn } from './conditions.ts';
import type { FinishedRows } from './database.ts';
import { type Lead, type LeadRow, ofType, toLead } from './lead.ts';
import { type Objective, parseObjective, type Term } from './objective.ts';
import {
  type Candidate,
  groupPlaces,
  type Had,
  type Hit,
  type Look,
  type Part,
  type Ranked,
  rank,
  strengthOf,
  unranked,
} from './ranking.ts';
import { withoutAccents } from './synonyms.ts';

/** The parts of a lead in the order in which they are indexed; its types come after them. */
const columns: readonly Part[] = ['name', 'description', 'links', 'facts', 'kind'];
/** A word that most leads have tells next to nothing; every other counts the same. */
const weightOf = (hits: number, total: number): number => (hits > 0.8 * total ? 0.1 : 1);

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
 * share of them it has. Number conditions and places must be met, and what is denied be absent, whatever else
 * fits. However many leads there are, other requests get their turn after every few of them.
 */
export function createSearch(rows: FinishedRows): Catalogue['search'] {
  const factNames = new Map<string, string[]>();

  return async (entityType, objective) => {
    const type = entityType ?? '';
    const asked = parseObjective(objective, { isPhrase, isPlace });
    const requirements = asked.conditions.flatMap((condition): Requirement[] => {
      const about = factOf(condition, numericFacts(type));
      return about === undefined ? [] : [{ condition, ...about }];
    });
    const look = await lookUp(type, asked, requirements);
    const excluded = new Set<number>();
    for (const { query } of asked.excluded)
      for await (const hits of find(type, query)) for (const { id } of hits) excluded.add(id);
    const noWords = look.weights.size + look.unknown === 0;
    const anyLead = noWords && (requirements.length > 0 || asked.excluded.length > 0 || asked.namesType);
    const ranked = anyLead ? everyLead(type, excluded) : await rank(look, excluded);
    const without = asked.excluded.map(({ surface }) => `not ${surface}`);
    return {
      matches: toMatches(ranked, requirements, without, entityType),
      considered: anyLead ? count(type) : look.candidates.size,
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
      const own = await idsOf(type, term.own);
      const grow = growing(term);
      let hits = 0;
      for await (const part of find(type, term.query)) {
        hits += part.length;
        for (const hit of part) {
          const candidate = candidates.get(hit.id) ?? { id: hit.id, found: nothing, rank: 0 };
          candidate.found = grow(candidate.found, strengthOf(hit, own.size === 0 || own.has(hit.id)));
          candidate.rank -= hit.rank;
          candidates.set(hit.id, candidate);
        }
      }
      if (hits > 0) weights.set(term, weightOf(hits, total));
      return hits > 0;
    };
    let unknown = 0;
    // The noun of a number condition is answered by the number.
    const nouns = new Set(requirements.map(({ word }) => word));
    for (const term of terms) {
      if (nouns.has(term.surface.toLowerCase()) || (await known(term))) continue;
      unknown += 1;
      if (term.pinned) return { candidates: new Map(), weights, unknown, places: [] };
    }
    // Without spaces nothing tells where a word ends: pairs that occur nowhere straddle two words.
    for (const { whole, pairs } of runs) {
      let found = await known(whole);
      if (found) continue;
      for (const pair of pairs) if (await known(pair)) found = true;
      if (!found) unknown += 1;
    }
    const places = [...weights.keys()].filter(({ forms }) => forms.some(isPlace));
    const lists = new Set<readonly Had[]>();
    if (places.length > 1) for (const { found } of candidates.values()) lists.add(found);
    return { candidates, weights, unknown, places: groupPlaces(places, lists) };
  }

  /** The leads that have a word itself, where a term has other words for it, too. */
  async function idsOf(type: string, query: string | undefined): Promise<Set<number>> {
    const ids = new Set<number>();
    if (query === undefined) return ids;
    for await (const hits of find(type, query)) for (const { id } of hits) ids.add(id);
    return ids;
  }

  async function* toMatches(
    ranked: Iterable<Ranked> | AsyncIterable<Ranked>,
    requirements: readonly Requirement[],
    without: readonly string[],
    entityType: EntityType | undefined,
  ): AsyncGenerator<Match, void, undefined> {
    let seen = 0;
    for await (const { id, found, coverage, score } of ranked) {
      seen += 1;
      if (seen % handful === 0) await nextTurn();
      const lead = toLead(rows.get<LeadRow>('SELECT * FROM leads WHERE id = ?', id) as LeadRow);
      const kept = requirements.map(({ condition, fact }) => reasonOf(condition, fact, lead));
      if (kept.includes(undefined)) continue;
      const words = found.map(({ term }) => term.surface);
      const reason = toReason([...words, ...(kept as string[])], without, entityType);
      yield { lead, coverage, words: words.length, score, reason };
    }
  }

  /** Leads with a word: a part of them that lacks it adds nothing to the rank of that part alone. */
  function find(type: string, query: string): AsyncGenerator<Hit[]> {
    const ofAll = count(type) === count('');
    const parts = columns.map((column, at) => {
      const alone = [...columns.map((_, other) => (other === at ? 1 : 0)), 0].join(', ');
      return `CAST(bm25(words, ${alone}) < 0 AS REAL) AS ${column}`;
    });
    return rows.inTurns<Hit>(
      // A REAL crosses over from WebAssembly as a number, an INTEGER as a BigInt.
      `SELECT CAST(rowid AS REAL) AS id, bm25(words, 8.0, 2.0, 1.0, 4.0, 8.0, 0.0) AS rank, ${parts.join(', ')}
       FROM words WHERE words MATCH ?`,
      ofAll ? query : `(types : ${typeWord(type as EntityType)}) AND (${query})`,
    );
  }

  function isPhrase(text: string): boolean {
    return rows.get('SELECT 1 FROM phrases WHERE phrase = ?', toPhraseKey(text)) !== undefined;
  }

  function isPlace(form: string): boolean {
    return rows.get('SELECT 1 FROM places WHERE place = ?', withoutAccents(form)) !== undefined;
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

  async function* everyLead(type: string, excluded: ReadonlySet<number>): AsyncGenerator<Ranked> {
    for await (const part of rows.inTurns<{ id: number }>(
      `SELECT id FROM leads WHERE ${ofType} ORDER BY id`,
      type,
    ))
      for (const { id } of part) if (!excluded.has(id)) yield unranked(id);
  }
}

const nothing: readonly Had[] = [];

/** Adds a word to lists of words: the same list for every lead that had the same before, and has it as well. */
function growing(term: Term): (found: readonly Had[], strength: number) => readonly Had[] {
  const grown = new Map<readonly Had[], Map<number, readonly Had[]>>();
  return (found, strength) => {
    const longer = grown.get(found) ?? new Map<number, readonly Had[]>();
    const list = longer.get(strength) ?? [...found, { term, strength }];
    longer.set(strength, list);
    grown.set(found, longer);
    return list;
  };
}

function reasonOf({ low, high, denied, text }: Condition, fact: string, { facts }: Lead): string | undefined {
  const known = facts.get(fact) ?? '';
  const value = numberIn(known);
  return value !== undefined && (value >= low && value <= high) !== denied
    ? `${fact} ${known} (${text})`
    : undefined;
}

function toReason(
  matched: readonly string[],
  without: readonly string[],
  entityType: string | undefined,
): string {
  const kind = `is a ${(entityType ?? 'lead').replace('_', ' ')}`;
  return [matched.length === 0 ? kind : `matches ${matched.join(', ')}`, ...without].join(', ');
}
