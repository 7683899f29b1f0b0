import type { LeadpipeError, Outcome } from '../../errors.ts';
import { kindOf, type Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import { toTerminal } from '../journal/entries.ts';
import { toFailedEntries } from '../journal/failed.ts';
import type { Journal } from '../journal/journal.ts';
import { createStoredLeads } from '../journal/leads.ts';
import { folderOf } from '../journal/stored.ts';
import type { LeadFilter } from '../only-new/filter.ts';
import type { SearchIds, SearchSummary } from './stream.ts';

/** fsyncs are dear, and a stream can bring a hundred batches in a second. */
const syncMs = 1000;

/**
 * Keeps what a search brings, and counts what is in the output for certain. It adds one line to `warnings` when nothing more can be
 * kept: a full disk must not end a search that is paid for. Throws LocalIoError.
 */
export async function createKeeping(
  { context: { clock, directories } }: Buyer,
  journal: Journal,
  delivery: Delivery,
  filter: LeadFilter,
  warnings: string[],
) {
  const { operationId } = journal;
  const folder = operationId === undefined ? undefined : folderOf(directories.state, operationId);
  const stored = folder === undefined ? undefined : await createStoredLeads(folder);
  const isInFile = delivery.file !== undefined;
  let kept = stored !== undefined;
  let named = false;
  let excluded = 0;
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
      const why = error instanceof Error ? error.message : String(error);
      warnings.push(
        `${why}. The next leads are written, but not stored: they can't be printed again, and later searches may deliver and charge them again`,
      );
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

  const toEnd = (summary: SearchSummary, outcome: Outcome) => {
    const leads = Math.max(summary.leads, arrived);
    const charged = leads > 0 ? 'yes' : 'no';
    return toTerminal(outcome, { charged, leads: leads - excluded, stop_reason: summary.stopReason ?? null });
  };

  const sync = async (): Promise<void> => void (await Promise.all([stored?.sync(), filter.sync()]));

  return {
    /**
     * Before leads are printed: resolves with those that are to be, when all of them, and the search's ID, would survive this
     * process, and count for its list. Throws nothing: what is paid for is printed all the same.
     */
    async keep(leads: Records, { leadsSearchId, requestId }: SearchIds): Promise<Records> {
      const { isNew, count } = filter.check(leads);
      const fresh = leads.filter((_, index) => isNew[index]);
      excluded += leads.length - fresh.length;
      await whileKept(async () => {
        if (!named && leadsSearchId !== undefined) {
          journal.note({ type: 'created', leads_search_id: leadsSearchId, request_id: requestId ?? null });
          named = true;
        }
        stored?.append(leads, isNew);
        arrived += leads.filter((lead) => kindOf(lead) === 'object').length;
        count(leadsSearchId);
      });
      return fresh;
    },
    /** The stream is over: whether all that arrived is kept, which it is on the disk then. */
    async sync(): Promise<boolean> {
      await syncing;
      await whileKept(sync);
      return kept;
    },
    /** How many were dropped here: the service has sent them too. */
    excluded: () => excluded,
    /** After they are printed: once a second, what is there is on the disk, and the journal says how much. Throws LocalIoError of the output. */
    async delivered(count: number, ids: SearchIds): Promise<void> {
      delivered += count;
      const now = clock.monotonic();
      if (stored === undefined || now - synced < syncMs) return;
      synced = now;
      // The length belongs to this count; the rest may take its time beside the stream.
      const batch = toBatch(ids, await delivery.sync());
      syncing = syncing.then(() =>
        whileKept(async () => {
          await sync();
          await journal.append(batch);
        }),
      );
    },
    /** `error` is how the run ends, if not well, and `length` that of the rows in the output file. */
    async end(summary: SearchSummary, error: LeadpipeError | undefined, length?: number): Promise<void> {
      const batch = toBatch(summary, length);
      await whileKept(async () => {
        if (error === undefined && isInFile) {
          await journal.append(batch, {
            type: 'written',
            state: null,
            ready_count: null,
            output_length: length ?? null,
            stop_reason: summary.stopReason ?? null,
          });
        } else if (error !== undefined && Math.max(summary.leads, arrived) === 0) {
          await journal.append(batch, ...toFailedEntries(error));
        } else await journal.append(batch, toEnd(summary, error?.outcome ?? 'complete'));
      });
    },
    async placed(summary: SearchSummary): Promise<void> {
      if (isInFile) await whileKept(() => journal.append(toEnd(summary, 'complete')));
    },
    failed: (error: unknown) => whileKept(() => journal.append(...toFailedEntries(error))),
    async close(): Promise<void> {
      await syncing;
      await stored?.close();
    },
  };
}
