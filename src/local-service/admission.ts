import { createHash, randomUUID } from 'node:crypto';
import { type Endpoint, endpoints, responseHeaders } from '../contract/endpoints.ts';
import { isAlive } from '../files/folder-lock.ts';
import { Refusal } from './answer.ts';
import type { Rows } from './database.ts';
import { findKey, fingerprintOf, type LocalKey } from './keys.ts';
import { type Body, checkMediaType, idempotencyKeyOf, readBody } from './request.ts';
import type { Caller, Exchange, Service } from './service.ts';
import { forgetOld, fundsOf, release, settle } from './store.ts';

/**
 * What a paid request must pass, in this order:
 *
 *   1. key                 401, 403     `authenticate`
 *   2. access              403          `authenticate`
 *   3. operation enabled   503          `authenticate`
 *   4. media type          422          `receive`
 *   5. Idempotency-Key     422          `receive`
 *   6. body size, JSON     422          `receive`
 *   7. fields              422          the route's own `to…`
 *   8. type enabled        503          the same, with `checkEnabled`
 *   9. idempotency         409, replay  `admit`
 *  10. concurrency         429          `admit`
 *  11. credits             402          `admit`
 *
 * A request refused by any of them leaves nothing behind: its idempotency key can be used again. The last three
 * and the reservation are one transaction.
 */
// rule: auth.unknown, auth.revoked, auth.scopes, balance.any-key
export function authenticate(service: Service, { operation, incoming }: Exchange): Caller {
  const endpoint: Endpoint = endpoints[operation];
  const text = suppliedKey(incoming.headers, endpoint, service.switches.auth_header);
  const key = findKey(text);
  if (key === undefined) throw new Refusal(401, 'the API key is unknown');
  const fingerprint = fingerprintOf(text);
  if (key.state !== undefined) throw new Refusal(403, `the API key is ${key.state}`);
  if (hasExpired(service, fingerprint)) throw new Refusal(403, 'the API key is expired');
  if (key.access?.includes(endpoint.access) === false)
    throw new Refusal(403, `the API key has no ${endpoint.access} access`);
  checkEnabled(service, operation);
  return { key, fingerprint };
}

function suppliedKey(
  headers: Exchange['incoming']['headers'],
  endpoint: Endpoint,
  accepted: Service['switches']['auth_header'],
): string {
  const refuse = (message: string) => new Refusal(401, message);
  const { authorization } = headers;
  const plain = headers['x-api-key'] as string | undefined;
  const bearer = authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization !== undefined && bearer === undefined)
    throw refuse('Authorization must have the form: Bearer <API_KEY>');
  if (plain !== undefined && bearer !== undefined && plain !== bearer)
    throw refuse('the two API key headers hold different keys');
  const documented = documentedForms[endpoint.path] ?? [];
  const usable = (form: 'x-api-key' | 'bearer') => accepted === 'any' || documented.includes(form);
  const key = (usable('x-api-key') ? plain : undefined) ?? (usable('bearer') ? bearer : undefined);
  if (key === undefined) throw refuse('the API key is missing');
  if (!/^[\x21-\x7e]+$/.test(key)) throw refuse('the API key is malformed');
  return key;
}

const documentedForms: Readonly<Record<string, readonly string[]>> = {
  [endpoints.search.path]: ['x-api-key'],
  [endpoints.createTask.path]: ['x-api-key'],
  [endpoints.status.path]: ['x-api-key'],
  [endpoints.fetch.path]: ['x-api-key', 'bearer'],
  [endpoints.contactSearch.path]: ['x-api-key', 'bearer'],
  [endpoints.deepSearch.path]: ['bearer'],
  [endpoints.enrich.path]: ['bearer'],
  [endpoints.extract.path]: ['bearer'],
  [endpoints.balance.path]: ['x-api-key'],
};

function hasExpired({ store, switches, now }: Service, fingerprint: string): boolean {
  if (switches.key_lifetime_s === 0) return false;
  const firstSeen = store.transaction((rows) => {
    rows.run('INSERT OR IGNORE INTO keys VALUES (?, ?)', fingerprint, now());
    return rows.get<{ first_seen: number }>('SELECT first_seen FROM keys WHERE fingerprint = ?', fingerprint);
  });
  return now() - (firstSeen?.first_seen ?? 0) >= switches.key_lifetime_s * 1000;
}

/** An operation, entity type or contact type may be switched off here. */
// rule: general.rollout
export function checkEnabled({ switches }: Service, name: string): void {
  const disabled = switches.disabled.split(',').map((part) => part.trim());
  if (disabled.includes(name)) throw new Refusal(503, `${name} is not enabled here`);
}

interface Received {
  readonly body: Body;
  readonly idempotencyKey: string;
}

/** The body and the idempotency key, supplied or generated; the latter goes back in the answer. */
// rule: common.key-generated, extract.key, create.headers
async function receive({ operation, incoming, outgoing }: Exchange): Promise<Received> {
  const endpoint: Endpoint = endpoints[operation];
  checkMediaType(incoming);
  const idempotencyKey = idempotencyKeyOf(incoming, endpoint) ?? randomUUID();
  const body = await readBody(incoming, endpoint);
  outgoing.setHeader(responseHeaders.idempotencyKey, idempotencyKey);
  return { body, idempotencyKey };
}

/** Takes a paid request in; `toWanted` checks its fields. Throws a Refusal. */
export async function takeIn<Wanted extends { readonly cost: Cost }>(
  service: Service,
  exchange: Exchange,
  toWanted: (body: Body) => Wanted,
): Promise<{ caller: Caller; wanted: Wanted; earlier: Earlier | undefined }> {
  const caller = authenticate(service, exchange);
  const received = await receive(exchange);
  const wanted = toWanted(received.body);
  return { caller, wanted, earlier: admit(service, exchange, caller, received, wanted.cost) };
}

