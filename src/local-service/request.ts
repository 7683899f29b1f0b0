import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Endpoint, endpoints, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import { limits } from '../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { allMembers } from '../json/text.ts';
import { invalid } from './fields.ts';
import type { Exchange } from './service.ts';

/** A paid request as it came: a body that is one JSON object, and its idempotency key, supplied or generated. */
export interface Received {
  readonly bytes: Buffer;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
}

// rule: common.key-generated, extract.key, create.headers
export async function receive({ operation, incoming, outgoing }: Exchange): Promise<Received> {
  const endpoint: Endpoint = endpoints[operation];
  checkMediaType(incoming);
  const idempotencyKey = idempotencyKeyOf(incoming, endpoint);
  const bytes = await readBody(incoming, endpoint.bodyLimit ? limits.requestBody.max : mostBytes);
  outgoing.setHeader(responseHeaders.idempotencyKey, idempotencyKey);
  return { bytes, idempotencyKey, ...parse(bytes) };
}

// rule: common.media-type
function checkMediaType({ headers }: IncomingMessage): void {
  const [mediaType = '', ...parameters] = (headers['content-type'] ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json')
    throw invalid('Content-Type must be application/json');
  const charset = parameters.find((parameter) => /^\s*charset\s*=/i.test(parameter))?.split('=')[1];
  if (charset !== undefined && !/^"?utf-?8"?$/i.test(charset.trim()))
    throw invalid('the charset of the request body must be UTF-8');
}

// rule: common.key
function idempotencyKeyOf({ headers }: IncomingMessage, endpoint: Endpoint): string {
  const key = headers[requestHeaders.idempotencyKey.toLowerCase()] as string | undefined;
  if (key === undefined && endpoint.idempotencyKey !== 'required') return randomUUID();
  const { min, max } = limits.idempotencyKey;
  if (key !== undefined && key.length >= min && key.length <= max) return key;
  throw invalid(`the header Idempotency-Key must have ${min} to ${max} characters`);
}

/** Where the document states no limit: more than this no field needs, and memory has an end. */
const mostBytes = 16 * limits.requestBody.max;

/** What is over the limit is never kept; Node drops what is left unread once the answer is sent. */
// rule: common.body-limit
async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let left = limit;
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      left -= chunk.length;
      if (left < 0) break;
      chunks.push(chunk);
    }
  } catch {
    throw invalid('the request body ended too early');
  }
  if (left >= 0) return Buffer.concat(chunks);
  incoming.resume();
  throw invalid(`the request body is larger than ${limit} bytes`);
}

// rule: common.json
function parse(bytes: Buffer): Pick<Received, 'text' | 'fields'> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const fields: unknown = JSON.parse(text);
    const names = isObject(fields) ? allMembers(text).map(([name]) => name) : undefined;
    if (isObject(fields) && new Set(names).size === names?.length) return { text, fields };
  } catch {
    // Neither is what can't be read.
  }
  throw invalid('the request body must be one JSON object in UTF-8, with each field once');
}
