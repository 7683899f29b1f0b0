/**
 * JSON as text. Records stay the text the service wrote, because JSON.parse would round numbers above 2^53 and
 * 1.10 would come out as 1.1. Parts of a record are cut out of its text instead.
 *
 * Every function expects *valid* JSON (callers have run JSON.parse on it, or on what it was cut from): on
 * anything else the result is meaningless, but nothing here loops for ever.
 */

/** The source text of one JSON value. */
export type JsonText = string;

/** Records as the service wrote them. */
export type Records = readonly JsonText[];

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

const quote = 0x22;
const backslash = 0x5c;

const kinds: Readonly<Record<string, JsonKind>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: 'null',
};

export function kindOf(text: JsonText): JsonKind {
  return kinds[text.charAt(skipSpace(text, 0))] ?? 'number';
}

/** Whether a value is there and of this kind. */
export const isOf =
  (kind: JsonKind) =>
  (text: JsonText | undefined): text is JsonText =>
    text !== undefined && kindOf(text) === kind;

/** The members of an object, each as it was written; for a repeated key the last one. Empty for any other kind. */
export function objectMembers(text: JsonText): Map<string, JsonText> {
  const members = new Map<string, JsonText>();
  takeMembers(text, (key, value) => members.set(key, value));
  return members;
}

/** All members in their order, also those with a repeated key. */
export function allMembers(text: JsonText): [key: string, value: JsonText][] {
  const members: [string, JsonText][] = [];
  takeMembers(text, (key, value) => members.push([key, value]));
  return members;
}

function takeMembers(text: JsonText, take: (key: string, value: JsonText) => void): void {
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== 0x7b) return;
  at = skipSpace(text, at + 1);
  while (at < text.length && text.charCodeAt(at) === quote) {
    const keyEnd = endOfString(text, at);
    const name = text.slice(at + 1, keyEnd - 1);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = endOfValue(text, start);
    take(name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name, text.slice(start, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== 0x2c) break;
    at = skipSpace(text, at + 1);
  }
}

/** The items of an array, each as it was written. Empty for any other kind. */
export function arrayItems(text: JsonText): JsonText[] {
  return [...eachItem(text)];
}

/** Yields the items of an array one by one, for callers that may not need all. */
export function* eachItem(text: JsonText): Generator<JsonText, void> {
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== 0x5b) return;
  at = skipSpace(text, at + 1);
  while (at < text.length && text.charCodeAt(at) !== 0x5d) {
    const end = endOfValue(text, at);
    if (end === at) break;
    yield text.slice(at, end);
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== 0x2c) break;
    at = skipSpace(text, at + 1);
  }
}

/** All strings in a value at any depth, as they were written, without member names. No recursion: deep nesting would overflow the stack. */
export function textsAnywhereIn(value: JsonText): JsonText[] {
  const texts: JsonText[] = [];
  for (let at = value.indexOf('"'); at !== -1; ) {
    const end = endOfString(value, at);
    if (value.charCodeAt(skipSpace(value, end)) !== 0x3a) texts.push(value.slice(at, end));
    at = value.indexOf('"', end);
  }
  return texts;
}

/** The names of members, from the outside to the inside. */
export type Path = readonly string[];

/** The source of a value in a record: the first of these paths that has one, or with a function. */
export type Source = readonly Path[] | ((record: JsonView) => JsonText | undefined);

/** A JSON value that caches its parts. */
export class JsonView {
  readonly text: JsonText;
  #parts: Map<string, JsonText> | undefined;
  #inner: Map<string, JsonView> | undefined;

  constructor(text: JsonText) {
    this.text = text;
  }

  /** A member of an object, or an item of an array by its number. */
  member(name: string): JsonText | undefined {
    this.#parts ??= partsOf(this.text);
    return this.#parts.get(name);
  }

  /** The names of the members, in their order. */
  names(): Iterable<string> {
    this.#parts ??= partsOf(this.text);
    return this.#parts.keys();
  }

  /** A view of a member, always the same one. */
  inner(name: string): JsonView | undefined {
    const known = this.#inner?.get(name);
    if (known !== undefined) return known;
    const text = this.member(name);
    if (text === undefined) return undefined;
    const view = new JsonView(text);
    this.#inner ??= new Map();
    this.#inner.set(name, view);
    return view;
  }

