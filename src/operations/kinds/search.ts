import type { EntitySearchRequest } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import { LockLostError } from '../../files/folder-lock.ts';
import type { Opening } from '../../files/target.ts';
import type { Records } from '../../json/text.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { Delivery } from '../delivery.ts';
import { type LeftBehind, type Running, warningsOf } from '../events.ts';
import { entry, type JournalEntry } from '../journal/entries.ts';
import { createStoredLeads } from '../journal/leads.ts';
import { toWorstCase } from '../money.ts';
import { excludeKnown, type Listed, listOf, openFilter, type RunOfList } from '../only-new/filter.ts';
import { identityOf } from '../only-new/identity.ts';
import { toDoubtful, toFailedEntries } from './failed.ts';
import type { Job, Plan, PlanRequest } from './job.ts';
import { type RestOfSearch, readRest } from './rest-of-search.ts';
import { type SearchEnd, toCutError } from './search-cut.ts';
import { readFrames, type SearchIds, type SearchSummary, searchEntities } from './search-stream.ts';

export type BoughtSearch = SearchEnd & Listed;

/** fsync is slow, and a stream can bring a hundred batches in a second. */
const syncMs = 1000;
const notStored =
  "The next leads are written, but not stored: they can't be printed again, and later searches may deliver and charge them again";
const notRecorded = 'The end of this search is not recorded: the same command may buy the rest of it again';

/** A new search, or the rest of one that was left: another request, which excludes what arrived. */
export async function plan(
  planRequest: PlanRequest<EntitySearchRequest>,
): Promise<Plan<BoughtSearch> | LeftBehind> {
  const { buyer, order, operation, isOurs, isSameOutput, warn } = planRequest;
  if (operation === undefined) {
    const { body, list, intent } = await excludeKnown(buyer, order, planRequest.reader, warn);
    return {
      purchase: { body },
      costs: { is: 'once', worst: toWorstCase('search', body, buyer.connection) },
      intent,
      async *perform(job) {
        await job.open('new');
        return yield* streamInto(job, body, list);
      },
    };
  }
  const last = operation.parts.at(-1);
  if (order.terms.options.tool === true && operation.isInDoubt && last !== undefined) {
    // An agent's call is never bought with another key while its first answer may still come.
    const body: EntitySearchRequest = JSON.parse(last.body);
    const list = await listOf(buyer, operation, warn);
    return {
      purchase: { body, again: last.idempotencyKey },
      costs: { is: 'once', worst: toWorstCase('search', body, buyer.connection) },
      async *perform(job) {
        await job.open('new');
        return yield* streamInto(job, body, list);
      },
    };
  }
  let rest: RestOfSearch;
  try {
    rest = await readRest(operation, order.body);
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.outcome !== 'configuration') throw error;
    return { operation, why: error };
  }
  if (!rest.isKept) return { operation, why: 'not_kept' };
  const { received, request, stored, dropped } = rest;
  if (received === 0) return { operation, why: 'in_doubt' };
  // If everything is stored, the whole .part is written again.
  const opening = isSameOutput && isOurs ? ({ at: 0 } as const) : 'new';
  const resuming = { operation, stored: stored.length };
  if (request === undefined) {
    const list = await listOf(buyer, operation, warn);
    return {
      costs: { is: 'nothing' },
      resuming: { ...resuming, rest: 0, credits: 0 },
      perform: (job) => complete(job, rest, list, opening, isSameOutput),
    };
  }
  const { body, list } = await excludeKnown(
    buyer,
    { ...order, body: request },
    planRequest.reader,
    warn,
    rest,
  );
  const others = await listOf(buyer, operation, warn);
  const worst = toWorstCase('search', body, buyer.connection);
  return {
    purchase: { body },
    costs: { is: 'once', worst },
    rest: { delivered: stored.length, excluded: dropped },
    resuming: {
      ...resuming,
      rest: body.limit ?? 0,
      isInDoubt: operation.isInDoubt,
      ...(worst.credits === null ? {} : { credits: worst.credits }),
    },
    async *perform(job) {
      await writeStored(await job.open(opening), rest, others, isSameOutput);
      const before = { received, delivered: stored.length };
      try {
        return { ...(yield* streamInto(job, body, list, stored.length)), before };
      } catch (error) {
        throw toRestInDoubt(error, job.operationId, await job.delivery.cut());
      }
    },
  };
}

