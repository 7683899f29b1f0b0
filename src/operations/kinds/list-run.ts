import { setMaxListeners } from 'node:events';
import { type Charged, LeadpipeError, StoppedError } from '../../errors.ts';
import { LockLostError } from '../../files/folder-lock.ts';
import { JsonView, stringOf } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import type { Running } from '../events.ts';
import { type KnownRows, type StoredRows, toRowId } from '../journal/stored-rows.ts';
import { toOverLimit } from '../money.ts';
import type { AddedRows } from './added-rows.ts';
import { kinds } from './kinds.ts';
import { type ListEnd, noRows, type RowResult, toResult } from './list-outcome.ts';
import { findKnown, type ListRows, type RequestedRow, requestedRows, type SendableRow } from './list-rows.ts';
import { createRowPurchases, type ToClient } from './row-purchase.ts';

/** What is known of a list besides its order. */
interface KnownList {
  /** The keys of the rows are derived from this, the row and its request. */
  readonly keyBase: string;
  readonly stored: StoredRows;
  readonly others: readonly KnownRows[];
  readonly added: AddedRows;
}

interface Item {
  readonly row: RequestedRow;
  result?: RowResult;
}

/** How many lines a sentence can name. */
const maxLines = 5;
/** How long to wait for answers when the run is stopped. */
const graceSeconds = 10;

/**
 * Works through a list. Each row is sent when its intent is on the disk, and written, in the order of the input, when its answer is. Rows
 * that have an answer already are not sent. Never throws because of one row; an error that concerns the whole list is in the result. Throws
 * LocalIoError.
 */
