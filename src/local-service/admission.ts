import { createHash } from 'node:crypto';
import { authenticate } from './access.ts';
import { Refusal, Rehearsed } from './answer.ts';
import type { Rows } from './database.ts';
import { endOrphans, forgetOld, fundsOf, release, settle } from './ledger.ts';
import { type Received, receive } from './request.ts';
import type { Caller, Exchange, Service } from './service.ts';

/** What a request costs at most: `price` for each of `units`. */
interface Cost {
  readonly price: number;
  readonly units: number;
}

/** An earlier admitted request with the same key and body. */
export interface Earlier {
  readonly searchId: string | null;
  readonly answer: string | null;
  readonly state: 'open' | 'settled' | 'released';
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
  const bodyHash = createHash('sha256').update(received.bytes).digest('hex');
  const earlier = store.transaction((rows) => {
    forgetOld(rows, now());
    endOrphans(service, rows);
    const request = [caller.key.account, exchange.operation, received.idempotencyKey, bodyHash] as const;
    const known = earlierOf(rows, caller, request);
    if (known === undefined) reserve(rows, service, caller, wanted, [exchange.requestId, ...request]);
    return known;
  });
  if (earlier === undefined && exchange.fault?.fault === 'status') {
    // A rehearsed failure of a request that was admitted: the reservation is released, the key is used.
    store.transaction((rows) => release(rows, exchange.requestId, now()));
    throw new Rehearsed();
  }
  return { caller, wanted, earlier };
}

type Request = readonly [account: string, operation: string, idempotencyKey: string, bodyHash: string];

// rule: common.no-duplicates, common.conflict
function earlierOf(rows: Rows, { fingerprint }: Caller, [account, operation, key, bodyHash]: Request) {
  const earlier = rows.get<Earlier & { isSame: number; apiKey: string | null }>(
    `SELECT operation = ? AND body_hash = ? AS isSame, searches.search_id AS searchId, answer, state, key AS apiKey
     FROM requests LEFT JOIN searches ON searches.search_id = requests.search_id
     WHERE requests.account = ? AND idempotency_key = ?`,
    [operation, bodyHash, account, key],
  );
  if (earlier?.isSame === 0)
    throw new Refusal(409, 'the Idempotency-Key was already used for another request');
  // It can't read what that one made, and a second one would be charged to the same account.
  if (earlier && earlier.apiKey !== null && earlier.apiKey !== fingerprint)
    throw new Refusal(409, 'the Idempotency-Key was already used with another API key');
  return earlier;
}

// rule: general.reserve, general.contact-reserve, credits.invalid
function reserve(
  rows: Rows,
  service: Service,
  caller: Caller,
  { price, units }: Cost,
  request: readonly [requestId: string, ...Request],
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
  return new Refusal(409, message, 'request_already_exists');
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
      store.transaction((rows) => release(rows, exchange.requestId, now()));
      throw error;
    }
  };
}
