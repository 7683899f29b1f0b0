import { setMaxListeners } from 'node:events';
import { type Charged, LeadpipeError, StoppedError } from '../../errors.ts';
import type { InputRow } from '../../requests/rows.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import type { Earlier } from '../earlier.ts';
import type { Running } from '../events.ts';
import { digestOf, type KnownRows, type RowEnd, type StoredRows } from '../journal/rows.ts';
import type { StoredOperation } from '../journal/stored.ts';
import { toOverLimit } from '../limit-errors.ts';
import type { AddedRows } from './added-rows.ts';
import { type AskedRow, askedRows, findKnown, type ListOrder, type SendableRow } from './order.ts';
import {
  type ListCounts,
  type ListEnd,
  noRows,
  type RowFailure,
  type RowResult,
  toOutcome,
} from './outcome.ts';
import { createRowPurchases } from './row-purchase.ts';

/** What happens while a list is worked through, for whoever runs it to show. */
export type ListEvent =
  /** An unfinished run of the same list is gone on with; the rest can cost so many credits, where that is known. */
  | { readonly is: 'resuming'; readonly operation: StoredOperation; readonly credits: number | undefined }
  /** It is bought, and something is known of earlier runs. */
  | { readonly is: 'earlier'; readonly found: Extract<Earlier, { is: 'new' }> }
  | { readonly is: 'row_failed'; readonly row: InputRow; readonly failure: RowFailure }
  /** So many rows are done by now. */
  | { readonly is: 'rows'; readonly counts: Pick<ListCounts, 'done' | 'failed'> }
  /** It was stopped, and waits up to `seconds` for so many answers that are under way. */
  | { readonly is: 'stopping'; readonly answers: number; readonly seconds: number };

/** What is known of a list beside its order. */
interface KnownList {
  /** What the keys of the rows are derived from, beside the row and its request. */
  readonly keyBase: string;
  readonly stored: StoredRows;
  readonly others: readonly KnownRows[];
  readonly added: AddedRows;
}

interface Item {
  readonly asked: AskedRow;
  result?: RowResult;
}

/** Lines that can be named in a sentence. */
const mostLines = 5;
/** Requests under way when the run is stopped have this long to bring their answers. */
const graceSeconds = 10;

/**
 * Works through a list: each row is sent once its intent is on the disk, and written, in the order of the input, once its answer
 * is. Rows whose request has an answer already are not sent. Never throws for a row; what stops the whole is in the end. Throws
 * LocalIoError.
 */
