import type { FreeClient } from '../client.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import type { JsonText } from '../json/text.ts';
import type { Intent } from '../operations/journal/entries.ts';
import type { Spending } from '../operations/spending.ts';
import type { InputNames } from '../requests/within-limits.ts';
import type { ToolKind, Wanted } from './buying.ts';

/** An argument, or a member of a result, in JSON Schema. */
interface Schema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array' | 'object';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly [keyword: string]: unknown;
}

/** The arguments of a call, of the types in the schemas of its tool. */
// biome-ignore lint/suspicious/noExplicitAny: as each schema says
export type Arguments = Readonly<Record<string, any>>;

/** The result for a client. Undefined members are left out. */
export type Result = Readonly<Record<string, unknown>>;

export interface McpOptions {
  /** Opens a connection while `work` runs. */
  readonly connect: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
  /** The limit for the worst cases of the whole session. Without one, each purchase reads the settings again: the first limit in them stays. */
  spending: Spending | undefined;
  /** Whether the person is asked before each purchase. */
  readonly confirm: boolean;
  /** An error in the form that clients get. */
  describe(error: unknown): Result;
  /**
   * Writes records into a new file with this name, in the form that the command line gives to such an operation (undefined for a task).
   * Returns its path. Throws UsageError for a name that is not allowed, LocalIoError, and what reading the records throws.
   */
  save(
    name: string,
    intent: Intent | undefined,
    records: AsyncIterable<readonly JsonText[]>,
  ): Promise<string>;
  /** Prints a line for the person who started the server, not for the client. */
  say(line: string): void;
}

export interface FreeCall {
  readonly context: Context;
  readonly options: McpOptions;
  readonly signal: AbortSignal;
  /** Runs `work` with a client, and reports that it is running. */
  read<T>(work: (client: FreeClient, connection: Connection) => Promise<T>): Promise<T>;
}

/** A row of the table of tools. */
interface ToolRow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly takes: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** The argument that `rows` replaces, in tools that can look up many at once. */
  readonly row?: string;
  readonly gives: Readonly<Record<string, object>>;
  /** The members that every result has. */
  readonly always: readonly string[];
}

export interface FreeRow extends ToolRow {
  run(call: FreeCall, given: Arguments): Promise<Result>;
}

export interface PaidRow extends ToolRow {
  readonly kind: ToolKind;
  /** Makes the request, and checks it against the limits of the service. Throws UsageError. */
  toBody(given: Arguments, names: InputNames): Wanted['body'] | Promise<Wanted['body']>;
  /** Describes the purchase in the question to the person. */
  about(given: Arguments): string;
  /** The name of the records in the result; undefined for a single answer, or none. */
  readonly records?: 'leads' | 'items';
  /** Deviations of an answer from the request, one line each. */
  warningsOf?(given: Arguments, answer: JsonText): Promise<readonly string[]>;
}

/** Pure: a tool's definition for clients. */
export function toDefinition(row: ToolRow) {
  const { name, title, description, annotations, takes, required, gives, always } = row;
  const inputSchema = { type: 'object', properties: takes, required, additionalProperties: false } as const;
  const outputSchema = {
    type: 'object',
    properties: { ...gives, error: {} },
    // Clients validate results, and an error only has `error`.
    anyOf: [{ required: always }, { required: ['error'] }],
  } as const;
  return { name, title, description, inputSchema, outputSchema, annotations };
}

export const string = { type: 'string' } as const;
export const boolean = { type: 'boolean' } as const;
export const integer = { type: 'integer' } as const;
export const list = { type: 'array' } as const;
export const object = { type: 'object' } as const;

/** For tools that return records: the maximum number in a result. */
export const show = {
  type: 'integer',
  minimum: 0,
  maximum: 200,
  default: 20,
  description: 'records in this result',
} as const;
export const listed = { count: integer, next: integer } as const;

const types: Readonly<Record<Schema['type'], readonly [what: string, isOne: (value: unknown) => boolean]>> = {
  string: ['a text', isText],
  integer: ['a whole number', Number.isSafeInteger],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  array: ['a list of texts', (value) => Array.isArray(value) && value.every(isText)],
  object: ['an object', isObject],
};

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** Pure: parses a JSON string, since some clients send numbers, lists and objects as strings. */
export function fromText(sent: unknown): unknown {
  if (typeof sent !== 'string') return sent;
  try {
    return JSON.parse(sent);
  } catch {
    return sent;
  }
}

/**
 * Pure: the arguments of a call, with defaults. Lengths are checked with the request. Throws UsageError, also for an unknown name: a
 * misspelt limit would cost money.
 */
export function checkArguments({ name, takes, required = [], row }: ToolRow, given: object): Arguments {
  const checked: Record<string, unknown> = {};
  for (const [argument, sent] of Object.entries(given)) {
    const schema = Object.hasOwn(takes, argument) ? takes[argument] : undefined;
    if (schema === undefined) {
      throw new UsageError(
        `${name} has no argument ${argument.slice(0, 100)}`,
        `It takes ${Object.keys(takes).join(', ') || 'none'}.`,
      );
    }
    const value = schema.type === 'string' ? sent : fromText(sent);
    // Some clients send null for an omitted argument. For a number, null could mean "none" instead of the default.
    if (value === null && schema.type !== 'integer') continue;
    const [what, isOne] = types[schema.type];
    if (!isOne(value)) throw new UsageError(`${argument} takes ${what}`);
    const [size, unit] = Array.isArray(value) ? [value.length, ' texts'] : [value, ''];
    const { minItems = 0, maxItems = Number.MAX_SAFE_INTEGER } = schema;
    const { minimum = minItems, maximum = maxItems } = schema;
    if (typeof size === 'number' && (size < minimum || size > maximum)) {
      throw new UsageError(`${argument} is ${size}${unit}: it takes ${minimum} to ${maximum}`);
    }
    checked[argument] = value;
  }
  for (const argument of required) {
    if (checked[argument] === undefined) throw new UsageError(`${name} needs the argument ${argument}`);
  }
  if (row !== undefined && (checked[row] === undefined) === (checked.rows === undefined)) {
    throw new UsageError(`${name} takes either ${row} or rows`);
  }
  for (const [argument, { default: defaultValue }] of Object.entries(takes))
    checked[argument] ??= defaultValue;
  return checked;
}
