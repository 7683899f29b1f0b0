import { settle } from '../../src/local-service/ledger.ts';
import type { Rows } from '../../src/sqlite/database.ts';

/** Reserves 3 credits and settles 1 of them, as a request does. */
export function admitForTest(rows: Rows, id: string): void {
  rows.run("INSERT OR IGNORE INTO accounts (account, opening, updated_at) VALUES ('demo', 1000000, 0)");
  rows.run("UPDATE accounts SET reserved = reserved + 3 WHERE account = 'demo'");
  rows.run(
    `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, state, price, reserved, created_at)
     VALUES (?, 'demo', 'search', ?, '', 'open', 1, 3, 0)`,
    [id, id],
  );
  settle(rows, id, 1, 0);
}

/** Stays here until the process is killed. */
export function hang(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
