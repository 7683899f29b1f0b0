import { setImmediate as nextTurn } from 'node:timers/promises';

/** How well a lead has a word: by its name, by the way, by another fact, or by what it is. In the order of the index. */
const strengths = { name: 0.9, description: 0.65, links: 0.4, facts: 0.75, kind: 0.92 } as const;
export const parts = ['name', 'description', 'links', 'facts', 'kind'] as const;
/** For each further part that has it, too. */
const furtherPart = 0.02;
const highest = 0.99;
/** Of leads that have the same words equally well, the one that says least of them keeps this share of its score. */
const leastSaid = 0.85;
/** Where nothing has all that is asked for, a lead must have more than this share of it, and not by the way. */
const most = 0.5;

/** A lead with a word: in which of its parts (0 or 1), and how much it says of it. */
export type Hit = { readonly id: number; readonly rank: number } & {
  readonly [Part in (typeof parts)[number]]: number;
};

/** A lead with some of the words, as the sum of their bits, how well it has them, and how much it says of them. */
export interface Candidate {
  words: number;
  /** How many of them it is not only said to have to do with. */
  firm: number;
  strength: number;
  rank: number;
}

export interface WantedWord {
  readonly surface: string;
  /** A lead without it is none that was asked for. */
  readonly isNeeded: boolean;
}

/** What an objective asks for. Words are told by their position. */
export interface Wanted {
  readonly words: readonly WantedWord[];
  /** Places in groups: a lead is to be in one of each. */
  readonly places: readonly (readonly number[])[];
  /** "Berlin and Munich": who is in one of them lacks nothing. */
  isMadeUpFor(word: number, has: readonly number[]): boolean;
}

export interface Ranked {
  readonly id: number;
  /** The words that it has. */
  readonly has: readonly number[];
  /** The share of what was asked for. */
  readonly coverage: number;
  readonly score: number;
}

/** Less says no more than that a lead has to do with it. */
export const firmStrength = 0.7;

export function strengthOf(hit: Hit): number {
  const having = parts.filter((part) => hit[part] === 1);
  const best = Math.max(0, ...having.map((part) => strengths[part]));
  return Math.min(highest, best + furtherPart * (having.length - 1));
}

/** Where no lead is in two places, either will do. "Berlin, Germany" is a place in a place. */
export function groupPlaces(
  words: readonly WantedWord[],
  named: readonly number[],
  candidates: Iterable<Candidate>,
): Wanted {
  const together = new Set<string>();
  const seen = new Set<number>();
  if (named.length > 1)
    for (const candidate of candidates) {
      if (seen.has(candidate.words)) continue;
      seen.add(candidate.words);
      const of = named.filter((place) => hasWord(candidate.words, place));
      for (const one of of) for (const other of of) together.add(`${one} ${other}`);
    }
  const places: number[][] = [];
  for (const place of named) {
    const group = places.find((others) => others.every((other) => !together.has(`${place} ${other}`)));
    if (group === undefined) places.push([place]);
    else group.push(place);
  }
  const isMadeUpFor = (word: number, has: readonly number[]) =>
    places.some((group) => group.includes(word) && group.some((other) => has.includes(other)));
  return { words, places, isMadeUpFor };
}

function hasWord(words: number, at: number): boolean {
  return Math.floor(words / 2 ** at) % 2 === 1;
}

/** Leads that are looked at in a few milliseconds. */
const handful = 5000;

/** Those with the most of what is asked for, then those with less of it: each the best first. */
export function* inOrder(
  wanted: Wanted,
  candidates: ReadonlyMap<number, Candidate>,
): Generator<AsyncGenerator<Ranked>> {
  // Of places that exclude each other one is enough.
  const asked = wanted.words.length - wanted.places.reduce((sum, { length }) => sum + length - 1, 0);
  const tiers = new Map<number, Map<number, readonly number[]>>();
  for (const words of new Set([...candidates.values()].map(({ words }) => words))) {
    const has = [...wanted.words.keys()].filter((at) => hasWord(words, at));
    if (!wanted.words.every(({ isNeeded }, at) => !isNeeded || has.includes(at))) continue;
    if (has.length / asked <= most) continue;
    const isThere = wanted.places.every((group) => group.some((place) => has.includes(place)));
    // Of those that lack as much, first those that are where they are to be.
    const tier = 2 * has.length + (isThere ? 1 : 0);
    tiers.set(tier, (tiers.get(tier) ?? new Map()).set(words, has));
  }
  for (const [, combinations] of [...tiers].sort(([a], [b]) => b - a))
    yield bestFirst(candidates, combinations, asked);
}

/** Whether a lead is what was asked for, in all or in most of it. */
function isAnswer({ words, firm }: Candidate, combinations: Combinations, asked: number): boolean {
  const has = combinations.get(words);
  return has !== undefined && (has.length >= asked || firm / asked > most);
}

/** The words that leads have, by the sum of their bits. */
type Combinations = ReadonlyMap<number, readonly number[]>;

/** Put into drawers by their score, so that nothing is sorted that nobody asks for. Others get their turn in between. */
async function* bestFirst(
  candidates: ReadonlyMap<number, Candidate>,
  combinations: Combinations,
  asked: number,
): AsyncGenerator<Ranked> {
  let [least, greatest] = [Number.POSITIVE_INFINITY, 0];
  for (const candidate of candidates.values()) {
    if (!isAnswer(candidate, combinations, asked)) continue;
    least = Math.min(least, candidate.rank);
    greatest = Math.max(greatest, candidate.rank);
  }
  const drawers: { id: number; words: number }[][] = Array.from({ length: 101 }, () => []);
  let seen = 0;
  for (const [id, candidate] of candidates) {
    seen += 1;
    if (seen % handful === 0) await nextTurn();
    if (!isAnswer(candidate, combinations, asked)) continue;
    const { words, strength, rank } = candidate;
    const said = greatest === least ? 1 : (rank - least) / (greatest - least);
    const score = (strength / asked) * (leastSaid + (1 - leastSaid) * said);
    drawers[Math.min(99, Math.round(score * 100))]?.push({ id, words });
  }
  for (const [score, drawer] of [...drawers.entries()].reverse())
    for (const { id, words } of drawer.sort((a, b) => a.id - b.id)) {
      const has = combinations.get(words) ?? [];
      yield { id, has, coverage: Math.min(1, has.length / asked), score: score / 100 };
    }
}
