import vocabulary from './vocabulary.json' with { type: 'json' };
import { factsByWord, wordSets } from './vocabulary.ts';

/** A number an objective asks for: "over 100k subscribers". Both ends are inside the range. */
export interface Condition {
  readonly low: number;
  readonly high: number;
  /** "Not over 100k": the number must not be in the range. */
  readonly denied: boolean;
  /** Words that may name the fact, the most likely first. */
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
// The look-behinds prevent that a long word or number is tried again at each of its characters.
const number = (name: string) =>
  `[$€£]?\\s?(?<${name}>(?<!\\d,?)\\d[\\d,]*(?:\\.\\d+)?)\\s?(?<${name}Unit>${unit})?(?![\\p{Script=Latin}\\d])`;
const nounsBefore = '(?:粉丝|登録者|フォロワー|従業員|社員)[数量]?[がは]?';
const before = `(?<before>(?:(?<![\\p{Script=Latin}-])[\\p{Script=Latin}-]+\\s+){0,2}?(?:${nounsBefore})?)`;
const after = '(?<after>(?:\\s+[\\p{Script=Latin}-]+){0,3})';
const between = `(?:(?<!\\p{L})(?:between|zwischen|entre)\\s+)?${number('a')}\\s*(?:\\b(?:and|to|und|bis|et|y|a)\\b|à|[-–〜])\\s*${number('b')}`;

const ranges: Readonly<Record<string, (a: number, b: number) => [low: number, high: number]>> = {
  between: (a, b) => [a, b],
  from: (a) => [a, Number.POSITIVE_INFINITY],
  above: (a) => [a * (1 + Number.EPSILON), Number.POSITIVE_INFINITY],
  upTo: (a) => [0, a],
  below: (a) => [0, a * (1 - Number.EPSILON)],
};

/** The forms of conditions, longer ones before those that they contain: with words or signs before the number, or signs after it. */
const patterns = [
  ['between', between] as const,
  ...vocabulary.conditions.map(([range = '', words = '', signs = '', behind = '']) => {
    const said = words === '' ? '' : `(?:(?<!\\p{L})(?:${words})(?!\\p{L})|${signs})\\s*`;
    return [range, `${said}${number('a')}${behind}`] as const;
  }),
].map(([range, pattern]) => [range, new RegExp(`${before}(?<said>${pattern})${after}`, 'iu')] as const);

/** More of them no objective has. */
const mostConditions = 20;
const deniedBefore = /(?:^|\s)(?:not|no|never|without|nicht|ohne|pas|sans|sin)(?=\s|$)/i;
const ofYears = /^(?:after|before|since|nach|vor|seit|après|avant|depuis|después|antes|desde)|年/i;

/** Cuts the number conditions out of an objective. The words around them stay, because they may say more. */
export function takeConditions(text: string): { conditions: Condition[]; rest: string } {
  const conditions: Condition[] = [];
  // Thousands may be separated as in German and Spanish, or in French: "100.000", "100 000".
  let rest = text.replace(/\b\d{1,3}(?:[. ]\d{3})+\b/g, (digits) => digits.replaceAll(/[. ]/g, ''));
  for (const [range, pattern] of patterns) {
    for (let match = pattern.exec(rest); match !== null; match = pattern.exec(rest)) {
      if (conditions.length === mostConditions) return { conditions, rest };
      const { before = '', after = '', said = '', a, aUnit, b, bUnit } = match.groups ?? {};
      const [low, high] = ranges[range]?.(toNumber(a, aUnit), toNumber(b, bUnit)) ?? [0, 0];
      const denied = deniedBefore.test(before);
      const kept = before.replace(deniedBefore, ' ');
      const [wordsBefore, wordsAfter] = [wordsOf(kept).reverse(), untilStop(wordsOf(after))];
      // "founded after 2020 with …": a year belongs to the word before it.
      const isYear = ofYears.test(said);
      const nouns = isYear ? [...wordsBefore, ...wordsAfter, 'founded'] : [...wordsAfter, ...wordsBefore];
      // A Japanese number of people means employees, unless another noun is named.
      if (/[人名]/.test(said)) nouns.push('従業員', 'フォロワー');
      conditions.push({ low, high, denied, nouns, text: denied ? `not ${said}` : said });
      const shown = kept.replace(new RegExp(nounsBefore, 'gu'), ' ');
      rest = `${rest.slice(0, match.index)} ${shown} ; ${after} ${rest.slice(match.index + match[0].length)}`;
    }
  }
  return { conditions, rest };
}

function toNumber(digits = '', multiplier = ''): number {
  return Number(digits.replaceAll(',', '')) * (multipliers[multiplier.toLowerCase()] ?? 1);
}

const numberFact = new RegExp(`^~?${number('a')}`, 'iu');

/** The number in a fact, "1,200", "$4.2M" and "120k" too; undefined when there is none. */
export function numberIn(fact: string): number | undefined {
  const { a, aUnit } = numberFact.exec(fact)?.groups ?? {};
  return a === undefined ? undefined : toNumber(a, aUnit);
}

/** The fact that a condition is about, among the catalogue's numeric facts, and the word that named it. */
export function factOf({ nouns }: Condition, names: readonly string[]) {
  for (const word of nouns) {
    const singular = word.replace(/s$/, '');
    const likely = [word, singular, word.replace(/[数量]?[がは]?$/, '')].flatMap(
      (one) => factsByWord.get(one) ?? [],
    );
    const isAbout = (name: string) => name.split('_').some((part) => part.replace(/s$/, '') === singular);
    const fact = likely.find((name) => names.includes(name)) ?? names.find(isAbout);
    if (fact !== undefined) return { fact, word };
  }
  return undefined;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** The noun after a number ends at the next preposition, except "of" and "in" directly after the number. */
function untilStop(after: string[]): string[] {
  const start = ['of', 'in', "d'", 'de'].includes(after[0] ?? '') ? 1 : 0;
  const end = after.findIndex(
    (word, index) => index >= start && wordSets.stop.has(word) && !factsByWord.has(word.replace(/s$/, '')),
  );
  return after.slice(start, end < 0 ? undefined : end);
}
