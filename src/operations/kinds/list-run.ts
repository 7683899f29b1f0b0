import { type Charged, isUncharged } from '../../errors.ts';
import type { Place } from '../../files/reading.ts';
import { JsonView, stringOf } from '../../json/text.ts';
import { dayOf, extendRowLimit } from '../day-limit.ts';
import type { Running } from '../events.ts';
import { entry } from '../journal/entries.ts';
import type { KnownRows, StoredRows } from '../journal/stored-rows.ts';
import { type Cost, nothing, sumOf, times } from '../prices.ts';
import { type Costs, toCounted, toOverLimit } from '../reservation.ts';
import type { Run } from '../run-state.ts';
import { kinds } from './kinds.ts';
import { type ListEnd, maxCharged, noRows, type RowResult, toResult } from './list-outcome.ts';
import {
  findKnown,
  isCountedBefore,
  type Known,
  type ListRows,
  type RequestedRow,
  requestedRows,
  type SendableRow,
} from './list-rows.ts';
import { createStop, graceSeconds } from './list-stop.ts';
import { createRowPurchases, type ToClient } from './row-purchase.ts';

type RowCosts = Extract<Costs, { is: 'rows' }>;

/** The stored rows of this list, and those of all lists of the same named run. */
interface RowsKnown {
  readonly stored: StoredRows;
  readonly all: readonly KnownRows[];
}

/** A row that was read and is not written yet. */
interface Item {
  readonly row: RequestedRow;
  result?: RowResult;
}

type Ended = Required<Item>;

type Work = ReturnType<typeof createWork>;

/** Maximum number of line numbers in a message. */
const maxLines = 5;

/**
 * Processes a list. Concurrently, `readAhead` reads a limited number of rows ahead, `resultOf` buys those without an answer, and this function
 * alone writes ended rows, in the order of the input. The intent of a row is on the disk before it is sent, and its answer before it is written.
 * After a stop (`list-stop.ts`) nothing more is read or sent; requests in progress are still stored and written. Never throws because of one row;
 * an error that concerns the whole list is in the result.
 */
export async function* workThrough(
  run: Run,
  rows: ListRows,
  costs: RowCosts,
  known: RowsKnown,
  toClient: ToClient,
): Running<ListEnd> {
  const { signal } = run.buyer.context;
  const work = createWork(run, rows, costs, known, toClient);
  const { changes, stop } = work;
  let awaited = 0;
  const stopped = (): void => {
    // Count them before the stop releases the rows that wait for a slot.
    awaited = work.purchases.pending();
    stop.byUser();
  };
  if (signal.aborted) stopped();
  signal.addEventListener('abort', stopped, { once: true });
  readAhead(work).catch(stop.because);
  let canWrite = true;
  try {
    for (;;) {
      if (awaited > 0) yield { is: 'stopping', answers: awaited, seconds: graceSeconds };
      awaited = 0;
      if (work.first !== undefined) {
        const { row, announced } = work.first;
        work.first = undefined;
        yield { is: 'first_row', row: row.row, sends: sentIn(rows.kind, row) };
        announced();
      }
      const ready = canWrite ? takeReady(work.items) : [];
      if (ready.length > 0) {
        changes.tell();
        try {
          yield* write(work, ready);
        } catch (error) {
          // Requests in progress are paid for, so their answers are stored even if they can't be written.
          canWrite = false;
          stop.because(error);
        }
      } else if (hasEnded(work)) {
        const { charged, cost, counts, flawedLines, hasMore } = work;
        return { charged, cost, counts, flawedLines, hasMore, stop: stop.error };
      } else await changes.next();
    }
  } finally {
    signal.removeEventListener('abort', stopped);
    stop.end();
  }
}

