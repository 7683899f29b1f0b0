import type { EntityType } from '../contract/types.ts';
import { type Condition, factOf, numberIn } from './conditions.ts';
import type { openFile } from './database.ts';
import { type Lead, leadsFrom, ofType } from './lead.ts';
import { parseObjective, type Term } from './objective.ts';
import { toPhraseKey, withoutAccents } from './vocabulary.ts';

export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** The share of what was asked for that it has, and how many words. */
  readonly coverage: number;
  readonly words: number;
  readonly reason: string;
}

/** A word of an objective. A lead without one that is needed is none that was asked for. */
interface Word {
  readonly surface: string;
  readonly isNeeded: boolean;
  readonly isPlace: boolean;
}

/** A lead with some of the words, told by their positions: how well it has them, and how much it says of them. */
interface Candidate {
  readonly id: number;
  readonly has: number[];
  /** How many of them it is not only said to have to do with. */
  firm: number;
  strength: number;
  rank: number;
}

/** Less says no more than that a lead has to do with it. */
const firmStrength = 0.7;
/** Of leads that have the same words equally well, the one that says least of them keeps this share of its score. */
const leastSaid = 0.85;
/** Where nothing has all that is asked for, a lead must have more than this share of it, and not by the way. */
const most = 0.5;
/** Where only numbers, the type or what is denied were to be met. */
const scoreWithoutWords = 0.7;
/** More words make no search better, only slower. */
const mostWords = 50;

/**
 * Leads with a word, how well and how much of it: by its name, by the way, in an address, in a fact, or by what it is; and
 * a little better for each further of these. A part that lacks it adds nothing to the rank of that part alone. With an offset
 * SQLite computes each rank once, and not wherever its name stands.
 */
const hits = `
  SELECT id, rank, min(0.99, 0.02 * (name + description + links + facts + kind - 1)
    + max(0.9 * name, 0.65 * description, 0.4 * links, 0.75 * facts, 0.92 * kind)) AS strength
  FROM (
    SELECT CAST(rowid AS REAL) AS id, -bm25(words, 8, 2, 1, 4, 8, 0) AS rank,
      ${['name', 'description', 'links', 'facts', 'kind']
        .map(
          (part, at) => `bm25(words, ${[0, 1, 2, 3, 4].map((other) => +(other === at))}, 0) < 0 AS ${part}`,
        )
        .join(', ')}
    FROM words WHERE words MATCH ? LIMIT -1 OFFSET 0
  )`;

/** How a type stands in the index; as a word that no objective has. */
export function typeWord(type: EntityType): string {
  return `type${type.replaceAll('_', '')}`;
}

/** What the facts of a type are, from some of its leads: they are the same for every lead of a type. */
interface Sample {
  /** The facts that are numbers. */
  readonly numeric: readonly string[];
  readonly hasFacts: boolean;
  readonly hasTitles: boolean;
}

/**
 * Finds the leads that have what an objective asks for; where there are none, those that have most of it. Words are looked
 * up one by one; a lead's coverage is the share of them it has. Number conditions and what somebody is must be met, and
 * what is denied be absent, whatever else fits.
 */