export async function* workThrough(
  buyer: Buyer,
  order: ListOrder,
  { keyBase, stored, others, added }: KnownList,
  delivery: Pick<Delivery, 'write'>,
): Running<ListEnd, ListEvent> {
  const { connection, spending } = buyer;
  const { clock, signal } = buyer.context;
  const counts = { ...noRows };
  const cost = { sent: 0, bought: 0, charged: 'no' as Charged };
  const flawedLines: number[] = [];
  const all = [stored, ...others];
  const isFree = connection.origin === 'local';
  const window = Math.max(256, 16 * order.concurrency);
  const items: Item[] = [];
  const underWay = new Map<bigint, Promise<RowEnd>>();
  const credits = order.worst.credits ?? 0;
  const late = new AbortController();
  const halt = new AbortController();
  // Each request listens to them, and that is no leak.
  setMaxListeners(0, late.signal, halt.signal);
  let stop: LeadpipeError | undefined;
  /** Answers that are waited for since it was stopped, until that is told. */
  let awaited = 0;
  let isRead = false;
  const waiting: (() => void)[] = [];
  /** Resolves when something has become of a row, or of all. */
  const change = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve));
  const changed = (): void => {
    for (const next of waiting.splice(0)) next();
  };
  const stopWith = (error: unknown): void => {
    stop ??=
      error instanceof LeadpipeError ? error : new LeadpipeError('bug', String(error), { cause: error });
    halt.abort();
    changed();
  };
  const stopped = (): void => {
    // What is under way is paid for.
    awaited = slots.used;
    stopWith(new StoppedError(signal));
    clock.after(1000 * graceSeconds, () => late.abort(signal.reason));
  };
  const { slots, buy } = createRowPurchases(
    buyer,
    order,
    { keyBase, stored },
    late.signal,
    halt.signal,
    stopWith,
  );
  if (signal.aborted) stopped();
  signal.addEventListener('abort', stopped, { once: true });

  async function settle(asked: AskedRow): Promise<RowResult> {
    if (asked.digest === undefined) return { state: 'flawed', message: asked.flaw };
    const { digest } = asked;
    const sameNow = underWay.get(digest);
    if (sameNow !== undefined) {
      counts.duplicates++;
      return await sameNow;
    }
    const known = findKnown(digest, all);
    if (known?.state === 'answered' || (known?.state === 'unknown' && !order.retryUnknown)) {
      if (known.rows.see(digest)) counts.duplicates++;
      else if (known.state === 'answered') counts.earlier++;
      return await known.rows.endOf(digest);
    }
    // Other rows may ask for the same: until here nothing was waited for.
    const end = buyReserved(asked, known).finally(() => underWay.delete(digest));
    underWay.set(digest, end);
    return await end;
  }

  async function buyReserved(row: SendableRow, known: ReturnType<typeof findKnown>): Promise<RowEnd> {
    const isOwn = known?.rows === stored;
    // What it may have cost has been counted already.
    if (known?.state === 'sent' && isOwn) spending?.settle(0, -credits);
    const isLost = known?.state === 'unknown';
    const before = known && { isOwn, isLost, key: await known.rows.keyOf(row.digest) };
    await reserve();
    cost.sent++;
    let charged: Charged = 'no';
    try {
      const end = await buy(row, before);
      charged = toOutcome(order.kind, end).failure?.charged ?? 'yes';
      return end;
    } catch (error) {
      if (!(error instanceof LeadpipeError && error.details.charged === 'no')) charged = 'maybe';
      throw error;
    } finally {
      if (charged !== 'no') cost.bought++;
      if (charged !== 'no' && cost.charged !== 'yes' && !isFree) cost.charged = charged;
      spending?.settle(credits, charged === 'no' ? 0 : undefined);
      changed();
    }
  }

  /** Waits for what is under way, where the limit covers this row only if that costs less than it may. */
  async function reserve(): Promise<void> {
    while (spending !== undefined && !spending.reserve(credits)) {
      if (stop !== undefined) throw stop;
      if (spending.reserved === 0) {
        stopWith(toOverLimit(credits, spending, 'the next row'));
        throw stop;
      }
      await change();
    }
  }

  async function read(): Promise<void> {
    for await (const asked of askedRows(order, order.rows.take())) {
      while (items.length >= window && stop === undefined) await change();
      // Those that can be sent do not wait until all others are read.
      if (items.length > order.concurrency) await new Promise((resolve) => setImmediate(resolve));
      if (stop !== undefined) return;
      const item: Item = { asked };
      items.push(item);
      settle(asked).then((result) => {
        item.result = result;
        changed();
      }, stopWith);
    }
    isRead = true;
    changed();
  }

  async function* write(some: readonly Item[]): Running<void, ListEvent> {
    const ended = some.map(({ asked, result }) => {
      const known = result as RowResult;
      return { ...asked, state: known.state, outcome: toOutcome(order.kind, known) };
    });
    const records = ended.flatMap(({ row, digest, state, outcome }) => {
      const made = order.toRecords(row, outcome);
      // One that can't be sent is known by what it is.
      const id = digest ?? digestOf(`flawed ${row.record ?? row.flaw}`);
      const isThere = added.take(id, state === 'answered');
      if (isThere) counts.there++;
      return isThere ? [] : made;
    });
    if (records.length > 0) await delivery.write(records);
    for (const { row, state, outcome } of ended) {
      counts.done++;
      const { failure } = outcome;
      if (failure === undefined) continue;
      if (state === 'answered') counts.resultless++;
      else counts.failed++;
      if (state === 'unknown') counts.unknown++;
      if (state === 'flawed' && ++counts.flawed <= mostLines) flawedLines.push(row.line);
      yield { is: 'row_failed', row, failure: isFree ? { ...failure, charged: 'no' } : failure };
    }
    yield { is: 'rows', counts };
  }

  read().catch(stopWith);
  let canWrite = true;
  try {
    for (;;) {
      if (awaited > 0) yield { is: 'stopping', answers: awaited, seconds: graceSeconds };
      awaited = 0;
      const ready = canWrite ? takeReady(items) : [];
      if (ready.length > 0) {
        changed();
        // What is under way is paid for: its answers are kept, though they can't be written.
        try {
          yield* write(ready);
        } catch (error) {
          canWrite = false;
          stopWith(error);
        }
      } else if (stop === undefined ? isRead && items.length === 0 : underWay.size === 0) {
        return { counts, cost, flawedLines, stop };
      } else await change();
    }
  } finally {
    signal.removeEventListener('abort', stopped);
  }
}

/** Those that can be written now: from the first on, as far as they are done. */
function takeReady(items: Item[]): Item[] {
  const open = items.findIndex(({ result }) => result === undefined);
  return items.splice(0, open === -1 ? items.length : open);
}
