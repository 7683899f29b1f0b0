import { endOfString } from './text.ts';

/**
 * More values than these are not looked at: what JSON.parse makes of 20 MB of brackets is a gigabyte. An answer of 10,000 items
 * with a hundred members each has as many.
 */
export const mostValues = 1_000_000;

/** Whether a text is JSON, of no more than `mostValues`. Throws nothing, however deep or odd the text is. */
export function isJson(text: string): boolean {
  if (hasMoreValues(text, mostValues)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a text has more values in it than so many. A character can make a value, and cutting one out takes a hundred
 * bytes of memory: a body within its cap can fill a machine. The text need not be JSON.
 */
export function hasMoreValues(text: string, most: number): boolean {
  if (text.length < most) return false;
  let values = 1;
  for (let at = 0; at < text.length && values <= most; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    // Each stands before a value, or before the end of an empty one.
    else if (character === ',' || character === '[' || character === '{') values++;
  }
  return values > most;
}
