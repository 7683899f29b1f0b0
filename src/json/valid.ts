import { endOfString } from './text.ts';

/**
 * The maximum number of values: JSON.parse turns 20 MB of brackets into a gigabyte. It allows 10,000 items with a hundred members each.
 */
export const maxValues = 1_000_000;

/** Whether a text is JSON with at most `maxValues` values. Never throws, however deep or odd the text is. */
export function isJson(text: string): boolean {
  return flawOfJson(text) === undefined;
}

/** Why a text is not such JSON, in words for an error; undefined if it is. */
export function flawOfJson(text: string): string | undefined {
  if (hasMoreValues(text, maxValues)) return `with more than ${maxValues} values`;
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return 'that is not JSON';
  }
}

/**
 * Whether a text has more values than `max`. A value can be one character but takes a hundred bytes in memory, so even a body within its
 * size limit could use up all memory. The text need not be JSON.
 */
export function hasMoreValues(text: string, max: number): boolean {
  if (text.length < max) return false;
  let values = 1;
  for (let at = 0; at < text.length && values <= max; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    // Each is followed by a value, or by the end of something empty.
    else if (character === ',' || character === '[' || character === '{') values++;
  }
  return values > max;
}
