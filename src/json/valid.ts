import { endOfString, endOfValue, skipSpace } from './text.ts';

/** Up to here what JSON.parse makes of a text is small, whatever is in it, and it is twice as fast. */
const smallEnoughToParse = 1 << 20;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** In place of an index. */
const wrong = -1;
const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Whether a text is JSON. Throws nothing, and takes no more memory than the text, however deep or odd it is. */
export function isJson(text: string): boolean {
  return text.length > smallEnoughToParse ? isLargeJson(text) : parses(text);
}

/**
 * By the same rules as JSON.parse, which makes a gigabyte of 20 MB of brackets. What is open is kept in a list of
 * bytes.
 */
export function isLargeJson(text: string): boolean {
  let open = new Uint8Array(64);
  let depth = 0;
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    const code = text.charCodeAt(at);
    const closing = code === openBrace ? closeBrace : code === openBracket ? closeBracket : undefined;
    if (closing === undefined) {
      at = code === quote ? afterString(text, at) : afterScalar(text, at);
    } else {
      at = skipSpace(text, at + 1);
      if (text.charCodeAt(at) !== closing) {
        if (depth === open.length) open = twice(open);
        open[depth++] = closing;
        if (closing === closeBrace) at = afterKey(text, at);
        if (at === wrong) return false;
        continue;
      }
      at++;
    }
    // A value has ended, and perhaps what it is in.
    for (;;) {
      if (at === wrong) return false;
      at = skipSpace(text, at);
      if (depth === 0) return at === text.length;
      const next = text.charCodeAt(at++);
      if (next === comma) break;
      if (next !== open[--depth]) return false;
    }
    if (open[depth - 1] === closeBrace) at = afterKey(text, skipSpace(text, at));
    if (at === wrong) return false;
  }
}

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

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The index after the colon of the key that starts at `from`. */
function afterKey(text: string, from: number): number {
  if (text.charCodeAt(from) !== quote) return wrong;
  const end = afterString(text, from);
  const at = end === wrong ? from : skipSpace(text, end);
  return text.charCodeAt(at) === colon ? at + 1 : wrong;
}

function afterString(text: string, from: number): number {
  const end = endOfString(text, from);
  return parses(text.slice(from, end)) ? end : wrong;
}

function afterScalar(text: string, from: number): number {
  const end = endOfValue(text, from);
  return scalar.test(text.slice(from, end)) ? end : wrong;
}

function twice(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * bytes.length);
  larger.set(bytes);
  return larger;
}
