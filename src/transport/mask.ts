/**
 * A service that echoes the API key would have us show and store it. What it sends is masked where it comes in: bodies,
 * frames and headers alike, before anything is made of them.
 */
export type Mask = (text: string) => string;

const shown = '[API key]';

/** Escapes in escapes, such as \u002541; deeper than this nobody nests by chance. */
const deepest = 4;

const [percent, backslash, slash] = [0x25, 0x5c, 0x2f];

/**
 * Masks the key as it is, in base64 and in hexadecimal, and each of these with \u0041, \/ and %41 in any mix. JSON stays
 * JSON, and a text without the key stays as it is. The key is one that a header can carry, without `"` and `\`.
 */
export function createMask(key: string): Mask {
  const hex = Buffer.from(key)
    .toString('hex')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const base64 = base64Forms(key);
  // Three searches are several times as fast as one for all of them.
  const forms = [escaped(key), base64.join('|').replaceAll('+', '[+-]').replaceAll('/', '[/_]'), hex];
  const searches = forms.map((form) => new RegExp(form));
  // Where the key begins inside \n or \u0041, the whole escape goes with it: half of one is no JSON.
  const plain = new RegExp(`(?:(?<!\\\\)\\\\+(?:u[\\da-fA-F]{0,3})?)?(?:${forms.join('|')})`, 'g');
  const escapes = escapesOf(escapable(key));
  // A key of digits can stand in a number, which has to stay one.
  const inPlain = /^[\d.eE+-]+$/.test(key) ? key.replace(/\d/g, '9') : shown;

  const isPlain = (text: string): boolean => searches.some((search) => search.test(text));
  const isHidden = (text: string): boolean => {
    let undone = text;
    for (let depth = 0; depth < deepest && escapes.test(undone); depth++) {
      // One after the other: what is a % of the text in JSON need not be one in a URL.
      for (const introducer of [backslash, percent]) {
        undone = withoutEscapes(undone, introducer);
        if (isPlain(undone)) return true;
      }
    }
    return false;
  };

  return (text) => {
    const open = isPlain(text) ? text.replace(plain, inPlain) : text;
    if (!isHidden(open)) return open;
    return open.replace(words, (word) => (isHidden(word) ? shown + openEscape(word) : word));
  };
}

/** The key is always within one of these: there is no white space in it, and no quotation mark. */
const words = /[^\s"]+/g;
const endOfWords = /[\s"](?=[^\s"]*$)/;

/** How much of a text can be masked without what follows it. */
export function wholeWords(text: string): number {
  return text.search(endOfWords) + 1;
}

/** The digits of base64 that say the key and nothing else, for each place that it can have in the groups of three. */
export function base64Forms(key: string): string[] {
  return [0, 1, 2].map((before) => {
    const digits = Buffer.from(`${' '.repeat(before)}${key}`).toString('base64');
    return digits.slice(before === 0 ? 0 : before + 1, Math.floor(((before + key.length) * 8) / 6));
  });
}

/** What of a key, and of escapes of it, may be written as an escape. */
export function escapable(key: string): string {
  return `${key}${base64Forms(key).join('')}0123456789abcdef%\\`;
}

/** Finds \u0041, \/ and %41 for these characters; most texts have none, and need no second look. */
function escapesOf(characters: string): RegExp {
  const codes = [...new Set(characters)].map((character) => character.charCodeAt(0).toString(16));
  return new RegExp(`(?:%|\\\\u00)(?:${codes.join('|')})${characters.includes('/') ? '|\\\\/' : ''}`, 'i');
}

/** The text with one layer of \u0041 and \/ or of %41 undone, for comparisons: what is not ASCII becomes a NUL. */
function withoutEscapes(text: string, introducer: number): string {
  const codes = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    let code = text.charCodeAt(at++);
    if (code === introducer) {
      // JSON in a string of JSON has two backslashes, the next has four.
      while (code === backslash && text.charCodeAt(at) === backslash) at++;
      const digits = code === percent ? at : text.startsWith('u00', at) ? at + 3 : text.length;
      const undone = 16 * digitAt(text, digits) + digitAt(text, digits + 1);
      if (undone <= 0x7f) {
        code = undone;
        at = digits + 2;
      } else if (code === backslash && text.charCodeAt(at) === slash) {
        code = slash;
        at++;
      }
    }
    codes[length++] = code > 0x7f ? 0 : code;
  }
  return codes.toString('latin1', 0, length);
}

/** NaN where there is no hexadecimal digit. */
function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

/** The backslash that belongs to the quotation mark behind a word. */
function openEscape(word: string): string {
  return (/\\+$/.exec(word)?.[0].length ?? 0) % 2 === 0 ? '' : '\\';
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
