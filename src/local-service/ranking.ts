import { setImmediate as nextTurn } from 'node:timers/promises';
import { BestFirst } from './best-first.ts';
import type { Term } from './objective.ts';

/** Below this share of what an objective asks for (by weight), a lead is not an answer but filler. */
const leastCoverage = 0.75;
/** The same of the words that the catalogue knows: a lead without one of four has been passed over for a reason. */
const leastKnown = 0.8;

/** How well a lead has a word: by what it is, by its name, by another fact, or by the way. */
const strengths = { kind: 0.92, name: 0.9, facts: 0.75, description: 0.65, links: 0.4 } as const;
/** For each further part that has it, too. */
const furtherPart = 0.02;
const highest = 0.99;
/** The share that is left where a lead says the same in other words. */
const inOtherWords = 0.85;
/** Of leads that have the same words equally well, the one that says least of them keeps this share of its score. */
const leastSaid = 0.85;
/** Where only numbers, the type or what is denied were to be met. */
const withoutWords = 0.7;

export type Part = keyof typeof strengths;

/** A lead with a word: in which of its parts (0 or 1), and how much it says of it. */
export type Hit = { readonly id: number; readonly rank: number } & { readonly [Name in Part]: number };

/** A word that a lead has, and how well, from 0 to 1. */
export interface Had {
  readonly term: Term;
  readonly strength: number;
}

/** A lead with a part of what was asked for. */
export interface Candidate {
  readonly id: number;
  /** Leads with the same words, as well had, share the list of them. */
  found: readonly Had[];
  rank: number;
}

/** What the catalogue knows of an objective's words. */
export interface Look {
  readonly candidates: ReadonlyMap<number, Candidate>;
  /** Of the words it knows. */
  readonly weights: ReadonlyMap<Term, number>;
  readonly unknown: number;
  /** Places in groups: a lead must be in one of each. */
  readonly places: readonly (readonly Term[])[];
}

export interface Ranked {
  readonly id: number;
  readonly found: readonly Had[];
  /** The share of what was asked for that it has. */
  readonly coverage: number;
  readonly score: number;
}

export function strengthOf(hit: Hit, isOwnWord: boolean): number {
  const having = Object.entries(strengths).filter(([part]) => hit[part as Part] === 1);
  const best = Math.max(0, ...having.map(([, strength]) => strength));
  const strength = best + furtherPart * (having.length - 1);
  return Math.min(highest, strength) * (isOwnWord ? 1 : inOtherWords);
}

/** "Berlin and Munich": where no lead is in both, either will do. "Berlin, Germany" is a place in a place. */
export function groupPlaces(places: readonly Term[], lists: Iterable<readonly Had[]>): Term[][] {
  const together = new Set<string>();
  for (const found of lists) {
    const of = found.flatMap(({ term }) => (places.includes(term) ? [places.indexOf(term)] : []));
    for (const one of of) for (const other of of) together.add(`${one} ${other}`);
  }
  const groups: Term[][] = [];
  for (const [at, place] of places.entries()) {
    const isApart = (other: Term) => !together.has(`${at} ${places.indexOf(other)}`);
    const group = groups.find((others) => others.every(isApart));
    if (group === undefined) groups.push([place]);
    else group.push(place);
  }
  return groups;
}

/** Leads that are looked at in a few milliseconds. */
const handful = 5000;

/** The candidates that cover enough, the best first. Others get their turn after every few thousand. */
export async function rank(look: Look, excluded: ReadonlySet<number>): Promise<Iterable<Ranked>> {
  const worths = new Map<readonly Had[], Worth | undefined>();
  const fitting: (Candidate & Worth)[] = [];
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  let seen = 0;
  for (const candidate of look.candidates.values()) {
    seen += 1;
    if (seen % handful === 0) await nextTurn();
    const { id, found, rank } = candidate;
    if (!worths.has(found)) worths.set(found, worthOf(found, look));
    const worth = worths.get(found);
    if (worth === undefined || excluded.has(id)) continue;
    fitting.push({ id, found, rank, ...worth });
    least = Math.min(least, rank);
    most = Math.max(most, rank);
  }
  const said = (rank: number) => (most === least ? 1 : (rank - least) / (most - least));
  const best = new BestFirst<Ranked>(isBetter);
  for (const { id, found, rank, coverage, score } of fitting) {
    seen += 1;
    if (seen % handful === 0) await nextTurn();
    best.add({
      id,
      found,
      coverage,
      score: rounded(score * (leastSaid + (1 - leastSaid) * said(rank))),
    });
  }
  return best;
}

interface Worth {
  readonly coverage: number;
  /** Before it is compared with others of the same words. */
  readonly score: number;
}

/** What words are worth that a lead has; undefined when they are not enough. */
function worthOf(found: readonly Had[], { weights, unknown, places }: Look): Worth | undefined {
  // Of places that exclude each other one is enough.
  const known = sum(weights.values()) - sum(places.map((group) => group.length - 1));
  // A word the catalogue has never seen weighs as much as one it knows.
  const wanted = known + (unknown * known) / Math.max(1, weights.size);
  const has = (place: Term) => found.some(({ term }) => term === place);
  if (!places.every((group) => group.some(has))) return undefined;
  const had = sum(found.map(({ term }) => weights.get(term) ?? 0));
  if (had / wanted < leastCoverage || had / known < leastKnown) return undefined;
  const score = sum(found.map(({ term, strength }) => strength * (weights.get(term) ?? 0))) / wanted;
  return { coverage: had / wanted > 0.999 ? 1 : had / wanted, score };
}

/** What is shown as the same score stands in the order of the catalogue. */
function isBetter(a: Ranked, b: Ranked): boolean {
  return (a.score - b.score || b.id - a.id) > 0;
}

/** A lead of which no word was asked for. */
export function unranked(id: number): Ranked {
  return { id, found: [], coverage: 1, score: withoutWords };
}

function rounded(score: number): number {
  return Math.round(score * 100) / 100;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
