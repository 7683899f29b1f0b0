import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Endpoint, endpoints, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import { limits } from '../contract/limits.ts';
import { digestOf } from '../digest.ts';
import { isObject } from '../json/object.ts';
import { allMembers } from '../json/text.ts';
import { invalid, Refusal } from './fields.ts';
import { fundsOf, settle, transactionNow } from './ledger.ts';
import type { Exchange, Service } from './service.ts';

/** Maximum cost of a request: `price` for each of `units`. */
interface Cost {
  readonly price: number;
  readonly units: number;
}

/**
 * Admits a paid request and reserves its maximum cost, or returns an earlier request with the same key, or throws. The checks, in this order
 * (`authenticate` and `receive` do the first three):
 *
 *   1. key, access          401, 403     4. fields                     422
 *   2. operation enabled    503          5. type enabled               503
 *   3. media type,                       6. idempotency                409, or the earlier request
 *      Idempotency-Key,                  7. concurrency                429
 *      body size, JSON      422          8. credits                    402
 *
 * The operation itself does the fourth and fifth, to know the cost. A refused request leaves nothing behind, so its idempotency key can be used
 * again. The last three and the reservation are one transaction.
 */
export function admit(
  service: Service,
  { caller, requestId, operation, fault }: Exchange,
  { bytes, idempotencyKey }: Received,
  { price, units }: Cost,
): Earlier | undefined {
  const { store, now, switches } = service;
  const { account, concurrency = switches.user_concurrency } = caller.key;
  const credits = price * units;
  const bodyHash = digestOf(bytes, 64);
  const request = [account, operation, idempotencyKey, bodyHash];
  const earlier = transactionNow(service, (rows) => {
    const known = rows.get<Earlier>(
      `SELECT operation = ?2 AND body_hash = ?4 AS isSame, key IS NULL OR key = ?5 AS isReadable,
         searches.search_id AS searchId, answer
       FROM requests LEFT JOIN searches ON searches.search_id = requests.search_id
       WHERE requests.account = ?1 AND idempotency_key = ?3`,
      [...request, caller.fingerprint],
    );
    if (known?.isSame === 0)
      throw new Refusal(409, 'the Idempotency-Key was already used for another request');
    // This request can't read that task, and a second task would be charged to the same account.
    if (known?.isReadable === 0)
      throw new Refusal(409, 'the Idempotency-Key was already used with another API key');
    if (known !== undefined) return known;
    const { available } = fundsOf(rows, caller, service);
    const running = rows.all<{ account: string }>('SELECT account FROM requests WHERE owner IS NOT NULL');
    const own = running.filter((one) => one.account === account);
    if (own.length >= concurrency || running.length >= switches.service_concurrency)
      throw new Refusal(429, 'too many requests are running at the same time');
    if (available < credits)
      throw new Refusal(402, `the request may cost ${credits} credits, and ${available} are available`);
    const charge = 'UPDATE accounts SET reserved = reserved + ?, updated_at = ? WHERE account = ?';
    rows.run(charge, [credits, now(), account]);
    rows.run(
      `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, price, reserved, owner, created_at, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')`,
      [requestId, ...request, price, credits, store.owner, now()],
    );
    return undefined;
  });
  if (earlier === undefined && fault?.refusal) {
    // A failure from the scenario, after admission: the reservation is released, and the key stays used.
    store.transaction((rows) => settle(rows, requestId, 0, now()));
    throw fault.refusal;
  }
  return earlier;
}

/** An admitted request with the same key: whether it is the same, whether the caller sent it, and its state. */
interface Earlier {
  readonly isSame: number;
  readonly isReadable: number;
  readonly searchId: string | null;
  readonly answer: string | null;
}

export type Received = Awaited<ReturnType<typeof receive>>;

/** Reads a paid request: its body, which must be one JSON object, and its idempotency key, supplied or generated. */
export async function receive({ operation, incoming, outgoing }: Exchange) {
  const endpoint: Endpoint = endpoints[operation];
  const { 'content-type': type = '', [requestHeaders.idempotencyKey.toLowerCase()]: key } = incoming.headers;
  if (!/^\s*application\/json\s*(?:;|$)/i.test(type)) throw invalid('Content-Type must be application/json');
  const charset = /;\s*charset\s*=\s*"?([^;"]*)/i.exec(type)?.[1] ?? 'utf-8';
  if (!/^utf-?8\s*$/i.test(charset)) throw invalid('the charset of the request body must be UTF-8');
  const { min, max } = limits.idempotencyKey;
  const length = key?.length ?? (endpoint.idempotencyKey === 'required' ? 0 : min);
  if (length < min || length > max)
    throw invalid(`the header Idempotency-Key must have ${min} to ${max} characters`);
  const bytes = await readBody(incoming, endpoint.bodyLimit ? limits.requestBody.max : maxBytes);
  const idempotencyKey = typeof key === 'string' ? key : randomUUID();
  outgoing.setHeader(responseHeaders.idempotencyKey, idempotencyKey);
  return { bytes, idempotencyKey, ...parse(bytes) };
}

/** For endpoints without a documented limit: no field needs more, and memory is limited. */
const maxBytes = 16 * limits.requestBody.max;

/** Bytes over the limit are never kept; Node drops unread ones once the answer is sent. */
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

function parse(bytes: Buffer) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const fields: unknown = JSON.parse(text);
    const names = isObject(fields) ? allMembers(text).map(([name]) => name) : undefined;
    if (isObject(fields) && new Set(names).size === names?.length) return { text, fields };
  } catch {
    // Unreadable text is not JSON.
  }
  throw invalid('the request body must be one JSON object in UTF-8, with each field once');
}

export function alreadyExists(): Refusal {
  const message = 'a request with this Idempotency-Key was already accepted';
  return new Refusal(409, message, { type: 'request_already_exists' });
}

/** The result of a request: its answer as JSON text, and how many units of its cost it used. */
export interface Outcome {
  readonly text: string;
  readonly units: number;
}

interface Job extends Cost {
  readonly work: () => Outcome | Promise<Outcome>;
  /** Whether to store the answer: a repeated request then gets it instead of 409. */
  readonly keepAnswer?: boolean;
}

/**
 * Answers a paid request: admission with its reservation, the work, settlement, and only then the answer. After a failure the request is an orphan:
 * the next transaction on the ledger releases its reservation. Its idempotency key stays used.
 */
export function billed(toJob: (service: Service, received: Received) => Job) {
  return async (service: Service, exchange: Exchange): Promise<string> => {
    const { store, now } = service;
    const received = await receive(exchange);
    const job = toJob(service, received);
    const earlier = admit(service, exchange, received, job);
    const { price, work, keepAnswer } = job;
    if (keepAnswer && earlier?.answer) return earlier.answer;
    if (earlier !== undefined) throw alreadyExists();
    const { text, units } = await work();
    const answer = keepAnswer ? text : null;
    store.transaction((rows) => settle(rows, exchange.requestId, price * units, now(), answer));
    return text;
  };
}