export function createSearch(rows: ReturnType<typeof openFile>) {
  const samples = new Map<string, Sample>();
  const isKnown = (kind: 'phrase' | 'place', text: string): boolean =>
    rows.get('SELECT 1 FROM known WHERE kind = ? AND text = ?', [kind, text]) !== undefined;
  const isPlace = (form: string): boolean => isKnown('place', withoutAccents(form));

  const sampleOf = (type: string): Sample => {
    const leads = leadsFrom(rows, `leads WHERE ${ofType} LIMIT 200`, type);
    const facts = leads.flatMap((lead) => [...lead.facts]);
    const numeric = facts.filter(([, fact]) => numberIn(fact) !== undefined).map(([name]) => name);
    const hasTitles = type === 'person' && facts.some(([name]) => /^(job_)?title$/.test(name));
    return { numeric: [...new Set(numeric)], hasFacts: facts.length > 0, hasTitles };
  };

  const find = (type: string, query: string) =>
    rows.inTurns<{ id: number; rank: number; strength: number }>(
      hits,
      type === '' ? query : `(types : ${typeWord(type as EntityType)}) AND (${query})`,
    );

  const everyLead = (type: string): Candidate[] =>
    rows
      .all<{ id: number }>(`SELECT id FROM leads WHERE ${ofType}`, type)
      .map(({ id }) => ({ id, has: [], firm: 0, strength: 0, rank: 0 }));

  /** The words of the terms, and the leads that have any. */
  const lookUp = async (type: string, terms: readonly Term[], firm: number) => {
    const words: Word[] = [];
    const candidates = new Map<number, Candidate>();
    const isFound = async ({ query, forms, surface, isRole = false }: Term): Promise<boolean> => {
      let isThere = false;
      for await (const some of find(type, query))
        for (const { id, rank, strength } of some) {
          isThere = true;
          const candidate = candidates.get(id) ?? { id, has: [], firm: 0, strength: 0, rank: 0 };
          candidate.has.push(words.length);
          candidate.strength += strength;
          candidate.firm += strength >= firm ? 1 : 0;
          candidate.rank += rank;
          candidates.set(id, candidate);
        }
      if (!isThere) return false;
      words.push({ surface, isNeeded: isRole, isPlace: forms.some(isPlace) });
      return true;
    };
    for (const term of terms) {
      let found = await isFound(term);
      // Pairs that occur nowhere straddle two words.
      if (!found)
        for (const pair of term.pairs ?? [])
          if (words.length < mostWords && (await isFound(pair))) found = true;
      if (!found) words.push({ surface: term.surface, isNeeded: term.isRole === true, isPlace: false });
    }
    return { words, candidates: [...candidates.values()] };
  };

  /** The leads of the first tier in which any meets the conditions. */
  function* toMatches(
    tiers: Iterable<readonly Ranked[]>,
    conditions: readonly (Condition & { readonly fact: string })[],
    reasonOf: (has: readonly number[], kept: readonly string[]) => string,
  ): Generator<Match, void, undefined> {
    for (const tier of tiers) {
      let hasMatches = false;
      for (const { id, has, coverage, score } of tier) {
        const lead = leadsFrom(rows, 'leads WHERE id = ?', id)[0] as Lead;
        const kept = conditions.flatMap(({ low, high, denied, text, fact }) => {
          const known = lead.facts.get(fact) ?? '';
          const value = numberIn(known);
          const isMet = value !== undefined && (value >= low && value <= high) !== denied;
          return isMet ? [`${fact} ${known} (${text})`] : [];
        });
        if (kept.length < conditions.length) continue;
        hasMatches = true;
        yield { lead, coverage, words: has.length, score, reason: reasonOf(has, kept) };
      }
      if (hasMatches) return;
    }
  }

  /** The best first, each read when it is asked for; `considered`: how many leads were looked at, rejected ones included. */
  return async (entityType: EntityType | undefined, objective: string) => {
    const type = entityType ?? '';
    const sample = samples.get(type) ?? sampleOf(type);
    samples.set(type, sample);
    const isPhrase = (text: string) => isKnown('phrase', toPhraseKey(text));
    const asked = parseObjective(objective, { isPhrase, isPlace, hasTitles: sample.hasTitles });
    const conditions = asked.conditions.flatMap((condition) => {
      const about = factOf(condition, sample.numeric);
      return about === undefined ? [] : [{ ...condition, ...about }];
    });
    // The noun of a number condition is answered by the number.
    const nouns = conditions.map(({ word }) => word);
    const terms = asked.terms.filter(({ surface }) => !nouns.includes(surface.toLowerCase()));
    const excluded = new Set<number>();
    for (const { query } of asked.excluded)
      for await (const some of find(type, query)) for (const { id } of some) excluded.add(id);
    const isAny =
      terms.length === 0 && (conditions.length > 0 || asked.excluded.length > 0 || asked.namesType);
    const { words, candidates } = await lookUp(type, terms, sample.hasFacts ? firmStrength : 0);
    const fitting = (isAny ? everyLead(type) : candidates).filter(({ id }) => !excluded.has(id));
    const slots = slotsOf(words, fitting);
    const without = asked.excluded.map(({ surface }) => `not ${surface}`);
    return {
      considered: fitting.length,
      matches: toMatches(inOrder(words, slots, fitting), conditions, (has, kept) => {
        const matched = [...has.map((at) => words[at]?.surface), ...kept].join(', ');
        const what = matched === '' ? `is a ${type.replace('_', ' ') || 'lead'}` : `matches ${matched}`;
        const lacks = slots.filter((slot) => !isIn(slot, has)).flat();
        const lacking = lacks.sort((a, b) => a - b).map((at) => words[at]?.surface);
        const reason = [what, ...without].join(', ');
        return lacking.length === 0 ? reason : `${reason}; lacks ${lacking.join(', ')}`;
      }),
    };
  };
}

