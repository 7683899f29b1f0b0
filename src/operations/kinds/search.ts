import { leadLimitOf } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { LeadpipeError, type Outcome, toMaybeCharged, toMessage } from '../../errors.ts';
import { LockLostError } from '../../files/folder-lock.ts';
import type { Records } from '../../json/text.ts';
import { RequestError } from '../../transport/request-error.ts';
import { type Running, type UnresumableRun, warningsOf } from '../events.ts';
import { type EntryOf, entry, type JournalEntry } from '../journal/entries.ts';
import { excludeKnown, type Listed, listOf, openFilter, type RunOfList } from '../only-new/filter.ts';
import { creditsOf, toWorstCase } from '../prices.ts';
import type { Plan, Run } from '../run-state.ts';
import { toFailedEntries } from './failed.ts';
import { type RestOfSearch, readRest } from './rest-of-search.ts';
import { type SearchEnd, toCutError } from './search-cut.ts';
import { readFrames, type SearchIds, type SearchSummary, searchEntities } from './search-stream.ts';

export type BoughtSearch = SearchEnd & Listed;

/** fsync is slow, and a stream can bring a hundred batches in a second. */
const syncMs = 1000;
const notStored =
  "The next leads are written, but not stored: they can't be printed again, and later searches may deliver and charge them again";
const notRecorded = 'The end of this search is not recorded: the same command may buy the rest of it again';

