/** How well a lead has a word: by its name, by the way, by another fact, or by what it is. In the order of the index. */
const strengths = { name: 0.9, description: 0.65, links: 0.4, facts: 0.75, kind: 0.92 } as const;
export const parts = ['name', 'description', 'links', 'facts', 'kind'] as const;
/** For each further part that has it, too. */
const furtherPart = 0.02;
const highest = 0.99;
/** Less says no more than that a lead has to do with it. */
export const firmStrength = 0.7;
/** Of leads that have the same words equally well, the one that says least of them keeps this share of its score. */
const leastSaid = 0.85;
/** Where nothing has all that is asked for, a lead must have more than this share of it, and not by the way. */
const most = 0.5;

/** A lead with a word: in which of its parts (0 or 1), and how much it says of it. */
export type Hit = { readonly id: number; readonly rank: number } & {
  readonly [Part in (typeof parts)[number]]: number;
};

/** A lead with some of the words, told by their positions, how well it has them, and how much it says of them. */
export interface Candidate {
  readonly id: number;
  readonly has: number[];
  /** How many of them it is not only said to have to do with. */
  firm: number;
  strength: number;
  rank: number;
}

/** What an objective asks for. */
export interface Wanted {
  readonly words: readonly {
    readonly surface: string;
    /** A lead without it is none that was asked for. */
    readonly isNeeded: boolean;
  }[];
  /** Places in groups: a lead is to be in one of each. */
  readonly places: readonly (readonly number[])[];
}

export interface Ranked {
  readonly id: number;
  /** The words that it has. */
  readonly has: readonly number[];
  /** The share of what was asked for. */
  readonly coverage: number;
  readonly score: number;
}

export function strengthOf(hit: Hit): number {
  const having = parts.filter((part) => hit[part] === 1);
  const best = Math.max(0, ...having.map((part) => strengths[part]));
  return Math.min(highest, best + furtherPart * (having.length - 1));
}

/** Where no lead is in two places, either will do. "Berlin, Germany" is a place in a place. */
export function groupPlaces(named: readonly number[], candidates: readonly Candidate[]): number[][] {
  const groups: number[][] = [];
  for (const place of named) {
    const group = groups.find((others) =>
      candidates.every(({ has }) => !has.includes(place) || !others.some((other) => has.includes(other))),
    );
    if (group === undefined) groups.push([place]);
    else group.push(place);
  }
  return groups;
}

/** Those with the most of what is asked for, then those with less of it: each the best first. */
export function* inOrder({ words, places }: Wanted, candidates: readonly Candidate[]): Generator<Ranked[]> {
  // Of places that exclude each other one is enough.
  const asked = words.length - places.reduce((sum, { length }) => sum + length - 1, 0);
  const tiers: Candidate[][] = [];
  for (const candidate of candidates) {
    const { has, firm } = candidate;
    if (has.length < asked && firm / asked <= most) continue;
    if (words.some(({ isNeeded }, at) => isNeeded && !has.includes(at))) continue;
    const isThere = places.every((group) => group.some((place) => has.includes(place)));
    // Of those that lack as much, first those that are where they are to be.
    const tier = 2 * has.length + (isThere ? 1 : 0);
    tiers[tier] ??= [];
    tiers[tier].push(candidate);
  }
  for (const tier of tiers.reverse()) if (tier !== undefined) yield bestFirst(tier, asked);
}

function bestFirst(tier: readonly Candidate[], asked: number): Ranked[] {
  const least = tier.reduce((so, { rank }) => Math.min(so, rank), Number.POSITIVE_INFINITY);
  const greatest = tier.reduce((so, { rank }) => Math.max(so, rank), 0);
  const ranked = tier.map(({ id, has, strength, rank }) => {
    const said = greatest === least ? 1 : (rank - least) / (greatest - least);
    const score = Math.round(100 * (strength / asked) * (leastSaid + (1 - leastSaid) * said)) / 100;
    return { id, has, coverage: Math.min(1, has.length / asked), score: Math.min(highest, score) };
  });
  return ranked.sort((a, b) => b.score - a.score || a.id - b.id);
}
