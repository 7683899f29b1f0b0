import { stopWords } from './vocabulary.ts';

/** A number an objective asks for: "over 100k subscribers". Both ends are inside the range. */
export interface Condition {
  readonly low: number;
  readonly high: number;
  /** "Not over 100k": the number is not to be in the range. */
  readonly denied: boolean;
  /** Words that may name the fact, the likeliest first. */
  readonly nouns: readonly string[];
  /** As it was written. */
  readonly text: string;
}

const unit = 'k|m|mm|bn|b|thousand|million|billion|tausend|mio|mrd|millionen|milliarden|万|萬|亿';
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
  {
    said: '(?:\\b(?:at most|up to|not? more than|nicht mehr als|höchstens|maximal|bis(?: zu)?)\\b|<=|≤)',
    kind: 'to',
    strict: false,
  },
  {
    said: '(?:\\b(?:at least|minimum of|since|mindestens|seit)\\b|>=|≥|至少)',
    kind: 'from',
    strict: false,
  },
  {
    said: '(?:\\b(?:over|above|more than|greater than|exceeding|after|mehr als|nach)\\b|(?<!\\p{L})über\\b|>|超过|大于)',
    kind: 'from',
    strict: true,
  },
  {
    said: '(?:\\b(?:under|below|less than|fewer than|before|unter|weniger als|vor)\\b|<|少于|低于)',
    kind: 'to',
    strict: true,
  },
];

const patterns: readonly {
  readonly pattern: RegExp;
  readonly toRange: (a: number, b: number) => [number, number];
}[] = [
  {
    pattern: new RegExp(
      `${before}(?<said>(?:\\b(?:between|zwischen)\\s+)?${number('a')}\\s*(?:\\b(?:and|to|und|bis)\\b|[-–])\\s*${number('b')})${after}`,
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
  {
    // "With 100k followers" has them at least.
    pattern: new RegExp(`${before}(?<said>\\b(?:with|have|has|having|mit)\\s+${number('a')})${after}`, 'iu'),
    toRange: (a) => [a, Number.POSITIVE_INFINITY],
  },
];

/** More of them no objective has. */
const mostConditions = 20;

/** Cuts the number conditions out of an objective. The words around them stay, apart: they may be more than a noun. */
export function takeConditions(text: string): { conditions: Condition[]; rest: string } {
  const conditions: Condition[] = [];
  // As German divides thousands: "100.000".
  let rest = text.replace(/\b\d{1,3}(?:\.\d{3})+\b/g, (digits) => digits.replaceAll('.', ''));
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
      const denied = deniedBefore.test(leading);
      const kept = leading.replace(deniedBefore, ' ');
      // "founded after 2020 with …": a year belongs to the word before it.
      const nouns = /^(after|before|since|nach|vor|seit)/i.test(said)
        ? [...wordsOf(kept).reverse(), ...untilStop(wordsOf(trailing)), 'founded']
        : [...untilStop(wordsOf(trailing)), ...wordsOf(kept).reverse()];
      conditions.push({ low, high, denied, nouns, text: denied ? `not ${said}` : said });
      rest = `${rest.slice(0, match.index)} ${kept} ; ${trailing} ${rest.slice(match.index + match[0].length)}`;
    }
  }
  return { conditions, rest };
}

const deniedBefore = /(?:^|\s)(?:not|no|never|without|nicht|ohne)(?=\s|$)/i;

const multipliers = new Map([
  ...['k', 'thousand', 'tausend'].map((unit) => [unit, 1e3] as const),
  ...['m', 'mm', 'million', 'mio', 'millionen'].map((unit) => [unit, 1e6] as const),
  ...['b', 'bn', 'billion', 'mrd', 'milliarden'].map((unit) => [unit, 1e9] as const),
  ...['万', '萬'].map((unit) => [unit, 1e4] as const),
  ['亿', 1e8],
]);

function toNumber(digits: string, multiplier = ''): number {
  return Number(digits.replaceAll(',', '')) * (multipliers.get(multiplier.toLowerCase()) ?? 1);
}

const numberFact = new RegExp(`^~?${number('a')}`, 'iu');

/** The number in a fact, "1,200", "$4.2M" and "120k" too; undefined when there is none. */
export function numberIn(fact: string): number | undefined {
  const match = numberFact.exec(fact);
  return match?.groups?.a === undefined ? undefined : toNumber(match.groups.a, match.groups.aUnit);
}

const headcounts = ['headcount', 'employees', 'team_size', 'staff'];
const fundings = [
  'funding_total_usd',
  'total_funding',
  'total_funding_usd',
  'funding_total',
  'funding',
  'raised',
];

/** The facts a word may mean, the likeliest first; else facts that have the word in their name. */
const factsByWord: ReadonlyMap<string, readonly string[]> = new Map(
  (
    [
      ['subscriber sub abonnent abonnenten', ['subscribers', 'followers']],
      ['follower fan audience 粉丝数 粉丝量 粉丝', ['followers', 'subscribers']],
      ['employee people staff worker mitarbeiter mitarbeitern angestellte leute', headcounts],
      ['raised funding finanzierung kapital', fundings],
      ['founded established gegründet', ['founded', 'founded_year', 'year_founded', 'founding_year']],
      ['view aufrufe', ['average_views', 'avg_views', 'views', 'monthly_views']],
      ['product', ['products', 'product_count']],
    ] as const
  ).flatMap(([words, facts]) => words.split(' ').map((word) => [word, facts] as const)),
);

/** The fact a condition is about, among those the catalogue has as numbers, and the word that said so. */
export function factOf(
  condition: Condition,
  names: readonly string[],
): { fact: string; word: string } | undefined {
  for (const word of condition.nouns) {
    const singular = word.replace(/s$/, '');
    const likely = (factsByWord.get(word) ?? factsByWord.get(singular) ?? []).find((name) =>
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
    (word, index) => index >= from && stopWords.has(word) && !factsByWord.has(word),
  );
  return after.slice(from, end < 0 ? undefined : end);
}
