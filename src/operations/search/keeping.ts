import type { LeadpipeError, Outcome } from '../../errors.ts';
import { kindOf, type Records } from '../../json/text.ts';
import type { Shop } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import { toFailedEntries } from '../journal/failed.ts';
import type { Journal } from '../journal/journal.ts';
import { createStoredLeads } from '../journal/leads.ts';
import { folderOf } from '../journal/stored.ts';
import type { Sieve } from '../only-new/sieve.ts';
import type { SearchIds, SearchSummary } from './stream.ts';

/** fsyncs are dear, and a stream can bring a hundred batches in a second. */
const syncMs = 1000;

/** What is kept of a search while it goes on. */
export interface Keeping {
  /**
   * Before leads are printed: resolves with those that are to be, when all of them, and the search's ID, would survive this
   * process, and count for its list. Throws nothing: what is paid for is printed all the same.
   */
  keep(leads: Records, ids: SearchIds): Promise<Records>;
  /** After they are printed: once a second, what is there is on the disk, and the journal says how much. Throws LocalIoError of the output. */
  delivered(count: number, ids: SearchIds): Promise<void>;
  /** How many were dropped here: the service has sent them too. */
  excluded(): number;
  /** The stream is over: `error` is how the run ends, if not well, and `length` that of the rows in the output file. */
  end(summary: SearchSummary, error: LeadpipeError | undefined, length?: number): Promise<void>;
  /** The rows of a whole search are where they belong. */
  placed(summary: SearchSummary): Promise<void>;
  /** The stream never began. */
  failed(error: unknown): Promise<void>;
  close(): Promise<void>;
}

/**
 * Keeps what a search brings, and counts what is in the output for certain. `unkept` is told, once, why nothing more is
 * kept: a full disk must not end a search that is paid for. Throws LocalIoError.
 */
export async function createKeeping(
  { context: { clock, directories } }: Shop,
  journal: Journal,
  delivery: Delivery,
  sieve: Sieve,
  unkept: (why: string) => void,
): Promise<Keeping> {
  let excluded = 0;
  const sift = (leads: Records) => {
    const sifted = sieve.sift(leads);
    const fresh = sifted.isNew.includes(false) ? leads.filter((_, index) => sifted.isNew[index]) : leads;
    excluded += leads.length - fresh.length;
    return { ...sifted, fresh };
  };
  if (journal.operationId === undefined) {
    return { ...nothingKept, keep: async (leads) => sift(leads).fresh, excluded: () => excluded };
  }
  const stored = await createStoredLeads(folderOf(directories.state, journal.operationId));
  const isInFile = delivery.file !== undefined;
  let kept = true;
  let named = false;
  /** Stored, and so paid for: of the last batch perhaps not all was printed. */
  let arrived = 0;
  let delivered = 0;
  let syncing = Promise.resolve();
  let synced = Number.NEGATIVE_INFINITY;

  /** Whatever keeps something, until it fails once. */
  async function whileKept(work: () => Promise<void>): Promise<void> {
    if (!kept) return;
    try {
      await work();
    } catch (error) {
      kept = false;
      unkept(error instanceof Error ? error.message : String(error));
    }
  }

  const toBatch = (ids: SearchIds, length: number | undefined) =>
    ({
      type: 'batch',
      delivered,
      ...(excluded === 0 ? {} : { excluded }),
      leads_search_id: ids.leadsSearchId ?? null,
      request_id: ids.requestId ?? null,
      output_length: length ?? null,
    }) as const;

  const toTerminal = (summary: SearchSummary, outcome: Outcome) => {
    const leads = Math.max(summary.leads, arrived);
    return {
      type: 'terminal',
      outcome,
      state: null,
      ready_count: null,
      charged: leads > 0 ? 'yes' : 'no',
      leads: leads - excluded,
      stop_reason: summary.stopReason ?? null,
    } as const;
  };

  return {
    async keep(leads, { leadsSearchId, requestId }) {
      const { fresh, isNew, count } = sift(leads);
      await whileKept(async () => {
        if (!named && leadsSearchId !== undefined) {
          journal.note({ type: 'created', leads_search_id: leadsSearchId, request_id: requestId ?? null });
          named = true;
        }
        stored.append(leads, isNew);
        arrived += leads.filter((lead) => kindOf(lead) === 'object').length;
        count(leadsSearchId);
      });
      return fresh;
    },
    excluded: () => excluded,
    async delivered(count, ids) {
      delivered += count;
      const now = clock.monotonic();
      if (now - synced < syncMs) return;
      synced = now;
      // The length belongs to this count; the rest may take its time beside the stream.
      const batch = toBatch(ids, await delivery.sync());
      syncing = syncing.then(() =>
        whileKept(async () => {
          await Promise.all([stored.sync(), sieve.sync()]);
          await journal.append(batch);
        }),
      );
    },
    async end(summary, error, length) {
      const batch = toBatch(summary, length);
      await syncing;
      await whileKept(async () => {
        await Promise.all([stored.sync(), sieve.sync()]);
        if (error === undefined && isInFile) {
          const written = { state: null, ready_count: null, output_length: length ?? null } as const;
          await journal.append(batch, {
            type: 'written',
            ...written,
            stop_reason: summary.stopReason ?? null,
          });
        } else if (error !== undefined && Math.max(summary.leads, arrived) === 0) {
          await journal.append(batch, ...toFailedEntries(error));
        } else await journal.append(batch, toTerminal(summary, error?.outcome ?? 'complete'));
      });
    },
    async placed(summary) {
      if (isInFile) await whileKept(() => journal.append(toTerminal(summary, 'complete')));
    },
    failed: (error) => whileKept(() => journal.append(...toFailedEntries(error))),
    async close() {
      await syncing;
      await stored.close();
    },
  };
}

const nothingKept: Omit<Keeping, 'keep' | 'excluded'> = {
  delivered: async () => {},
  end: async () => {},
  placed: async () => {},
  failed: async () => {},
  close: async () => {},
};
