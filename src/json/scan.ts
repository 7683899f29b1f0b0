/**
 * A fast look at JSON as bytes. What it accepts is proven: JSON in UTF-8 on one line, by the same rules as JSON.parse, with
 * nothing in it that has to be escaped before it is shown. Of anything else it says only that it is not proven, and whoever
 * asks reads it as text, which decides.
 */
import { isUtf8 } from 'node:buffer';
import { beginStrings, endOfString, unproven } from './scan-string.ts';
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
  beginStrings(bytes);
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
  const end = endOfString(bytes, from + 1);
  if (end === unproven) return unproven;
  const at = afterSpace(bytes, end);
  if (bytes[at] !== colon) return unproven;
  const start = afterSpace(bytes, at + 1);
  if (depth === 1 && noted !== undefined) noteStart(bytes, from + 1, end - 1, start, noted);
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
  for (let at = from; at < end; at++) if (bytes[at] === backslash) places[valueNote] = unclear;
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
