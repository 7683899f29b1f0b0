import { type JsonText, stringOf } from '../json/text.ts';
import type { Column } from './layout.ts';

/** The two parts of a person's name; the first one may be empty. */
interface NameParts {
  readonly first: string;
  readonly last: string;
}

/** Words with which a last name begins, such as `van der Berg` and `De La Renta`. */
const particles =
  /^(?:van|von|vom|de|den|der|des|del|della|dello|di|da|dal|dos|das|du|la|le|las|los|el|ter|ten|zu|zum|zur|af|av|bin|ibn|d['’])$/i;
/** They are also first or last names of their own, which are capitalised. */
const smallParticles = /^(?:al|ben|do|e|y|i|san|te|'t|’t)$/;
/** Words between the two parts of one last name, such as `Ortega y Gasset`. */
const links = /^[yei]$/;
/** Suffixes of a last name: `King Jr.` */
const suffixes = /^(?:jr|sr|ii|iii|iv)\.?$/i;
/** Titles after a comma: `Example, PhD` */
const titles = /^(?:Ph\.?D|[BM]\.?Sc|M\.?D|Esq|[A-Z]{2,5})\.?$/;
/** In Chinese, Japanese and Korean, the last name comes first. */
const eastAsian = /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\s]+$/u;

/**
 * Pure: the first and the last name of a person, as far as a name in one text shows them. A single word is the last name, which imports
 * require; a Chinese, Japanese or Korean name without a space is a single word. Each word of the name is in one of the two parts.
 */
export function toNameParts(name: string): NameParts {
  const [main = '', ...others] = name
    .split(',')
    .map((part) => part.trim().replace(/\s+/g, ' '))
    .filter((part) => part !== '');
  const isSuffix = (part: string): boolean => suffixes.test(part) || titles.test(part);
  const behind = others.filter(isSuffix);
  const given = others.filter((part) => !isSuffix(part));
  const words = main.split(' ');
  // `Example, Ada`
  if (given.length > 0) return { first: given.join(' '), last: [main, ...behind].join(', ') };
  if (eastAsian.test(main))
    return { first: words.slice(1).join(' '), last: [words[0], ...behind].join(', ') };
  const start = startOfLast(words);
  return {
    first: words.slice(0, start).join(' '),
    last: [words.slice(start).join(' '), ...behind].join(', '),
  };
}

/** The number of the word with which the last name begins. */
function startOfLast(words: readonly string[]): number {
  const isParticle = (word = ''): boolean => particles.test(word) || smallParticles.test(word);
  const isCapitalised = (word = ''): boolean => !/^\p{Ll}/u.test(word);
  if (isParticle(words[0]) && !isCapitalised(words[0])) return 0;
  let end = words.length - 1;
  while (end > 1 && suffixes.test(words[end] ?? '')) end--;
  const at = words.findIndex((word, place) => place > 0 && place < end && isParticle(word));
  if (at === -1) return end;
  return at > 1 && links.test(words[at] ?? '') ? at - 1 : at;
}

/** The columns first_name and last_name, made of the member that has a whole name. */
export function namePartColumns(member: string): readonly Column[] {
  return (['first', 'last'] as const).map((part) => ({
    header: `${part}_name`,
    from(record): JsonText | undefined {
      const own = record.member(`${part}_name`);
      if (own !== undefined) return own;
      const name = stringOf(record.member(member));
      return name === undefined ? undefined : JSON.stringify(toNameParts(name)[part]);
    },
  }));
}
