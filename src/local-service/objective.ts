import { factKey, otherNamesOf } from './lead.ts';

/** A word or phrase to find. */
export interface Term {
  readonly surface: string;
  /** An FTS5 expression. */
  readonly query: string;
  readonly isPlace: boolean;
}

/** Whether a text is in these columns of the index, for a lead of the type. */
type IsIn = (columns: 'kind place' | 'place', query: string) => boolean;

/** A number to meet: "over 100k subscribers". */
export interface AskedNumber {
  readonly text: string;
  readonly isMet: (value: number) => boolean;
  /** Words that may name the fact, the most likely first. */
  readonly nouns: readonly string[];
}

/** More words make a search slower, but no better. */
const maxWords = 40;
/** Maximum words of a phrase: "vp of sales". */
const longestPhrase = 4;

/** Words that do not say what to find. */
const stopWords = wordSet(
  `a about across active all also am an and any are around as at based be been best better big but by can closed could cover covering
  covers currently do does each every fast field find focused focusing for from get give good great growing had has have having
  headquartered help helping helps here hiring how i in industry interesting into is it its just know last leading like list located
  look looking made make makes making many me more most my near need new no not now of off offer offering offers on only operating or
  other our out over per please popular post posting posts powered promising provide provides raised recent recently related right
  round run runs search sector see seek sell selling sells show some space specialised specialising specialized specializing stage
  successful such talk talking talks than that the their them then there these they this those to today top up us use using very want
  was we well were what when where which who whose will with within work working works write writes writing year years you young your`,
);
/** Words that only name a type, which a search chooses with `entity_type`. */
const typeWords = wordSet(
  `account accounts blogger bloggers brand brands business businesses channel channels companies company creator creators firm firms
  influencer influencers instagram instagrammer instagrammers lead leads organisation organisations organization organizations page pages
  people person persons profile profiles provider providers retailer retailers scaleup scaleups seller sellers shop shopify shops startup
  startups store stores supplier suppliers tiktok tiktoker tiktokers twitter vendor vendors vlogger vloggers wechat x xiaohongshu youtube
  youtuber youtubers`,
);

/** Words that may stand within a phrase, but not at its beginning. */
const joining = /^(?:a|an|and|at|for|in|of|on|or|the|to|with)$/i;

/** A separator that occurs in no text. It is put before and after each kind in the index, so that no phrase spans two of them. */
export const apart = 'ǀ';

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/));
}

const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/u;
const pieces = new RegExp(`${withoutSpaces.source}|[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}&+#.'’]*`, 'gu');

/**
 * Parses an objective into terms and numbers; `namesType` says whether the type was named ("companies"). Words that form a kind or a place of the
 * catalogue ("law firms", "New York") are one term, which must match the kind, place or name of a lead, not its description.
 */
