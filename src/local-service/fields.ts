import { type ErrorType, errorRows } from '../contract/error-types.ts';
import type { Limit } from '../contract/limits.ts';
import { isObject } from '../json/object.ts';

interface Stated {
  readonly type?: ErrorType | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the error envelope: a text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

/** The answer to a request that breaks a rule, or that a scenario makes fail, with the documented type for the status. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly stated: Stated;

  constructor(status: number, message: string, stated: Stated = {}) {
    super(message);
    this.status = status;
    this.stated = { type: errorRows.find((row) => row.status === status)?.type, ...stated };
  }
}

/** Thrown for a file of the user that can't be used. The message names the file, and says where and why. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** For an invalid field. The message names the field, and what it must be. */
export function invalid(message: string): Refusal {
  return new Refusal(422, message);
}

type Check<Value> = (given: unknown, name: string) => Value;
type Checks = Readonly<Record<string, Check<unknown>>>;
type Read<Table extends Checks> = { readonly [Name in keyof Table]: ReturnType<Table[Name]> };
type WithDefault = Pick<Limit, 'min' | 'max'> & { readonly default: number };

/** The fields of an object, as their checks return them. Other fields are refused, unless the object is `open`. */
export function readFields<Table extends Checks>(given: object, table: Table, more?: 'open'): Read<Table> {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(table, name));
  if (unknown !== undefined && more !== 'open') throw invalid(`unknown field ${JSON.stringify(unknown)}`);
  const read = Object.entries(table).map(([name, check]) => [
    name,
    check((given as Record<string, unknown>)[name], name),
  ]);
  return Object.fromEntries(read) as Read<Table>;
}

/** A field that may be left out. */
export function optional<Value, Otherwise>(
  check: Check<Value>,
  otherwise: Otherwise,
): Check<Value | Otherwise> {
  return (given, name) => (given === undefined ? otherwise : check(given, name));
}

/** A field that may be left out or null. */
export function nullable<Value, Otherwise>(check: Check<Value>, otherwise: Otherwise) {
  return optional((given, name) => (given === null ? otherwise : check(given, name)), otherwise);
}

export function oneOf<Value extends string>(allowed: readonly Value[]): Check<Value> {
  return (given, name) => {
    const value = allowed.find((one) => one === given);
    if (value === undefined) throw invalid(`${name} must be one of ${allowed.join(', ')}`);
    return value;
  };
}

export function object(given: unknown, name: string): Readonly<Record<string, unknown>> {
  if (!isObject(given)) throw invalid(`${name} must be an object`);
  return given;
}

/** A text, trimmed if its limit says so. */
export function text({ unit, trimmed, min, max }: Omit<Limit, 'field'>): Check<string> {
  return (given, name) => {
    if (typeof given !== 'string') throw invalid(`${name} is required and must be a string`);
    const counted = trimmed ? given.trim() : given;
    const length = unit === 'bytes' ? Buffer.byteLength(counted) : [...counted].length;
    if (length >= min && length <= max) return counted;
    const after = trimmed ? ' after trimming' : '';
    throw invalid(`${name} must have ${min} to ${max} ${unit}${after}, not ${length}`);
  };
}

export function integer({ min, max, default: otherwise }: WithDefault): Check<number> {
  return (given, name) => {
    if (given === undefined) return otherwise;
    if (Number.isInteger(given) && (given as number) >= min && (given as number) <= max)
      return given as number;
    throw invalid(`${name} must be a whole number from ${min} to ${max}`);
  };
}

export const flag = optional((given, name) => {
  if (typeof given !== 'boolean') throw invalid(`${name} must be true or false`);
  return given;
}, false);

export function texts({ max }: Limit): Check<readonly string[]> {
  return optional((given, name) => {
    if (!Array.isArray(given) || given.some((item) => typeof item !== 'string'))
      throw invalid(`${name} must be an array of strings`);
    if (given.length > max) throw invalid(`${name} must have at most ${max} items, not ${given.length}`);
    return given as string[];
  }, []);
}

/** An integer of a query string as text, without leading zeros: it may be of any size. */
export function queryDigits(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1 || !/^\d{1,1000}$/.test(values[0] ?? '0'))
    throw invalid(`${name} must be one integer, at least 0`);
  return values[0]?.replace(/^0+(?=\d)/, '');
}
