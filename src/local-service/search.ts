import type { EntityType } from '../contract/types.ts';
import { factOf, numberIn } from './conditions.ts';
import type { Rows } from './database.ts';
import { type Lead, leadsFrom, ofType } from './lead.ts';
import { parseObjective, phrase, type Term, toIndexText } from './objective.ts';
import { withoutAccents } from './vocabulary.ts';

export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** Whether it has everything that was asked for, and how many words that is. */
  readonly isWhole: boolean;
  readonly words: number;
  readonly reason: string;
}

/**
 * A lead with some of the words, by their positions: how many of them it is not only said to have to do with, how well it has
 * them, and how much it says of them.
 */
const candidateOf = (id: number) => ({ id, has: [] as number[], firm: 0, strength: 0, rank: 0 });
type Candidate = Readonly<ReturnType<typeof candidateOf>>;

/** With less, a word is only mentioned. */
const firmStrength = 0.7;
/** If leads have the same words equally well, the one that says least about them keeps this share of its score. */
const leastSaid = 0.85;
/** If no lead has everything, a lead must have more than this share of it, and more than mentions. */
const most = 0.5;
/** The score where only numbers, the type or exclusions had to be met. */
const scoreWithoutWords = 0.7;
/** More words make a search slower, but no better. */
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

/** The type as a word of the index, which no objective contains. */
export function typeWord(type: string): string {
  return `type${type.replaceAll('_', '')}`;
}

/**
 * Finds the leads that have what an objective asks for; where there are none, those that have most of it. Words are looked
 * up one by one; a lead is ranked by how many of them it has. Number conditions and what somebody is must be met, and
 * what is denied be absent, whatever else fits.
 */
export function createSearch(rows: Rows) {
  const isThere = (from: string, text: string): boolean =>
    rows.get(`SELECT 1 FROM ${from}`, text) !== undefined;
  const isPlace = (form: string): boolean => isThere('places WHERE place = ?', withoutAccents(form));
  // A word that is not indexed can't be part of a phrase.
  const isPhrase = (text: string): boolean =>
    toIndexText(text) === text && isThere('words WHERE words MATCH ? LIMIT 1', `{kind} : ${phrase(text)}`);

  /** The kinds of facts of a type, from some of its leads: they are the same for all. */
  const samples = new Map<string, ReturnType<typeof sampleOf>>();
  const sampleOf = (type: string) => {
    const facts = leadsFrom(rows, `leads WHERE ${ofType} LIMIT 200`, type).flatMap((lead) => lead.facts);
    const numeric = facts.filter(([, fact]) => numberIn(fact) !== undefined).map(([name]) => name);
    const hasTitles = type === 'person' && facts.some(([name]) => /^(job_)?title$/.test(name));
    return { numeric: [...new Set(numeric)], hasFacts: facts.length > 0, hasTitles };
  };

  /** The best leads first, each read when it is needed. `considered`: how many were looked at, including rejected ones. */
  return async (entityType: EntityType | undefined, objective: string) => {
    const type = entityType ?? '';
    const { numeric, hasFacts, hasTitles } = samples.get(type) ?? sampleOf(type);
    samples.set(type, { numeric, hasFacts, hasTitles });
    const asked = parseObjective(objective, { isPhrase, isPlace, hasTitles });
    const conditions = asked.conditions.flatMap((condition) => {
      const about = factOf(condition, numeric);
      return about === undefined ? [] : [{ ...condition, ...about }];
    });
    // The number stands for the noun of its condition.
    const nouns = conditions.map(({ word }) => word);
    const terms = asked.terms.filter(({ surface }) => !nouns.includes(surface.toLowerCase()));

    const find = (query: string, take: (hit: { id: number; rank: number; strength: number }) => void) =>
      rows.each(hits, type === '' ? query : `(types : ${typeWord(type)}) AND (${query})`, take);
    const words: Term[] = [];
    const candidates = new Map<number, ReturnType<typeof candidateOf>>();
    const isFound = async (term: Term): Promise<boolean> => {
      let isThere = false;
      await find(term.query, ({ id, rank, strength }) => {
        isThere = true;
        const candidate = candidates.get(id) ?? candidateOf(id);
        candidate.has.push(words.length);
        candidate.strength += strength;
        candidate.firm += strength >= firmStrength || !hasFacts ? 1 : 0;
        candidate.rank += rank;
        candidates.set(id, candidate);
      });
      if (isThere) words.push(term);
      return isThere;
    };
    for (const term of terms) {
      let found = await isFound(term);
      // Pairs that occur nowhere span two words.
      if (!found)
        for (const pair of term.pairs ?? [])
          if (words.length < mostWords && (await isFound(pair))) found = true;
      if (!found) words.push(term);
    }
    const namesNoWord = conditions.length > 0 || asked.excluded.length > 0 || asked.namesType;
    if (terms.length === 0 && namesNoWord)
      for (const { id } of rows.all<{ id: number }>(`SELECT id FROM leads WHERE ${ofType}`, type))
        candidates.set(id, candidateOf(id));
    for (const { query } of asked.excluded) await find(query, ({ id }) => void candidates.delete(id));
    const fitting = [...candidates.values()];
    const slots = slotsOf(words, fitting);

    const reasonOf = (has: readonly number[], kept: readonly string[]): string => {
      const matched = [...has.map((at) => words[at]?.surface), ...kept].join(', ');
      const what = matched === '' ? `is a ${type.replace('_', ' ') || 'lead'}` : `matches ${matched}`;
      const lacking = words.filter((_, at) => !isIn(slots[at], slots, has)).map(({ surface }) => surface);
      const reason = [what, ...asked.excluded.map(({ surface }) => `not ${surface}`)].join(', ');
      return lacking.length === 0 ? reason : `${reason}; lacks ${lacking.join(', ')}`;
    };
    /** The leads of the first tier that has any which meet the conditions. */
    function* matches(): Generator<Match, void, undefined> {
      for (const tier of tiersOf(words, slots, fitting)) {
        let hasMatches = false;
        for (const { id, has, score, isWhole } of tier) {
          const lead = leadsFrom(rows, 'leads WHERE id = ?', id)[0] as Lead;
          const facts = new Map(lead.facts);
          const kept = conditions.flatMap(({ low, high, denied, text, fact }) => {
            const known = facts.get(fact) ?? '';
            const value = numberIn(known);
            const isMet = value !== undefined && (value >= low && value <= high) !== denied;
            return isMet ? [`${fact} ${known} (${text})`] : [];
          });
          if (kept.length < conditions.length) continue;
          hasMatches = true;
          yield { lead, isWhole, words: has.length, score, reason: reasonOf(has, kept) };
        }
        if (hasMatches) return;
      }
    }
    return { considered: fitting.length, matches: matches() };
  };
}

