import type { Client } from '../client.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import type { JsonText } from '../json/text.ts';
import type { Intent } from '../operations/journal/entries.ts';
import type { Spending } from '../operations/spending.ts';
import type { ToolKind, Wanted } from './buying.ts';

/** What is known of an argument or of a member of a result, in JSON Schema. */
export interface Schema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array' | 'object';
  readonly [keyword: string]: unknown;
}

export type Arguments = Readonly<Record<string, unknown>>;

export type Members = readonly (readonly [name: string, value: JsonText])[];

/** Where to read on, where there is more. */
export function toNext(next: number, count: number): Members {
  return next < count ? [['next', String(next)]] : [];
}

/**
 * Writes records into a new file of this name, as the command line writes those of such an operation (undefined for a task); gives
 * its path. Throws UsageError for a name that may not be written, LocalIoError, and what reading the records throws.
 */
export type Save = (
  name: string,
  intent: Intent | undefined,
  records: AsyncIterable<readonly JsonText[]>,
) => Promise<string>;

export interface FreeCall {
  readonly context: Context;
  readonly spending: Spending | undefined;
  readonly signal: AbortSignal;
  readonly save: Save;
  /** Runs `work` with a client, and says meanwhile how it goes. */
  read<T>(work: (client: Client, settings: Connection['settings']) => Promise<T>): Promise<T>;
}

/** How a paid tool asks, and what it gives back. */
export interface Buys {
  readonly kind: ToolKind;
  /** The argument that `rows` stand for, where many can be looked up in one call. */
  readonly row?: string;
  /** Checked against the limits of the service. Throws UsageError. */
  toBody(given: Arguments): Promise<Wanted['body']>;
  /** What the person is asked about. */
  about(given: Arguments): string;
  /** What the records are called in the result; undefined for one answer, or none. */
  readonly records?: 'leads' | 'items';
  /** What an answer that came does not keep of what was asked, a line each. */
  warningsOf?(given: Arguments, answer: JsonText): Promise<readonly string[]>;
}

/** A row of the table of tools. */
export interface ToolRow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly takes: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly gives: Readonly<Record<string, object>>;
  /** The members that every result has. */
  readonly always: readonly string[];
  /** One that is paid for buys, any other runs. */
  readonly buys?: Buys;
  run?(call: FreeCall, given: Arguments): Promise<Members>;
}

export type Tool = ReturnType<typeof toTool>;

/** Pure: a tool; `definition` is what clients get of it. */
export function toTool({ name, title, description, annotations, buys, run, ...row }: ToolRow) {
  const { takes, required, gives, always } = row;
  const inputSchema = { type: 'object', properties: takes, required, additionalProperties: false } as const;
  const outputSchema = {
    type: 'object',
    properties: { ...gives, error: {} },
    // An error has `error` alone, and clients look at that too.
    anyOf: [{ required: always }, { required: ['error'] }],
  } as const;
  return { buys, run, definition: { name, title, description, inputSchema, outputSchema, annotations } };
}

export const string = { type: 'string' } as const;
export const boolean = { type: 'boolean' } as const;
export const integer = { type: 'integer' } as const;
export const list = { type: 'array' } as const;
export const object = { type: 'object' } as const;

/** Of what gives records: how many a result holds, and where it begins. */
export const show = {
  type: 'integer',
  minimum: 0,
  maximum: 200,
  default: 20,
  description: 'records in this result',
} as const;
export const listed = { count: integer, next: integer } as const;
