import type { IncomingMessage } from 'node:http';
import { type Endpoint, requestHeaders } from '../contract/endpoints.ts';
import { limits } from '../contract/limits.ts';
import { allMembers } from '../json/text.ts';
import { invalid } from './refusal.ts';

/** A request body that is one JSON object. `text` is the exact body, `fields` what it holds. */
export interface Body {
  readonly bytes: Buffer;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function checkMediaType(incoming: IncomingMessage): void {
  const [mediaType = '', ...parameters] = (incoming.headers['content-type'] ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json')
    throw invalid('Content-Type must be application/json');
  const charset = parameters.find((parameter) => /^\s*charset\s*=/i.test(parameter))?.split('=')[1];
  if (charset !== undefined && !/^"?utf-?8"?$/i.test(charset.trim()))
    throw invalid('the charset of the request body must be UTF-8');
}

/** The supplied Idempotency-Key; undefined when there is none. */
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

export async function readBody(incoming: IncomingMessage): Promise<Body> {
  // Where the document states no limit, the fields have limits that are far below this one.
  const bytes = await readAtMost(incoming, limits.requestBody.max);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid('the request body is not valid UTF-8');
  }
  checkShape(bytes);
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

/** Far more than any request needs. Parsing a mebibyte of nothing else would hold up all others. */
const deepest = 100;
const mostMembers = 10_000;

function checkShape(bytes: Buffer): void {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const character = bytes[at];
    if (character === quote) inString = !inString;
    else if (inString) at += character === backslash ? 1 : 0;
    else if (character === colon) members += 1;
    else if (character === brace || character === bracket) depth += 1;
    else if (character === endBrace || character === endBracket) depth -= 1;
    if (depth > deepest) throw invalid(`the request body has more than ${deepest} levels of nesting`);
    if (members > mostMembers) throw invalid(`the request body has more than ${mostMembers} members`);
  }
}

const [quote, backslash, colon, brace, bracket, endBrace, endBracket] = Buffer.from('"\\:{[}]');

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
