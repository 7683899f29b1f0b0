import { endOfString } from './text.ts';

/**
 * Whether a text has more values in it than so many. Two characters make a value, and cutting one out takes a hundred
 * bytes of memory: a body within its cap can fill a machine. The text need not be JSON.
 */
export function hasMoreValues(text: string, most: number): boolean {
  let values = 1;
  for (let at = 0; at < text.length && values <= most; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    // Each stands before a value, or before the end of an empty one.
    else if (code === comma || code === openBracket || code === openBrace) values++;
  }
  return values > most;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;
