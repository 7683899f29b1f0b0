import type { Limit } from '../contract/limits.ts';
import { invalid } from './refusal.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The rules of single fields. Each throws a 422 that names the field and what it must be. */

export function onlyFields(fields: Fields, allowed: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw invalid(`unknown field ${JSON.stringify(unknown)}`);
}

export function oneOf<Value extends string>(fields: Fields, name: string, allowed: readonly Value[]): Value {
  const value = allowed.find((candidate) => candidate === fields[name]);
  if (value === undefined) throw invalid(`${name} must be one of ${allowed.join(', ')}`);
  return value;
}

/** A required text, trimmed where its limit is. */
export function text(fields: Fields, name: string, limit: Limit): string {
  const value = fields[name];
  if (typeof value !== 'string') throw invalid(`${name} is required and must be a string`);
  const counted = limit.trimmed ? value.trim() : value;
  const length = lengthOf(counted, limit.unit);
  if (length < limit.min || length > limit.max)
    throw invalid(
      `${name} must have ${limit.min} to ${limit.max} ${limit.unit}${limit.trimmed ? ' after trimming' : ''}, not ${length}`,
    );
  return counted;
}

function lengthOf(value: string, unit: Limit['unit']): number {
  return unit === 'bytes' ? Buffer.byteLength(value) : [...value].length;
}

export function integer(fields: Fields, name: string, limit: Limit & { readonly default: number }): number {
  const value = fields[name];
  if (value === undefined) return limit.default;
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalid(`${name} must be an integer`);
  return within(value, name, limit);
}

/** An integer of a query string. */
export function queryInteger(
  query: URLSearchParams,
  name: string,
  limit: Limit & { readonly default: number },
): number {
  const values = query.getAll(name);
  if (values.length === 0) return limit.default;
  if (values.length > 1 || !/^\d{1,16}$/.test(values[0] as string))
    throw invalid(`${name} must be one integer, at least ${limit.min}`);
  return within(Number(values[0]), name, limit);
}

function within(value: number, name: string, { min, max }: Limit): number {
  if (value < min || value > max) throw invalid(`${name} must be from ${min} to ${max}, not ${value}`);
  return value;
}

export function flag(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== 'boolean' || fields[name] === null) throw invalid(`${name} must be true or false`);
  return value;
}

export function texts(fields: Fields, name: string, limit: Limit): string[] {
  const value = fields[name];
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    throw invalid(`${name} must be an array of strings`);
  if (value.length > limit.max)
    throw invalid(`${name} must have at most ${limit.max} items, not ${value.length}`);
  return value as string[];
}
