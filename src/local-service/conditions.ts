import { own, stopWords } from './vocabulary.ts';

/** A number an objective asks for: "over 100k subscribers". Both ends are inside the range. */
export interface Condition {
  readonly low: number;
  readonly high: number;
  /** Words that may name the fact, the likeliest first. */
  readonly nouns: readonly string[];
  /** As it was written. */
  readonly text: string;
}

const unit = 'k|m|mm|bn|b|thousand|million|billion|万|萬|亿';
// The look-behinds keep a long word or number from being tried again at each of its characters.
const number = (name: string) =>
  `[$€£]?\\s?(?<${name}>(?<!\\d,?)\\d[\\d,]*(?:\\.\\d+)?)\\s?(?<${name}Unit>${unit})?(?![\\p{Script=Latin}\\d])`;
const before = '(?<before>(?:(?<![\\p{Script=Latin}-])[\\p{Script=Latin}-]+\\s+){0,2}?(?:粉丝(?:数|量)?)?)';
const after = '(?<after>(?:\\s+[\\p{Script=Latin}-]+){0,3})';

/** How comparisons are said, the longer before what it contains. A strict one leaves out the number itself. */
const comparisons: readonly {
  readonly said: string;
  readonly kind: 'from' | 'to';
  readonly strict: boolean;
}[] = [
  { said: '(?:\\b(?:at most|up to|not? more than)\\b|<=|≤)', kind: 'to', strict: false },
  { said: '(?:\\b(?:at least|minimum of|since)\\b|>=|≥|至少)', kind: 'from', strict: false },
  {
    said: '(?:\\b(?:over|above|more than|greater than|exceeding|after)\\b|>|超过|大于)',
    kind: 'from',
    strict: true,
  },
  { said: '(?:\\b(?:under|below|less than|fewer than|before)\\b|<|少于|低于)', kind: 'to', strict: true },
];

const patterns: readonly {
  readonly pattern: RegExp;
  readonly toRange: (a: number, b: number) => [number, number];
}[] = [
  {
    pattern: new RegExp(
      `${before}(?<said>(?:\\bbetween\\s+)?${number('a')}\\s*(?:\\band\\b|\\bto\\b|[-–])\\s*${number('b')})${after}`,
      'iu',
    ),
    toRange: (a, b) => [a, b],
  },
  ...comparisons.map(({ said, kind, strict }) => ({
    pattern: new RegExp(`${before}(?<said>${said}\\s*${number('a')}\\+?)${after}`, 'iu'),
    toRange: (a: number): [number, number] =>
      kind === 'from'
        ? [strict ? a * (1 + Number.EPSILON) : a, Number.POSITIVE_INFINITY]
        : [0, strict ? a * (1 - Number.EPSILON) : a],
  })),
  {
    pattern: new RegExp(`${before}(?<said>${number('a')}(?:\\+|\\s+or more\\b|以上))${after}`, 'iu'),
    toRange: (a) => [a, Number.POSITIVE_INFINITY],
  },
];

/** More of them no objective has. */
const mostConditions = 20;

/** Cuts the number conditions out of an objective. The words around them stay: they may be more than a noun. */
export function takeConditions(text: string): { conditions: Condition[]; rest: string } {
  const conditions: Condition[] = [];
  let rest = text;
  for (const { pattern, toRange } of patterns) {
    for (let match = pattern.exec(rest); match !== null; match = pattern.exec(rest)) {
      if (conditions.length === mostConditions) return { conditions, rest };
      const {
        before: leading = '',
        after: trailing = '',
        said = '',
        a = '',
        aUnit,
        b = '',
        bUnit,
      } = match.groups ?? {};
      const [low, high] = toRange(toNumber(a, aUnit), toNumber(b, bUnit));
      // "founded after 2020 with …": a year belongs to the word before it.
      const nouns = /^(after|before|since)/i.test(said)
        ? [...wordsOf(leading).reverse(), 'founded']
        : [...untilStop(wordsOf(trailing)), ...wordsOf(leading).reverse()];
      conditions.push({ low, high, nouns, text: said });
      rest = `${rest.slice(0, match.index)} ${leading} ${trailing} ${rest.slice(match.index + match[0].length)}`;
    }
  }
  return { conditions, rest };
}

const multipliers: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mm: 1e6,
  million: 1e6,
  b: 1e9,
  bn: 1e9,
  billion: 1e9,
  万: 1e4,
  萬: 1e4,
  亿: 1e8,
};

function toNumber(digits: string, multiplier = ''): number {
  return Number(digits.replaceAll(',', '')) * (own(multipliers, multiplier.toLowerCase()) ?? 1);
}

const numberFact = new RegExp(`^~?${number('a')}`, 'iu');

/** The number in a fact, "1,200", "$4.2M" and "120k" too; undefined when there is none. */
export function numberIn(fact: string): number | undefined {
  const match = numberFact.exec(fact);
  return match?.groups?.a === undefined ? undefined : toNumber(match.groups.a, match.groups.aUnit);
}

/** The facts a word may mean, the likeliest first; else facts that have the word in their name. */
const factsByWord: Readonly<Record<string, readonly string[]>> = {
  subscriber: ['subscribers', 'followers'],
  sub: ['subscribers'],
  follower: ['followers', 'subscribers'],
  fan: ['followers', 'subscribers'],
  audience: ['followers', 'subscribers'],
  粉丝数: ['followers', 'subscribers'],
  粉丝量: ['followers', 'subscribers'],
  粉丝: ['followers', 'subscribers'],
  employee: ['headcount', 'employees', 'team_size', 'staff'],
  people: ['headcount', 'employees', 'team_size', 'staff'],
  staff: ['headcount', 'employees', 'team_size'],
  worker: ['headcount', 'employees'],
  raised: ['funding_total_usd', 'total_funding', 'total_funding_usd', 'funding_total', 'funding', 'raised'],
  funding: ['funding_total_usd', 'total_funding', 'total_funding_usd', 'funding_total', 'funding', 'raised'],
  founded: ['founded', 'founded_year', 'year_founded', 'founding_year'],
  established: ['founded', 'founded_year', 'year_founded', 'founding_year'],
  view: ['average_views', 'avg_views', 'views', 'monthly_views'],
  product: ['products', 'product_count'],
};

/** The fact a condition is about, among those the catalogue has as numbers, and the word that said so. */
export function factOf(
  condition: Condition,
  names: readonly string[],
): { fact: string; word: string } | undefined {
  for (const word of condition.nouns) {
    const singular = word.replace(/s$/, '');
    const likely = (own(factsByWord, word) ?? own(factsByWord, singular) ?? []).find((name) =>
      names.includes(name),
    );
    const fact =
      likely ?? names.find((name) => name.split('_').some((part) => part.replace(/s$/, '') === singular));
    if (fact !== undefined) return { fact, word };
  }
  return undefined;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** The noun after a number ends at the next preposition, "of" and "in" right after the number apart. */
function untilStop(after: string[]): string[] {
  const from = after[0] === 'of' || after[0] === 'in' ? 1 : 0;
  const end = after.findIndex(
    (word, index) => index >= from && stopWords.has(word) && own(factsByWord, word) === undefined,
  );
  return after.slice(from, end < 0 ? undefined : end);
}
