/**
 * What the words of an objective mean, in English, German, French, Spanish and, where there are no spaces, Japanese
 * and Chinese: which say nothing, which name the type, and which say the same as others.
 */

import vocabulary from './vocabulary.json' with { type: 'json' };

/** They do not say what to find. */
export const stopWords = words(vocabulary.stop);
/** They only say which type is meant; for any type, since the type is chosen elsewhere. */
export const typeWords = words(vocabulary.types);
/** Second halves of compounds that say nothing of their own: "seed-stage", "Berlin-based". */
export const hyphenEndings = words(vocabulary.endings);
export const orWords = words(['or oder bzw ou o u']);
export const andWords = words(['and und sowie et y e']);

/** The same without spaces, Chinese and Japanese. */
export const typeRuns = anyOf(words(vocabulary.typeRuns));
export const stopRuns = anyOf([...words(vocabulary.stopRuns), '\\p{Script=Hiragana}+']);
/** "不在北京的…", "除了北京以外", "東京以外の…": what is not to be found. */
export const deniedRuns =
  /(?:不在|不是|除了)(?<denied>\p{Script=Han}+?)(?:以外|之外|的|(?=\P{Script=Han}|$))|(?<![\p{Script=Han}\p{Script=Katakana}ー])(?<other>[\p{Script=Han}\p{Script=Katakana}ー]{1,20}?)以外の?/gu;

/** Stands in the text for everything that denies what comes after it. */
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

/** What a word means: other ways to say it, and whether it says what somebody is. */
interface Meaning {
  readonly forms: readonly string[];
  readonly isRole: boolean;
}

/**
 * A line is `what is said, or said = what is searched, too`: said without accents and in the singular. What is
 * searched after `==` is what somebody is: it must stand in the title, and nothing else makes up for it.
 */
const meanings: ReadonlyMap<string, Meaning> = new Map(
  vocabulary.meanings.flatMap((line) => {
    const [said = '', searched = ''] = line.split(/ ==? /);
    const meaning = { forms: searched.split(', '), isRole: line.includes(' == ') };
    return said.split(', ').map((word) => [toKey(word), meaning] as const);
  }),
);

/** What else a word or a few may mean, in the singular or the plural. */
export function meaningOf(lower: string, exactly?: 'exactly'): Meaning | undefined {
  const key = toKey(lower);
  const exact = meanings.get(key);
  if (exact !== undefined || exactly) return exact;
  // What is left of a short word may be anything: "teens" are no tea.
  const singulars = ['ie=y', 'e=', 'n=', 'en=', 'innen=', 'aux=al'].map((pair) => {
    const [ending = '', other = ''] = pair.split('=');
    return key.endsWith(ending) ? `${key.slice(0, -ending.length)}${other}` : '';
  });
  const known = singulars.find((word) => word.length > 3 && meanings.has(word));
  return known === undefined ? undefined : meanings.get(known);
}

/** Words without spaces that have a meaning. */
export const knownRuns = anyOf(
  [...meanings.keys()].filter((word) =>
    /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u.test(word),
  ),
);

/** Without accents, and each word without an s at its end: "heads of sales" is "head of sale". */
function toKey(lower: string): string {
  return withoutAccents(lower).replace(/(?<=\p{Script=Latin}{3})s(?!\p{L})/gu, '');
}

export function withoutAccents(lower: string): string {
  // The signs of Japanese that make one sound of another stay.
  const bare = lower.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
  return bare.normalize('NFC').replaceAll('ß', 'ss');
}

/** The facts that a word of an objective may mean, the likeliest first. */
export const factsByWord = namesByName(vocabulary.facts);
/** Other names of facts, the likeliest first, without spaces, underscores and hyphens. */
export const otherNames = namesByName(vocabulary.names);

/** Lines of `what is asked for = what is looked up`, each by any of the former. */
function namesByName(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const pairs = lines.map((line) => line.split(' = ').map((names) => names.split(' ')));
  return new Map(pairs.flatMap(([asked = [], known = []]) => asked.map((name) => [name, known] as const)));
}

function words(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}

/** The longer ones first. */
function anyOf(runs: Iterable<string>): RegExp {
  return new RegExp([...runs].sort((a, b) => b.length - a.length).join('|'), 'gu');
}