/** The state shared by reading, buying and writing, which run concurrently and wait for each other's changes. */
function createWork(run: Run, rows: ListRows, costs: RowCosts, known: RowsKnown, toClient: ToClient) {
  const { buyer, operationId = '' } = run;
  const changes = createChanges();
  const stop = createStop(buyer.context, changes.tell);
  const day = createDay(run, costs, known.stored);
  const purchases = createRowPurchases(
    buyer,
    rows,
    // The keys of the rows are derived from this, the row and its request.
    {
      keyBase: rows.run ?? operationId,
      stored: known.stored,
      beforeSending: (unsent, isCounted) => day.begin(unsent, isCounted),
    },
    toClient,
    stop,
  );
  return {
    run,
    isFree: buyer.connection.origin === 'local',
    rows,
    /** The limit that the rows share. */
    limit: costs.limit,
    known,
    changes,
    stop,
    day,
    purchases,
    /** Rows that were read and not written yet, in the order of the input: no others are in memory. */
    items: [] as Item[],
    isRead: false,
    /** Requests whose end is awaited: another row may ask for the same. */
    inProgress: new Map<bigint, Promise<RowResult>>(),
    /** The first row to buy, until it is announced. All rows wait for that, in their order. */
    first: undefined as { readonly row: SendableRow; announced(): void } | undefined,
    announced: undefined as Promise<void> | undefined,
    /** How many rows wait for the limit. Reading pauses meanwhile, so that no more is reserved for the day than is needed soon. */
    waiting: 0,
    /** Whether the limit is being raised now; whether it can't be raised any more. */
    extending: undefined as Promise<boolean> | undefined,
    isAtLimit: false,
    /** The members of `ListEnd`. */
    counts: { ...noRows },
    cost: { sent: 0, recorded: 0, charged: 'no' as Charged },
    charged: 'no' as Charged,
    flawedLines: [] as Place[],
    hasMore: false,
  };
}

/** Counts the rows for the day on which they are sent: a list may run past midnight. */
function createDay(run: Run, costs: RowCosts, stored: StoredRows) {
  const { clock, zone } = run.buyer.context;
  const { each } = costs;
  let reserved = toCounted(costs);
  let sent = 0;
  let day = dayOf(clock.now(), zone);
  let changing: Promise<void> | undefined;

  /** Sent rows count for the day that is over, the others for the new one. `unsent` rows are recorded and about to be sent. */
  async function change(today: string, unsent: number): Promise<void> {
    await run.end(entry.spent(nothing, stored.sent()));
    const { credits, unknown } = sumOf([reserved, times(each, -sent)]);
    const rest = { credits: Math.max(0, credits), ...(unknown && { unknown }) };
    await run.reserve(rest, unsent === 0 ? undefined : times(each, unsent));
    [reserved, sent, day] = [rest, 0, today];
  }

  return {
    /** Before a row is sent. Throws `credits` where the limit of the new day does not cover the rest, LocalIoError. */
    async begin(unsent: number, isCounted: boolean): Promise<void> {
      const today = dayOf(clock.now(), zone);
      if (today !== day) {
        changing ??= change(today, unsent).finally(() => {
          changing = undefined;
        });
      }
      await changing;
      if (!isCounted) sent++;
    },
    /** Counts more rows than before. */
    async extend(cost: Cost): Promise<void> {
      await run.reserve(cost);
      reserved = sumOf([reserved, cost]);
    },
  };
}

