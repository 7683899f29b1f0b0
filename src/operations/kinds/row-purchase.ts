import { wait } from '../../clock.ts';
import type { PayingClient } from '../../connection/paying-client.ts';
import { digestOf } from '../../digest.ts';
import { isUncharged, type LeadpipeError } from '../../errors.ts';
import type { Fault } from '../../transport/policy.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { WaitListener } from '../../transport/retry.ts';
import type { Buyer } from '../buyer.ts';
import type { RowEnd, StoredRows } from '../journal/stored-rows.ts';
import { kinds } from './kinds.ts';
import { isCountedBefore, type Known, type ListRows, type SendableRow } from './list-rows.ts';
import type { Stop } from './list-stop.ts';
import { createSlots } from './request-slots.ts';
import { lostAnswer } from './row-parts.ts';

export type ToClient = (waits?: WaitListener) => PayingClient;

/** A row that is being bought. */
interface Purchase {
  readonly row: SendableRow;
  readonly key: string;
  /** How it was sent before, by this operation or another one of the same run. */
  readonly known: Known | undefined;
  /** Whether what is sent is on the disk, with its key; and whether this run has sent it. */
  isIntended: boolean;
  isSent: boolean;
  /** Whether attempts of this run without an answer may have been charged. */
  charged: 'no' | 'maybe';
}

/** The result of an attempt: the end of the row, once it is stored, or the refusal of a busy service. */
type Attempt =
  | { readonly end: Promise<RowEnd>; readonly busy?: undefined }
  | { readonly busy: RequestError; readonly end?: undefined };

/** Maximum attempts for a row while the service is busy. */
const maxAttempts = 30;
/** The first and the longest wait between two attempts, where the service does not say how long. */
const pauseMs = 1000;
const longestPauseMs = 30_000;
/**
 * How many rows are stored before there is room to send them, so that a free slot never waits for the disk. After a kill, this many rows may
 * seem to be sent although they were not; the run that resumes the list sends them with their keys.
 */
const maxAhead = 8;

/** Buys rows, with as many requests at once as the order and the service allow, until the list is stopped. */
export function createRowPurchases(
  { connection, context: { clock, random } }: Buyer,
  { budgetMs, concurrency, kind }: ListRows,
  {
    beforeSending,
    keyBase,
    stored,
  }: {
    readonly keyBase: string;
    readonly stored: StoredRows;
    /** Awaited before a row is sent, with the number of rows that are recorded and not sent. `isCounted`: it was sent before. */
    readonly beforeSending: (unsent: number, isCounted: boolean) => Promise<void>;
  },
  toClient: ToClient,
  stop: Stop,
) {
  const { endpoint } = kinds[kind];
  const isFree = connection.origin === 'local';
  const slots = createSlots(clock, concurrency, stop);
  const ahead = createSlots(clock, concurrency + Math.min(concurrency, maxAhead), stop);
  // If the service is busy, a row is retried here and not by the transport.
  const client = toClient((error) => error.fault !== 'busy');
  const send = client[endpoint] as (...asked: unknown[]) => ReturnType<PayingClient['enrich']>;
  let answered = 0;
  /** Rows that are recorded and not sent. */
  let unsent = 0;

  /** Buys a row. Throws the error that stopped the list, or why the row was not sent. */
  async function buy(row: SendableRow, known: Known | undefined, keyBefore?: string): Promise<RowEnd> {
    const first = keyBefore ?? toKey(JSON.stringify([keyBase, endpoint, row.row.number, row.body]));
    // All rows that have lost the same answer get the same new key, so that it is bought again only once.
    const key = isLost(known) ? toKey(first) : first;
    const isIntended = known?.isOwn === true && !isLost(known);
    const purchase: Purchase = { row, key, known, isIntended, isSent: false, charged: 'no' };
    if (isIntended) unsent++;
    const answeredBefore = answered;
    let waited = 0;
    for (let attempt = 1; ; attempt++) {
      const { busy, end } = await attemptOnce(purchase);
      if (busy === undefined) return await end;
      const ms = busy.retryAfterMs ?? random() * Math.min(longestPauseMs, pauseMs * 2 ** (attempt - 1));
      waited += ms;
      const isGivenUp = attempt >= maxAttempts || waited > budgetMs;
      // After a stop, the next attempt throws that the row was not sent.
      if (!isGivenUp || stop.halt.aborted) {
        await wait(clock, ms, stop.halt);
        continue;
      }
      // No row was answered in all that time, so others would not be either.
      if (answered === answeredBefore) stop.because(busy);
      const failed = toFailed(busy, isFree);
      // A row that may have been sent before stays in doubt.
      return isInDoubt(purchase) ? toMaybeCharged(failed) : await settle(purchase, failed);
    }
  }

  /** Sends the row once: when its intent is on the disk, and there is a slot. */
  function attemptOnce(purchase: Purchase): Promise<Attempt> {
    return ahead
      .use(async () => {
        // Until a row that is bought again is sent, its earlier entry stays valid.
        if (!isLost(purchase.known)) await intend(purchase);
        return await slots.use(() => request(purchase));
      })
      .catch(async (error: unknown) => {
        throw await removeFrom(purchase, error);
      });
  }

  async function intend(purchase: Purchase): Promise<void> {
    const { row, digest, body } = purchase.row;
    if (purchase.isIntended) return;
    // It counts as stored from here on, before the disk has confirmed it.
    unsent++;
    await stored.intend(digest, row, purchase.key, body);
    purchase.isIntended = true;
  }

  /** Does not wait until the end is stored, so that the slot is free for the next row. Throws an error that concerns all rows. */
  async function request(purchase: Purchase): Promise<Attempt> {
    if (isLost(purchase.known)) await intend(purchase);
    await beforeSending(unsent, purchase.isSent || isCountedBefore(purchase.known));
    if (!purchase.isSent) unsent--;
    purchase.isSent = true;
    const since = clock.monotonic();
    try {
      const { text, requestId } = await send(purchase.row.request, purchase.key, stop.late);
      answered++;
      return { end: settle(purchase, { state: 'answered', answer: text, requestId }) };
    } catch (error) {
      if (!isOfRow(error)) throw error;
      if (error.fault !== 'busy') return { end: settle(purchase, toFailed(error, isFree)) };
      slots.busy(since);
      // The service accepted an earlier attempt, whose answer was lost.
      if (error.details.charged !== 'no') purchase.charged = 'maybe';
      // A wait that is too long stops the whole list, so that the user is told.
      if ((error.retryAfterMs ?? 0) > budgetMs) stop.because(toLongWait(error, clock.now()));
      return { busy: error };
    }
  }

  /** Stores how the request ended. When this returns, it survives this process; when it resolves, a power cut. */
  async function settle(purchase: Purchase, found: RowEnd): Promise<RowEnd> {
    const { row, digest } = purchase.row;
    const end = isInDoubt(purchase) ? toMaybeCharged(found) : found;
    await stored.settle(digest, row.number, end.state === 'unknown' ? { ...end, key: purchase.key } : end);
    return end;
  }

  /** For a row that was not sent, or that cost nothing. Returns its error, with what earlier attempts may have cost. */
  async function removeFrom(purchase: Purchase, error: unknown): Promise<unknown> {
    if (!isUncharged(error)) return error;
    if (purchase.isIntended && !isInDoubt(purchase)) {
      // Record that it was not charged. If this fails, the next run treats the row as counted.
      await settle(purchase, toFailed(error, isFree)).catch(() => {
        purchase.charged = 'maybe';
      });
    }
    return error.with({ charged: purchase.charged });
  }

  return {
    buy,
    /** Resolves when the next row can be stored, or after a stop. Waiting rows would take memory. */
    room: ahead.room,
    /** How many requests are in progress. */
    pending: slots.used,
  };
}