/**
 * For each word its position, or that of an earlier place: places without a common lead share one, since one of them is enough. "Berlin,
 * Germany" is a place in a place.
 */
function slotsOf(words: readonly Term[], candidates: readonly Candidate[]): number[] {
  const slots = [...words.keys()];
  const places = new Set<number>();
  for (const [at, { isPlace }] of words.entries()) {
    if (!isPlace) continue;
    const isElsewhere = (place: number) =>
      candidates.every(({ has }) => !has.includes(at) || !isIn(place, slots, has));
    const slot = [...places].find(isElsewhere) ?? at;
    slots[at] = slot;
    places.add(slot);
  }
  return slots;
}

function isIn(slot: number | undefined, slots: readonly number[], has: readonly number[]): boolean {
  return has.some((at) => slots[at] === slot);
}

/** The leads with most of what is asked for, then those with less, each tier from the best lead on. */
function* tiersOf(words: readonly Term[], slots: readonly number[], candidates: readonly Candidate[]) {
  const asked = new Set(slots).size;
  const tiers: Candidate[][] = [];
  for (const candidate of candidates) {
    const { has, firm } = candidate;
    if (has.length < asked && firm / asked <= most) continue;
    // Other words can't replace one that says what somebody is.
    if (words.some(({ isRole }, at) => isRole && !has.includes(at))) continue;
    // If leads lack equally much, those in the right place come first.
    const isThere = words.every(({ isPlace }, at) => !isPlace || isIn(slots[at], slots, has));
    const tier = 2 * has.length + (isThere ? 1 : 0);
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
    const share = (strength / asked) * (leastSaid + (1 - leastSaid) * said);
    const score = asked === 0 ? scoreWithoutWords : Math.min(0.99, Math.round(100 * share) / 100);
    return { id, has, isWhole: has.length >= asked, score };
  });
  return ranked.sort((a, b) => b.score - a.score || a.id - b.id);
}
