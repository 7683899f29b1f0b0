import { setMaxListeners } from 'node:events';
import { type Charged, LeadpipeError, stoppedBy, UsageError } from '../../errors.ts';
import type { InputRow } from '../../input/rows.ts';
import type { JsonText } from '../../json/text.ts';
import { StoppedError } from '../../transport/errors.ts';
import type { Delivery } from '../delivery.ts';
import { digestOf } from '../journal/digests.ts';
import type { RowEnd, StoredRows } from '../journal/rows.ts';
import type { AnswerKind, BodyOf } from '../kinds.ts';
import type { Shop } from '../purchase.ts';
import { toRowOverLimit, type WorstCase } from '../spending.ts';
import { bodyOf, createRowPurchases, type RowToBuy } from './row-purchase.ts';
import { costOf, type RowFailure, type RowResult, toFailure } from './row-result.ts';

export interface ListWork<Kind extends AnswerKind = AnswerKind> {
  readonly kind: Kind;
  readonly rows: AsyncIterable<InputRow>;
  /** The request of a row. Throws UsageError for a row that can't be sent. */
  toBody(record: JsonText): BodyOf<Kind>;
  /** What is printed of a row. */
  toRecords(row: InputRow, result: RowResult): readonly JsonText[];
  /** Rows of this one of `of` parts alone. */
  readonly shard: { readonly index: number; readonly of: number } | undefined;
  /** The most requests at once. */
  readonly concurrency: number;
  readonly order: 'input' | 'arrival';
  readonly onError: 'continue' | 'stop';
  /** Whether a row whose answer was lost is bought again, with another key. */
  readonly retryUnknown: boolean;
  /** What the keys of the rows are derived from, beside the row and its request. */
  readonly keyBase: string;
  /** What was stored in front of this length stands in the file that rows are added to, and is not written again. */
  readonly writtenBefore: number;
  /** What a row costs at most; it counts only under a limit. */
  readonly worst: WorstCase;
}

export interface ListCounts {
  /** Rows that are written. */
  readonly done: number;
  /** Among them: without an answer. */
  readonly failed: number;
  /** Among the failed: those that may have been charged. */
  readonly unknown: number;
  /** Among the failed: those that can't be sent. */
  readonly flawed: number;
  /** Rows that the service answered without a result. */
  readonly resultless: number;
  /** Rows whose answer was here before this run. */
  readonly earlier: number;
  /** Rows that ask for the same as another one of this run. */
  readonly duplicates: number;
}

/** What this run has sent, whatever earlier ones have. */
export interface ListCost {
  readonly sent: number;
  /** Of the requests that were sent: how many may have been charged. */
  readonly bought: number;
  readonly charged: Charged;
}

export interface ListListener {
  progress(
    counts: Pick<ListCounts, 'done' | 'failed'>,
    slots: { readonly used: number; readonly allowed: number },
  ): void;
  failed(row: InputRow, failure: RowFailure): Promise<void>;
  warn(line: string): void;
}

export interface ListEnd {
  readonly counts: ListCounts;
  readonly cost: ListCost;
  /** The lines of the first rows that can't be sent. */
  readonly flawedLines: readonly number[];
  /** Why it was left before its end. */
  readonly stop: LeadpipeError | undefined;
  /** Whether it was left because of a row that has to be corrected first. */
  readonly isAtFlaw: boolean;
}

interface Item {
  readonly row: InputRow;
  isWritten?: true;
  result?: RowResult;
}

/** Rows that have changed, a line each. */
const mostTold = 20;
/** Lines that can be named in a sentence. */
const mostLines = 5;
/** Requests under way when the run is stopped have this long to bring their answers. */
const graceMs = 600;

/**
 * Works through a list: each row is sent once its intent is on the disk, and written once its answer is. Rows whose request
 * has an answer already are not sent. Never throws for a row; what stops the whole is in the end. Throws LocalIoError.
 */
