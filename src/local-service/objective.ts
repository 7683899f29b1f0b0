import { takeConditions } from './conditions.ts';
import { denial, meaningOf, reworded, runPatterns, wordSets } from './vocabulary.ts';

/** A word or phrase to find. */
export interface Term {
  readonly surface: string;
  /** An FTS5 expression. */
  readonly query: string;
  readonly isPlace: boolean;
  /** It says what somebody is, and no other words can replace it. */
  readonly isRole?: boolean;
  /** Chinese and Japanese have no spaces, so what is not found as a whole is searched for by its pairs of characters. */
  readonly pairs?: readonly Term[];
}

/** What a catalogue knows about words, in lower case. */
interface Known {
  /** Whether leads have this name for what they are: "law firm", "head of marketing", "new york". */
  isPhrase(text: string): boolean;
  isPlace(text: string): boolean;
  /** Whether its leads have titles: then a description does not say what somebody is. */
  readonly hasTitles: boolean;
}

/** More words make a search slower, but no better. */
const mostTerms = 40;
const mostWords = 160;
/** The most words that can be one thing, in what a lead is and in the vocabulary. */
const longestPhrase = 3;
const longestMeaning = 5;

const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu;

/** What to find and what to exclude, in words and numbers, and whether the type itself was named ("companies"). */
export function parseObjective(objective: string, known: Known) {
  const { conditions, rest } = takeConditions(objective.normalize('NFKC'));
  const excluded: Term[] = [];
  const positive = rest.replace(runPatterns.denied, (_, denied?: string, other?: string) => {
    excluded.push(...toRuns(denied ?? other ?? '', known));
    return ' ';
  });
  const runs = (positive.match(cjk) ?? []).slice(0, mostTerms);
  const units = toUnits(positive.replace(cjk, ' '), known);
  const { wanted, denied } = readUnits(units, known);
  const ofRuns = runs.flatMap((run) => toRuns(run.replace(runPatterns.type, ' '), known));
  return {
    terms: unique([...joinAlternatives(wanted), ...ofRuns]),
    conditions,
    excluded: unique([...excluded, ...denied]),
    namesType:
      units.some(({ kind }) => kind === 'type') || runs.some((run) => run.search(runPatterns.type) >= 0),
  };
}

function unique(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [term.query, term])).values()].slice(0, mostTerms);
}

/** A word of an objective, several that mean one thing, or a sign between them. */
interface Unit {
  readonly surface: string;
  readonly lower: string;
  readonly kind: 'content' | 'type' | 'stop' | 'break' | 'denial';
}

function toUnits(text: string, known: Known): Unit[] {
  const words =
    joinPrefixes(reworded(text)).match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}&+#.'’-]*|[,;:()/!?¬]/gu) ?? [];
  const all = words.slice(0, mostWords).flatMap(toUnit);
  const units: Unit[] = [];
  for (let at = 0; at < all.length; ) {
    const unit = phraseAt(all, at, known) ?? (all[at] as Unit);
    units.push(unit);
    at += unit.surface.split(' ').length;
  }
  return units;
}

