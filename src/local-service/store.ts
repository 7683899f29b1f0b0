import { chmodSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { claimLock } from '../files/folder-lock.ts';
import { openFile, type Rows } from '../sqlite/database.ts';

/**
 * The state: accounts and requests are the ledger; searches and entities can be read again. A change of credits is in one
 * transaction with its cause.
 *
 * accounts   opening = available + reserved + settled, always; available is not stored. `forgotten` is the part
 *            of settled whose requests are no longer remembered.
 * requests   an admitted paid request: `open` with its reservation, then `settled` or `released`. Its idempotency key is
 *            kept for 30 days, whatever the outcome. `owner` is the process that runs it.
 * searches   a stream or a task, with what has been delivered or is ready.
 * keys       API keys seen, by fingerprint.
 *
 * `user_version` is the number of migrations that a state has had.
 */
const steps = [
  `
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
  `,
  `ALTER TABLE accounts ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX requests_ended ON requests (created_at) WHERE state <> 'open';`,
];

/** Deletes everything. Another process that has the state open continues with the empty one. */
export function empty(rows: Rows): void {
  for (const table of ['entities', 'searches', 'requests', 'accounts', 'keys'])
    rows.exec(`DELETE FROM ${table}`);
}

const lockTimeoutMs = 10_000;

/** Thrown when another process held the lock for too long. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
}

export type Store = ReturnType<typeof openStore>;

/** Opens the state in a folder. Several processes may read and write it, one transaction at a time. */
export function openStore(options: { stateDir: string; pid: number; monotonic: () => number }) {
  const { stateDir, pid, monotonic } = options;
  chmodSync(stateDir, 0o700);
  const path = join(stateDir, 'state.db');
  // SQLite would write to the target of a link.
  for (const file of [path, `${path}-journal`])
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
      throw Object.assign(new Error(`${file} is a symbolic link`), { code: 'SYMBOLIC_LINK' });
  const lock = claimLock(join(stateDir, 'lock'), pid);
  const rows = openFile(path);
  const hold = <Result>(action: () => Result): Result => {
    const deadline = monotonic() + lockTimeoutMs;
    for (let other = lock.take(); other !== undefined; other = lock.take()) {
      if (monotonic() > deadline)
        throw new LockTimeout(
          `process ${other.split('.')[0]} has locked ${stateDir} for more than ${lockTimeoutMs / 1000} seconds`,
        );
      // Transactions are synchronous, and so is waiting for one.
      Atomics.wait(sleeper, 0, 0, 2);
    }
    try {
      return action();
    } finally {
      lock.giveBack();
    }
  };
  /** The only access to the state: with the lock, in a transaction. */
  const transaction = <Result>(work: (rows: Rows) => Result): Result =>
    hold(() => {
      rows.exec('BEGIN IMMEDIATE');
      try {
        const result = work(rows);
        rows.exec('COMMIT');
        return result;
      } catch (error) {
        try {
          rows.exec('ROLLBACK');
        } catch {
          // SQLite has already rolled it back, for example on a full disk.
        }
        throw error;
      }
    });
  // Keeping the journal file is cheaper than creating and deleting it each time. Its header says whether it is valid.
  hold(() => rows.exec('PRAGMA journal_mode = PERSIST; PRAGMA synchronous = NORMAL'));
  transaction(() => {
    const known = rows.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
    for (const step of steps.slice(known)) rows.exec(step);
    if (known < steps.length) rows.exec(`PRAGMA user_version = ${steps.length}`);
  });
  return {
    /** Names this process in locks; see `isAlive`. */
    owner: lock.owner,
    folder: stateDir,
    transaction,
    close() {
      rows.close();
      lock.release();
    },
  };
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));
