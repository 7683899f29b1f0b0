import stringWidth from 'string-width';

/**
 * Signs that join two letters of a script of India or South-East Asia. By Unicode the joined letters are one character, which
 * string-width counts as one letter; terminals count each letter.
 */
const joiners = /[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1bab\uaaf6]/g;

/** How many columns most terminals need for a text. */
export function cellWidth(text: string): number {
  return stringWidth(text.replace(joiners, ''));
}
