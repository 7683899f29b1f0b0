import { type Condition, takeConditions } from './conditions.ts';
import { meaningsOf } from './synonyms.ts';
import {
  andWords,
  denial,
  deniedRuns,
  hyphenEndings,
  orWords,
  placeWords,
  rewordings,
  stopRuns,
  stopWords,
  typeRuns,
  typeWords,
} from './vocabulary.ts';

/** A word or phrase to find. */
export interface Term {
  readonly surface: string;
  /** All the ways in which it may be said, in lower case. */
  readonly forms: readonly string[];
  /** An FTS5 expression. */
  readonly query: string;
  /** The expression of the word itself, where the query has other words for it, too. */
  readonly own?: string;
  /** Says where something is: when the catalogue does not know it, nothing else makes up for it. */
  readonly pinned?: true;
}

export interface Objective {
  readonly terms: readonly Term[];
  /** Chinese and Japanese have no spaces: each run is searched whole first, then by its pairs of characters. */
  readonly runs: readonly {
    readonly surface: string;
    readonly whole: Term;
    readonly pairs: readonly Term[];
  }[];
  readonly conditions: readonly Condition[];
  /** What is not to be found. */
  readonly excluded: readonly Term[];
  /** Whether it named the type itself ("companies", "YouTube channels"). */
  readonly namesType: boolean;
}

/** What a catalogue knows of words in lower case. */
export interface Known {
  /** Whether leads are called so by what they are: "law firm", "head of marketing", "new york". */
  isPhrase(text: string): boolean;
  isPlace(text: string): boolean;
}

/** More words than this make no search better, only slower. */
const mostTerms = 40;
const mostWords = 160;
/** The most words that are one thing. */
export const longestPhrase = 3;

export function parseObjective(objective: string, known: Known): Objective {
  const { conditions, rest } = takeConditions(objective.normalize('NFKC'));
  const excluded: Term[] = [];
  const positive = rest.replace(deniedRuns, (...match) => {
    excluded.push(toPhrase((match.at(-1) as { denied: string }).denied));
    return ' ';
  });
  let namesType = false;
  const runs = (positive.match(cjk) ?? [])
    .flatMap((run) => {
      if (run.search(typeRuns) >= 0) namesType = true;
      return run.replace(typeRuns, ' ').replace(stopRuns, ' ').split(' ').filter(Boolean).map(toRun);
    })
    .slice(0, mostTerms);
  const units = toUnits(positive.replace(cjk, ' '), known);
  if (units.some(({ kind }) => kind === 'type')) namesType = true;
  const { wanted, denied } = readUnits(units, known);
  return {
    terms: unique(joinAlternatives(wanted, known)).slice(0, mostTerms),
    runs,
    conditions,
    excluded: [...excluded, ...unique(denied)].slice(0, mostTerms),
    namesType,
  };
}

const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu;

/** A word of an objective, several that are one thing, or a sign between them. */
interface Unit {
  readonly surface: string;
  readonly lower: string;
  readonly kind: 'content' | 'type' | 'stop' | 'break' | 'denial';
}

