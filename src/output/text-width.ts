import stringWidth from 'string-width';

/**
 * How many columns of a terminal a text takes. All text here is clean (see clean.ts). It is cut to what can possibly be shown before it is
 * segmented, so a description of a megabyte takes no longer than one of a kilobyte.
 */

/** For an output that is not a terminal. */
export const defaultWidth = 100;
/** Width of the gap between two columns of a table. */
export const columnGap = 2;

// A family of four with skin tones is 15 code units in two columns.
const unitsPerColumn = 16;
const segmenter = new Intl.Segmenter();

/**
 * Characters of one column, and of two, that never join with their neighbours: Latin, Chinese, Japanese, Korean, and punctuation. They
 * don't need the segmenter, which is a hundred times slower.
 */
const narrow = /^[\x20-\x7e\xa1-\xac\xae-\u024f\u2010-\u2027\u2030-\u205e]*$/;
const wide = /[\u3001-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]/g;

/** How many characters take two columns; undefined if some of them may combine. */
function wideIn(text: string): number | undefined {
  if (narrow.test(text)) return 0;
  const others = text.replace(wide, '');
  return narrow.test(others) ? text.length - others.length : undefined;
}

/**
 * Signs that join two letters of a script of India or South-East Asia. By Unicode the joined letters are one character, which
 * string-width counts as one letter; terminals count each letter.
 */
const joiners = /[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1bab\uaaf6]/g;

/** How many columns most terminals need for a text. */
export function cellWidth(text: string): number {
  return stringWidth(text.replace(joiners, ''));
}

export function textWidth(text: string): number {
  const more = wideIn(text);
  return more === undefined ? cellWidth(text) : text.length + more;
}

/** The text in at most `width` columns, with … where it was cut. */
export function cutTo(text: string, width: number): string {
  if (width <= 0) return '';
  const near = possible(text, width);
  if (near.length === text.length && fitting(text, width) === text.length) return text;
  return `${near.slice(0, fitting(near, width - 1)).trimEnd()}…`;
}

/** As `cutTo`, but cut between words, if a word is left. */
function cutAtWord(text: string, width: number): string {
  const cut = cutTo(text, width);
  const kept = cut.slice(0, -1);
  if (cut === text || !isLatin(text, kept.length) || !isLatin(text, kept.length - 1)) return cut;
  const space = kept.lastIndexOf(' ');
  return space > kept.length / 3 ? `${kept.slice(0, space).replace(/[\s,;:.–-]+$/, '')}…` : cut;
}

/** Whether words here have spaces between them; other scripts can be broken anywhere. */
function isLatin(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code > 0x20 && code <= 0x24f;
}

/**
 * Lines of at most `width` columns, broken at spaces where possible; the last ends with … if there is more. A word that is longer than a
 * line is broken if `tears`, else it is cut, and is the last.
 */
export function* wrapTo(
  text: string,
  width: number,
  maxLines: number,
  tears = true,
): Generator<string, void> {
  let rest = text.trim();
  for (let line = 1; rest !== '' && line < maxLines; line++) {
    const near = possible(rest, width);
    const end = breakAt(near, width, near.length === rest.length, maxLines - line);
    if (!tears && end < rest.length && isLatin(rest, end) && isLatin(rest, end - 1)) break;
    yield cutTo(rest.slice(0, end).trimEnd(), width);
    rest = rest.slice(end).trimStart();
  }
  if (rest !== '') yield cutAtWord(rest, width);
}

/**
 * The lines of a value behind its label. Only an address that stands alone on its line may be longer than the line, so that it can be
 * copied in one piece; else every line fits.
 */
export function* wrapValue(
  label: string,
  text: string,
  width: number,
  maxLines: number,
  isAddress: boolean,
): Generator<string, void> {
  const isAlone = isAddress && !/\s/.test(text);
  if (!isAlone || fits(label + text, width)) return yield* wrapTo(label + text, width, maxLines);
  if (label !== '') yield cutTo(label.trimEnd(), width);
  yield text;
}

export function fits(text: string, width: number): boolean {
  return cutTo(text, width) === text;
}

/** Where the first line of the text ends. `more` is how many can follow. */
function breakAt(near: string, width: number, isWhole: boolean, more: number): number {
  const end = fitting(near, width);
  if ((end === near.length && isWhole) || near[end] === ' ') return end;
  const space = near.lastIndexOf(' ', end);
  if (space > 0) return space;
  // Break an address between its parts, if the rest still fits.
  const part = near.slice(0, end).search(/[/?&=@_.-][^/?&=@_.-]*$/) + 1;
  if (part > end / 2 && near.length - part <= more * width) return part;
  // A character that is wider than the line becomes a ….
  return end > 0 ? end : (segmenter.segment(near).containing(0)?.segment.length ?? near.length);
}

/** The beginning of a text, the most that `width` columns can show. */
function possible(text: string, width: number): string {
  const units = (width + 2) * unitsPerColumn;
  if (text.length <= units) return text;
  const splitsPair = (text.charCodeAt(units - 1) & 0xfc00) === 0xd800;
  return text.slice(0, splitsPair ? units - 1 : units);
}

/** How much of the text, in code units, fits into `width` columns. */
function fitting(text: string, width: number): number {
  if (narrow.test(text)) return Math.min(text.length, width);
  let used = 0;
  let at = 0;
  for (const part of wideIn(text) === undefined ? charactersOf(text) : text) {
    used += textWidth(part);
    if (used > width) return at;
    at += part.length;
  }
  return text.length;
}

function* charactersOf(text: string): Generator<string, void> {
  for (const { segment } of segmenter.segment(text)) yield segment;
}
