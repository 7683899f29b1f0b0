import type { IncomingMessage } from 'node:http';
import { type Endpoint, requestHeaders } from '../contract/endpoints.ts';
import { type Limit, limits } from '../contract/limits.ts';
import { allMembers } from '../json/text.ts';
import { invalid } from './answer.ts';

/** A request body that is one JSON object. `text` is the exact body, `fields` what it holds. */
export interface Body {
  readonly bytes: Buffer;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

// rule: common.media-type
export function checkMediaType(incoming: IncomingMessage): void {
  const [mediaType = '', ...parameters] = (incoming.headers['content-type'] ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json')
    throw invalid('Content-Type must be application/json');
  const charset = parameters.find((parameter) => /^\s*charset\s*=/i.test(parameter))?.split('=')[1];
  if (charset !== undefined && !/^"?utf-?8"?$/i.test(charset.trim()))
    throw invalid('the charset of the request body must be UTF-8');
}

/** The supplied Idempotency-Key; undefined when there is none. */
// rule: common.key
export function idempotencyKeyOf(incoming: IncomingMessage, endpoint: Endpoint): string | undefined {
  const key = incoming.headers[requestHeaders.idempotencyKey.toLowerCase()] as string | undefined;
  if (key === undefined) {
    if (endpoint.idempotencyKey === 'required') throw invalid('the header Idempotency-Key is required');
    return undefined;
  }
  const { min, max } = limits.idempotencyKey;
  if (key.length < min || key.length > max)
    throw invalid(`Idempotency-Key must have ${min} to ${max} characters, not ${key.length}`);
  return key;
}

/** Where the document states no limit: more than this no field needs, and memory has an end. */
const mostBytes = 16 * limits.requestBody.max;

// rule: common.body-limit, common.json
export async function readBody(incoming: IncomingMessage, endpoint: Endpoint): Promise<Body> {
  const bytes = await readAtMost(incoming, endpoint.bodyLimit ? limits.requestBody.max : mostBytes);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid('the request body is not valid UTF-8');
  }
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    throw invalid('the request body is not a single, valid JSON object');
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw invalid('the request body must be a JSON object');
  const seen = new Set<string>();
  for (const [name] of allMembers(text)) {
    if (seen.has(name)) throw invalid(`the field ${name} is given twice`);
    seen.add(name);
  }
  return { bytes, text, fields: fields as Record<string, unknown> };
}

/** What is over the limit is never kept; node drops what is left unread once the answer is sent. */
function readAtMost(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = () => invalid(`the request body is larger than ${limit} bytes`);
  if (Number(incoming.headers['content-length']) > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) {
        incoming.off('data', onData);
        incoming.resume();
        reject(tooLarge());
      } else chunks.push(chunk);
    };
    incoming.on('data', onData);
    incoming.on('end', () => resolve(Buffer.concat(chunks)));
    incoming.on('error', () => reject(invalid('the request body ended too early')));
    incoming.on('close', () => reject(invalid('the request body ended too early')));
  });
}

type Fields = Readonly<Record<string, unknown>>;

/** The rules of single fields. Each throws a 422 that names the field and what it must be. */

// rule: common.unknown-fields
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
  const digits = queryDigits(query, name);
  return digits === undefined ? limit.default : within(Number(digits), name, limit);
}

/** The same as text, without zeros in front: of any size. */
export function queryDigits(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1 || !/^\d{1,1000}$/.test(values[0] ?? '0'))
    throw invalid(`${name} must be one integer, at least 0`);
  return values[0]?.replace(/^0+(?=\d)/, '');
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
