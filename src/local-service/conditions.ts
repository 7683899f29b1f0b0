import { factsByWord, stopWords } from './vocabulary.ts';

/** A number an objective asks for: "over 100k subscribers". Both ends are inside the range. */
export interface Condition {
  readonly low: number;
  readonly high: number;
  /** "Not over 100k": the number is not to be in the range. */
  readonly denied: boolean;
  /** Words that may name the fact, the likeliest first. */
  readonly nouns: readonly string[];
  readonly text: string;
}

const multipliers: Readonly<Record<string, number>> = {
  ...{ k: 1e3, thousand: 1e3, tausend: 1e3, mille: 1e3, mil: 1e3, 万: 1e4, 萬: 1e4, 亿: 1e8, 億: 1e8 },
  ...{ m: 1e6, mm: 1e6, mn: 1e6, million: 1e6, millions: 1e6, mio: 1e6, millionen: 1e6, millones: 1e6 },
  ...{ b: 1e9, bn: 1e9, billion: 1e9, mrd: 1e9, milliarden: 1e9 },
};
const unit = Object.keys(multipliers)
  .sort((a, b) => b.length - a.length)
  .join('|');
// The look-behinds keep a long word or number from being tried again at each of its characters.
const number = (name: string) =>
  `[$€£]?\\s?(?<${name}>(?<!\\d,?)\\d[\\d,]*(?:\\.\\d+)?)\\s?(?<${name}Unit>${unit})?(?![\\p{Script=Latin}\\d])`;
const nounsBefore = '(?:粉丝|登録者|フォロワー|従業員|社員)[数量]?[がは]?';
const before = `(?<before>(?:(?<![\\p{Script=Latin}-])[\\p{Script=Latin}-]+\\s+){0,2}?(?:${nounsBefore})?)`;
const after = '(?<after>(?:\\s+[\\p{Script=Latin}-]+){0,3})';
const said = (words: string, signs: string) => `(?:(?<!\\p{L})(?:${words})(?!\\p{L})|${signs})`;

const from = (a: number): [number, number] => [a, Number.POSITIVE_INFINITY];
const above = (a: number): [number, number] => [a * (1 + Number.EPSILON), Number.POSITIVE_INFINITY];
const upTo = (a: number): [number, number] => [0, a];
const below = (a: number): [number, number] => [0, a * (1 - Number.EPSILON)];

/** How numbers are asked for, the longer before what it contains. */
const patterns: readonly (readonly [RegExp, (a: number, b: number) => [number, number]])[] = (
  [
    [
      `(?:(?<!\\p{L})(?:between|zwischen|entre)\\s+)?${number('a')}\\s*(?:\\b(?:and|to|und|bis|et|y|a)\\b|à|[-–〜])\\s*${number('b')}`,
      (a, b) => [a, b],
    ],
    [
      `${said("at most|up to|not? more than|nicht mehr als|höchstens|maximal|bis(?: zu)?|au plus|pas plus de|jusqu['’]à|como máximo|hasta|no más de", '<=|≤')}\\s*${number('a')}\\+?`,
      upTo,
    ],
    [
      `${said('at least|minimum of|since|mindestens|seit|au moins|depuis|al menos|por lo menos|desde', '>=|≥|至少')}\\s*${number('a')}\\+?`,
      from,
    ],
    [
      `${said('over|above|more than|greater than|exceeding|after|mehr als|nach|über|plus de|après|más de|mas de|después de', '>|超过|大于')}\\s*${number('a')}\\+?`,
      above,
    ],
    [
      `${said('under|below|less than|fewer than|before|unter|weniger als|vor|moins de|avant|menos de|antes de', '<|少于|低于')}\\s*${number('a')}\\+?`,
      below,
    ],
    [`${number('a')}[人名年]?(?:\\+|\\s+(?:or more|ou plus|o más)(?!\\p{L})|以上|以降|超)`, from],
    [`${number('a')}[人名年]?以[下内]`, upTo],
    [`${number('a')}[人名年]?(?:未満|以前)`, below],
    // "With 100k followers" has them at least.
    [`${said('with|have|has|having|mit|avec|con', '(?!)')}\\s+${number('a')}`, from],
  ] satisfies [string, (a: number, b: number) => [number, number]][]
).map(([pattern, range]) => [new RegExp(`${before}(?<said>${pattern})${after}`, 'iu'), range]);

/** More of them no objective has. */
const mostConditions = 20;
const deniedBefore = /(?:^|\s)(?:not|no|never|without|nicht|ohne|pas|sans|sin)(?=\s|$)/i;
const ofYears = /^(?:after|before|since|nach|vor|seit|après|avant|depuis|después|antes|desde)|年/i;

/** Cuts the number conditions out of an objective. The words around them stay, apart: they may be more than a noun. */
export function takeConditions(text: string): { conditions: Condition[]; rest: string } {
  const conditions: Condition[] = [];
  // As thousands are divided in German and Spanish, and in French: "100.000", "100 000".
  let rest = text.replace(/\b\d{1,3}(?:[. ]\d{3})+\b/g, (digits) => digits.replaceAll(/[. ]/g, ''));
  for (const [pattern, toRange] of patterns) {
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
      const nouns = ofYears.test(said)
        ? [...wordsOf(kept).reverse(), ...untilStop(wordsOf(trailing)), 'founded']
        : [...untilStop(wordsOf(trailing)), ...wordsOf(kept).reverse()];
      // A Japanese number counts heads: of those who work there, unless another noun is named.
      if (/[人名]/.test(said)) nouns.push('従業員', 'フォロワー');
      conditions.push({ low, high, denied, nouns, text: denied ? `not ${said}` : said });
      const shown = kept.replace(new RegExp(nounsBefore, 'gu'), ' ');
      rest = `${rest.slice(0, match.index)} ${shown} ; ${trailing} ${rest.slice(match.index + match[0].length)}`;
    }
  }
  return { conditions, rest };
}

function toNumber(digits: string, multiplier = ''): number {
  return Number(digits.replaceAll(',', '')) * (multipliers[multiplier.toLowerCase()] ?? 1);
}

const numberFact = new RegExp(`^~?${number('a')}`, 'iu');

/** The number in a fact, "1,200", "$4.2M" and "120k" too; undefined when there is none. */
export function numberIn(fact: string): number | undefined {
  const match = numberFact.exec(fact);
  return match?.groups?.a === undefined ? undefined : toNumber(match.groups.a, match.groups.aUnit);
}

/** The fact a condition is about, among those the catalogue has as numbers, and the word that said so. */
export function factOf(
  { nouns }: Condition,
  names: readonly string[],
): { fact: string; word: string } | undefined {
  for (const word of nouns) {
    const singular = word.replace(/s$/, '');
    const noun = word.replace(/[数量]?[がは]?$/, '');
    const likely = [word, singular, noun]
      .flatMap((one) => factsByWord.get(one) ?? [])
      .find((name) => names.includes(name));
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
  const start = ['of', 'in', "d'", 'de'].includes(after[0] ?? '') ? 1 : 0;
  const end = after.findIndex(
    (word, index) => index >= start && stopWords.has(word) && !factsByWord.has(word.replace(/s$/, '')),
  );
  return after.slice(start, end < 0 ? undefined : end);
}