/** Pure: the error of a rest whose answer was lost: what arrived before is in `part`, and is not charged again. */
function toRestInDoubt(error: unknown, operationId: string | undefined, part: string | undefined): unknown {
  const isLost = error instanceof LeadpipeError && error.details.facts?.is === 'in_doubt';
  if (!isLost || operationId === undefined) return error;
  return error.with({ facts: { is: 'rest_in_doubt', operationId, part } });
}

/** Everything has arrived: the output is written, and nothing is bought. Throws LocalIoError. */
async function* complete(
  job: Job,
  rest: RestOfSearch,
  list: RunOfList | undefined,
  opening: Opening,
  isSameOutput: boolean,
): Running<BoughtSearch> {
  const { idempotencyKey, journal, operationId } = job;
  const { operation, stored, dropped, stopReason } = rest;
  // A file that is replaced is written again; rows are not added twice.
  if (!isSameOutput || !operation.progress.isAdded) {
    const delivery = await job.open(opening);
    yield* job.begin();
    await writeStored(delivery, rest, list, isSameOutput);
    await job.place({ written: (length) => journal.append(entry.written(length, { stopReason })) });
  }
  await journal.append(
    entry.terminal('complete', {
      charged: 'yes',
      leads: stored.length,
      ...(stopReason === undefined ? {} : { stop_reason: stopReason }),
    }),
  );
  return {
    leadsSearchId: operation.progress.leadsSearchId,
    requestId: operation.progress.requestId,
    cut: undefined,
    cause: undefined,
    leads: 0,
    isDelivered: true,
    stopReason,
    warnings: [],
    excluded: 0,
    isStored: true,
    operationId,
    idempotencyKey,
    before: { received: stored.length + dropped, delivered: stored.length },
    list,
  };
}

/** Writes what is stored of a search that was left, before its rest. On standard output, what was surely printed is not printed again. */
async function writeStored(
  delivery: Delivery,
  { counted, stored }: RestOfSearch,
  list: RunOfList | undefined,
  isSameOutput: boolean,
): Promise<void> {
  const inFile = delivery.file !== undefined;
  const sure = inFile && !isSameOutput ? 0 : counted;
  // Another run of the list may have delivered some of them since.
  const missing = stored.filter((lead, at) =>
    at < sure ? inFile : list?.delivered.lacks(identityOf(lead)) !== false,
  );
  if (missing.length > 0) await delivery.write(missing);
  await delivery.sync();
}

/**
 * Streams a search into the output: each lead is stored, and counts for its list, before it is delivered. `before` is how many leads of
 * this operation earlier runs have delivered.
 */