function toUnits(text: string, known: Known): Unit[] {
  const said = joinPrefixes(
    rewordings.reduce((now, [pattern, better]) => now.replace(pattern, better), text),
  );
  const words = [...said.matchAll(/[\p{L}\p{N}][\p{L}\p{M}\p{N}&+#.'’-]*|[,;:()/!?¬]/gu)]
    .slice(0, mostWords)
    .flatMap(toUnit);
  const units: Unit[] = [];
  for (let at = 0; at < words.length; ) {
    const unit = phraseAt(words, at, known) ?? (words[at] as Unit);
    units.push(unit);
    at += unit.surface.split(' ').length;
  }
  return units;
}

function toUnit([word]: RegExpExecArray): Unit[] {
  if (/^\P{L}$/u.test(word) && !/\p{N}/u.test(word))
    return [{ surface: word, lower: word, kind: word === denial ? 'denial' : 'break' }];
  const surface = word.replace(/['’]s$|(?<![.'’&+#-])[.'’&+#-]+$/gu, '');
  const lower = surface.toLowerCase();
  const kind = typeWords.has(lower)
    ? 'type'
    : stopWords.has(lower) && surface !== 'US' && surface !== 'IT'
      ? 'stop'
      : 'content';
  const end = /\.$/.test(word) ? [{ surface: '.', lower: '.', kind: 'break' as const }] : [];
  return [{ surface, lower, kind }, ...end];
}

/** The longest run of words from here that is one thing. A funding round always is: "Series A" is no "Series B". */
function phraseAt(words: readonly Unit[], at: number, known: Known): Unit | undefined {
  for (let length = longestPhrase; length > 1; length -= 1) {
    const run = words.slice(at, at + length);
    if (run.length < length || run.some(({ kind }) => kind === 'break' || kind === 'denial')) continue;
    const lower = run.map((word) => word.lower).join(' ');
    const isRound = /^series [a-h]$/.test(lower);
    if (!isRound && (run.at(-1)?.kind === 'stop' || !run.some(({ kind }) => kind === 'content'))) continue;
    if (isRound || meaningsOf(lower).length > 0 || known.isPhrase(lower))
      return { surface: run.map(({ surface }) => surface).join(' '), lower, kind: 'content' };
  }
  return undefined;
}

/** A term, and whether only "or" or a comma stands between it and the one before. */
interface Wanted {
  readonly term: Term;
  readonly after: 'or' | 'comma' | 'other';
}

function readUnits(units: readonly Unit[], known: Known): { wanted: Wanted[]; denied: Term[] } {
  const wanted: Wanted[] = [];
  const denied: Term[] = [];
  const isLast = (at: number) => units.slice(at + 1).every(({ kind }) => kind !== 'content');
  let after: Wanted['after'] = 'other';
  let pinned = false;
  /** What is denied at present; a list of places goes on after commas. */
  let scope: Unit[] | undefined;
  let places = false;
  const closeScope = () => {
    if (scope === undefined || scope.length === 0) return;
    const named = scope.filter(({ kind }) => kind === 'content');
    const terms = (named.length === 0 ? scope.slice(0, 1) : named).flatMap((unit) => toTerm(unit) ?? []);
    if (terms.length > 0) denied.push(allOf(terms));
    places = terms.every(({ forms }) => forms.some(known.isPlace));
    scope = undefined;
  };
  units.forEach((unit, at) => {
    const { kind, lower, surface } = unit;
    if (kind === 'denial') {
      closeScope();
      scope = [];
    } else if (kind === 'break' || orWords.has(lower) || andWords.has(lower)) {
      const goesOn = orWords.has(lower) && scope !== undefined;
      closeScope();
      if (goesOn) scope ??= [];
      after = lower === '/' || orWords.has(lower) ? 'or' : lower === ',' ? 'comma' : 'other';
      pinned = false;
    } else if (kind === 'stop') {
      closeScope();
      if (scope === undefined) places = false;
      after = 'other';
      pinned = placeWords.has(lower) || (pinned && /^(the|de[mnr])$/.test(lower));
    } else if (scope !== undefined) scope.push(unit);
    else if (kind === 'content') {
      const term = toTerm(unit);
      if (term !== undefined && places && term.forms.some(known.isPlace)) denied.push(term);
      else if (term !== undefined) {
        const needed = pinned && (/^\p{Lu}/u.test(surface) || isLast(at));
        wanted.push({ term: needed ? { ...term, pinned: true } : term, after });
        places = false;
      }
      after = 'other';
      pinned = false;
    }
  });
  closeScope();
  return { wanted, denied };
}

/** "Berlin or Munich" is one thing to find, and so is "climate, energy or mobility". */
function joinAlternatives(wanted: readonly Wanted[], known: Known): Term[] {
  const isPlace = ({ term }: Wanted) => term.forms.some(known.isPlace);
  const groups: Wanted[][] = [];
  for (const one of wanted.toReversed()) {
    const group = groups[0];
    const [next] = group ?? [];
    const inList = next?.after === 'comma' && (group?.length ?? 0) > 1 && isPlace(next) === isPlace(one);
    if (next?.after === 'or' || inList) group?.unshift(one);
    else groups.unshift([one]);
  }
  return groups.map((group) => anyOf(group.map(({ term }) => term)));
}

function anyOf(terms: readonly Term[]): Term {
  if (terms.length === 1) return terms[0] as Term;
  return {
    surface: terms.map(({ surface }) => surface).join(' or '),
    forms: terms.flatMap(({ forms }) => forms),
    query: `(${terms.map(({ query }) => query).join(' OR ')})`,
  };
}

function allOf(terms: readonly Term[]): Term {
  if (terms.length === 1) return terms[0] as Term;
  return {
    surface: terms.map(({ surface }) => surface).join(' '),
    forms: [],
    query: `(${terms.map(({ query }) => query).join(' AND ')})`,
  };
}

function unique(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [term.query, term])).values()];
}

/** "seed-stage" asks for both of its words, apart from those that say nothing. */
function toTerm({ surface, lower }: Pick<Unit, 'surface' | 'lower'>): Term | undefined {
  const meanings = meaningsOf(lower);
  if (meanings.length > 0) {
    const forms = [...new Set([lower, ...meanings])];
    return { surface, forms, query: `(${forms.map(phrase).join(' OR ')})`, own: phrase(lower) };
  }
  const parts = lower.split(/[^\p{L}\p{M}\p{N}]+/u).filter(Boolean);
  if (parts.length === 1 || lower.includes(' ')) return toPhrase(lower, surface);
  if (parts.every((part) => stopWords.has(part))) return undefined;
  const telling = parts.filter((part) => !hyphenEndings.has(part)).slice(0, mostTerms);
  if (telling.length === 0) return undefined;
  if (telling.length === 1) return toTerm({ surface, lower: telling[0] as string });
  if (telling.some((part) => part.length < 3 || stopWords.has(part))) return toPhrase(surface);
  return { ...allOf(telling.map((part) => toPhrase(part))), surface, forms: telling };
}

function toRun(surface: string): { surface: string; whole: Term; pairs: Term[] } {
  const characters = [...surface].slice(0, mostTerms);
  const pairs = characters.slice(1).map((character, index) => {
    return toPhrase(`${characters[index]}${character}`);
  });
  return { surface, whole: toPhrase(surface), pairs };
}

function toPhrase(text: string, surface = text): Term {
  const lower = text.toLowerCase();
  return { surface, forms: [lower], query: phrase(lower) };
}

function phrase(text: string): string {
  return `"${toIndexText(text).replaceAll('"', ' ').trim()}"`;
}

/** "pre-seed" is not a kind of "seed": a prefix that turns a word into another one belongs to it. */
function joinPrefixes(text: string): string {
  return text.replace(/\b(pre)-(?=\p{L})|\b(non)-(?=\p{Ll})|\b(pre) (?=seed\b)/giu, '$1$2$3');
}

/**
 * The text as it is indexed: every character of Chinese and Japanese is a word of its own. A shop that is run from
 * somewhere has nothing to do with running, which has the same stem.
 */
export function toIndexText(text: string): string {
  return joinPrefixes(text.normalize('NFKC'))
    .replace(/\bruns?\b/gi, ' ')
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, ' $& ')
    .replace(/_/g, ' ');
}