function toUnit(word: string): Unit[] {
  if (/^[^\p{L}\p{N}]$/u.test(word))
    return [{ surface: word, lower: word, kind: word === denial ? 'denial' : 'break' }];
  const surface = word.replace(/['’]s$|(?<![.'’&+#-])[.'’&+#-]+$/gu, '');
  const lower = surface.toLowerCase();
  const isStop = (wordSets.stop.has(lower) || wordSets.or.has(lower)) && surface !== 'US' && surface !== 'IT';
  const kind = wordSets.type.has(lower) ? 'type' : isStop ? 'stop' : 'content';
  return [{ surface, lower, kind }, ...(word.endsWith('.') ? toUnit(';') : [])];
}

/** The longest run of words from here that means one thing. A funding round always does: "Series A" is not "Series B". */
function phraseAt(words: readonly Unit[], at: number, known: Known): Unit | undefined {
  for (let length = longestMeaning; length > 1; length -= 1) {
    const run = words.slice(at, at + length);
    if (run.length < length || run.some(({ kind }) => kind === 'break' || kind === 'denial')) continue;
    const lower = run.map((word) => word.lower).join(' ');
    const isOne = /^series [a-h]$/.test(lower) || meaningOf(lower, 'exactly') !== undefined;
    const isTelling = run.at(-1)?.kind !== 'stop' && run.some(({ kind }) => kind === 'content');
    if (isOne || (isTelling && length <= longestPhrase && known.isPhrase(lower)))
      return { surface: run.map(({ surface }) => surface).join(' '), lower, kind: 'content' };
  }
  return undefined;
}

/** A wanted term, and whether there is only "or" or a comma between it and the one before. */
type Wanted = Term & { readonly after: 'or' | 'comma' | 'other' };

function readUnits(units: readonly Unit[], known: Known): { wanted: Wanted[]; denied: Term[] } {
  const wanted: Wanted[] = [];
  const denied: Term[] = [];
  let after: Wanted['after'] = 'other';
  /** What is being excluded; a list of places continues after commas. */
  let scope: Unit[] | undefined;
  let places = false;
  const closeScope = () => {
    if (scope === undefined || scope.length === 0) return;
    const named = scope.filter(({ kind }) => kind === 'content');
    const terms = (named.length === 0 ? scope.slice(0, 1) : named).flatMap((one) => toTerm(one, known) ?? []);
    if (terms.length > 0) denied.push(joined(terms, 'AND'));
    places = terms.every(({ isPlace }) => isPlace);
    scope = undefined;
  };
  for (const unit of units) {
    const { kind, lower } = unit;
    const isOr = lower === '/' || wordSets.or.has(lower);
    const isBetween = kind === 'break' || isOr || wordSets.and.has(lower);
    if (kind === 'denial' || kind === 'stop' || isBetween) {
      const goesOn = kind === 'denial' || (scope !== undefined && isOr && lower !== '/');
      closeScope();
      if (goesOn) scope ??= [];
      else if (!isBetween && scope === undefined) places = false;
      if (kind !== 'denial') after = isOr ? 'or' : lower === ',' ? 'comma' : 'other';
    } else if (scope !== undefined) scope.push(unit);
    else if (kind === 'content') {
      const term = toTerm(unit, known);
      if (term !== undefined && places && term.isPlace) denied.push(term);
      else if (term !== undefined) {
        wanted.push({ ...term, after });
        places = false;
      }
      after = 'other';
    }
  }
  closeScope();
  return { wanted, denied };
}

/** "Berlin or Munich" is one thing to find, and so is "climate, energy or mobility". */
function joinAlternatives(wanted: readonly Wanted[]): Term[] {
  const groups: Wanted[][] = [];
  for (const one of wanted.toReversed()) {
    const [group = []] = groups;
    const [next] = group;
    const isInList = next?.after === 'comma' && group.length > 1 && next.isPlace === one.isPlace;
    if (next?.after === 'or' || isInList) group.unshift(one);
    else groups.unshift([one]);
  }
  return groups.map((group) => joined(group, 'OR'));
}

function joined(terms: readonly Term[], operator: 'AND' | 'OR'): Term {
  if (terms.length === 1) return terms[0] as Term;
  return {
    surface: terms.map(({ surface }) => surface).join(operator === 'OR' ? ' or ' : ' '),
    query: `(${terms.map(({ query }) => query).join(` ${operator} `)})`,
    isPlace: terms.some(({ isPlace }) => isPlace),
    isRole: terms.every(({ isRole }) => isRole),
  };
}

/** "seed-stage" asks for both of its words, except words without meaning. */
function toTerm({ surface, lower }: Pick<Unit, 'surface' | 'lower'>, known: Known): Term | undefined {
  const meaning = meaningOf(lower);
  if (meaning !== undefined) {
    const forms = [...new Set([lower, ...meaning.forms])];
    const isRole = meaning.isRole && known.hasTitles;
    const query = `(${forms.map(phrase).join(' OR ')})`;
    const isPlace = forms.some(known.isPlace);
    return { surface, isPlace, isRole, query: isRole ? `({kind name} : ${query})` : query };
  }
  const parts = lower.split(/[^\p{L}\p{M}\p{N}]+/u).filter(Boolean);
  if (parts.length === 1 || lower.includes(' ')) return toPhrase(lower, known, surface);
  const telling = parts.filter((part) => !wordSets.ending.has(part)).slice(0, mostTerms);
  const [first] = telling;
  if (first === undefined || parts.every((part) => wordSets.stop.has(part))) return undefined;
  if (telling.length === 1) return toTerm({ surface, lower: first }, known);
  if (telling.some((part) => part.length < 3 || wordSets.stop.has(part))) return toPhrase(surface, known);
  const both = telling.map((part) => toPhrase(part, known));
  return { ...joined(both, 'AND'), surface };
}

/** In text without spaces: the words with a meaning, and the parts between them, without parts that say nothing. */
function toRuns(text: string, known: Known): Term[] {
  const terms: Term[] = [];
  const rest = text.replace(runPatterns.known, (word) => {
    terms.push(...[toTerm({ surface: word, lower: word }, known) ?? []].flat());
    return ' ';
  });
  for (const run of rest.replace(runPatterns.stop, ' ').split(' ').filter(Boolean)) {
    const characters = [...run].slice(0, mostTerms);
    const pairs = characters.slice(1).map((second, at) => toPhrase(`${characters[at]}${second}`, known));
    terms.push({ ...toPhrase(run, known), pairs });
  }
  return terms;
}

function toPhrase(text: string, known: Known, surface = text): Term {
  const lower = text.toLowerCase();
  return { surface, query: phrase(lower), isPlace: known.isPlace(lower) };
}

export function phrase(text: string): string {
  return `"${toIndexText(text).replaceAll('"', ' ').trim()}"`;
}

/** "pre-seed" is not a kind of "seed": such a prefix belongs to its word. */
function joinPrefixes(text: string): string {
  return text.replace(/\b(pre)-(?=\p{L})|\b(non)-(?=\p{Ll})|\b(pre) (?=seed\b)/giu, '$1$2$3');
}

/**
 * The text as it is indexed. Each character of Chinese and Japanese is a word of its own. "Run from" somewhere has nothing to do with
 * running, although the stem is the same.
 */
export function toIndexText(text: string): string {
  return joinPrefixes(text.normalize('NFKC'))
    .replace(/\bruns?\b/gi, ' ')
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, ' $& ')
    .replace(/_/g, ' ');
}
