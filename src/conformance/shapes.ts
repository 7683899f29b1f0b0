import { isObject } from '../json/object.ts';
/**
 * What a JSON value looks like. Each shape returns what is wrong, one line each, with the place as a path from `$`.
 */
export type Shape = (value: unknown, at: string) => readonly string[];

const maxQuoted = 60;

/** A value as JSON, or as much of it as can be shown. */
export function quoted(value: unknown): string {
  const text = value === undefined ? 'absent' : beginning(value, maxQuoted + 1);
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text;
}

/** The first `length` characters of a value as JSON, or a few more. A service may nest deeper than JSON.stringify can go. */
function beginning(value: unknown, length: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const [name, inner] of Object.entries(value)) {
    if (text.length >= length) return text;
    if (text.length > 1) text += ',';
    if (!isList) text += `${JSON.stringify(name)}:`;
    text += beginning(inner, length - text.length);
  }
  return text + (isList ? ']' : '}');
}

/** NaN for anything but a number: an object may not even be converted. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

function shape(name: string, accepts: (value: unknown) => boolean): Shape {
  return (value, at) => (accepts(value) ? [] : [`${at} is ${quoted(value)}, not ${name}`]);
}

export const text = shape('a string', (value) => typeof value === 'string');
export const filledText = shape('a text', (value) => typeof value === 'string' && value.trim() !== '');
export const truth = shape('a boolean', (value) => typeof value === 'boolean');
export const count = shape(
  'a whole number of at least 0',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
);
export const integer = shape('a whole number', (value) => Number.isSafeInteger(value));
export const notNull = shape(
  'a JSON value other than null',
  (value) => value !== undefined && value !== null,
);
export const object = shape('an object', isObject);

export function matching(name: string, pattern: RegExp): Shape {
  return shape(name, (value) => typeof value === 'string' && pattern.test(value));
}

/** Exactly one of these values. */
export function among(...values: readonly unknown[]): Shape {
  return shape(values.map(quoted).join(' or '), (value) => values.includes(value));
}

export function orNull(inner: Shape): Shape {
  return (value, at) => (value === null ? [] : inner(value, at));
}

export function listOf(inner: Shape): Shape {
  return (value, at) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => inner(item, `${at}[${index}]`))
      : [`${at} is ${quoted(value)}, not an array`];
}

/** Any object whose members all look like this. */
export function mapOf(inner: Shape): Shape {
  return (value, at) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => inner(item, `${at}.${name}`))
      : [`${at} is ${quoted(value)}, not an object`];
}

export interface Members {
  /** May be absent. */
  readonly optional?: Readonly<Record<string, Shape>>;
  /** Nothing beside these. */
  readonly closed?: true;
}

/** An object with these members; others are allowed, since the document tells clients to ignore them. */
export function objectWith(
  members: Readonly<Record<string, Shape>>,
  { optional = {}, closed }: Members = {},
): Shape {
  return (value, at) => {
    if (!isObject(value)) return [`${at} is ${quoted(value)}, not an object`];
    const there = Object.entries(optional).filter(([name]) => Object.hasOwn(value, name));
    const wrong = [...Object.entries(members), ...there].flatMap(([name, inner]) =>
      inner(value[name], `${at}.${name}`),
    );
    if (closed) {
      const known = new Set([...Object.keys(members), ...Object.keys(optional)]);
      const more = Object.keys(value).filter((name) => !known.has(name));
      if (more.length > 0) wrong.push(`${at} also has ${more.map(quoted).join(', ')}`);
    }
    return wrong;
  };
}
