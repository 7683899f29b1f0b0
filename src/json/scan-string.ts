/** In place of an index. */
export const unproven = -1;

const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;

/** For each byte of a string, whether it needs a second look: it ends the string, or may be no part of it, or not be shown. */
const needsLook = new Uint8Array(256).fill(1, 0, space).fill(1, 0x7f, 0x80);
for (const byte of [quote, backslash, 0xc2, 0xd8, 0xe2, 0xef]) needsLook[byte] = 1;

const isEscape = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) isEscape[byte] = 1;

const isHex = new Uint8Array(256).fill(1, 0x30, 0x3a).fill(1, 0x41, 0x47).fill(1, 0x61, 0x67);

let words: DataView = new DataView(new ArrayBuffer(0));
let lastWord = 0;

/** The strings that are looked at next are all in these bytes, which are UTF-8. */
export function beginStrings(bytes: Buffer): void {
  words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  lastWord = bytes.length - 3;
}

/** The index after the string whose first character, or closing quotation mark, is at `from`. */
export function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    // Many at a time: most of what comes is text.
    while (at < lastWord - 12 && looksOfMany(at) === 0) at += 16;
    while (at < lastWord) {
      const looks = looksOf(words.getInt32(at, true));
      if (looks !== 0) {
        at += (31 - Math.clz32(looks & -looks)) >> 3;
        break;
      }
      at += 4;
    }
    while (needsLook[bytes[at] as number] === 0) at++;
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) {
      const letter = bytes[at + 1] as number;
      if (isEscape[letter] === 1) at += 2;
      else if (letter === 0x75 && areHex(bytes, at + 2)) at += 6;
      else return unproven;
    } else {
      // A control, the end, or the first byte of a character that may have to be escaped.
      if (byte === undefined || byte < 0x80 || isUnsafe(bytes, at)) return unproven;
      at++;
    }
  }
}

/** Whether any of sixteen bytes needs a look. */
function looksOfMany(at: number): number {
  return (
    looksOf(words.getInt32(at, true)) |
    looksOf(words.getInt32(at + 4, true)) |
    looksOf(words.getInt32(at + 8, true)) |
    looksOf(words.getInt32(at + 12, true))
  );
}

/**
 * 0 where four bytes are ASCII, and none is a control, `"`, `\` or DEL. Else the lowest bit is the highest of the first byte that
 * is something else: in each term such a byte carries into its highest bit, and none below it does. Turning one bit around puts `"`
 * beside the controls, and a space where `"` was. A byte 0xff, which would be missed, is in no UTF-8.
 */
function looksOf(word: number): number {
  const controlsAndQuotes = (word ^ 0x02020202) - 0x21212121;
  const backslashes = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (controlsAndQuotes | backslashes | (word + 0x01010101)) & 0x80808080;
}

function areHex(bytes: Buffer, at: number): boolean {
  for (let digit = at; digit < at + 4; digit++) if (isHex[bytes[digit] as number] !== 1) return false;
  return true;
}

/** Whether a character of more than one byte is among those that `toLine` escapes. */
function isUnsafe(bytes: Buffer, at: number): boolean {
  const second = bytes[at + 1] as number;
  const third = bytes[at + 2] as number;
  switch (bytes[at]) {
    case 0xc2: // U+0080 to U+009F
      return second < 0xa0;
    case 0xd8: // U+061C
      return second === 0x9c;
    case 0xe2: // U+200E, U+200F, U+2028 to U+202E; U+2066 to U+2069
      return second === 0x80
        ? third === 0x8e || third === 0x8f || (third >= 0xa8 && third <= 0xae)
        : second === 0x81 && third >= 0xa6 && third <= 0xa9;
    default: // U+FEFF
      return second === 0xbb && third === 0xbf;
  }
}