export async function* workThrough(
  buyer: Buyer,
  rows: ListRows,
  { keyBase, stored, others, added }: KnownList,
  delivery: Pick<Delivery, 'write'>,
  toClient: ToClient,
): Running<ListEnd> {
  const { connection, spending } = buyer;
  const { clock, signal } = buyer.context;
  const counts = { ...noRows };
  const cost = { sent: 0, bought: 0, charged: 'no' as Charged };
  const flawedLines: number[] = [];
  const all = [stored, ...others];
  const isFree = connection.origin === 'local';
  const window = Math.max(256, 16 * rows.concurrency);
  const items: Item[] = [];
  const inProgress = new Map<bigint, Promise<RowResult>>();
  const credits = rows.worst.credits ?? 0;
  const late = new AbortController();
  const halt = new AbortController();
  // Each request adds a listener, which is no leak.
  setMaxListeners(0, late.signal, halt.signal);
  let stop: LeadpipeError | undefined;
  /** How many answers are waited for after a stop, until that has been reported. */
  let awaited = 0;
  let isRead = false;
  let hasMore = false;
  /** What is sent for the first row is told before anything is sent. */
  let toTell: SendableRow | undefined;
  let isFirst = true;
  let tell = (): void => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const waiting: (() => void)[] = [];
  /** Resolves when a row, or the list, has changed. */
  const change = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve));
  const changed = (): void => {
    for (const next of waiting.splice(0)) next();
  };
  const stopWith = (error: unknown): void => {
    stop ??=
      error instanceof LeadpipeError ? error : new LeadpipeError('bug', String(error), { cause: error });
    halt.abort();
    // The answers belong to the run that has taken over.
    if (error instanceof LockLostError) late.abort();
    changed();
  };
  const stopped = (): void => {
    // Requests that are in progress are paid for.
    awaited = slots.used;
    stopWith(new StoppedError(signal));
    clock.after(1000 * graceSeconds, () => late.abort(signal.reason));
  };
  const { slots, room, buy } = createRowPurchases(
    buyer,
    rows,
    { keyBase, stored },
    toClient,
    late.signal,
    halt.signal,
    stopWith,
  );
  if (signal.aborted) stopped();
  signal.addEventListener('abort', stopped, { once: true });

  async function settle(row: RequestedRow): Promise<RowResult> {
    if (row.is === 'flawed')
      return { state: 'flawed', outcome: { failure: { message: row.flaw, charged: 'no' } } };
    if (row.is !== 'sendable') return { state: 'kept' };
    const { digest } = row;
    const sameNow = inProgress.get(digest);
    if (sameNow !== undefined) {
      counts.duplicates++;
      return await sameNow;
    }
    const known = findKnown(digest, all);
    if (known?.state === 'answered' || (known?.state === 'unknown' && !rows.retryUnknown)) {
      if (known.rows.see(digest)) counts.duplicates++;
      else if (known.state === 'answered') counts.earlier++;
      return toResult(rows.kind, await known.rows.endOf(digest));
    }
    // No await before this: another row may ask for the same.
    const end = buyReserved(row, known).finally(() => inProgress.delete(digest));
    inProgress.set(digest, end);
    return await end;
  }

  async function buyReserved(row: SendableRow, known: ReturnType<typeof findKnown>): Promise<RowResult> {
    const isOwn = known?.at === 0;
    // Its possible cost is counted already, and stays this row's own.
    if (known?.state === 'sent' && isOwn) {
      spending?.settle(0, -credits);
      spending?.reserve(credits);
    } else await reserve();
    if (isFirst) {
      isFirst = false;
      toTell = row;
      changed();
    }
    await told;
    const isLost = known?.state === 'unknown';
    const before = known && { isOwn, isLost, key: await known.rows.keyOf(row.digest) };
    cost.sent++;
    let charged: Charged = 'no';
    try {
      const result = toResult(rows.kind, await buy(row, before));
      charged = result.outcome.failure?.charged ?? 'yes';
      return result;
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

  /** Reserves the cost of this row. If the limit does not cover it, waits for rows that are in progress, which may turn out to cost less. */
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
    for await (const row of requestedRows(rows, rows.source.take())) {
      while (items.length >= window && stop === undefined) await change();
      await room();
      if (stop !== undefined) return;
      if (row.is === 'beyond') {
        hasMore = true;
        break;
      }
      const item: Item = { row };
      items.push(item);
      settle(row).then((result) => {
        item.result = result;
        changed();
      }, stopWith);
    }
    isRead = true;
    changed();
  }

  async function* write(some: readonly Item[]): Running<void> {
    const ended = some.map(({ row, result }) => ({ ...row, ...(result as RowResult) }));
    const records = ended.flatMap(({ row, digest, state, outcome }) => {
      const made = outcome === undefined ? [row.record ?? '{}'] : rows.toRecords(row, outcome);
      // A row that can't be sent is identified by its content.
      const id = digest ?? toRowId(`${state} ${row.record ?? row.flaw}`);
      const isThere = added.take(id, state === 'answered' || state === 'kept');
      if (isThere) counts.there++;
      return isThere ? [] : made;
    });
    if (records.length > 0) await delivery.write(records);
    for (const { row, state, outcome } of ended) {
      counts.done++;
      if (outcome === undefined) counts.kept++;
      const failure = outcome?.failure;
      if (failure === undefined) continue;
      if (state === 'answered') counts.withoutResult++;
      else counts.failed++;
      if (state === 'unknown') counts.unknown++;
      if (state === 'flawed' && ++counts.flawed <= maxLines) flawedLines.push(row.line);
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
      if (toTell !== undefined) {
        yield { is: 'first_row', row: toTell.row, sends: sentIn(rows.kind, toTell) };
        toTell = undefined;
        tell();
      }
      const ready = canWrite ? takeReady(items) : [];
      if (ready.length > 0) {
        changed();
        // Answers that are in progress are paid for, and so are stored even if they can't be written.
        try {
          yield* write(ready);
        } catch (error) {
          canWrite = false;
          stopWith(error);
        }
      } else if (stop === undefined ? isRead && items.length === 0 : inProgress.size === 0) {
        return { counts, cost, flawedLines, stop, hasMore };
      } else await change();
    }
  } finally {
    signal.removeEventListener('abort', stopped);
  }
}

/** Pure: the text that is sent for a row. */
function sentIn(kind: ListRows['kind'], { body }: SendableRow): string {
  return stringOf(new JsonView(body).member(kinds[kind].about)) ?? '';
}

/** The rows that can be written now: those that have ended, from the first on. */
function takeReady(items: Item[]): Item[] {
  const open = items.findIndex(({ result }) => result === undefined);
  return items.splice(0, open === -1 ? items.length : open);
}
