/**
 * A fast look at JSON as bytes. What it accepts is proven: JSON in UTF-8 on one line, by the same rules as JSON.parse, with
 * nothing in it that has to be escaped before it is shown. Of anything else it says only that it is not proven, and whoever
 * asks reads it as text, which decides.
 */
import { isUtf8 } from 'node:buffer';
import type { JsonText } from './text.ts';

/** Values of JSON that stand in one piece of bytes: where each begins, and where it ends. */
export interface JsonRanges {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Where they have the members that were asked for. */
  readonly members?: MemberRanges;
}

/**
 * For each value, and each name that was asked for in turn, where that member of it begins and where it ends: twice 0 where it
 * is not there. Where a name has an escape in it, or is there twice, the first number is `unclear`.
 */
export type MemberRanges = readonly number[];
export const unclear = -1;

/** An object whose members are cut out. */
export interface ScannedObject {
  /** All of them but the list. */
  readonly members: ReadonlyMap<string, JsonText>;
  /** The items of the list; undefined where that member is not there, or no list. */
  readonly items: JsonRanges | undefined;
}

/** Deeper than any answer; more is left to the slow way. */
const deepest = 128;

const tab = 0x09;
const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** In place of an index. */
const unproven = -1;

/** For each byte of a string, whether it needs a second look: it ends the string, or may be no part of it, or not be shown. */
const needsLook = new Uint8Array(256).fill(1, 0, space).fill(1, 0x7f, 0x80);
for (const byte of [quote, backslash, 0xc2, 0xd8, 0xe2, 0xef]) needsLook[byte] = 1;

const isEscape = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) isEscape[byte] = 1;

const isHex = new Uint8Array(256)
  .fill(1, zero, nine + 1)
  .fill(1, 0x41, 0x47)
  .fill(1, 0x61, 0x67);

/**
 * The members of an object, and the items of the one that is called `list`, with the places of their members that are
 * called as `wanted` says. Undefined where that is not proven, and where a name is there twice or has an escape in it.
 */
export function scanObject(
  bytes: Buffer,
  list: string,
  wanted: readonly Buffer[] = [],
): ScannedObject | undefined {
  if (bytes[0] !== openBrace || !isUtf8(bytes)) return undefined;
  words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  lastWord = bytes.length - 3;
  noted = undefined;
  memberNote = unproven;
  const members = new Map<string, JsonText>();
  let items: JsonRanges | undefined;
  const names = new Set<string>();
  let at = afterSpace(bytes, 1);
  if (bytes[at] === closeBrace) return at + 1 === bytes.length ? { members, items } : undefined;
  for (;;) {
    if (bytes[at] !== quote) return undefined;
    const nameEnd = endOfString(bytes, at + 1);
    if (nameEnd === unproven) return undefined;
    const name = bytes.toString('utf8', at + 1, nameEnd - 1);
    if (names.has(name) || name.includes('\\')) return undefined;
    names.add(name);
    at = afterSpace(bytes, nameEnd);
    if (bytes[at] !== colon) return undefined;
    at = afterSpace(bytes, at + 1);
    if (name === list && bytes[at] === openBracket) {
      const starts: number[] = [];
      const ends: number[] = [];
      const places: number[] = [];
      noted = wanted.length === 0 ? undefined : { names: wanted, places };
      at = endOfList(bytes, at, starts, ends);
      items = { bytes, starts, ends, ...(noted === undefined ? {} : { members: places }) };
      noted = undefined;
    } else {
      const start = at;
      at = endOfValue(bytes, at);
      members.set(name, bytes.toString('utf8', start, at));
    }
    if (at === unproven) return undefined;
    at = afterSpace(bytes, at);
    if (bytes[at] === closeBrace) return at + 1 === bytes.length ? { members, items } : undefined;
    if (bytes[at] !== comma) return undefined;
    at = afterSpace(bytes, at + 1);
  }
}

/** The index after the list that starts at `from`, whose items are noted. */
function endOfList(bytes: Buffer, from: number, starts: number[], ends: number[]): number {
  let at = afterSpace(bytes, from + 1);
  if (bytes[at] === closeBracket) return at + 1;
  for (;;) {
    starts.push(at);
    noteNext();
    at = endOfValue(bytes, at);
    if (at === unproven) return unproven;
    ends.push(at);
    at = afterSpace(bytes, at);
    if (bytes[at] === closeBracket) return at + 1;
    if (bytes[at] !== comma) return unproven;
    at = afterSpace(bytes, at + 1);
  }
}

// One scan ends before the next begins, and these are its own meanwhile.

