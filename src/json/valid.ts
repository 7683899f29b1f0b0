import { endOfString } from './text.ts';

/**
 * The limit for values: JSON.parse makes a gigabyte of 20 MB of brackets. An answer of 10,000 items with a hundred members each is within
 * it.
 */
export const maxValues = 1_000_000;

/** Whether a text is JSON, of no more than `maxValues`. Throws nothing, however deep or odd the text is. */
export function isJson(text: string): boolean {
  return flawOfJson(text) === undefined;
}

/** Why a text is not such JSON, as it is said of an answer. */
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
 * Whether a text has more values than `max`. One character can be a value, and cutting it out takes a hundred bytes of memory, so a body
 * within its cap can use up all memory. The text need not be JSON.
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
