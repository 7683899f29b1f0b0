import type { EntitySearchRequest } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import { LockLostError } from '../../files/folder-lock.ts';
import type { Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { OpenDelivery } from '../delivery.ts';
import { type Running, warningsOf } from '../events.ts';
import { type JournalEntry, toTerminal } from '../journal/entries.ts';
import { toDoubtful, toFailedEntries } from '../journal/failed.ts';
import { folderOf } from '../journal/folders.ts';
import { createStoredLeads } from '../journal/leads.ts';
import { type GoingOn, type LeadFilter, type Listed, purchaseForList } from '../only-new/filter.ts';
import { type Order, type PaidRequest, putInPlace } from '../purchase.ts';
import { type SearchEnd, toCutError } from './cut.ts';
import { type SearchIds, type SearchSummary, searchEntities } from './stream.ts';

export type BoughtSearch = SearchEnd & Listed;

/** fsync is slow, and a stream can bring a hundred batches in a second. */
const syncMs = 1000;

/**
 * Buys one search and delivers leads as they arrive: each is stored, and counts for its list, before it is delivered. Returns undefined
 * after a preview. Throws what prevents the search, and `partial` or `unknown` if it was cut.
 */
export async function* buySearch(
  buyer: Buyer,
  order: Order<'search'>,
  open: OpenDelivery,
  goingOn: GoingOn = {},
): Running<BoughtSearch | undefined> {
  return yield* purchaseForList(buyer, order, open, goingOn, (paid, filter, body) =>
    streamInto(buyer, body, paid, filter),
  );
}

async function* streamInto(
  { context }: Buyer,
  request: EntitySearchRequest,
  { begin, delivery, idempotencyKey, isAgain, journal }: PaidRequest,
  filter: LeadFilter,
): Running<SearchEnd> {
  const { operationId } = journal;
  const stored =
    operationId === undefined
      ? undefined
      : await createStoredLeads(folderOf(context.directories.state, operationId), journal);
  const warnings: string[] = [];
  let isStored = stored !== undefined;
  let lost: LockLostError | undefined;
  let isNamed = false;
  let delivered = 0;
  let excluded = 0;
  let syncing = Promise.resolve();
  let synced = Number.NEGATIVE_INFINITY;

  /** Runs what stores something, until that fails once: a full disk must not end a search that is paid for. */
  async function whileStored(work: () => Promise<unknown>): Promise<void> {
    if (!isStored) return;
    try {
      await work();
    } catch (error) {
      isStored = false;
      if (error instanceof LockLostError) {
        lost = error;
        return;
      }
      const why = error instanceof Error ? error.message : String(error);
      warnings.push(
        `${why}. The next leads are written, but not stored: they can't be printed again, and later searches may deliver and charge them again`,
      );
    }
  }

  const sync = () => Promise.all([stored?.sync(), filter.sync()]);
  const toBatch = (
    { leadsSearchId, requestId }: SearchIds,
    output_length: number | null = null,
  ): JournalEntry => ({
    type: 'batch',
    delivered,
    ...(excluded === 0 ? {} : { excluded }),
    leads_search_id: leadsSearchId ?? null,
    request_id: requestId ?? null,
    output_length,
  });

  async function* deliver(leads: Records, ids: SearchIds): Running<void> {
    const { isNew, count } = filter.check(leads);
    const fresh = leads.filter((_, index) => isNew[index]);
    // Dropped leads have arrived, too: the service's count includes them.
    excluded += leads.length - fresh.length;
    // Before leads are printed, they and the search's ID are stored, and count for their list.
    await whileStored(async () => {
      const { leadsSearchId, requestId = null } = ids;
      if (!isNamed && leadsSearchId !== undefined) {
        journal.note({ type: 'created', leads_search_id: leadsSearchId, request_id: requestId });
        isNamed = true;
      }
      stored?.append(leads, isNew);
      count(leadsSearchId);
    });
    if (lost !== undefined) throw lost;
    yield* warningsOf(warnings);
    if (fresh.length > 0) await delivery.write(fresh);
    yield { is: 'delivered', records: fresh.length };
    delivered += fresh.length;
    // Once a second, the output is put on the disk, and the journal says how much it has.
    const now = context.clock.monotonic();
    if (stored === undefined || now - synced < syncMs) return;
    synced = now;
    // This length belongs to this count. The rest may run beside the stream.
    const batch = toBatch(ids, await delivery.sync());
    syncing = syncing.then(() =>
      whileStored(async () => {
        await sync();
        await journal.append(batch);
      }),
    );
  }

  try {
    const client = yield* begin();
    yield { is: 'stage', stage: 'searching' };
    let summary: SearchSummary;
    try {
      summary = yield* searchEntities(client, request, idempotencyKey, deliver, context);
    } catch (thrown) {
      const error = isAgain ? toDoubtful(thrown) : thrown;
      await whileStored(() => journal.append(...toFailedEntries(error)));
      throw error;
    }
    await syncing;
    await whileStored(sync);
    const { cut, leads, stopReason: stop_reason = null } = summary;
    const end = { ...summary, excluded, isStored, operationId, idempotencyKey };
    const error = cut === undefined ? undefined : toCutError(end, request, await delivery.cut());
    const output_length = (error ? undefined : await delivery.sync().catch(() => undefined)) ?? null;
    const terminal = toTerminal(error?.outcome ?? 'complete', {
      charged: leads > 0 ? 'yes' : 'no',
      leads: leads - excluded,
      stop_reason,
    });
    const isPlacedLater = error === undefined && delivery.file !== undefined;
    const written = { type: 'written', state: null, ready_count: null, output_length, stop_reason } as const;
    const ended = isPlacedLater ? [written] : error && leads === 0 ? toFailedEntries(error) : [terminal];
    await whileStored(() => journal.append(toBatch(summary, output_length), ...ended));
    if (lost !== undefined && error === undefined) throw lost;
    // Everything that is said comes after the last byte of output.
    if (error === undefined) {
      try {
        await putInPlace(journal, delivery);
      } catch (thrown) {
        yield* warningsOf(warnings);
        throw toUnplaced(thrown, end);
      }
    }
    if (isPlacedLater) await whileStored(() => journal.append(terminal));
    // If the reader of the output went away, nobody may be there to read this.
    if (error?.outcome !== 'reader_closed') {
      yield* warningsOf([...warnings, ...summary.warnings]);
      yield { is: 'ended', arrived: end };
    }
    if (error !== undefined) throw error;
    return end;
  } finally {
    await syncing;
    await stored?.close();
  }
}

/** The error of the output, with what is known of the purchase: everything has arrived. */
function toUnplaced(
  error: unknown,
  { isStored, leads, operationId, idempotencyKey, requestId }: SearchEnd,
): unknown {
  if (!(error instanceof LeadpipeError)) return error;
  return error.with({
    charged: leads > 0 ? 'yes' : 'maybe',
    idempotencyKey,
    facts: { is: 'unplaced', operationId, isStored },
    requestId,
    ...error.details,
  });
}
