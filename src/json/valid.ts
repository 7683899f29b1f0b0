/** Up to here what JSON.parse makes of a text is small, whatever is in it, and it is twice as fast. */
const smallEnoughToParse = 1 << 20;

/** Whether a text is JSON. Throws nothing, and takes no more memory than the text, however deep or odd it is. */
export function isJson(text: string): boolean {
  if (text.length > smallEnoughToParse) return isLargeJson(text);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
    at = endOfSpace(text, at);
    const code = text.charCodeAt(at);
    const closing = code === openBrace ? closeBrace : code === openBracket ? closeBracket : undefined;
    if (closing === undefined) {
      at = code === quote ? endOfString(text, at) : endOfScalar(text, at);
    } else {
      at = endOfSpace(text, at + 1);
      if (text.charCodeAt(at) !== closing) {
        if (depth === open.length) open = twice(open);
        open[depth++] = closing;
        if (closing === closeBrace) at = endOfKey(text, at);
        if (at === wrong) return false;
        continue;
      }
      at++;
    }
    // A value has ended, and perhaps what it is in.
    for (;;) {
      if (at === wrong) return false;
      at = endOfSpace(text, at);
      if (depth === 0) return at === text.length;
      const next = text.charCodeAt(at++);
      if (next === comma) break;
      if (next !== open[--depth]) return false;
    }
    if (open[depth - 1] === closeBrace) at = endOfKey(text, endOfSpace(text, at));
    if (at === wrong) return false;
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** In place of an index. */
const wrong = -1;

function endOfSpace(text: string, from: number): number {
  let at = from;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

/** The index after the colon of the key that starts at `from`. */
function endOfKey(text: string, from: number): number {
  if (text.charCodeAt(from) !== quote) return wrong;
  const end = endOfString(text, from);
  if (end === wrong) return wrong;
  const at = endOfSpace(text, end);
  return text.charCodeAt(at) === colon ? at + 1 : wrong;
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    // Controls have to be escaped; the end of the text is NaN.
    if (!(code >= 0x20)) return wrong;
    if (code !== backslash) continue;
    escaped.lastIndex = at;
    if (!escaped.test(text)) return wrong;
    at = escaped.lastIndex - 1;
  }
}

function endOfScalar(text: string, from: number): number {
  scalar.lastIndex = from;
  return scalar.test(text) ? scalar.lastIndex : wrong;
}

const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function twice(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * bytes.length);
  larger.set(bytes);
  return larger;
}
