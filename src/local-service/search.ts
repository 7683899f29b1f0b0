import type { EntityType } from '../contract/types.ts';
import { factOf, numberIn } from './conditions.ts';
import type { openFile } from './database.ts';
import { type Lead, leadsFrom, ofType } from './lead.ts';
import { parseObjective, phrase, type Term, toIndexText } from './objective.ts';
import { withoutAccents } from './vocabulary.ts';

export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** Whether it has all that was asked for, and how many words that are. */
  readonly isWhole: boolean;
  readonly words: number;
  readonly reason: string;
}

/** A word of an objective. A lead without one that is needed is none that was asked for. */
interface Word {
  readonly surface: string;
  readonly isNeeded: boolean;
  readonly isPlace: boolean;
  /** The same for places that no lead is in two of, since to be in one of these will do. "Berlin, Germany" is a place in a place. */
  slot: number;
}

/** A lead with some of the words, by their positions: how well it has them, and how much it says of them. */
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
export function typeWord(type: string): string {
  return `type${type.replaceAll('_', '')}`;
}

/**
 * Finds the leads that have what an objective asks for; where there are none, those that have most of it. Words are looked
 * up one by one; a lead is ranked by how many of them it has. Number conditions and what somebody is must be met, and
 * what is denied be absent, whatever else fits.
 */
export function createSearch(rows: ReturnType<typeof openFile>) {
  const isThere = (from: string, text: string): boolean =>
    rows.get(`SELECT 1 FROM ${from}`, text) !== undefined;
  const isPlace = (form: string): boolean => isThere('places WHERE place = ?', withoutAccents(form));
  // A word that is not indexed makes no phrase of the others.
  const isPhrase = (text: string): boolean =>
    toIndexText(text) === text && isThere('words WHERE words MATCH ? LIMIT 1', `{kind} : ${phrase(text)}`);

  /** What the facts of a type are, from some of its leads: they are the same for every lead of a type. */
  const samples = new Map<string, ReturnType<typeof sampleOf>>();
  const sampleOf = (type: string) => {
    const facts = leadsFrom(rows, `leads WHERE ${ofType} LIMIT 200`, type).flatMap((lead) => lead.facts);
    const numeric = facts.filter(([, fact]) => numberIn(fact) !== undefined).map(([name]) => name);
    const hasTitles = type === 'person' && facts.some(([name]) => /^(job_)?title$/.test(name));
    return { numeric: [...new Set(numeric)], hasFacts: facts.length > 0, hasTitles };
  };

  /** The best first, each read when it is asked for; `considered`: how many leads were looked at, rejected ones included. */
  return async (entityType: EntityType | undefined, objective: string) => {
    const type = entityType ?? '';
    const { numeric, hasFacts, hasTitles } = samples.get(type) ?? sampleOf(type);
    samples.set(type, { numeric, hasFacts, hasTitles });
    const asked = parseObjective(objective, { isPhrase, isPlace, hasTitles });
    const conditions = asked.conditions.flatMap((condition) => {
      const about = factOf(condition, numeric);
      return about === undefined ? [] : [{ ...condition, ...about }];
    });
    // The noun of a number condition is answered by the number.
    const nouns = conditions.map(({ word }) => word);
    const terms = asked.terms.filter(({ surface }) => !nouns.includes(surface.toLowerCase()));

    const find = (query: string, take: (hit: { id: number; rank: number; strength: number }) => void) =>
      rows.each(hits, type === '' ? query : `(types : ${typeWord(type)}) AND (${query})`, take);
    const words: Word[] = [];
    const candidates = new Map<number, Candidate>();
    const add = ({ surface, isPlace, isRole = false }: Term): void => {
      words.push({ surface, isNeeded: isRole, isPlace, slot: words.length });
    };
    const isFound = async (term: Term): Promise<boolean> => {
      let isThere = false;
      await find(term.query, ({ id, rank, strength }) => {
        isThere = true;
        const candidate = candidates.get(id) ?? { id, has: [], firm: 0, strength: 0, rank: 0 };
        candidate.has.push(words.length);
        candidate.strength += strength;
        candidate.firm += strength >= firmStrength || !hasFacts ? 1 : 0;
        candidate.rank += rank;
        candidates.set(id, candidate);
      });
      if (isThere) add(term);
      return isThere;
    };
    for (const term of terms) {
      let found = await isFound(term);
      // Pairs that occur nowhere straddle two words.
      if (!found)
        for (const pair of term.pairs ?? [])
          if (words.length < mostWords && (await isFound(pair))) found = true;
      if (!found) add(term);
    }
    const namesNoWord = conditions.length > 0 || asked.excluded.length > 0 || asked.namesType;
    if (terms.length === 0 && namesNoWord)
      for (const { id } of rows.all<{ id: number }>(`SELECT id FROM leads WHERE ${ofType}`, type))
        candidates.set(id, { id, has: [], firm: 0, strength: 0, rank: 0 });
    for (const { query } of asked.excluded) await find(query, ({ id }) => void candidates.delete(id));
    const fitting = [...candidates.values()];
    shareSlots(words, fitting);

    const reasonOf = (has: readonly number[], kept: readonly string[]): string => {
      const matched = [...has.map((at) => words[at]?.surface), ...kept].join(', ');
      const what = matched === '' ? `is a ${type.replace('_', ' ') || 'lead'}` : `matches ${matched}`;
      const lacking = words.filter(({ slot }) => !isIn(slot, words, has)).map(({ surface }) => surface);
      const reason = [what, ...asked.excluded.map(({ surface }) => `not ${surface}`)].join(', ');
      return lacking.length === 0 ? reason : `${reason}; lacks ${lacking.join(', ')}`;
    };
    /** The leads of the first tier in which any meets the conditions. */
    function* matches(): Generator<Match, void, undefined> {
      for (const tier of tiersOf(words, fitting)) {
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

function isIn(slot: number, words: readonly Word[], has: readonly number[]): boolean {
  return has.some((at) => words[at]?.slot === slot);
}

function shareSlots(words: readonly Word[], candidates: readonly Candidate[]): void {
  const places = new Set<number>();
  for (const [at, word] of words.entries()) {
    if (!word.isPlace) continue;
    const isElsewhere = (place: number) =>
      candidates.every(({ has }) => !has.includes(at) || !isIn(place, words, has));
    word.slot = [...places].find(isElsewhere) ?? at;
    places.add(word.slot);
  }
}

/** Those with the most of what is asked for, then those with less of it: each the best first. */
function* tiersOf(words: readonly Word[], candidates: readonly Candidate[]) {
  const asked = new Set(words.map(({ slot }) => slot)).size;
  const tiers: Candidate[][] = [];
  for (const candidate of candidates) {
    const { has, firm } = candidate;
    if (has.length < asked && firm / asked <= most) continue;
    if (words.some(({ isNeeded }, at) => isNeeded && !has.includes(at))) continue;
    // Of those that lack as much, first those that are where they are to be.
    const isThere = words.every(({ isPlace, slot }) => !isPlace || isIn(slot, words, has));
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
