import type { Store } from '../../src/local-service/store.ts';

/** What an account has. Credits; available + reserved + settled = opening. */
interface Funds {
  readonly account: string;
  readonly opening: number;
  readonly available: number;
  readonly reserved: number;
  readonly settled: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
}

/** The funds of every account, and all faults of the ledger (none if it adds up). */
export function audit(store: Pick<Store, 'transaction'>): { accounts: Funds[]; faults: string[] } {
  return store.transaction((rows) => {
    const faults: string[] = [];
    const accounts = rows.all<Funds>(
      `SELECT account, opening, opening - reserved - settled AS available, reserved, settled, updated_at AS updatedAt
       FROM accounts ORDER BY account`,
    );
    for (const { account, available, reserved, settled } of accounts) {
      const sums = rows.get<{ reserved: number; settled: number }>(
        `SELECT coalesce(sum(CASE state WHEN 'open' THEN reserved END), 0) AS reserved,
                coalesce(sum(CASE state WHEN 'settled' THEN settled END), 0)
                  + (SELECT forgotten FROM accounts WHERE account = ?1) AS settled
         FROM requests WHERE account = ?1`,
        account,
      );
      if (sums?.reserved !== reserved)
        faults.push(`${account}: ${reserved} reserved, its requests ${sums?.reserved}`);
      if (sums?.settled !== settled)
        faults.push(`${account}: ${settled} settled, its requests ${sums?.settled}`);
      if (available < 0) faults.push(`${account}: ${available} available`);
    }
    for (const { request_id } of rows.all<{ request_id: string }>(
      "SELECT request_id FROM requests WHERE settled > reserved OR (settled > 0 AND state <> 'settled')",
    ))
      faults.push(`${request_id}: settled more than it reserved, or before it ended`);
    return { accounts, faults };
  });
}