/** Plans a new search, or the rest of an unfinished one: another request, which excludes the received leads. */
export async function plan(run: Run<EntitySearchRequest>): Promise<Plan<BoughtSearch> | UnresumableRun> {
  const { buyer, order, operation, warn } = run;
  if (operation === undefined) {
    const { body, list, intent } = await excludeKnown(buyer, order, run.reader, warn);
    return {
      purchase: { body },
      costs: { is: 'once', worst: toWorstCase('search', body, buyer.connection) },
      intent,
      perform: () => streamInto(run, body, list),
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
      perform: () => streamInto(run, body, list),
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
  const { delivered, dropped, received, request } = rest;
  if (received === 0 && !operation.progress.isAnswered) return { operation, why: 'in_doubt' };
  const resuming = { operation, stored: delivered };
  if (request === undefined) {
    const list = await listOf(buyer, operation, warn);
    return {
      costs: { is: 'nothing' },
      resuming: { ...resuming, rest: 0, credits: 0 },
      perform: () => complete(run, rest, list),
    };
  }
  const { body, list } = await excludeKnown(buyer, { ...order, body: request }, run.reader, warn, rest.own);
  const worst = toWorstCase('search', body, buyer.connection);
  const credits = creditsOf(worst);
  return {
    purchase: { body },
    costs: { is: 'once', worst },
    rest: { delivered, excluded: dropped },
    resuming: {
      ...resuming,
      rest: body.limit ?? 0,
      isInDoubt: operation.isInDoubt,
      ...(credits === null ? {} : { credits }),
    },
    async *perform() {
      const before = { received, delivered, printed: operation.progress.printed };
      try {
        return { ...(yield* streamInto(run, body, list, before)), before };
      } catch (error) {
        throw isInDoubt(error) ? toRestInDoubt(error, run.operationId, await run.delivery.cut()) : error;
      }
    },
  };
}

/** The service excludes by the ID of a search, and not by what has arrived of it. */
const maybeLost =
  'Leads that the stopped search sent and that did not arrive here may have been charged; the service does not send them again';

function isInDoubt(error: unknown): error is LeadpipeError {
  return error instanceof LeadpipeError && error.details.facts?.is === 'in_doubt';
}

/** Pure: the error if the answer to the request for a rest was lost. The earlier leads are in `part`, and are not charged again. */
function toRestInDoubt(
  error: LeadpipeError,
  operationId: string | undefined,
  part: string | undefined,
): LeadpipeError {
  if (operationId === undefined) return error;
  return error.with({ facts: { is: 'rest_in_doubt', operationId, part } });
}

/** Everything has arrived: prints the output from the stored leads, and buys nothing. Throws LocalIoError. */
async function* complete(
  run: Run,
  { delivered, dropped, operation }: RestOfSearch,
  list: RunOfList | undefined,
): Running<BoughtSearch> {
  const { idempotencyKey, operationId } = run;
  const { leadsSearchId, printed, requestId, stopReason } = operation.progress;
  yield* run.begin();
  await run.place();
  const received = delivered + dropped;
  await run.end(toTerminal('complete', received, { delivered, excluded: dropped }, stopReason));
  return {
    ...{ leadsSearchId, requestId, stopReason, idempotencyKey, operationId, list },
    ...{ cut: undefined, cause: undefined, leads: 0, excluded: 0, warnings: [] },
    ...{ isDelivered: true, isStored: true },
    before: { received, delivered, printed },
  };
}

/** Streams a search into the output: each lead is stored, and counts for its list, before it is delivered. `before` is what earlier runs of it received. */
async function* streamInto(
  run: Run,
  request: EntitySearchRequest,
  list: RunOfList | undefined,
  before = { received: 0, delivered: 0 },
): Running<BoughtSearch> {
  const { buyer, idempotencyKey, journal, operation, operationId } = run;
  const { context } = buyer;
  const filter = await openFilter(buyer, list, journal);
  const warnings: string[] = [];
  /** Whether leads and entries can still be written down. */
  const [leadsKept, entriesKept] = [{ is: operationId !== undefined }, { is: true }];
  let lost: LockLostError | undefined;
  let isNamed = false;
  let excluded = 0;
  let syncing = Promise.resolve();
  let synced = Number.NEGATIVE_INFINITY;

  /** Writes to the disk, unless an earlier write failed: a full disk must not end a search that is paid for. */
  async function attempt(kept: { is: boolean }, work: () => Promise<unknown>, loss: string): Promise<void> {
    if (!kept.is) return;
    try {
      await work();
    } catch (error) {
      if (error instanceof LockLostError) lost = error;
      // Leads are added while others are synced: where both fail, one warning says it.
      else if (kept.is) warnings.push(`${toMessage(error)}. ${loss}`);
      kept.is = false;
    }
  }

  /** Stores leads, and counts them for their list. */
  const whileStored = (work: () => Promise<unknown>) => attempt(leadsKept, work, notStored);

  /** Writes entries even if leads could not be stored: the counts then show that the stored leads are not all. */
  const end = (...entries: readonly JournalEntry[]) =>
    attempt(entriesKept, () => run.end(...entries), notRecorded);

  const sync = () => Promise.all([run.received?.sync(), filter.sync()]);

  async function* deliver(leads: Records, ids: SearchIds): Running<void> {
    const { isNew, count } = filter.check(leads);
    const fresh = leads.filter((_, index) => isNew[index]);
    // Dropped leads have arrived, too: the service's count includes them.
    excluded += leads.length - fresh.length;
    // Before leads are printed, they and the search's ID are stored, and count for their list.
    const { leadsSearchId, requestId } = ids;
    if (!isNamed && leadsSearchId !== undefined) {
      isNamed = true;
      await attempt({ ...leadsKept }, () => run.append(entry.created(leadsSearchId, requestId)), notRecorded);
    }
    await whileStored(async () => {
      run.received?.append(leads, isNew);
      count(leadsSearchId);
    });
    if (lost !== undefined) throw lost;
    yield* warningsOf(warnings);
    await run.deliver(fresh);
    yield { is: 'delivered', records: fresh.length };
    // Once a second, the stored leads are synced to the disk, in parallel with the stream.
    const now = context.clock.monotonic();
    if (now - synced < syncMs) return;
    synced = now;
    syncing = syncing.then(() => whileStored(sync));
  }

  /** Stores the leads of an answer with a wrong content type: they are paid for. Returns the error with facts about them. */
  async function keepLeads(error: unknown, operation: string): Promise<unknown> {
    if (!(error instanceof RequestError) || !error.body) return error;
    const { leads, leadsSearchId } = await readFrames(error.body);
    if (leads.length === 0) return error;
    const { isNew, count } = filter.check(leads);
    await whileStored(async () => {
      run.received?.append(leads, isNew);
      count(leadsSearchId);
      await sync();
    });
    if (leadsSearchId !== undefined) await end(entry.created(leadsSearchId, error.details.requestId));
    return error.with({ facts: { is: 'unplaced', operationId: operation, isStored: leadsKept.is } });
  }

  try {
    const client = (yield* run.begin())();
    yield { is: 'stage', stage: 'searching' };
    let summary: SearchSummary;
    try {
      summary = yield* searchEntities(client, request, idempotencyKey, deliver, context);
    } catch (thrown) {
      // An earlier run may have sent this request with this key.
      const isAgain = operation?.parts.some((part) => part.idempotencyKey === idempotencyKey) === true;
      const error = isAgain ? toMaybeCharged(thrown) : thrown;
      await end(...toFailedEntries(error));
      throw operationId === undefined ? error : await keepLeads(error, operationId);
    }
    await syncing;
    await whileStored(sync);
    // The other run has what is stored, and has removed this one's file.
    if (lost !== undefined) throw lost;
    const { cut, leads, requestId, stopReason } = summary;
    const ended = { ...summary, excluded, isStored: leadsKept.is, operationId, idempotencyKey };
    const error =
      cut === undefined ? undefined : toCutError(ended, request, await run.delivery.cut(), before.delivered);
    const counts = {
      delivered: before.delivered + leads - excluded,
      excluded: before.received - before.delivered + excluded,
    };
    const terminal = toTerminal(error?.outcome ?? 'complete', leads, counts, stopReason);
    if (error !== undefined) await end(...(leads === 0 ? toFailedEntries(error) : [terminal]));
    else {
      const { file } = run.delivery;
      // If a file must still be put in place, the search must not seem to be cut after a kill.
      if (file === undefined) await end(terminal);
      else await end(entry.answered(requestId, { stop_reason: stopReason ?? null }));
      // Messages come after the last byte of output.
      try {
        await run.place();
      } catch (thrown) {
        yield* warningsOf(warnings);
        throw toUnplaced(thrown, ended);
      }
      if (file !== undefined) await end(terminal);
    }
    const isRest = before.received > 0;
    if (isRest && error === undefined && leads < leadLimitOf(request)) warnings.push(maybeLost);
    // If the reader of the output has gone, no message is needed.
    if (error?.outcome !== 'reader_closed') {
      yield* warningsOf([...warnings, ...summary.warnings]);
      yield { is: 'ended', received: ended };
    }
    if (error !== undefined) throw error;
    return { ...ended, list };
  } finally {
    await syncing;
    await filter.close();
  }
}

/** Pure: the last entry. `leads` came in this run, and `counts` are those of all runs. */
function toTerminal(
  outcome: Outcome,
  leads: number,
  { delivered, excluded }: { readonly delivered: number; readonly excluded: number },
  stopReason: string | undefined,
): EntryOf<'terminal'> {
  const charged = leads > 0 ? 'yes' : 'no';
  return entry.terminal(outcome, { charged, leads: delivered, excluded, stop_reason: stopReason ?? null });
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