/**
 * What is asked for, each as the positions of its words: one, or places that no lead is in two of, since to be in one of
 * these will do. "Berlin, Germany" is a place in a place.
 */
function slotsOf(words: readonly Word[], candidates: readonly Candidate[]): number[][] {
  const slots: number[][] = [];
  const places: number[][] = [];
  for (const [at, { isPlace }] of words.entries()) {
    const isElsewhere = (place: readonly number[]) =>
      candidates.every(({ has }) => !has.includes(at) || !isIn(place, has));
    const slot = isPlace ? places.find(isElsewhere) : undefined;
    if (slot !== undefined) slot.push(at);
    else {
      slots.push([at]);
      if (isPlace) places.push(slots.at(-1) as number[]);
    }
  }
  return slots;
}

function isIn(slot: readonly number[], has: readonly number[]): boolean {
  return slot.some((at) => has.includes(at));
}

type Ranked = ReturnType<typeof bestFirst>[number];

/** Those with the most of what is asked for, then those with less of it: each the best first. */
function* inOrder(
  words: readonly Word[],
  slots: readonly number[][],
  candidates: readonly Candidate[],
): Generator<Ranked[]> {
  const asked = slots.length;
  const places = slots.filter(([at = 0]) => words[at]?.isPlace);
  const tiers: Candidate[][] = [];
  for (const candidate of candidates) {
    const { has, firm } = candidate;
    if (has.length < asked && firm / asked <= most) continue;
    if (words.some(({ isNeeded }, at) => isNeeded && !has.includes(at))) continue;
    // Of those that lack as much, first those that are where they are to be.
    const tier = 2 * has.length + (places.every((slot) => isIn(slot, has)) ? 1 : 0);
    tiers[tier] ??= [];
    tiers[tier].push(candidate);
  }
  for (const tier of tiers.reverse()) if (tier !== undefined) yield bestFirst(tier, asked);
}

function bestFirst(tier: readonly Candidate[], asked: number) {
  const ranks = tier.map(({ rank }) => rank).sort((a, b) => a - b);
  const [least = 0, greatest = 0] = [ranks[0], ranks.at(-1)];
  const ranked = tier.map(({ id, has, strength, rank }) => {
    const said = greatest === least ? 1 : (rank - least) / (greatest - least);
    const score = Math.round(100 * (strength / asked) * (leastSaid + (1 - leastSaid) * said)) / 100;
    if (asked === 0) return { id, has, coverage: 1, score: scoreWithoutWords };
    return { id, has, coverage: Math.min(1, has.length / asked), score: Math.min(0.99, score) };
  });
  return ranked.sort((a, b) => b.score - a.score || a.id - b.id);
}