/** Whether the answer of a row was lost. Such a row is bought again with a new key; a row that may have been sent keeps its key. */
function isLost(known: Known | undefined): boolean {
  return known?.state === 'unknown';
}

/** Whether an earlier attempt may have been charged. */
function isInDoubt({ known, charged }: Purchase): boolean {
  return known !== undefined || charged !== 'no';
}

/** Pure: the end of a row in doubt. A refusal cost nothing, but an earlier attempt may have been charged. */
function toMaybeCharged(end: RowEnd): RowEnd {
  return end.state === 'failed' ? { ...end, state: 'unknown', charged: 'maybe' } : end;
}

/** Pure: the error for a requested wait that is longer than any row may wait. */
function toLongWait(error: RequestError, now: Date): LeadpipeError {
  const ms = error.retryAfterMs ?? 0;
  const until = new Date(now.getTime() + ms).toISOString();
  return error.with(
    { facts: { is: 'busy_until', until } },
    `the service is busy, and asks to wait ${Math.ceil(ms / 1000)} s`,
  );
}

/** Faults that concern all rows: nothing more is sent after them. */
const stoppingFaults: readonly Fault[] = [
  'unsent',
  'not_running',
  'no_memory',
  'proxy_credentials',
  'proxy_refused',
  'certificate',
  'not_http',
  'redirect',
  'unreadable',
  'gateway_refused',
  'unauthenticated',
  'forbidden',
  'no_credits',
  'not_enabled',
  'undocumented',
];

/** Always the same key for the same row of the same list. */
function toKey(text: string): string {
  return `lp-${digestOf(text, 40)}`;
}

/** Whether only this row failed, and the next may succeed. */
function isOfRow(error: unknown): error is RequestError {
  return error instanceof RequestError && !stoppingFaults.includes(error.fault);
}

/** Pure: the end of a request without an answer. `isFree`: the service charges nothing at all. */
function toFailed(error: LeadpipeError, isFree: boolean): RowEnd {
  const { outcome, message, details } = error;
  const { charged = 'maybe', requestId } = details;
  const { answer, body }: Partial<RequestError> = error instanceof RequestError ? error : {};
  if (answer !== undefined) return { state: 'answered', answer, requestId };
  if (charged === 'no' && outcome !== 'unknown')
    return { state: 'failed', outcome, message, requestId, charged };
  // The service has a request with this key, from an earlier run whose answer is not here.
  const mayBe = charged === 'no' ? 'maybe' : charged;
  const cost = mayBe === 'yes' ? ', but the row was charged' : ', and the row may have been charged';
  const lost = `${lostAnswer}${isFree ? '' : cost}`;
  return { state: 'unknown', outcome, message: `${lost}: ${message}`, requestId, charged: mayBe, body };
}