export async function workThrough<Kind extends AnswerKind>(
  { connection, context, spending }: Shop,
  work: ListWork<Kind>,
  stored: StoredRows,
  delivery: Delivery,
  listener: ListListener,
): Promise<ListEnd> {
  const { clock, signal } = context;
  const counts = { done: 0, failed: 0, unknown: 0, flawed: 0, resultless: 0, earlier: 0, duplicates: 0 };
  const flawedLines: number[] = [];
  /** What is stored behind this is of this run. */
  const begun = stored.length;
  let sent = 0;
  let bought = 0;
  let charged: Charged = 'no';
  let isAtFlaw = false;
  const window = Math.max(256, 16 * work.concurrency);
  const items: Item[] = [];
  const underWay = new Map<bigint, Promise<RowEnd>>();
  const credits = work.worst.credits ?? 0;
  /** Rows that the limit does not cover while others are under way. */
  const short: (() => void)[] = [];
  const late = new AbortController();
  // Each request listens to it, and that is no leak.
  setMaxListeners(0, late.signal);
  let stop: LeadpipeError | undefined;
  let isRead = false;
  let changed = 0;
  let wake = (): void => {};
  let wakeReader = (): void => {};

  const stopWith = (error: unknown): void => {
    stop ??=
      error instanceof LeadpipeError ? error : new LeadpipeError('bug', String(error), { cause: error });
    wake();
    wakeReader();
    for (const next of short.splice(0)) next();
  };
  const stopped = (): void => {
    stopWith(new StoppedError(stoppedBy(signal), 'stopped'));
    clock.after(graceMs, () => late.abort(signal.reason));
  };
  const isStopped = (): boolean => stop !== undefined;
  const { slots, buy } = createRowPurchases(
    { connection, context },
    { ...work, stored, late: late.signal, isStopped, stopWith },
  );
  if (signal.aborted) stopped();
  signal.addEventListener('abort', stopped, { once: true });

  async function settle(item: Item): Promise<RowResult> {
    const { number, line, record, flaw } = item.row;
    if (record === undefined) return { state: 'flawed', message: `line ${line} ${flaw}` };
    let body: BodyOf<Kind>;
    try {
      body = work.toBody(record);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return { state: 'flawed', message: `line ${line}: ${error.message}` };
    }
    const text = bodyOf(work.kind, body);
    const digest = digestOf(text);
    const known = stored.stateOf(digest);
    const sameNow = underWay.get(digest);
    if (sameNow !== undefined || known === 'answered' || (known === 'unknown' && !work.retryUnknown)) {
      if (sameNow === undefined && stored.isBefore(digest, begun)) counts.earlier++;
      else counts.duplicates++;
      if (sameNow === undefined && stored.isBefore(digest, work.writtenBefore)) item.isWritten = true;
      return await (sameNow ?? stored.endOf(digest));
    }
    if (stored.isChanged(number, digest)) tellChanged(number, line);
    // What it may have cost has been counted already.
    if (known === 'sent') spending?.settle(0, -credits);
    const again = known === 'unknown';
    const end = buyReserved({ number, line, digest, body: text, request: body, again });
    underWay.set(digest, end);
    try {
      return await end;
    } finally {
      underWay.delete(digest);
    }
  }

  function tellChanged(number: number, line: number): void {
    if (++changed <= mostTold) {
      listener.warn(`row ${number} (line ${line}) has changed since the earlier run: the new text is bought`);
    } else if (changed === mostTold + 1) {
      listener.warn('more rows have changed since the earlier run');
    }
  }

  async function buyReserved(row: RowToBuy<Kind>): Promise<RowEnd> {
    await reserve();
    let isFree = false;
    try {
      sent++;
      const end = await buy(row);
      isFree = end.state === 'failed';
      count(costOf(work.kind, end));
      return end;
    } catch (error) {
      isFree = error instanceof LeadpipeError && error.details.charged === 'no';
      count(isFree ? 'no' : 'maybe');
      throw error;
    } finally {
      spending?.settle(credits, isFree ? 0 : undefined);
      for (const next of short.splice(0)) next();
    }
  }

  function count(cost: Charged): void {
    if (cost === 'no') return;
    bought++;
    if (charged !== 'yes') charged = cost;
  }

  /** Waits for what is under way, where the limit covers this row only if that costs less than it may. */
  async function reserve(): Promise<void> {
    while (spending !== undefined && !spending.reserve(credits)) {
      if (stop !== undefined) throw stop;
      if (spending.reserved === 0) {
        stopWith(toRowOverLimit(credits, spending));
        throw stop;
      }
      await new Promise<void>((resolve) => {
        short.push(resolve);
      });
    }
  }

  async function read(): Promise<void> {
    for await (const row of work.rows) {
      const { shard } = work;
      if (shard !== undefined && row.number % shard.of !== shard.index % shard.of) continue;
      while (items.length >= window && stop === undefined) {
        await new Promise<void>((resolve) => {
          wakeReader = resolve;
        });
      }
      // Those that can be sent do not wait until all others are read.
      if (items.length > work.concurrency) await new Promise((resolve) => setImmediate(resolve));
      if (stop !== undefined) return;
      const item: Item = { row };
      items.push(item);
      settle(item).then((result) => {
        item.result = result;
        wake();
      }, stopWith);
    }
  }

  async function write(some: readonly Item[]): Promise<void> {
    const records = some.flatMap(({ row, result, isWritten }) => {
      const made = work.toRecords(row, result as RowResult);
      return isWritten ? [] : made;
    });
    if (records.length > 0) await delivery.write(records);
    for (const { row, result } of some) {
      counts.done++;
      const failure = result && toFailure(work.kind, result);
      if (result === undefined || failure === undefined) continue;
      if (result.state === 'answered') counts.resultless++;
      else counts.failed++;
      if (result.state === 'unknown') counts.unknown++;
      if (result.state === 'flawed' && ++counts.flawed <= mostLines) flawedLines.push(row.line);
      await listener.failed(row, failure);
      // One without a result stays as it is: whoever goes on would stop there each time.
      if (work.onError === 'stop' && result.state !== 'answered' && stop === undefined) {
        isAtFlaw = result.state === 'flawed';
        stopWith(
          new LeadpipeError('partial', `row ${row.number}: ${result.message}`, { type: 'row_failed' }),
        );
      }
    }
    listener.progress(counts, slots);
  }

  read().then(
    () => {
      isRead = true;
      wake();
    },
    (error: unknown) => stopWith(error),
  );
  let canWrite = true;
  try {
    for (;;) {
      const ready = canWrite ? takeReady(items, work.order) : [];
      if (ready.length > 0) {
        wakeReader();
        await write(ready).catch((error: unknown) => {
          // What is under way is paid for: its answers are kept, though they can't be written.
          canWrite = false;
          stopWith(error);
        });
      } else if (stop === undefined ? isRead && items.length === 0 : underWay.size === 0) {
        return { counts, cost: { sent, bought, charged }, flawedLines, stop, isAtFlaw };
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal.removeEventListener('abort', stopped);
  }
}

/** Those that can be written now: from the first on, as far as they are done; or all that are. */
function takeReady(items: Item[], order: ListWork['order']): Item[] {
  if (order === 'input') {
    const open = items.findIndex(({ result }) => result === undefined);
    return items.splice(0, open === -1 ? items.length : open);
  }
  const ready = items.filter(({ result }) => result !== undefined);
  if (ready.length > 0) items.splice(0, items.length, ...items.filter(({ result }) => result === undefined));
  return ready;
}
