import { isAlive } from '../files/folder-lock.ts';
import type { Rows } from '../sqlite/database.ts';
import type { Caller, Service } from './service.ts';

/** The parts of the service that are needed to update the state. */
type Books = Pick<Service, 'store' | 'answering' | 'switches' | 'now'>;

/**
 * A transaction on the current state: requests that have ended are settled first, and old ones are deleted. Every request comes here first, so no
 * background job is needed.
 */
export function transactionNow<Result>(service: Books, work: (rows: Rows) => Result): Result {
  return service.store.transaction((rows) => {
    forgetOld(rows, service.now());
    endOrphans(service, rows);
    advanceTasks(service, rows);
    return work(rows);
  });
}

/** The credits that an account has left, and when they changed. Opens the account on first use. */
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

/** Ends a request's reservation, and charges `credits` of it. Does nothing for a request that has ended. */
export function settle(
  rows: Rows,
  requestId: string,
  credits: number,
  now: number,
  answer: string | null = null,
): void {
  const request = rows.get<{ account: string; reserved: number; settled: number }>(
    `UPDATE requests SET state = iif(?1 > 0, 'settled', 'released'), settled = min(?1, reserved), owner = NULL, answer = ?2
     WHERE request_id = ?3 AND state = 'open' RETURNING account, reserved, settled`,
    [credits, answer, requestId],
  );
  if (request === undefined) return;
  rows.run(
    'UPDATE accounts SET reserved = reserved - ?, settled = settled + ?, updated_at = ? WHERE account = ?',
    [request.reserved, request.settled, now, request.account],
  );
}

/** Ends a stream and charges for it; for a dropped one, as the switch says. */
export function endStream(
  rows: Rows,
  searchId: string,
  status: 'done' | 'error',
  { switches, now }: Pick<Service, 'switches' | 'now'>,
): void {
  const bills = status === 'error' ? switches.dropped_stream : 'bills_sent';
  const search = rows.get<{ id: string; credits: number }>(
    `UPDATE searches SET status = ?, ready_count = iif(?, found, ready_count) WHERE search_id = ?
     RETURNING request_id AS id,
       ready_count * (SELECT price FROM requests WHERE requests.request_id = searches.request_id) AS credits`,
    [status, bills === 'bills_all' ? 1 : 0, searchId],
  );
  if (search !== undefined) settle(rows, search.id, bills === 'bills_nothing' ? 0 : search.credits, now());
}

/**
 * Ends orphaned requests, whose process has ended or whose settlement failed: streams as dropped, all others without a charge. A search without
 * leads is deleted, so that the same request can come again.
 */
function endOrphans(service: Books, rows: Rows): void {
  const { store, answering, now } = service;
  type Running = Readonly<Record<'id' | 'operation' | 'owner', string>> & {
    readonly searchId: string | null;
  };
  const running = rows.all<Running>(
    'SELECT request_id AS id, operation, owner, search_id AS searchId FROM requests WHERE owner IS NOT NULL',
  );
  for (const { id, operation, owner, searchId } of running) {
    if (owner === store.owner ? answering.has(id) : isAlive(owner, store.folder)) continue;
    if (searchId === null) settle(rows, id, 0, now());
    else endStream(rows, searchId, 'error', service);
    if (searchId === null && (operation === 'search' || operation === 'createTask'))
      rows.run('DELETE FROM requests WHERE request_id = ?', id);
  }
}

/** Retention of an ended request, its idempotency key and its leads: 30 days. */
const remembered = 30 * 24 * 3_600_000;

/** Deletes old requests: only a few each time, since each has up to 1000 leads, but more than are added. */
export function forgetOld(rows: Rows, now: number): void {
  const old = rows.all<{ id: string; searchId: string | null }>(
    `SELECT request_id AS id, search_id AS searchId FROM requests
     WHERE state <> 'open' AND created_at < ? ORDER BY created_at LIMIT 5`,
    now - remembered,
  );
  for (const { id, searchId } of old) {
    rows.run('DELETE FROM entities WHERE search_id = ?', searchId);
    rows.run('DELETE FROM searches WHERE search_id = ?', searchId);
    rows.run(
      'UPDATE accounts SET forgotten = forgotten + r.settled FROM requests r WHERE request_id = ? AND r.account = accounts.account',
      id,
    );
    rows.run('DELETE FROM requests WHERE request_id = ?', id);
  }
}

/** A stream or a task as the state has it. */
export type SearchRow = Readonly<Record<'search_id' | 'request_id' | 'stop_reason', string>> &
  Readonly<Record<'entity_limit' | 'found' | 'considered' | 'ready_count' | 'verified_count', number>> & {
    readonly status: 'created' | 'running' | 'done' | 'error';
    readonly fails_after: number | null;
    readonly created_at: number;
  };

/**
 * Updates the progress of tasks. It depends only on the time since the task was created, so a task continues without a client, without this process
 * and after a kill. The next transaction of any process stores the progress, and settles a task that has ended.
 */
function advanceTasks({ switches, now }: Books, rows: Rows): void {
  const tasks = rows.all<SearchRow & { readonly price: number }>(
    `SELECT price, searches.* FROM searches JOIN requests USING (request_id)
     WHERE status IN ('created', 'running') AND form = 'task'`,
  );
  for (const task of tasks) {
    const { status, ready, verified } = progressOf(task, switches, now());
    if (status === task.status && ready === task.ready_count && verified === task.verified_count) continue;
    const stopReason = status === 'error' ? 'no_data_timeout' : task.stop_reason;
    rows.run(
      'UPDATE searches SET status = ?, ready_count = ?, verified_count = ?, stop_reason = ? WHERE search_id = ?',
      [status, ready, verified, stopReason, task.search_id],
    );
    if (status === 'done' || status === 'error') settle(rows, task.request_id, task.price * ready, now());
  }
}

/** `created`, then `running` step by step, then `done` one step after the last entity. Never backwards, even if the clock is set back. */
function progressOf(
  task: SearchRow,
  { task_start_ms, task_step_ms, task_step }: Service['switches'],
  now: number,
) {
  const elapsed = now - task.created_at - task_start_ms;
  if (elapsed < 0) return { status: task.status, ready: task.ready_count, verified: task.verified_count };
  const found = Math.min(task.found, task.fails_after ?? task.found);
  const size = Math.max(1, task_step);
  const steps = task_step_ms === 0 ? Number.POSITIVE_INFINITY : Math.floor(elapsed / task_step_ms);
  const hasEnded = steps > Math.ceil(found / size);
  const ready = hasEnded ? found : Math.min(found, steps * size);
  // Rejected candidates appear evenly between the accepted ones.
  const rejected = task.considered - task.found;
  const verified = ready + (hasEnded ? rejected : Math.floor((rejected * ready) / Math.max(1, found)));
  const end = task.fails_after === null ? 'done' : 'error';
  return {
    status: hasEnded ? end : 'running',
    ready: Math.max(ready, task.ready_count),
    verified: Math.max(verified, task.verified_count),
  };
}
