import { createHash } from 'node:crypto';
import { authenticate } from './access.ts';
import type { Rows } from './database.ts';
import { Refusal } from './fields.ts';
import { endOrphans, forgetOld, fundsOf, settle } from './ledger.ts';
import { type Received, receive } from './request.ts';
import type { Caller, Exchange, Service } from './service.ts';

/** What a request costs at most: `price` for each of `units`. */
interface Cost {
  readonly price: number;
  readonly units: number;
}

/** An earlier admitted request with the same key and body. */
interface Earlier {
  readonly searchId: string | null;
  readonly answer: string | null;
}

/**
 * Takes a paid request in, or throws. It must pass, in this order:
 *
 *   1. key, access          401, 403     4. fields                     422
 *   2. operation enabled    503          5. type enabled               503
 *   3. media type,                       6. idempotency                409, or the earlier request
 *      Idempotency-Key,                  7. concurrency                429
 *      body size, JSON      422          8. credits                    402
 *
 * `toWanted` does the fourth and fifth. A request that is refused leaves nothing behind: its idempotency key can be
 * used again. The last three and the reservation are one transaction.
 */
export async function takeIn<Wanted extends Cost>(
  service: Service,
  exchange: Exchange,
  toWanted: (received: Received) => Wanted,
): Promise<{ caller: Caller; wanted: Wanted; earlier: Earlier | undefined }> {
  const caller = authenticate(service, exchange);
  const received = await receive(exchange);
  const wanted = toWanted(received);
  const { store, now } = service;
  const { requestId, operation, fault } = exchange;
  const bodyHash = createHash('sha256').update(received.bytes).digest('hex');
  const earlier = store.transaction((rows) => {
    forgetOld(rows, now());
    endOrphans(service, rows);
    const request = [caller.key.account, operation, received.idempotencyKey, bodyHash];
    const known = earlierOf(rows, [...request, caller.fingerprint]);
    if (known === undefined) reserve(rows, service, caller, wanted, [requestId, ...request]);
    return known;
  });
  if (earlier === undefined && fault?.refusal) {
    // A rehearsed failure of a request that was admitted: the reservation is released, the key is used.
    store.transaction((rows) => settle(rows, requestId, 0, now()));
    throw fault.refusal;
  }
  return { caller, wanted, earlier };
}

// rule: common.no-duplicates, common.conflict
function earlierOf(rows: Rows, request: string[]): Earlier | undefined {
  const earlier = rows.get<Earlier & { isSame: number; isReadable: number }>(
    `SELECT operation = ?2 AND body_hash = ?4 AS isSame, key IS NULL OR key = ?5 AS isReadable,
       searches.search_id AS searchId, answer
     FROM requests LEFT JOIN searches ON searches.search_id = requests.search_id
     WHERE requests.account = ?1 AND idempotency_key = ?3`,
    request,
  );
  if (earlier?.isSame === 0)
    throw new Refusal(409, 'the Idempotency-Key was already used for another request');
  // It can't read what that one made, and a second one would be charged to the same account.
  if (earlier?.isReadable === 0)
    throw new Refusal(409, 'the Idempotency-Key was already used with another API key');
  return earlier;
}

// rule: general.reserve, general.contact-reserve, credits.invalid
function reserve(
  rows: Rows,
  service: Service,
  caller: Caller,
  { price, units }: Cost,
  request: string[],
): void {
  const { store, now, switches } = service;
  const { account, concurrency = switches.user_concurrency } = caller.key;
  const { available } = fundsOf(rows, caller, service);
  const running = rows.all<{ account: string }>('SELECT account FROM requests WHERE owner IS NOT NULL');
  const own = running.filter((one) => one.account === account);
  if (own.length >= concurrency || running.length >= switches.service_concurrency)
    throw new Refusal(429, 'too many requests are running at the same time');
  const credits = price * units;
  if (available < credits)
    throw new Refusal(402, `the request may cost ${credits} credits, and ${available} are available`);
  const charge = 'UPDATE accounts SET reserved = reserved + ?, updated_at = ? WHERE account = ?';
  rows.run(charge, [credits, now(), account]);
  rows.run(
    `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, price, reserved, owner, created_at, state)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')`,
    [...request, price, credits, store.owner, now()],
  );
}

export function alreadyExists(): Refusal {
  const message = 'a request with this Idempotency-Key was already accepted';
  return new Refusal(409, message, { type: 'request_already_exists' });
}

/** What a request did: its answer as JSON text, and how many units of its cost it used. */
export interface Outcome {
  readonly text: string;
  readonly units: number;
}

interface Job extends Cost {
  readonly work: () => Outcome | Promise<Outcome>;
  /** Stores the answer, which repetitions then get instead of 409. */
  readonly keepAnswer?: boolean;
}

/**
 * Answers what a paid request asks for, once: admission with its reservation, the work, settlement, and only then the
 * answer. A failure releases the reservation; the idempotency key stays used, since the request was admitted.
 */
// rule: contact.settled, contact.released
export function billed(toJob: (service: Service, received: Received) => Job) {
  return async (service: Service, exchange: Exchange): Promise<string> => {
    const { store, now } = service;
    const { wanted, earlier } = await takeIn(service, exchange, (received) => toJob(service, received));
    const { price, work, keepAnswer } = wanted;
    if (keepAnswer && earlier?.answer) return earlier.answer;
    if (earlier !== undefined) throw alreadyExists();
    try {
      const { text, units } = await work();
      store.transaction((rows) =>
        settle(rows, exchange.requestId, price * units, now(), keepAnswer ? text : null),
      );
      return text;
    } catch (error) {
      store.transaction((rows) => settle(rows, exchange.requestId, 0, now()));
      throw error;
    }
  };
}
