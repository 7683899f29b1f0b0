import type { EntityType } from '../contract/types.ts';
import type { Rows } from '../sqlite/database.ts';
import type { Lead } from './lead.ts';
import { factOf, numberIn, parseObjective } from './objective.ts';

export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** Whether it has everything that was asked for, and how many words that is. */
  readonly isWhole: boolean;
  readonly words: number;
  readonly reason: string;
}

/** The leads that a query selects: what stands after FROM, with its values. */
export type LeadsFrom = (sql: string, values?: (string | number)[]) => Lead[];

/** A lead with some of the words, by their positions, and how much it says of them. */
interface Candidate {
  readonly id: number;
  readonly has: number[];
  rank: number;
}

/** A lead with less of what was asked for is not found. */
const minShare = 0.5;
/** Of leads with the same words, the one that says least about them keeps this share of its score. */
const minScore = 0.85;
const maxScore = 0.99;
/** A place counts less than what a lead is: law firms elsewhere are closer to "law firms in London" than other companies in London. */
const placeWeight = 0.7;
/** The score where only the type or numbers were asked for. */
const scoreWithoutWords = 0.7;

/** How much a word counts in each column of the index: its name, description, links, facts, kind, place and types. */
export const columnWeights = 'bm25(8, 2, 1, 4, 8, 6, 0)';

/** The leads that have each of the words, and how much they say of it. */
const hits = `
  SELECT asked.key AS word, words.rowid AS id, -words.rank AS rank
  FROM json_each(?) AS asked CROSS JOIN words WHERE words MATCH asked.value`;

/** The type as a word of the index, which no objective contains. */
export function typeWord(type: string): string {
  return `type${type.replaceAll('_', '')}`;
}

/** The leads of a type, in their order; all of them without one. What stands after FROM, with its values. A lead without a type belongs to all. */
export function ofType(type: EntityType | undefined): [sql: string, values?: string[]] {
  if (type === undefined) return ['leads ORDER BY leads.id'];
  return [
    'words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY words.rowid',
    [`types : ${typeWord(type)}`],
  ];
}

/**
 * Finds the leads that have all that an objective asks for. Where there are none, those that have half of it or more come, with a lower
 * score and a reason that says what is missing. A number has to be met whatever else is missing, if the leads of the type have such numbers.
 */
export function createSearch(rows: Rows, leadsFrom: LeadsFrom) {
  /** The facts with numbers of a type, from some of its leads: they are the same for all. */
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

  /** The best leads first, each read when it is needed. `considered`: how many were looked at, including rejected ones. */
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
    // The number stands for its noun.
    const nouns = known.map(({ noun }) => noun);
    const terms = wanted.terms.filter(({ surface }) => !nouns.includes(surface.toLowerCase()));
    // No lead has a number that the catalogue does not know.
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
    /** Those that have everything, or else those that have half of it. */
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
