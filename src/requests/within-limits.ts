import { type Limit, limits } from '../contract/limits.ts';
import { type Facts, UsageError } from '../errors.ts';
import { clip, nearest } from './closed-list.ts';

/*
 * Input that the service would refuse is refused here, before anything is sent or reserved. Each limit counts in its own unit, and each
 * message has the caller's name for the input, the limit, the unit and the value. All functions throw UsageError.
 */

/** A range of numbers, also for numbers that the interface does not define. */
type Range = Pick<Limit, 'min' | 'max'> & { readonly unit: Limit['unit'] | 'number' };

/** Checks a text against its limit. Returns what will be sent (trimmed, if the limit says so). */
export function checkText(limit: Limit, name: string, text: string): string {
  // Programs may pass any type.
  if (typeof text !== 'string') throw new UsageError(`${name} must be a text`);
  const sent = limit.trimmed ? text.trim() : text;
  const size = limit.unit === 'bytes' ? Buffer.byteLength(sent) : [...sent].length;
  if (size < limit.min) {
    throw new UsageError(`${name} is empty${isOpen(limit) ? '' : `: it must have ${rangeOf(limit)}`}`);
  }
  checkSize(name, size, limit);
  return sent;
}

/** Checks that something is not too large. `size` is in the unit of the limit. */
export function checkSize(
  name: string,
  size: number,
  { max, unit }: { readonly max: number; readonly unit: string },
  hint?: string | Facts,
): void {
  if (size > max) throw new UsageError(`${name} has ${size} ${unit}: at most ${max} are allowed`, hint);
}

/** Checks a whole number. From a command line it comes as text, such as `50`. */
export function checkNumber(limit: Range, name: string, given: string | number): number {
  const text = typeof given === 'object' ? 'an object' : String(given);
  const value = /^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new UsageError(`${name} must be ${rangeOf(limit)}, not "${clip(text)}"`);
  if (value < limit.min || value > limit.max) {
    // As it was typed: a large number would be rounded.
    const found = clip(text.trim());
    throw new UsageError(
      isOpen(limit) && value > limit.max
        ? `${name} is ${found}: that is too large, at most ${limit.max} is possible`
        : `${name} is ${found}: it must be ${rangeOf(limit)}`,
    );
  }
  return value;
}

/** Checks the number of items of a list. */
export function checkList(limit: Limit, name: string, items: readonly string[], hint?: Facts): string[] {
  if (!Array.isArray(items) || items.some((item) => typeof item !== 'string')) {
    throw new UsageError(`${name} must be a list of texts`);
  }
  checkSize(name, items.length, limit, hint);
  return [...items];
}

/** Checks an Idempotency-Key, which has to stand in an HTTP header. */
export function checkIdempotencyKey(key: string, { idempotency_key: name }: InputNames): string {
  checkText(limits.idempotencyKey, name, key);
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)) {
    throw new UsageError(
      `${name} must have visible ASCII characters only, because it is sent in an HTTP header`,
    );
  }
  return key;
}

/**
 * Checks a value from a closed list. Throws UsageError, which names the nearest allowed value, and all of them unless there are many. `words`
 * are synonyms for parts of the names, `meant` synonyms for whole values.
 */
export function checkOneOf<Value extends string>(
  name: string,
  value: string,
  allowed: readonly Value[],
  words: Readonly<Record<string, string>> = {},
  meant: Readonly<Record<string, string>> = {},
): Value {
  const found = allowed.find((one) => one === value);
  if (found !== undefined) return found;
  const near = Object.hasOwn(meant, value) ? meant[value] : nearest(value, allowed, words);
  throw new UsageError(
    `unknown ${name} "${clip(String(value))}"${near === undefined ? '' : `: did you mean ${near}?`}`,
    near !== undefined && allowed.length > 12 ? undefined : `One of: ${allowed.join(', ')}.`,
  );
}

/** The range in words. A position is called a number, and an unreachable maximum is left out. */
function rangeOf(range: Range): string {
  const { min, max, unit } = range;
  if (isOpen(range)) return `a whole number, at least ${min}`;
  return unit === 'number' || unit === 'position'
    ? `a whole number from ${min} to ${max}`
    : `from ${min} to ${max} ${unit === 'entities' ? 'leads' : unit}`;
}

function isOpen({ max }: Range): boolean {
  return max === Number.MAX_SAFE_INTEGER;
}

/** The names of inputs in the interface. Programs use them, too. */
export const wireNames = {
  objective: 'objective',
  limit: 'limit',
  enrich_fields: 'enrich_fields',
  dedup_service_leads: 'dedup_service_leads',
  dedup_custom_leads: 'dedup_custom_leads',
  enable_web_search: 'enable_web_search',
  query: 'query',
  entity_context: 'entity_context',
  target: 'target',
  instruction: 'instruction',
  idempotency_key: 'Idempotency-Key',
} as const;

/** The name of each input in messages: on the command line, `--limit`. */
export type InputNames = Readonly<Record<keyof typeof wireNames, string>>;