export function parseObjective(objective: string, isIn: IsIn) {
  const { numbers, rest } = takeNumbers(objective.normalize('NFKC'));
  const terms = new Map<string, Term>();
  let namesType = false;
  const add = (surface: string, query: string, isKind: boolean): void => {
    const isPlace = isKind && isIn('place', query);
    terms.set(query, { surface, query: isKind ? `{name kind place} : ${query}` : query, isPlace });
  };
  const words = (joinPrefixes(rest).match(pieces) ?? [])
    .slice(0, maxWords)
    .map((word) => word.replace(/['’]s$|(?<![.'’&+#])[.'’&]+$/gu, ''));
  for (let at = 0; at < words.length; ) {
    const word = words[at] as string;
    const length = withoutSpaces.test(word) ? 1 : lengthOfKind(words.slice(at, at + longestPhrase), isIn);
    const surface = words.slice(at, at + length).join(' ');
    const kinds = withoutSpaces.test(word) ? kindsIn(word, isIn) : [];
    for (const kind of kinds) add(kind, phrase(kind), true);
    if (length > 1) add(surface, phraseOf(surface), true);
    else if (typeWords.has(word.toLowerCase())) namesType = true;
    else if (kinds.length === 0 && !isStop(word))
      add(word, phrase(word), isIn('kind place', phrase(`${apart} ${word} ${apart}`)));
    at += length;
  }
  return { terms: [...terms.values()], numbers, namesType };
}

function isStop(word: string): boolean {
  return stopWords.has(word.toLowerCase()) && !/^(?:US|IT)$/.test(word);
}

/** Number of words, from the first on, that form one kind or place. */
function lengthOfKind(words: readonly string[], isIn: IsIn): number {
  for (let length = words.length; length > 1; length -= 1) {
    const run = words.slice(0, length);
    const [first = '', last = ''] = [run[0], run.at(-1)];
    if (joining.test(first) || (isStop(last) && last.length > 1) || run.every(isStop)) continue;
    // A funding round is always one term: "Series F" must not match another "Series".
    const surface = run.join(' ');
    if (/^series [a-h]$/i.test(surface) || isIn('kind place', phraseOf(surface))) return length;
  }
  return 1;
}

/** The kinds and places of the catalogue in a Chinese or Japanese text, which has no spaces. */
function kindsIn(text: string, isIn: IsIn): string[] {
  const characters = [...text].slice(0, maxWords);
  const kinds: string[] = [];
  for (let at = 0; at < characters.length - 1; ) {
    const runs = [4, 3, 2].map((length) => characters.slice(at, at + length).join(''));
    const kind = runs.find((run) => [...run].length > 1 && isIn('kind place', phrase(run)));
    if (kind !== undefined) kinds.push(kind);
    at += kind === undefined ? 1 : [...kind].length;
  }
  return kinds;
}

/** Several words, which may also be written as one: "skin care" is skincare. */
function phraseOf(words: string): string {
  return `(${phrase(words)} OR ${phrase(words.replaceAll(' ', ''))})`;
}

export function phrase(text: string): string {
  return `"${toIndexText(text.toLowerCase()).replaceAll('"', ' ').trim()}"`;
}

/** Joins prefixes to their words, so that "pre-seed" does not match "seed". Other hyphens count as spaces. */
function joinPrefixes(text: string): string {
  return text.replace(/\b(pre|non)-(?=\p{L})/giu, '$1');
}

/** The text as it is indexed: each Chinese or Japanese character is a word. */
export function toIndexText(text: string): string {
  return joinPrefixes(text.normalize('NFKC'))
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, ' $& ')
    .replace(/_/g, ' ');
}

type Comparison = (value: number, a: number, b: number) => boolean;
const atLeast: Comparison = (value, a) => value >= a;
const above: Comparison = (value, a) => value > a;
const atMost: Comparison = (value, a) => value <= a;
const below: Comparison = (value, a) => value < a;
const between: Comparison = (value, a, b) => value >= a && value <= b;

const comparisons: Readonly<Record<string, Comparison>> = {
  ...{ 'at least': atLeast, since: atLeast, '>=': atLeast, '≥': atLeast },
  ...{ 'more than': above, 'greater than': above, over: above, above, after: above, '>': above },
  ...{ 'no more than': atMost, 'not more than': atMost, 'at most': atMost, 'up to': atMost },
  ...{ '<=': atMost, '≤': atMost },
  ...{ 'less than': below, 'fewer than': below, under: below, below, before: below, '<': below },
  between,
};
const units: Readonly<Record<string, number>> = {
  ...{ k: 1e3, thousand: 1e3, m: 1e6, million: 1e6, b: 1e9, bn: 1e9, billion: 1e9 },
};

// The look-behind avoids a retry at each digit of a long number.
const number = (name: string) =>
  `[$€£]?(?<${name}>\\d[\\d,]*(?:\\.\\d+)?)\\s?(?<${name}Unit>${Object.keys(units).join('|')})?(?![\\p{L}\\d])`;
const numbersIn = new RegExp(
  `(?<![\\p{L}\\d,.])(?:(?<said>${Object.keys(comparisons).join('|')})\\s*)?${number('a')}` +
    `(?:\\s*(?:and|to|-|–)\\s*${number('b')})?(?<more>\\+|\\s+or more\\b)?(?=(?<after>(?:\\s+\\p{L}+){0,2}))`,
  'giu',
);

/** Extracts the numbers of an objective. The words around them stay, since they may also be search terms. */
function takeNumbers(text: string): { numbers: AskedNumber[]; rest: string } {
  const numbers: AskedNumber[] = [];
  const rest = text.replace(numbersIn, (match: string, ...more: unknown[]) => {
    const {
      said: word = '',
      a,
      aUnit,
      b,
      bUnit,
      more: plus,
      after = '',
    } = more.at(-1) as Record<string, string>;
    const comparison = b ? between : plus ? atLeast : comparisons[word.toLowerCase()];
    if (comparison === undefined || (comparison === between && !b)) return match;
    const [low, high] = [toNumber(a, aUnit), toNumber(b, bUnit)];
    const at = more.at(-3) as number;
    const before = text.slice(Math.max(0, at - 60), at).match(/\p{L}+/gu) ?? [];
    const isYear = /^(?:after|before|since)$/i.test(word);
    const nouns = [...(after.match(/\p{L}+/gu) ?? []), ...before.slice(-2).reverse()];
    numbers.push({
      text: match.trim(),
      isMet: (value) => comparison(value, low, high),
      nouns: [...nouns, isYear ? 'founded' : 'followers'].map((noun) => noun.toLowerCase()),
    });
    return ' ';
  });
  return { numbers, rest };
}

function toNumber(digits = '', unit = ''): number {
  return Number(digits.replaceAll(',', '')) * (units[unit.toLowerCase()] ?? 1);
}

const numberFact = new RegExp(`^~?${number('a')}`, 'iu');

/** The number at the start of a fact, such as "1,200", "$4.2M" or "120k"; undefined if there is none. */
export function numberIn(fact: string): number | undefined {
  const { a, aUnit } = numberFact.exec(fact)?.groups ?? {};
  return a === undefined ? undefined : toNumber(a, aUnit);
}

/** The numeric fact that a number is about, and the word that named it. */
export function factOf({ nouns }: AskedNumber, facts: readonly string[]) {
  for (const noun of nouns) {
    const names = [factKey(noun), ...otherNamesOf(noun)];
    const fact =
      names.flatMap((name) => facts.find((one) => factKey(one) === name) ?? [])[0] ??
      facts.find((one) => one.split('_').map(factKey).includes(factKey(noun)));
    if (fact !== undefined) return { fact, noun };
  }
  return undefined;
}