async function* streamInto(
  job: Job,
  request: EntitySearchRequest,
  list: RunOfList | undefined,
  before = 0,
): Running<BoughtSearch> {
  const { begin, buyer, delivery, folder, idempotencyKey, journal, operation, operationId } = job;
  const { context } = buyer;
  const filter = await openFilter(buyer, list, journal);
  const stored = folder === undefined ? undefined : await createStoredLeads(folder, journal);
  const warnings: string[] = [];
  let isStored = stored !== undefined;
  let isRecorded = true;
  let lost: LockLostError | undefined;
  let isNamed = false;
  let delivered = 0;
  let excluded = 0;
  let syncing = Promise.resolve();
  let synced = Number.NEGATIVE_INFINITY;

  /** Runs what writes something down, until that fails once: a full disk must not end a search that is paid for. */
  async function attempt(isPossible: boolean, work: () => Promise<unknown>, loss: string): Promise<boolean> {
    if (!isPossible) return false;
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof LockLostError) lost = error;
      else warnings.push(`${error instanceof Error ? error.message : String(error)}. ${loss}`);
      return false;
    }
  }

  /** Stores leads, and counts them for their list. */
  async function whileStored(work: () => Promise<unknown>): Promise<void> {
    isStored = await attempt(isStored, work, notStored);
  }

  /** What the journal says stays true where leads can't be stored: so no one takes the stored ones for all. */
  async function record(...entries: readonly JournalEntry[]): Promise<void> {
    isRecorded = await attempt(isRecorded, () => journal.append(...entries), notRecorded);
  }

  const sync = () => Promise.all([stored?.sync(), filter.sync()]);
  const toBatch = ({ leadsSearchId, requestId }: SearchIds, length?: number) =>
    entry.batch({ delivered, excluded, leadsSearchId, requestId, length });

  async function* deliver(leads: Records, ids: SearchIds): Running<void> {
    const { isNew, count } = filter.check(leads);
    const fresh = leads.filter((_, index) => isNew[index]);
    // Dropped leads have arrived, too: the service's count includes them.
    excluded += leads.length - fresh.length;
    // Before leads are printed, they and the search's ID are stored, and count for their list.
    const { leadsSearchId, requestId } = ids;
    if (!isNamed && leadsSearchId !== undefined) {
      isNamed = true;
      const name = async () => journal.note(entry.created(leadsSearchId, requestId));
      isRecorded = await attempt(isRecorded, name, notRecorded);
    }
    await whileStored(async () => {
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
    syncing = syncing.then(async () => {
      await whileStored(sync);
      await record(batch);
    });
  }

  /** Stores the leads in what came under another content type: they are paid for. Returns the error with what is known then. */
  async function keepLeads(error: unknown, operation: string): Promise<unknown> {
    if (!(error instanceof RequestError) || !error.body) return error;
    const { leads, leadsSearchId } = await readFrames(error.body);
    if (leads.length === 0) return error;
    const { isNew, count } = filter.check(leads);
    await whileStored(async () => {
      stored?.append(leads, isNew);
      count(leadsSearchId);
      await sync();
    });
    if (leadsSearchId !== undefined) await record(entry.created(leadsSearchId, error.details.requestId));
    return error.with({ facts: { is: 'unplaced', operationId: operation, isStored } });
  }

  try {
    const client = (yield* begin())();
    yield { is: 'stage', stage: 'searching' };
    let summary: SearchSummary;
    try {
      summary = yield* searchEntities(client, request, idempotencyKey, deliver, context);
    } catch (thrown) {
      // An earlier run may have sent this request with this key.
      const isAgain = operation?.parts.some((part) => part.idempotencyKey === idempotencyKey) === true;
      const error = isAgain ? toDoubtful(thrown) : thrown;
      await record(...toFailedEntries(error));
      throw operationId === undefined ? error : await keepLeads(error, operationId);
    }
    await syncing;
    await whileStored(sync);
    const { cut, leads, stopReason } = summary;
    const end = { ...summary, excluded, isStored, operationId, idempotencyKey };
    const error = cut === undefined ? undefined : toCutError(end, request, await delivery.cut(), before);
    const length = error ? undefined : await delivery.sync().catch(() => undefined);
    const terminal = entry.terminal(error?.outcome ?? 'complete', {
      charged: leads > 0 ? 'yes' : 'no',
      leads: before + leads - excluded,
      stop_reason: stopReason ?? null,
    });
    const isPlacedLater = error === undefined && delivery.file !== undefined;
    const ended = isPlacedLater
      ? [entry.written(length, { stopReason })]
      : error && leads === 0
        ? toFailedEntries(error)
        : [terminal];
    await record(toBatch(summary, length), ...ended);
    if (lost !== undefined && error === undefined) throw lost;
    // Everything that is said comes after the last byte of output.
    if (error === undefined) {
      try {
        await job.place();
      } catch (thrown) {
        yield* warningsOf(warnings);
        throw toUnplaced(thrown, end);
      }
    }
    if (isPlacedLater) await record(terminal);
    // If the reader of the output went away, no one may be there to read this.
    if (error?.outcome !== 'reader_closed') {
      yield* warningsOf([...warnings, ...summary.warnings]);
      yield { is: 'ended', received: end };
    }
    if (error !== undefined) throw error;
    return { ...end, list };
  } finally {
    await syncing;
    await stored?.close();
    await filter.close();
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