function createChanges() {
  const waiting: (() => void)[] = [];
  return {
    next: (): Promise<void> => new Promise((resolve) => void waiting.push(resolve)),
    tell(): void {
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

/** After a stop, rows after one without a result are not written: the output keeps the order of the input. */
function hasEnded({ inProgress, isRead, items, stop }: Work): boolean {
  return stop.error === undefined ? isRead && items.length === 0 : inProgress.size === 0;
}

/** Reads rows and starts the processing of each. Pauses while too many are in memory or wait to be sent, or one waits for the limit. */
async function readAhead(work: Work): Promise<void> {
  const { changes, items, purchases, rows, stop } = work;
  const most = Math.max(256, 16 * rows.concurrency);
  for await (const row of requestedRows(rows, rows.source.take())) {
    while ((items.length >= most || work.waiting > 0) && stop.error === undefined) await changes.next();
    await purchases.room();
    if (stop.error !== undefined) return;
    if (row.is === 'beyond') {
      work.hasMore = true;
      break;
    }
    const item: Item = { row };
    items.push(item);
    resultOf(work, row).then((result) => {
      item.result = result;
      changes.tell();
    }, stop.because);
  }
  work.isRead = true;
  changes.tell();
}

/** The result of a row: already known, shared with another row that sends the same, or bought. */
async function resultOf(work: Work, row: RequestedRow): Promise<RowResult> {
  const { counts, inProgress, rows } = work;
  if (row.is === 'flawed')
    return { state: 'flawed', charged: 'no', outcome: { failure: { message: row.flaw, charged: 'no' } } };
  if (row.is !== 'sendable') return { state: 'kept', charged: 'no' };
  const { digest } = row;
  const sameNow = inProgress.get(digest);
  if (sameNow !== undefined) {
    counts.duplicates++;
    return await sameNow;
  }
  const known = findKnown(digest, work.known.all, rows);
  if (known?.isFinal) {
    if (known.rows.see(digest)) counts.duplicates++;
    else if (known.state === 'answered') counts.earlier++;
    const result = toResult(rows.kind, await known.rows.endOf(digest));
    if (known.isOwn) work.charged = maxCharged(work.charged, result.charged);
    return result;
  }
  // No await before this: another row may ask for the same.
  const bought = buyWithinLimit(work, row, known).finally(() => inProgress.delete(digest));
  inProgress.set(digest, bought);
  return await bought;
}

async function buyWithinLimit(work: Work, row: SendableRow, known: Known | undefined): Promise<RowResult> {
  await reserve(work, known);
  work.announced ??= new Promise((announced) => {
    work.first = { row, announced };
    work.changes.tell();
  });
  await work.announced;
  const keyBefore = known && (await known.rows.keyOf(row.digest));
  work.cost.sent++;
  let charged: Charged = 'maybe';
  try {
    const result = toResult(work.rows.kind, await work.purchases.buy(row, known, keyBefore));
    charged = result.charged;
    // The service charges a key once, and answers only then.
    if (isCountedBefore(known) && result.state === 'answered') work.cost.recorded++;
    return result;
  } catch (error) {
    if (isUncharged(error)) charged = 'no';
    throw error;
  } finally {
    countCost(work, charged);
  }
}

/** Reserves the cost of a row. If the limit does not cover it, waits for rows that are in progress, which may turn out to cost less. */
async function reserve(work: Work, known: Known | undefined): Promise<void> {
  const { changes, limit: spending, rows, stop } = work;
  if (spending === undefined) return;
  const { credits } = rows.worst;
  // Moves its cost from `spent` back to `reserved`.
  const isCounted = isCountedBefore(known);
  if (isCounted) spending.settle(0, -credits);
  if (spending.reserve(credits) || isCounted) return;
  work.waiting++;
  try {
    while (!spending.reserve(credits)) {
      if (stop.error === undefined && (await extend(work))) continue;
      if (stop.error === undefined && spending.reserved === 0)
        stop.because(toOverLimit(credits, spending, 'the next row'));
      if (stop.error !== undefined) throw stop.error;
      await changes.next();
    }
  } finally {
    work.waiting--;
    changes.tell();
  }
}

/** Raises the limit, once for all rows that wait. Returns false if it can't be raised. */
async function extend(work: Work): Promise<boolean> {
  const { day, limit, rows, run } = work;
  const { buyer } = run;
  if (work.isAtLimit || limit === undefined) return false;
  // Only a limit of the day grows, for an input whose rows could not be counted.
  if (limit === buyer.spending || rows.source.isRepeatable) return false;
  work.extending ??= extendRowLimit(buyer, limit, rows.worst, day.extend).finally(() => {
    work.extending = undefined;
  });
  const isExtended = await work.extending;
  work.isAtLimit ||= !isExtended;
  return isExtended;
}

/** Counts the cost of a row, and releases the rest of its reservation. */
function countCost(work: Work, charged: Charged): void {
  const { changes, cost, isFree, limit, rows } = work;
  if (!isFree) cost.charged = maxCharged(cost.charged, charged);
  work.charged = maxCharged(work.charged, charged);
  limit?.settle(rows.worst.credits, charged === 'no' ? 0 : undefined);
  changes.tell();
}

/** Takes the rows that can be written now: all ended rows before the first that has not ended. */
function takeReady(items: Item[]): Ended[] {
  const open = items.findIndex(({ result }) => result === undefined);
  return items.splice(0, open === -1 ? items.length : open) as Ended[];
}

/** Writes rows and, once they are written, counts them. */
async function* write(
  { counts, flawedLines, isFree, rows, run }: Work,
  items: readonly Ended[],
): Running<void> {
  const ended = items.map(({ row, result }) => ({ ...row, ...result }));
  const records = ended.flatMap(({ row, outcome }) =>
    outcome === undefined ? [row.record ?? '{}'] : rows.toRecords(row, outcome),
  );
  if (records.length > 0) await run.delivery.write(records);
  for (const { row, state, outcome } of ended) {
    counts.done++;
    if (outcome === undefined) counts.kept++;
    const failure = outcome?.failure;
    if (failure === undefined) continue;
    if (state === 'answered') counts.withoutResult++;
    else counts.failed++;
    if (state === 'unknown') counts.unknown++;
    if (state === 'flawed' && ++counts.flawed <= maxLines)
      flawedLines.push({ isRow: row.isRow, line: row.line });
    yield { is: 'row_failed', row, failure: isFree ? { ...failure, charged: 'no' } : failure };
  }
  yield { is: 'rows', counts };
}

/** Pure: the text that is sent for a row. */
function sentIn(kind: ListRows['kind'], { body }: SendableRow): string {
  return stringOf(new JsonView(body).member(kinds[kind].about)) ?? '';
}
