import { transactionNow } from '../../src/local-service/ledger.ts';
import { openStore } from '../../src/local-service/store.ts';
import { createSwitches, type Switches } from '../../src/local-service/switches.ts';
import { loadSqlite } from '../../src/sqlite/database.ts';
import { audit } from './audit.ts';
import { closing } from './closing.ts';
import { type ServiceOptions, startService } from './local-service.ts';

await loadSqlite();

/** The outcome of a paid request. Its key is kept in any case. */
export interface Purchase {
  readonly state: 'open' | 'settled' | 'released';
  readonly settled: number;
  /** Leads that a search or task has delivered or made ready. */
  readonly ready: number | null;
  readonly searchId: string | null;
}

export const ledgerKey = 'lp_local_demo';
const companies = 40;

export type LedgerService = Awaited<ReturnType<typeof startLedgerService>>;

/** A local service whose ledger can be read; `place` is the folder of an earlier one. */
export async function startLedgerService(
  switches: Partial<Switches>,
  faults: readonly object[] = [],
  place: Pick<ServiceOptions, 'port' | 'stateDir'> = {},
) {
  const own = { opening_credits: 100_000_000, task_start_ms: 1, task_step_ms: 1, ...switches };
  const service = await startService({ ...place, leads: someLeads(), faults, switches: own });
  const { stateDir } = service;
  const store = openStore({ stateDir, pid: process.pid, monotonic: () => performance.now() });
  // As any transaction does: it stores the progress of tasks, which continue by themselves.
  const books = { store, answering: new Map(), switches: createSwitches(own), now: Date.now };
  const get = <T>(sql: string, ...values: string[]): T | undefined =>
    transactionNow(books, (rows) => rows.get<T>(sql, values.length > 0 ? values : undefined));
  const expectToAddUp = (): void => {
    const { faults } = audit(store);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  };
  return closing({
    url: service.url,
    stateDir,
    /** Credits that all accounts have spent or reserved. */
    spent: () =>
      get<{ sum: number }>('SELECT coalesce(sum(reserved + settled), 0) AS sum FROM accounts')?.sum ?? 0,
    /** What the service did for a key; undefined when it never admitted a request with it. */
    purchaseOf: (key: string) =>
      get<Purchase>(
        `SELECT r.state, r.settled, s.ready_count AS ready, s.search_id AS searchId
         FROM requests r LEFT JOIN searches s USING (request_id) WHERE r.idempotency_key = ?`,
        key,
      ),
    /** The records of a search or task, in their order. */
    recordsOf(searchId: string): string[] {
      const sql = 'SELECT record FROM entities WHERE search_id = ? ORDER BY position';
      const rows = store.transaction((all) => all.all<{ record: string }>(sql, searchId));
      return rows.map(({ record }) => record);
    },
    /**
     * Waits until no admitted request is in progress, or none with this key. Without a key, throws if the ledger does not
     * add up.
     */
    async quiet(idempotencyKey?: string) {
      const ofKey = idempotencyKey === undefined ? '' : ' AND idempotency_key = ?';
      const keys = idempotencyKey === undefined ? [] : [idempotencyKey];
      const open = (): number =>
        get<{ open: number }>(`SELECT count(*) AS open FROM requests WHERE state = 'open'${ofKey}`, ...keys)
          ?.open ?? 0;
      for (const end = performance.now() + 60_000; open() > 0; ) {
        if (performance.now() > end) throw new Error(`${open()} requests never ended`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      if (idempotencyKey === undefined) expectToAddUp();
    },
    /** Ends the requests in progress; resolves to the credits spent, by idempotency key. */
    async close() {
      await service.close();
      expectToAddUp();
      const rows = store.transaction((all) =>
        all.all<{ key: string; settled: number }>('SELECT idempotency_key AS key, settled FROM requests'),
      );
      store.close();
      return new Map(rows.map(({ key, settled }) => [key, settled]));
    },
  });
}

function someLeads(): string[] {
  const leads = Array.from({ length: companies }, (_, index) => ({
    entity_type: 'company',
    name: `Kontora ${index}`,
    links: { website: `https://kontora${index}.example` },
    description: `Kontora ${index} is a seed fintech company from Berlin. Ünal 日本 😀`,
    facts: { industry: 'fintech', city: 'Berlin', headcount: index },
    contact: { email: `hello@kontora${index}.example`, phone: null },
  }));
  const person = {
    entity_type: 'person',
    name: 'Lena Weber',
    links: {},
    description: 'CTO of Nordlicht Pay in Berlin.',
    facts: { title: 'CTO', company: 'Nordlicht Pay', city: 'Berlin' },
    contact: { email: 'lena@nordlicht.example', phone: '+49 30 5550 101' },
  };
  return [...leads, person].map((lead) => JSON.stringify(lead));
}
