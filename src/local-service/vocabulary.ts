/**
 * The meaning of words in an objective, in English, German, French, Spanish and, without spaces, Japanese and Chinese: which say nothing,
 * which name the type, and which mean the same as others.
 */

import vocabulary from './vocabulary.json' with { type: 'json' };

export const wordSets = {
  /** They do not say what to find. */
  stop: words(vocabulary.stop),
  /** They only name a type, and are ignored for all types, since the type is chosen elsewhere. */
  type: words(vocabulary.types),
  /** Second parts of compounds without a meaning of their own: "seed-stage", "Berlin-based". */
  ending: words(vocabulary.endings),
  or: words(['or oder bzw ou o u']),
  and: words(['and und sowie et y e']),
};

/** Replaces every word that excludes what follows it. */
export const denial = '¬';

const names =
  '(?:kanal|kanäle|blogger|influencer|podcasts?|läden|geschäfte|firma|firmen|unternehmen|startups|hersteller|anbieter)';
/**
 * What objectives say in more than one word, in its short form. The first five say nothing: a verb, and not what somebody
 * does in the mountains; a figure of speech, and not where satellites are. German says of whom, and what of, in one word.
 */
const rewordings: readonly (readonly [RegExp, string])[] = [
  [/(?<!\p{L})(?:[dlnmtscj]|qu)['’](?=\p{L})/giu, ' '],
  [/\b(?:not|nicht) (?:only|just|nur)\b/giu, ' '],
  [
    /\b(?:raised|raising) (?:money|funds|capital)\b|\bgeld (?:aufgenommen|bekommen)\b|\bdes fonds\b|\bfondos\b/giu,
    ' ',
  ],
  [/\brunning (?=(?:an?|the|their|its|on)\b)/gi, ' '],
  [/(?<=\p{L}) (?:space|scene)(?= (?:in|of|at|for|with|from)\b|\s*(?:$|[,.;]))/giu, ' '],
  [
    /\b(?:other than|rather than|instead of|apart from|(?:with|but|and|have|has) no|(?:any|every)(?:where|thing|one) but|outside(?: of)?(?! sales)|not|nor|never|except(?: for)?|excluding|exclude|without|(?:is|are|do|does|have|has|was|were)n['’]t|nicht|ohne|kein(?:e[nrms]?)?|ausgenommen|hors(?: de)?|sauf|sans|excepto|salvo|sin|fuera de)\b|(?<!\p{L})(?:auß(?:er|erhalb)(?: von)?|en dehors de|pas (?:à|en|au|aux)|que no (?:están?|sean?))(?!\p{L})/giu,
    ` ${denial} `,
  ],
  [/(?<=^|,) ?no (?!code)/gi, ` ${denial} `],
  [/(?<![\p{L}-])non-(\p{Lu}[\p{L}.]*)/gu, ` ${denial} $1, `],
  [/(?<!\p{L})(\p{L}+er)innen\b/giu, 'female $1'],
  [
    /(?<!\p{L})(?:(?:co-?)?(?:fondatrice|fundadora)|entrepreneuse|emprendedora)s?(?!\p{L})/giu,
    'female founder',
  ],
  [/(?<!\p{L})s[eé]rie ([a-h])(?!\p{L})/giu, 'Series $1'],
  [new RegExp(`(?<!\\p{L})(\\p{L}{3,})(${names})\\b`, 'giu'), '$1 $2'],
];

export function reworded(text: string): string {
  return rewordings.reduce((said, [pattern, better]) => said.replace(pattern, better), text);
}

/** The meaning of a word: other words for it, and whether it says what somebody is. */
interface Meaning {
  readonly forms: readonly string[];
  readonly isRole: boolean;
}

/**
 * A line is `word, or word = also searched for`; words are without accents and in the singular. After `==` it says what somebody is: it
 * must be in the title, and other words can't replace it.
 */
const meanings: ReadonlyMap<string, Meaning> = new Map(
  vocabulary.meanings.flatMap((line) => {
    const [said = '', searched = ''] = line.split(/ ==? /);
    const meaning = { forms: searched.split(', '), isRole: line.includes(' == ') };
    return said.split(', ').map((word) => [toKey(word), meaning] as const);
  }),
);

/** Other meanings of one or more words, in the singular or the plural. */
export function meaningOf(lower: string, exactly?: 'exactly'): Meaning | undefined {
  const key = toKey(lower);
  const exact = meanings.get(key);
  if (exact !== undefined || exactly) return exact;
  // The rest of a short word could be anything: "teens" are not tea.
  const singulars = ['ie=y', 'e=', 'n=', 'en=', 'innen=', 'aux=al'].map((pair) => {
    const [ending = '', other = ''] = pair.split('=');
    return key.endsWith(ending) ? `${key.slice(0, -ending.length)}${other}` : '';
  });
  const known = singulars.find((word) => word.length > 3 && meanings.has(word));
  return known === undefined ? undefined : meanings.get(known);
}

/** The same in Chinese and Japanese, without spaces. */
export const runPatterns = {
  type: anyOf(words(vocabulary.typeRuns)),
  stop: anyOf([...words(vocabulary.stopRuns), '\\p{Script=Hiragana}+']),
  /** What must not be found: "不在北京的…", "除了北京以外", "東京以外の…". */
  denied:
    /(?:不在|不是|除了)(?<denied>\p{Script=Han}+?)(?:以外|之外|的|(?=\P{Script=Han}|$))|(?<![\p{Script=Han}\p{Script=Katakana}ー])(?<other>[\p{Script=Han}\p{Script=Katakana}ー]{1,20}?)以外の?/gu,
  /** Words that have a meaning. */
  known: anyOf(
    [...meanings.keys()].filter((word) =>
      /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u.test(word),
    ),
  ),
};

/** Without accents and without an s at the end of words: "heads of sales" becomes "head of sale". */
function toKey(lower: string): string {
  return withoutAccents(lower).replace(/(?<=\p{Script=Latin}{3})s(?!\p{L})/gu, '');
}

export function withoutAccents(lower: string): string {
  // Keep the Japanese signs that turn one sound into another.
  const bare = lower.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
  return bare.normalize('NFC').replaceAll('ß', 'ss');
}

/** The facts that a word of an objective may mean, the most likely first. */
export const factsByWord = namesByName(vocabulary.facts);
/** Other names of facts, the most likely first, without spaces, underscores and hyphens. */
export const otherNames = namesByName(vocabulary.names);

/** Reads lines of `asked for = looked up`. Each word on the left has all of those on the right. */
function namesByName(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const pairs = lines.map((line) => line.split(' = ').map((names) => names.split(' ')));
  return new Map(pairs.flatMap(([asked = [], known = []]) => asked.map((name) => [name, known] as const)));
}

function words(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}

/** Longer ones come first. */
function anyOf(runs: Iterable<string>): RegExp {
  return new RegExp([...runs].sort((a, b) => b.length - a.length).join('|'), 'gu');
}
