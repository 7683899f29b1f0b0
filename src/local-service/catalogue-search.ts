import type { EntityType } from '../contract/types.ts';
import type { Rows } from '../sqlite/database.ts';
import type { Lead } from './lead.ts';
import { factOf, numberIn, parseObjective } from './objective.ts';

export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** Whether the lead matches the whole objective, and the number of matched words. */
  readonly isWhole: boolean;
  readonly words: number;
  readonly reason: string;
}

/** The leads that a query selects. `sql` is the part after FROM. */
export type LeadsFrom = (sql: string, values?: (string | number)[]) => Lead[];

/** A lead with the positions of the words that it has, and its rank for them. */
interface Candidate {
  readonly id: number;
  readonly has: number[];
  rank: number;
}

/** Minimum share of the words that a lead must have. */
const minShare = 0.5;
/** Among leads with the same words, the lowest rank gets this share of the score, the highest `maxScore`. */
const minScore = 0.85;
const maxScore = 0.99;
/** A place weighs less than a kind: for "law firms in London", law firms elsewhere are better than other companies in London. */
const placeWeight = 0.7;
/** The score if the objective has only a type or numbers. */
const scoreWithoutWords = 0.7;

/** Weight of a word in each column of the index: name, description, links, facts, kind, place, types. */
export const columnWeights = 'bm25(8, 2, 1, 4, 8, 6, 0)';

/** For each word, the leads that have it, with their rank. */
const hits = `
  SELECT asked.key AS word, words.rowid AS id, -words.rank AS rank
  FROM json_each(?) AS asked CROSS JOIN words WHERE words MATCH asked.value`;

/** The type as a word of the index, which no objective contains. */
export function typeWord(type: string): string {
  return `type${type.replaceAll('_', '')}`;
}

/** The part of a query after FROM, with its values: the leads of a type in their order, or all leads. A lead without a type belongs to every type. */
export function ofType(type: EntityType | undefined): [sql: string, values?: string[]] {
  if (type === undefined) return ['leads ORDER BY leads.id'];
  return [
    'words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY words.rowid',
    [`types : ${typeWord(type)}`],
  ];
}

/**
 * Finds the leads that match the whole objective. If there are none, it returns those that match at least half of it, with a lower score and a
 * reason that says what is missing. Numbers must always match, if the leads of the type have such numbers.
 */
export function createSearch(rows: Rows, leadsFrom: LeadsFrom) {
  /** The numeric facts of a type, from a sample of its leads. */
  const numericFacts = new Map<EntityType | undefined, readonly string[]>();
  const numericFactsOf = (type: EntityType | undefined): readonly string[] => {
    const known = numericFacts.get(type);
    if (known !== undefined) return known;
    const [some, values] = ofType(type);
    const facts = leadsFrom(`${some} LIMIT 200`, values).flatMap((lead) => lead.facts);
    const numeric = facts.filter(([, fact]) => numberIn(fact) !== undefined).map(([name]) => name);
    numericFacts.set(type, [...new Set(numeric)]);
    return numericFactsOf(type);
  };

  /** The best leads first, read one by one. `considered` is the number of candidates, including rejected ones. */
  return async (entityType: EntityType | undefined, objective: string) => {
    const type = entityType ?? '';
    const ofThisType = (query: string): string =>
      type === '' ? query : `(types : ${typeWord(type)}) AND (${query})`;
    const isIn = (columns: string, query: string): boolean =>
      rows.get('SELECT 1 FROM words WHERE words MATCH ? LIMIT 1', ofThisType(`{${columns}} : ${query}`)) !==
      undefined;
    const wanted = parseObjective(objective, isIn);
    const numbers = wanted.numbers.map((number) => ({
      ...number,
      ...factOf(number, numericFactsOf(entityType)),
    }));
    const known = numbers.filter(({ fact }) => fact !== undefined);
    // The noun of a number is not a word to match.
    const nouns = known.map(({ noun }) => noun);
    const terms = wanted.terms.filter(({ surface }) => !nouns.includes(surface.toLowerCase()));
    // A number that no fact has becomes a word that no lead matches.
    const surfaces = terms.map(({ surface }) => surface);
    surfaces.push(...numbers.filter(({ fact }) => fact === undefined).map(({ text }) => text));
    const weights = surfaces.map((_, at) => (terms[at]?.isPlace ? placeWeight : 1));

    const candidates = new Map<number, Candidate>();
    await rows.each<{ word: number; id: number; rank: number }>(
      hits,
      JSON.stringify(terms.map(({ query }) => ofThisType(query))),
      ({ word, id, rank }) => {
        const candidate = candidates.get(id) ?? { id, has: [], rank: 0 };
        candidate.has.push(word);
        candidate.rank += rank;
        candidates.set(id, candidate);
      },
    );
    if (surfaces.length === 0 && (known.length > 0 || wanted.namesType)) {
      const [all, values] = ofType(entityType);
      for (const { id } of rows.all<{ id: number }>(`SELECT leads.id FROM ${all}`, values))
        candidates.set(id, { id, has: [], rank: 0 });
    }

    const reasonOf = (has: readonly number[], met: readonly string[]): string => {
      const matched = [...has.map((at) => surfaces[at]), ...met].join(', ');
      const reason = matched === '' ? `is a ${type.replace('_', ' ') || 'lead'}` : `matches ${matched}`;
      const lacking = surfaces.filter((_, at) => !has.includes(at));
      return lacking.length === 0 ? reason : `${reason}; lacks ${lacking.join(', ')}`;
    };
    /** Leads that match everything, otherwise those that match at least half. */
    function* matches(): Generator<Match, void, undefined> {
      const all = [...candidates.values()];
      for (const isWhole of [true, false]) {
        let isFound = false;
        const tier = all.filter(({ has }) =>
          isWhole
            ? has.length === surfaces.length
            : has.length < surfaces.length && has.length >= minShare * surfaces.length,
        );
        for (const { id, has, score } of bestFirst(tier, weights)) {
          const lead = leadsFrom('leads WHERE id = ?', [id])[0] as Lead;
          const factsOfLead = new Map(lead.facts);
          const met = known.flatMap(({ fact = '', isMet, text }) => {
            const value = numberIn(factsOfLead.get(fact) ?? '');
            return value !== undefined && isMet(value) ? [`${fact} ${factsOfLead.get(fact)} (${text})`] : [];
          });
          if (met.length < known.length) continue;
          isFound = true;
          yield { lead, isWhole, words: has.length, score, reason: reasonOf(has, met) };
        }
        if (isFound) return;
      }
    }
    return { considered: candidates.size, matches: matches() };
  };
}

function bestFirst(candidates: readonly Candidate[], weights: readonly number[]) {
  const weightOf = (has: readonly number[]) => has.reduce((sum, at) => sum + (weights[at] ?? 0), 0);
  const whole = weightOf([...weights.keys()]);
  const ranks = candidates.map(({ rank }) => rank).sort((a, b) => a - b);
  const [min = 0, max = 0] = [ranks[0], ranks.at(-1)];
  const ranked = candidates.map(({ id, has, rank }) => {
    const score = max === min ? 1 : (rank - min) / (max - min);
    const share = (weightOf(has) / whole) * (minScore + (maxScore - minScore) * score);
    return { id, has, score: whole === 0 ? scoreWithoutWords : Math.round(100 * share) / 100 };
  });
  return ranked.sort((a, b) => b.score - a.score || a.id - b.id);
}