/** What a request costs at most: `price` for each of `units`. */
export interface Cost {
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
 * Admits a request and reserves its cost, or throws. A repetition of an admitted request returns that one: what to
 * do with it is the route's affair.
 */
// rule: general.reserve, general.contact-reserve, common.no-duplicates, common.conflict, credits.invalid
function admit(
  service: Service,
  exchange: Exchange,
  caller: Caller,
  received: Received,
  cost: Cost,
): Earlier | undefined {
  const { store, now, switches } = service;
  const { key, fingerprint } = caller;
  const bodyHash = createHash('sha256').update(received.body.bytes).digest('hex');
  return store.transaction((rows) => {
    forgetOld(rows, now());
    endOrphans(service, rows);
    const earlier = rows.get<Earlier & { operation: string; bodyHash: string; apiKey: string | null }>(
      `SELECT operation, body_hash AS bodyHash, requests.search_id AS searchId, answer, state, searches.key AS apiKey
       FROM requests LEFT JOIN searches ON searches.search_id = requests.search_id
       WHERE requests.account = ? AND idempotency_key = ?`,
      key.account,
      received.idempotencyKey,
    );
    if (earlier !== undefined) {
      if (earlier.operation !== exchange.operation || earlier.bodyHash !== bodyHash)
        throw new Refusal(409, 'the Idempotency-Key was already used for another request');
      // It can't read what that one made, and a second one would be charged to the same account.
      if (earlier.apiKey !== null && earlier.apiKey !== fingerprint)
        throw new Refusal(409, 'the Idempotency-Key was already used with another API key');
      return earlier;
    }
    openAccount(rows, caller, switches.opening_credits, now());
    checkConcurrency(service, rows, key);
    const credits = cost.price * cost.units;
    const available = fundsOf(rows, key.account)?.available ?? 0;
    if (available < credits)
      throw new Refusal(
        402,
        `the request may cost ${credits} ${credits === 1 ? 'credit' : 'credits'}, but only ${available} ${available === 1 ? 'is' : 'are'} available`,
      );
    rows.run(
      'UPDATE accounts SET reserved = reserved + ?, updated_at = ? WHERE account = ?',
      credits,
      now(),
      key.account,
    );
    rows.run(
      `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, state, price, reserved, owner, created_at)
       VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?)`,
      exchange.requestId,
      key.account,
      exchange.operation,
      received.idempotencyKey,
      bodyHash,
      cost.price,
      credits,
      store.lock.owner,
      now(),
    );
    return undefined;
  });
}

export function alreadyExists(): Refusal {
  const message = 'a request with this Idempotency-Key was already accepted';
  return new Refusal(409, message, 'request_already_exists');
}

export function openAccount(rows: Rows, { key, fingerprint }: Caller, credits: number, now: number): void {
  rows.run('INSERT OR IGNORE INTO keys VALUES (?, ?)', fingerprint, now);
  rows.run(
    'INSERT OR IGNORE INTO accounts (account, opening, updated_at) VALUES (?, ?, ?)',
    key.account,
    key.openingCredits ?? credits,
    now,
  );
}

function checkConcurrency({ switches }: Service, rows: Rows, key: LocalKey): void {
  const running = rows.all<{ account: string }>('SELECT account FROM requests WHERE owner IS NOT NULL');
  const own = running.filter(({ account }) => account === key.account);
  if (own.length >= (key.concurrency ?? switches.user_concurrency))
    throw new Refusal(429, 'too many requests of this account are running at the same time');
  if (running.length >= switches.service_concurrency)
    throw new Refusal(429, 'too many requests are running at the same time');
}

/**
 * Ends what nobody works on any more, because its process is gone or its settlement failed: streams as dropped,
 * everything else without a charge. A search that has not brought anything yet leaves nothing behind: the same
 * request may come again.
 */
export function endOrphans({ store, switches, now, answering }: Service, rows: Rows): void {
  const running = rows.all<{
    request_id: string;
    operation: string;
    owner: string;
    search_id: string | null;
  }>('SELECT request_id, operation, owner, search_id FROM requests WHERE owner IS NOT NULL');
  const owners = new Set(running.map(({ owner }) => owner).filter((owner) => owner !== store.lock.owner));
  const alive = new Set([...owners].filter((owner) => isAlive(owner, store.lock.folder)));
  for (const { request_id, operation, owner, search_id } of running) {
    if (alive.has(owner) || (owner === store.lock.owner && answering.has(request_id))) continue;
    if (search_id !== null) endStream(rows, search_id, 'error', switches.dropped_stream, now());
    else release(rows, request_id, now());
    if (search_id === null && (operation === 'search' || operation === 'createTask'))
      rows.run('DELETE FROM requests WHERE request_id = ?', request_id);
  }
}

/** Ends a stream and charges for it; a dropped one as the switch says. */
export function endStream(
  rows: Rows,
  searchId: string,
  status: 'done' | 'error',
  bills: Service['switches']['dropped_stream'],
  now: number,
): void {
  const search = rows.get<{ request_id: string; price: number; ready_count: number; found: number }>(
    `SELECT requests.request_id, price, ready_count, found FROM searches JOIN requests USING (request_id)
     WHERE searches.search_id = ?`,
    searchId,
  );
  if (search === undefined) return;
  const { request_id, price, found } = search;
  const count = status === 'error' && bills === 'bills_all' ? found : search.ready_count;
  rows.run('UPDATE searches SET status = ?, ready_count = ? WHERE search_id = ?', status, count, searchId);
  if (status === 'error' && bills === 'bills_nothing') release(rows, request_id, now);
  else settle(rows, request_id, price * count, now);
}
