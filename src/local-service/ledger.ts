import { isAlive } from '../files/folder-lock.ts';
import type { Rows } from './database.ts';
import type { Caller, Service } from './service.ts';

/** What an account has left, opened with its first use: credits, and when they changed. */
// rule: balance.reserved, balance.account
export function fundsOf(rows: Rows, { key, fingerprint }: Caller, { switches, now }: Service) {
  rows.run('INSERT OR IGNORE INTO keys VALUES (?, ?)', [fingerprint, now()]);
  const opening = key.openingCredits ?? switches.opening_credits;
  const { account } = key;
  rows.run('INSERT OR IGNORE INTO accounts (account, opening, updated_at) VALUES (?, ?, ?)', [
    account,
    opening,
    now(),
  ]);
  return rows.get(
    'SELECT opening - reserved - settled AS available, updated_at AS updatedAt FROM accounts WHERE account = ?',
    account,
  ) as { available: number; updatedAt: number };
}

/** Ends a request's reservation, in `state`, and charges `credits` of it; a request that has ended stays as it is. */
// rule: general.settle
export function settle(
  rows: Rows,
  requestId: string,
  credits: number,
  now: number,
  answer: string | null = null,
  state: 'settled' | 'released' = 'settled',
): void {
  const request = rows.get<{ account: string; reserved: number; settled: number }>(
    `UPDATE requests SET state = ?, settled = min(?, reserved), owner = NULL, answer = ?
     WHERE request_id = ? AND state = 'open' RETURNING account, reserved, settled`,
    [state, credits, answer, requestId],
  );
  if (request === undefined) return;
  rows.run(
    'UPDATE accounts SET reserved = reserved - ?, settled = settled + ?, updated_at = ? WHERE account = ?',
    [request.reserved, request.settled, now, request.account],
  );
}

/** Ends a request's reservation without a charge. */
export function release(rows: Rows, requestId: string, now: number): void {
  settle(rows, requestId, 0, now, null, 'released');
}

/** Ends a stream and charges for it; a dropped one as the switch says. */
export function endStream(
  rows: Rows,
  searchId: string,
  status: 'done' | 'error',
  { switches, now }: Pick<Service, 'switches' | 'now'>,
): void {
  const bills = status === 'error' ? switches.dropped_stream : 'bills_sent';
  const search = rows.get<{ id: string; ready: number }>(
    `UPDATE searches SET status = ?, ready_count = iif(?, found, ready_count) WHERE search_id = ?
     RETURNING request_id AS id, ready_count AS ready`,
    [status, bills === 'bills_all' ? 1 : 0, searchId],
  );
  if (search === undefined) return;
  const price = rows.get<{ price: number }>(
    'SELECT price FROM requests WHERE request_id = ?',
    search.id,
  )?.price;
  if (bills === 'bills_nothing') release(rows, search.id, now());
  else settle(rows, search.id, (price ?? 0) * search.ready, now());
}

/**
 * Ends what nobody works on any more, because its process is gone or its settlement failed: streams as dropped,
 * everything else without a charge. A search that has not brought anything yet leaves nothing behind: the same
 * request may come again.
 */
export function endOrphans(service: Service, rows: Rows): void {
  const { store, answering, now } = service;
  type Running = Readonly<Record<'id' | 'operation' | 'owner', string>> & {
    readonly searchId: string | null;
  };
  const running = rows.all<Running>(
    'SELECT request_id AS id, operation, owner, search_id AS searchId FROM requests WHERE owner IS NOT NULL',
  );
  for (const { id, operation, owner, searchId } of running) {
    if (owner === store.owner ? answering.has(id) : isAlive(owner, store.folder)) continue;
    if (searchId === null) release(rows, id, now());
    else endStream(rows, searchId, 'error', service);
    if (searchId === null && (operation === 'search' || operation === 'createTask'))
      rows.run('DELETE FROM requests WHERE request_id = ?', id);
  }
}

/** How long a request that has ended is remembered, with its idempotency key and its leads: 30 days. */
const remembered = 30 * 24 * 3_600_000;
/** Each has up to 1000 leads, and nobody should have to wait for this. */
const forgottenAtOnce = 5;

/** Forgets requests that ended long ago; a few each time, which is more than are added. */
export function forgetOld(rows: Rows, now: number): void {
  const old = rows.all<{ id: string; account: string; settled: number; searchId: string | null }>(
    `SELECT request_id AS id, account, settled, search_id AS searchId FROM requests
     WHERE state <> 'open' AND created_at < ? ORDER BY created_at LIMIT ?`,
    [now - remembered, forgottenAtOnce],
  );
  for (const { id, account, settled, searchId } of old) {
    rows.run('DELETE FROM entities WHERE search_id = ?', searchId);
    rows.run('DELETE FROM searches WHERE search_id = ?', searchId);
    rows.run('DELETE FROM requests WHERE request_id = ?', id);
    rows.run('UPDATE accounts SET forgotten = forgotten + ? WHERE account = ?', [settled, account]);
  }
}
