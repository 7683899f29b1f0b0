import { contactTypes, extractionTypes, noResultTexts, taskStates } from '../contract/types.ts';
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

const text = shape('a string', (value) => typeof value === 'string');
export const filledText = shape('a text', (value) => typeof value === 'string' && value.trim() !== '');
const truth = shape('a boolean', (value) => typeof value === 'boolean');
const count = shape(
  'a whole number of at least 0',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
);
const integer = shape('a whole number', (value) => Number.isSafeInteger(value));
const notNull = shape('a JSON value other than null', (value) => value !== undefined && value !== null);
export const object = shape('an object', isObject);

function matching(name: string, pattern: RegExp): Shape {
  return shape(name, (value) => typeof value === 'string' && pattern.test(value));
}

function among(...values: readonly unknown[]): Shape {
  return shape(values.map(quoted).join(' or '), (value) => values.includes(value));
}

function orNull(inner: Shape): Shape {
  return (value, at) => (value === null ? [] : inner(value, at));
}

export function listOf(inner: Shape): Shape {
  return (value, at) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => inner(item, `${at}[${index}]`))
      : [`${at} is ${quoted(value)}, not an array`];
}

/** Any object whose members all look like this. */
function mapOf(inner: Shape): Shape {
  return (value, at) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => inner(item, `${at}.${name}`))
      : [`${at} is ${quoted(value)}, not an object`];
}

/** What may be absent. */
function maybe(inner: Shape): Shape {
  return (value, at) => (value === undefined ? [] : inner(value, at));
}

/** An object with these members; others are allowed unless it is closed: the document tells clients to ignore them. */
export function objectWith(members: Readonly<Record<string, Shape>>, closed?: 'closed'): Shape {
  return (value, at) => {
    if (!isObject(value)) return [`${at} is ${quoted(value)}, not an object`];
    const wrong = Object.entries(members).flatMap(([name, inner]) => inner(value[name], `${at}.${name}`));
    const more = Object.keys(value).filter((name) => closed && !Object.hasOwn(members, name));
    return more.length === 0 ? wrong : [...wrong, `${at} also has ${more.map(quoted).join(', ')}`];
  };
}

/** The resources of the document, field by field. */

/** Present by default is not present always: clients tolerate absent fields. Those that are there have their form. */
export const entity: Shape = objectWith({
  name: maybe(text),
  links: maybe(object),
  description: maybe(text),
  score: maybe(objectWith({ score: text, reason: text })),
});

/** Each value *generally* holds content and reference: where they are, they are texts. */
export const enrichedFields: Shape = mapOf((value, at) =>
  isObject(value) ? objectWith({ content: maybe(text), reference: maybe(text) })(value, at) : [],
);

export const taskStatus: Shape = objectWith({
  status: objectWith({
    status: among(...taskStates),
    ready_count: count,
    verified_count: count,
    stop_reason: text,
  }),
});

export const page: Shape = objectWith({
  object: among('entity_search_items'),
  leads_search_id: filledText,
  status: among(...taskStates),
  pts: count,
  num: count,
  count,
  ready_count: count,
  limit: count,
  entities: listOf(object),
});

export const batch: Shape = objectWith({
  object: among('entity_search_batch'),
  batch_index: count,
  count,
  cum_count: count,
  entities: listOf(object),
});

export const done: Shape = objectWith({
  object: among('entity_search_done'),
  cum_count: count,
  stop_reason: text,
  finish: among(true),
});

/** RFC 3339 in UTC. */
const timestamp = matching(
  'a UTC RFC 3339 timestamp',
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]00:00)$/,
);

/** The body holds only these fields. */
export const contactResult: Shape = objectWith(
  {
    object: among('contact_search_result'),
    request: objectWith({ contact_type: among(...contactTypes), objective: text }, 'closed'),
    result: objectWith({ content: orNull(text), reference: orNull(text) }, 'closed'),
    created_at: timestamp,
  },
  'closed',
);

const dateTime = matching('a time as YYYY-MM-DD HH:MM:SS', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);

export const balance: Shape = objectWith({
  object: among('credit_balance'),
  available_credits: integer,
  updated_at: maybe(dateTime),
  next_credit_refresh_at: maybe(dateTime),
});

export const enriched: Shape = resultOrNone(object, noResultTexts.enrich);
export const researched: Shape = resultOrNone(notNull, noResultTexts.deepSearch);

/** `answer` when `success` is true, else an object with one text that is given. */
function resultOrNone(answer: Shape, none: string): Shape {
  const nothing = objectWith({ answer: among(none) }, 'closed');
  return (value, at) => [
    ...objectWith({ success: truth })(value, at),
    ...(isObject(value) ? (value.success === false ? nothing : answer)(value.answer, `${at}.answer`) : []),
  ];
}

/** No extra top-level fields. */
export const extraction: Shape = (value, at) =>
  objectWith(
    {
      success: truth,
      data: isObject(value) && value.success === false ? text : listOf(object),
      metadata: objectWith({
        type: among(...extractionTypes),
        target: text,
        instruction: orNull(text),
        limit: integer,
      }),
    },
    'closed',
  )(value, at);

/** Other members of the envelope are not documented. */
export const envelope: Shape = objectWith({ error: objectWith({ message: filledText }) });
