import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { createLock, type Database, openDatabase, type ProcessLock, type Rows } from './database.ts';

/**
 * The state: accounts and their requests are the ledger, searches and their entities are what can be read again.
 * Every change of money stands in one transaction with what it is for.
 *
 * accounts   opening = available + reserved + settled, always; available is not stored. `forgotten` is the part
 *            of settled whose requests are no longer remembered.
 * requests   an admitted paid request: `open` with its reservation, then `settled` or `released`. Its
 *            idempotency key is remembered whatever became of it, for `remembered` milliseconds. `owner` is the
 *            process that runs it.
 * searches   a stream or a task, with what has been delivered or is ready.
 * keys       API keys seen, by fingerprint.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS accounts (
    account TEXT PRIMARY KEY, opening INTEGER NOT NULL, reserved INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, CHECK (opening >= reserved + settled)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS requests (
    request_id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts, operation TEXT NOT NULL,
    idempotency_key TEXT NOT NULL, body_hash TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'released')),
    price INTEGER NOT NULL, reserved INTEGER NOT NULL, settled INTEGER NOT NULL DEFAULT 0, owner TEXT,
    search_id TEXT, answer TEXT, created_at INTEGER NOT NULL, UNIQUE (account, idempotency_key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS requests_running ON requests (owner) WHERE owner IS NOT NULL;
  CREATE TABLE IF NOT EXISTS searches (
    search_id TEXT PRIMARY KEY, request_id TEXT NOT NULL REFERENCES requests, account TEXT NOT NULL,
    key TEXT NOT NULL, form TEXT NOT NULL CHECK (form IN ('stream', 'task')), entity_limit INTEGER NOT NULL,
    status TEXT NOT NULL, stop_reason TEXT NOT NULL, found INTEGER NOT NULL, considered INTEGER NOT NULL,
    ready_count INTEGER NOT NULL DEFAULT 0, verified_count INTEGER NOT NULL DEFAULT 0, fails_after INTEGER,
    created_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS searches_active ON searches (status) WHERE status IN ('created', 'running');
  CREATE TABLE IF NOT EXISTS entities (
    search_id TEXT NOT NULL REFERENCES searches, position INTEGER NOT NULL, identity TEXT NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (search_id, position)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS keys (fingerprint TEXT PRIMARY KEY, first_seen INTEGER NOT NULL) WITHOUT ROWID;
`;

/** What a state of an older version lacks; `user_version` counts the steps that it has. */
const steps = [
  schema,
  `ALTER TABLE accounts ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX requests_ended ON requests (created_at) WHERE state <> 'open';`,
];

export interface Store extends Database {
  readonly lock: ProcessLock;
  /** Forgets everything: ledger, tasks, keys seen. */
  reset(): void;
}

export interface StoreOptions {
  readonly stateDir: string;
  readonly pid: number;
  readonly monotonic: () => number;
}

export function openStore({ stateDir, pid, monotonic }: StoreOptions): Store {
  chmodSync(stateDir, 0o700);
  const lock = createLock({ folder: stateDir, pid, monotonic });
  const database = openDatabase(join(stateDir, 'state.db'), lock);
  database.transaction((rows) => {
    const known = rows.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
    for (const step of steps.slice(known)) rows.exec(step);
    if (known < steps.length) rows.exec(`PRAGMA user_version = ${steps.length}`);
  });
  return {
    ...database,
    lock,
    reset() {
      database.transaction((rows) => {
        for (const table of ['entities', 'searches', 'requests', 'accounts', 'keys'])
          rows.exec(`DELETE FROM ${table}`);
      });
    },
    close() {
      database.close();
      lock.close();
    },
  };
}

/** What an account has left. */
export interface Funds {
  /** Credits: what it opened with, less what is reserved and settled. */
  readonly available: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
}

// rule: balance.reserved
export function fundsOf(rows: Rows, account: string): Funds | undefined {
  return rows.get<Funds>(
    `SELECT opening - reserved - settled AS available, updated_at AS updatedAt FROM accounts
     WHERE account = ?`,
    account,
  );
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
  const request = rows.get<{ account: string; reserved: number }>(
    "SELECT account, reserved FROM requests WHERE request_id = ? AND state = 'open'",
    requestId,
  );
  if (request === undefined) return;
  const charged = Math.min(credits, request.reserved);
  rows.run(
    'UPDATE requests SET state = ?, settled = ?, owner = NULL, answer = ? WHERE request_id = ?',
    state,
    charged,
    answer,
    requestId,
  );
  rows.run(
    'UPDATE accounts SET reserved = reserved - ?, settled = settled + ?, updated_at = ? WHERE account = ?',
    request.reserved,
    charged,
    now,
    request.account,
  );
}

/** Ends a request's reservation without a charge. */
export function release(rows: Rows, requestId: string, now: number): void {
  settle(rows, requestId, 0, now, null, 'released');
}

/** How long a request that has ended is remembered, with its idempotency key and its leads: 30 days. */
const remembered = 30 * 24 * 3_600_000;
/** Each has up to 1000 leads, and nobody should have to wait for this. */
const forgottenAtOnce = 5;

/** Forgets requests that ended long ago; a few each time, which is more than are added. */
export function forgetOld(rows: Rows, now: number): void {
  const old = rows.all<{ request_id: string; account: string; settled: number; search_id: string | null }>(
    `SELECT request_id, account, settled, search_id FROM requests WHERE state <> 'open' AND created_at < ?
     ORDER BY created_at LIMIT ?`,
    now - remembered,
    forgottenAtOnce,
  );
  for (const { request_id, account, settled, search_id } of old) {
    rows.run('DELETE FROM entities WHERE search_id = ?', search_id);
    rows.run('DELETE FROM searches WHERE search_id = ?', search_id);
    rows.run('DELETE FROM requests WHERE request_id = ?', request_id);
    rows.run('UPDATE accounts SET forgotten = forgotten + ? WHERE account = ?', settled, account);
  }
}
