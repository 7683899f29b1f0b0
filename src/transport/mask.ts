/**
 * A service that echoes the API key would have us show and store it. What it sends is masked where it comes in: bodies,
 * frames and headers alike, before anything is made of them.
 */
export type Mask = (text: string) => string;

const shown = '[API key]';
const none = -1;
const [percent, slash, backslash] = [0x25, 0x2f, 0x5c];

/**
 * Masks the key as it is, escaped for JSON (\u0041 and \/, in JSON in a string too) and percent-encoded (%41, and %2541),
 * and in any mix of these. JSON stays JSON, and a text without the key stays as it is. The key is one that a header can
 * carry, without `"` and `\`.
 */
// rule: auth.secret
export function createMask(key: string): Mask {
  const codes = [...key].map((character) => character.charCodeAt(0));
  const mayBegin = new RegExp(`\\\\+|[%${key.charAt(0).replace(/[\]^-]/, '\\$&')}]`, 'g');
  // A key of digits can stand in a number, which has to stay one.
  const inPlain = /^[\d.eE+-]+$/.test(key) ? key.replace(/\d/g, '9') : shown;

  return (text) => {
    if (!text.includes('%') && !text.includes('\\')) return text.replaceAll(key, inPlain);
    const parts: string[] = [];
    let from = 0;
    mayBegin.lastIndex = 0;
    for (let found = mayBegin.exec(text); found !== null; found = mayBegin.exec(text)) {
      const isPlain = text.startsWith(key, found.index);
      let end = found.index;
      for (const code of isPlain ? [] : codes) end = end === none ? none : after(text, end, code);
      if (isPlain) end += key.length;
      if (end === none) continue;
      const before = text.slice(from, found.index);
      // Where the key begins inside \n or \u0041, the whole escape goes with it: half of one is no JSON.
      const front = before.replace(/\\+(?:u[\da-f]{0,3})?$/i, '');
      parts.push(front, isPlain && front === before ? inPlain : shown);
      from = end;
      mayBegin.lastIndex = end;
    }
    return parts.length === 0 ? text : parts.join('') + text.slice(from);
  };
}

/** The index after the character that stands at `from`, however it is written; `none` where another does. */
function after(text: string, from: number, code: number): number {
  let at = from;
  const first = text.charCodeAt(at);
  if (first === code && code !== percent) return at + 1;
  if (first === backslash) {
    // Each level of JSON in a string doubles them.
    while (text.charCodeAt(at) === backslash) at++;
    if (text.charCodeAt(at) === slash && code === slash) return at + 1;
    const written = text.startsWith('u00', at) ? hexAt(text, at + 3) : none;
    at += 'u0041'.length;
    if (written !== percent) return written === code ? at : none;
  } else if (first === percent) at++;
  else return none;
  // Behind a percent sign, which may be encoded itself.
  while (hexAt(text, at) === percent) at += 2;
  if (code === percent) return at;
  return hexAt(text, at) === code ? at + 2 : none;
}

function hexAt(text: string, at: number): number {
  const digits = text.slice(at, at + 2);
  return /^[\da-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : none;
}

const endOfWords = /[\s"](?=[^\s"]*$)/;

/** How much of a text can be masked without what follows it: there is no white space in a key, and no quotation mark. */
export function wholeWords(text: string): number {
  return text.search(endOfWords) + 1;
}