  /** The value at a source. */
  find(source: Source): JsonText | undefined {
    if (typeof source === 'function') return source(this);
    for (const path of source) {
      const found = behind(this, path, 0);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The value at a dot path. A key that contains dots comes before a path of keys. A number means an item of an array. */
  at(path: string): JsonText | undefined {
    const whole = this.member(path);
    if (whole !== undefined) return whole;
    for (let dot = path.lastIndexOf('.'); dot >= 0; dot = dot === 0 ? -1 : path.lastIndexOf('.', dot - 1)) {
      const found = this.inner(path.slice(0, dot))?.at(path.slice(dot + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** The value at the rest of a path, from this step on. */
function behind(view: JsonView | undefined, path: Path, step: number): JsonText | undefined {
  const name = path[step];
  if (name === undefined) return view?.text;
  return step + 1 === path.length ? view?.member(name) : behind(view?.inner(name), path, step + 1);
}

function partsOf(text: JsonText): Map<string, JsonText> {
  if (kindOf(text) !== 'array') return objectMembers(text);
  return new Map(arrayItems(text).map((item, at) => [String(at), item]));
}

/** The characters of a string; undefined for any other kind. */
export function stringOf(text: JsonText | undefined): string | undefined {
  if (text === undefined || kindOf(text) !== 'string') return undefined;
  // Most strings have no escapes, and need no parser.
  if (text.charCodeAt(0) === quote && !text.includes('\\')) return text.slice(1, text.lastIndexOf('"'));
  return JSON.parse(text) as string;
}

/** A safe integer from 0 on; undefined for anything else. */
export function countOf(text: JsonText | undefined): number | undefined {
  if (text === undefined || kindOf(text) !== 'number') return undefined;
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** The values of a record at these sources; `null` if there is none. */
export function valuesIn(record: JsonText, sources: readonly Source[]): JsonText[] {
  const view = new JsonView(record);
  return sources.map((source) => view.find(source) ?? 'null');
}

/** A value as the text of a cell. */
export interface ValueText {
  /** The characters of a string, nothing for null, and any other value as it was written, on one line. */
  readonly text: string;
  readonly isString: boolean;
}

/** As `valuesIn`, but as texts of cells. */
export function textsIn(record: JsonText, sources: readonly Source[]): ValueText[] {
  return valuesIn(record, sources).map(textOf);
}

/** Pure: a value as the text of a cell. */
export function textOf(value: JsonText): ValueText {
  const text = stringOf(value);
  if (text !== undefined) return { text, isString: true };
  return { text: kindOf(value) === 'null' ? '' : toLine(value).trim(), isString: false };
}

/** Pure: whether a value contains, at any depth, a text that is not blank, a number, true or false. */
export function isFilled(value: JsonText = 'null'): boolean {
  for (let at = 0; at < value.length; ) {
    if (' \n\r\t{}[],:'.includes(value.charAt(at))) {
      at++;
      continue;
    }
    const end = Math.max(endOfValue(value, at), at + 1);
    const isName = value.charAt(skipSpace(value, end)) === ':';
    if (!isName && textOf(value.slice(at, end)).text.trim() !== '') return true;
    at = end;
  }
  return false;
}

/** An object from members that are JSON text already, in their order. */
export function objectOf(members: Iterable<readonly [string, JsonText]>): JsonText {
  const parts: string[] = [];
  for (const [key, value] of members) parts.push(`${JSON.stringify(key)}:${value}`);
  return `{${parts.join(',')}}`;
}

/**
 * The object with these members first; its own members stay as they were written. An own member with the same name but another value is
 * renamed to `service_…`. Any other kind of value is returned unchanged.
 */
export function withMembers(members: readonly (readonly [string, JsonText])[], object: JsonText): JsonText {
  const text = object.trim();
  if (kindOf(text) !== 'object') return object;
  const front = new Map(members);
  const own = objectMembers(text);
  if (members.some(([name]) => own.has(name))) {
    const others = [...own].filter(([name, value]) => front.get(name) !== value);
    const free = (name: string): string =>
      own.has(name) || front.has(name) ? free(`service_${name}`) : name;
    return objectOf([
      ...members,
      ...others.map(([name, value]) => [front.has(name) ? free(name) : name, value] as const),
    ]);
  }
  const rest = text.slice(1).trimStart();
  const opened = objectOf(members).slice(0, -1);
  return rest === '}' ? `${opened}}` : `${opened},${rest}`;
}

// Tested first, because a test without a match is several times faster than a replacement.
const plain = /^[\x20-\x7e]*$/;
// Line breaks can only stand between tokens, the others only inside strings, where \uXXXX means the same.
const unsafeInLine = /[\r\n]+|[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * The same JSON on one line that is safe to show: line breaks between tokens are removed; C1 controls, U+2028/2029 and bidirectional
 * controls are escaped.
 */
export function toLine(text: JsonText): string {
  if (plain.test(text)) return text;
  return text.replace(unsafeInLine, (found) =>
    found < ' ' ? '' : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const longestPiece = 1 << 18;

/** As `toLine`, in pieces if it is long. */
export function* toLinePieces(text: JsonText): Generator<string, void> {
  for (const piece of piecesOf(text, longestPiece)) yield toLine(piece);
}

/** A text in pieces of about `length` code units. None ends inside a character. */
export function* piecesOf(text: string, length: number): Generator<string, void> {
  for (let at = 0; at < text.length; ) {
    const splitsPair = (text.charCodeAt(at + length - 1) & 0xfc00) === 0xd800;
    const end = at + length + (splitsPair ? 1 : 0);
    yield text.slice(at, end);
    at = end;
  }
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
  }
  return at;
}

/** The index after the value that starts at `from`. */
export function endOfValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from);
  if (first === 0x7b || first === 0x5b) return endOfNested(text, from);
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x2c || code === 0x7d || code === 0x5d || code <= 0x20) break;
  }
  return at;
}

/** The index after the string that starts at `from`. */
export function endOfString(text: string, from: number): number {
  let close = text.indexOf('"', from + 1);
  while (close !== -1) {
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
}

function endOfNested(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      continue;
    }
    at++;
    if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at;
  }
  return text.length;
}
