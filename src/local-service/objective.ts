import { type Condition, takeConditions } from './conditions.ts';
import { aliases, hyphenEndings, own, stopRuns, stopWords, typeRuns, typeWords } from './vocabulary.ts';

/** A word or phrase to find. */
export interface Term {
  readonly surface: string;
  /** All the ways in which it may be said, in lower case. */
  readonly forms: readonly string[];
  /** An FTS5 expression. */
  readonly query: string;
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
  /** Whether it named the type itself ("companies", "YouTube channels"). */
  readonly namesType: boolean;
}

/** More words than this make no search better, only slower. */
const mostTerms = 40;

export function parseObjective(objective: string): Objective {
  const text = joinPrefixes(objective.normalize('NFKC'));
  const { conditions, rest } = takeConditions(text);
  const terms: Term[] = [];
  const seen = new Set<string>();
  let namesType = false;
  const add = (term: Term | undefined) => {
    if (term === undefined || seen.has(term.query) || terms.length === mostTerms) return;
    seen.add(term.query);
    terms.push(term);
  };

  const runs = (rest.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu) ?? [])
    .flatMap((run) => {
      if (run.search(typeRuns) >= 0) namesType = true;
      return run.replace(typeRuns, ' ').replace(stopRuns, ' ').split(' ').filter(Boolean).map(toRun);
    })
    .slice(0, mostTerms);
  const spaced = rest.replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu, ' ');
  // A funding round is one thing: "Series A" must not find "Series B".
  const rounds = /\b(series)[ -]([a-h])\b/gi;
  for (const [round] of spaced.matchAll(rounds)) add(toPhrase(round));

  for (const [word] of spaced.replace(rounds, ' ').matchAll(/[\p{L}\p{N}][\p{L}\p{M}\p{N}&+#.'’-]*/gu)) {
    const surface = word.replace(/['’]s$|(?<![.'’&+#-])[.'’&+#-]+$/gu, '');
    const lower = surface.toLowerCase();
    if (typeWords.has(lower)) namesType = true;
    else if (surface === 'US' || !stopWords.has(lower)) add(toTerm(surface, lower));
  }
  return { terms, runs, conditions, namesType };
}

/** "seed-stage" asks for both of its words, apart from those that say nothing. */
function toTerm(surface: string, lower: string): Term | undefined {
  const known = own(aliases, lower);
  if (known !== undefined) {
    const forms = [lower, ...known];
    return { surface, forms, query: `(${forms.map(phrase).join(' OR ')})` };
  }
  const parts = lower.split(/[^\p{L}\p{M}\p{N}]+/u).filter(Boolean);
  if (parts.length === 1) return toPhrase(surface);
  const telling = parts.filter((part) => !stopWords.has(part) && !hyphenEndings.has(part));
  if (telling.length === 0) return undefined;
  if (telling.some((part) => part.length < 3) || telling.length < parts.length - 1) return toPhrase(surface);
  return { surface, forms: telling, query: `(${telling.map(phrase).join(' AND ')})` };
}

function toRun(surface: string): { surface: string; whole: Term; pairs: Term[] } {
  const characters = [...surface].slice(0, mostTerms);
  const pairs = characters.slice(1).map((character, index) => {
    return toPhrase(`${characters[index]}${character}`);
  });
  return { surface, whole: toPhrase(surface), pairs };
}

function toPhrase(surface: string): Term {
  return { surface, forms: [surface.toLowerCase()], query: phrase(surface.toLowerCase()) };
}

function phrase(text: string): string {
  return `"${toIndexText(text).replaceAll('"', ' ').trim()}"`;
}

/** "pre-seed" is not a kind of "seed": a prefix that turns a word into another one belongs to it. */
function joinPrefixes(text: string): string {
  return text.replace(/\b(pre|non)-(?=\p{L})|\b(pre) (?=seed\b)/giu, '$1$2');
}

/** The text as it is indexed: every character of Chinese and Japanese is a word of its own. */
export function toIndexText(text: string): string {
  return joinPrefixes(text.normalize('NFKC'))
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, ' $& ')
    .replace(/_/g, ' ');
}
