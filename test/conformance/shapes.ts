import { contactTypes, extractionTypes, noResultTexts, taskStates } from '../../src/contract/types.ts';
import { isObject } from '../../src/json/object.ts';

const maxQuoted = 60;

/** A value as JSON. A service may nest deeper than JSON.stringify allows. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return 'JSON that is nested too deeply';
  }
}

/** A value as JSON, cut to what can be shown. */
export function quoted(value: unknown): string {
  const text = value === undefined ? 'absent' : jsonOf(value);
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text;
}

export function listIn(value: unknown, path: string): readonly unknown[] {
  const list = memberOf(value, path);
  return Array.isArray(list) ? list : [];
}

/** The value at a path of names. */
export function memberOf(value: unknown, path: string): unknown {
  const inner = (outer: unknown, name: string): unknown => (isObject(outer) ? outer[name] : undefined);
  return path.split('.').reduce(inner, value);
}

export function textIn(value: unknown, path: string): string | undefined {
  const text = memberOf(value, path);
  return typeof text === 'string' ? text : undefined;
}

/** NaN for anything but a number: some objects can't even be converted. */
export function numberIn(value: unknown, path: string): number {
  const number = memberOf(value, path);
  return typeof number === 'number' ? number : Number.NaN;
}

/** Returns true, or what the value should be. */
type Test = (value: unknown) => true | string;

/** Marks an object that may have no other members. Elsewhere they are allowed, since clients must ignore them. */
const closed = Symbol('closed');

/** The form of a JSON value: a test, a list, or an object; names with `?` may be absent. */
export type Shape = Test | readonly [Shape] | { readonly [name: string]: Shape; readonly [closed]?: true };

/** What is wrong with a value, one line each, with the place as a path from `$`. */
export function flawsOf(shape: Shape, value: unknown, at = '$'): readonly string[] {
  const flawUnless = (passed: true | string) =>
    passed === true ? [] : [`${at} is ${quoted(value)}, not ${passed}`];
  if (typeof shape === 'function') return flawUnless(shape(value));
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return flawUnless('an array');
    return value.flatMap((item, index) => flawsOf(shape[0], item, `${at}[${index}]`));
  }
  if (!isObject(value)) return flawUnless('an object');
  const flaws = Object.entries(shape).flatMap(([key, inner]) => {
    const name = key.replace('?', '');
    return name !== key && value[name] === undefined ? [] : flawsOf(inner, value[name], `${at}.${name}`);
  });
  const more =
    closed in shape ? Object.keys(value).filter((name) => !(name in shape || `${name}?` in shape)) : [];
  return more.length === 0 ? flaws : [...flaws, `${at} also has ${more.map(quoted).join(', ')}`];
}

const among =
  (...values: readonly unknown[]): Test =>
  (value) =>
    values.includes(value) || values.map(quoted).join(' or ');
const matching =
  (pattern: RegExp, what: string): Test =>
  (value) =>
    (typeof value === 'string' && pattern.test(value)) || what;
const text: Test = (value) => typeof value === 'string' || 'a string';
const textOrNull: Test = (value) => value === null || text(value);
const filledText = matching(/\S/, 'a text');
const truth: Test = (value) => typeof value === 'boolean' || 'a boolean';
const integer: Test = (value) => Number.isSafeInteger(value) || 'a whole number';
const count: Test = (value) =>
  (integer(value) === true && (value as number) >= 0) || 'a whole number of at least 0';
const notNull: Test = (value) => (value !== undefined && value !== null) || 'a JSON value other than null';
const object: Test = (value) => isObject(value) || 'an object';
const dateTime = matching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, 'a time as YYYY-MM-DD HH:MM:SS');
const timestamp = matching(
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]00:00)$/,
  'a UTC RFC 3339 timestamp',
);

/** The resources of the interface, field by field. "Present by default" does not mean always: clients tolerate absent fields. */
export const entities: Shape = [
  { 'name?': text, 'links?': object, 'description?': text, 'score?': { score: text, reason: text } },
];

/** Values *generally* have content and reference. If they have, these are texts. */
const enrichedValue: Test = (value) => {
  const parts = isObject(value) ? [value.content, value.reference] : [];
  return (
    parts.every((one) => one === undefined || typeof one === 'string') || 'texts as content and reference'
  );
};
export const enrichedWith = (field: string): Shape => ({ [closed]: true, [`${field}?`]: enrichedValue });

export const createdTask: Shape = { leads_search_id: filledText };

const status = among(...taskStates);
export const taskStatus: Shape = {
  status: { status, ready_count: count, verified_count: count, stop_reason: text },
};

export const page: Shape = {
  object: among('entity_search_items'),
  leads_search_id: filledText,
  status,
  pts: count,
  num: count,
  count,
  ready_count: count,
  limit: count,
  entities: [object],
};

export const batches: Shape = [
  {
    object: among('entity_search_batch'),
    batch_index: count,
    count,
    cum_count: count,
    entities: [object],
  },
];

export const dones: Shape = [
  { object: among('entity_search_done'), cum_count: count, stop_reason: text, finish: among(true) },
];

export const contactResult: Shape = {
  [closed]: true,
  object: among('contact_search_result'),
  request: { [closed]: true, contact_type: among(...contactTypes), objective: text },
  result: { [closed]: true, content: textOrNull, reference: textOrNull },
  created_at: timestamp,
};

export const balance: Shape = {
  object: among('credit_balance'),
  available_credits: integer,
  'updated_at?': dateTime,
  'next_credit_refresh_at?': dateTime,
};

const noResult = (text: string): Shape => ({
  success: truth,
  answer: { [closed]: true, answer: among(text) },
});
const extracted = {
  [closed]: true,
  success: truth,
  metadata: { type: among(...extractionTypes), target: text, instruction: textOrNull, limit: integer },
} as const;

export const results = {
  enrich: { with: { success: truth, answer: object }, without: noResult(noResultTexts.enrich) },
  deepSearch: { with: { success: truth, answer: notNull }, without: noResult(noResultTexts.deepSearch) },
  extract: { with: { ...extracted, data: [object] }, without: { ...extracted, data: text } },
} as const satisfies Readonly<Record<string, Readonly<Record<'with' | 'without', Shape>>>>;

/** Other members of the envelope are not documented. */
export const envelope: Shape = { error: { message: filledText } };