/** What closes each thing that is open. */
const open = new Uint8Array(deepest);
let words: DataView = new DataView(new ArrayBuffer(0));
let lastWord = 0;
/** How many escapes were seen. */
let escapes = 0;
/** What is noted of the values of a list. */
let noted: { readonly names: readonly Buffer[]; readonly places: number[] } | undefined;
/** Where the places of the value begin that is being read, and that of its member, if it is one of those. */
let valueNote = 0;
let memberNote = unproven;

/** The index after the value that starts at `from`. */
function endOfValue(bytes: Buffer, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const first = bytes[at];
    if (first === quote) {
      at = endOfString(bytes, at + 1);
    } else if (first === openBrace || first === openBracket) {
      // In ASCII, what closes stands two behind what opens.
      const closing = first + 2;
      at = afterSpace(bytes, at + 1);
      if (bytes[at] !== closing) {
        if (depth === deepest) return unproven;
        open[depth++] = closing;
        if (closing === closeBrace) at = afterName(bytes, at, depth);
        if (at === unproven) return unproven;
        continue;
      }
      at++;
    } else {
      at = endOfScalar(bytes, at);
    }
    // A value has ended, and perhaps what it is in.
    for (;;) {
      if (at === unproven) return unproven;
      if (depth === 0) return at;
      if (depth === 1 && memberNote !== unproven) noteEnd(at);
      at = afterSpace(bytes, at);
      const next = bytes[at++];
      if (next === comma) break;
      if (next !== open[--depth]) return unproven;
    }
    at = afterSpace(bytes, at);
    if (open[depth - 1] === closeBrace) {
      at = afterName(bytes, at, depth);
      if (at === unproven) return unproven;
    }
  }
}

/** Where the value begins whose name begins at `from`. */
function afterName(bytes: Buffer, from: number, depth: number): number {
  if (bytes[from] !== quote) return unproven;
  const escapesBefore = escapes;
  const end = endOfString(bytes, from + 1);
  if (end === unproven) return unproven;
  const at = afterSpace(bytes, end);
  if (bytes[at] !== colon) return unproven;
  const start = afterSpace(bytes, at + 1);
  if (depth === 1 && noted !== undefined) {
    if (escapes === escapesBefore) noteStart(bytes, from + 1, end - 1, start, noted);
    else noted.places[valueNote] = unclear;
  }
  return start;
}

/** Makes room for the members of the next value of a list. */
function noteNext(): void {
  if (noted === undefined) return;
  const { names, places } = noted;
  valueNote = places.length;
  for (let index = 0; index < names.length; index++) places.push(0, 0);
}

function noteStart(
  bytes: Buffer,
  from: number,
  end: number,
  start: number,
  { names, places }: NonNullable<typeof noted>,
): void {
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as Buffer;
    if (name.length !== end - from) continue;
    let same = 0;
    while (same < name.length && name[same] === bytes[from + same]) same++;
    if (same < name.length) continue;
    const note = valueNote + 2 * index;
    if (places[note] !== 0) {
      places[valueNote] = unclear;
    } else {
      places[note] = start;
      memberNote = note;
    }
  }
}

function noteEnd(at: number): void {
  if (noted !== undefined) noted.places[memberNote + 1] = at;
  memberNote = unproven;
}

/** The index after the string whose first character, or closing quotation mark, is at `from`. */
function endOfString(bytes: Buffer, from: number): number {
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
      escapes++;
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

const literals = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')];

function endOfScalar(bytes: Buffer, from: number): number {
  const first = bytes[from] as number;
  if (first === minus || (first >= zero && first <= nine)) return endOfNumber(bytes, from);
  const literal = literals.find((one) => one[0] === first);
  if (literal === undefined) return unproven;
  for (let index = 1; index < literal.length; index++) {
    if (bytes[from + index] !== literal[index]) return unproven;
  }
  return from + literal.length;
}

function endOfNumber(bytes: Buffer, from: number): number {
  const start = bytes[from] === minus ? from + 1 : from;
  let at = afterDigits(bytes, start);
  if (at === start || (bytes[start] === zero && at > start + 1)) return unproven;
  if (bytes[at] === dot) {
    const end = afterDigits(bytes, at + 1);
    if (end === at + 1) return unproven;
    at = end;
  }
  if (((bytes[at] as number) | 0x20) === 0x65) {
    const sign = bytes[at + 1];
    const digits = sign === minus || sign === 0x2b ? at + 2 : at + 1;
    at = afterDigits(bytes, digits);
    if (at === digits) return unproven;
  }
  return at;
}

function afterDigits(bytes: Buffer, from: number): number {
  let at = from;
  while ((bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++;
  return at;
}

/** Line breaks are left to the slow way. */
function afterSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === space || bytes[at] === tab) at++;
  return at;
}
