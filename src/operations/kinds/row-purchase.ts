import { type Clock, toMinutes, wait, type Zone } from '../../clock.ts';
import type { PayingClient } from '../../connection/paying-client.ts';
import { digestOf } from '../../digest.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Fault } from '../../transport/policy.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { WaitListener } from '../../transport/retry.ts';
import type { Buyer } from '../buyer.ts';
import type { RowEnd, StoredRows } from '../journal/stored-rows.ts';
import { kinds } from './kinds.ts';
import type { ListRows, SendableRow } from './list-rows.ts';

export type ToClient = (waits?: WaitListener) => PayingClient;

/** How a row was sent before, by this operation or another one of the same run. */
interface SentBefore {
  readonly isOwn: boolean;
  /** Its answer was lost, and it is bought again with another key. Otherwise it may have been sent, and is sent again with the same key. */
  readonly isLost: boolean;
  readonly key: string;
}

/** How often a row can be put back because the service had no room for it. */
const maxAttempts = 30;
/** The first and the longest wait between two attempts, where the service does not say how long. */
const pauseMs = 1000;
const longestPauseMs = 30_000;
/**
 * How many rows are stored before there is room to send them, so that a free slot never waits for the disk. After a kill, this many rows may
 * seem to be sent although they were not; the run that resumes the list sends them with their keys.
 */
const maxAhead = 8;
const notSent = new LeadpipeError('interrupted', 'not sent', { charged: 'no' });

/**
 * `late` ends the requests that are in progress. After `halt`, nothing more is sent. `stopWith` is called with an error that concerns all
 * rows; nothing more is sent after it.
 */
export function createRowPurchases(
  { connection, context: { clock, random, zone } }: Buyer,
  { budgetMs, concurrency, kind }: ListRows,
  { keyBase, stored }: { readonly keyBase: string; readonly stored: StoredRows },
  toClient: ToClient,
  late: AbortSignal,
  halt: AbortSignal,
  stopWith: (error: unknown) => void,
) {
  const { endpoint } = kinds[kind];
  const isFree = connection.origin === 'local';
  const slots = createSlots(clock, concurrency, halt);
  const ahead = createSlots(clock, concurrency + Math.min(concurrency, maxAhead), halt);
  // A row that the service has no room for is put back, and tried later.
  const client = toClient((error) => error.fault !== 'busy');
  const send = client[endpoint] as (...asked: unknown[]) => ReturnType<PayingClient['enrich']>;
  let answered = 0;

  /** Buys a row. Throws what it has stopped the list with, and why the row was not sent. */
  async function buy(
    { row: { number, line }, request, body, digest }: SendableRow,
    before: SentBefore | undefined,
  ): Promise<RowEnd> {
    const again = before?.isLost === true;
    const first = before?.key ?? toKey(JSON.stringify([keyBase, endpoint, number, body]));
    // All rows that have lost the same answer get the same new key, so that it is bought again only once.
    const key = again ? toKey(first) : first;
    let isIntended = before?.isOwn === true && !again;
    /** What the attempts of this run may have cost that brought no answer. */
    let charged: 'no' | 'maybe' = 'no';
    const isInDoubt = (): boolean => before !== undefined || charged !== 'no';
    // This refusal cost nothing, but an earlier attempt may have been charged.
    const inDoubt = (end: RowEnd): RowEnd =>
      isInDoubt() && end.state === 'failed' ? { ...end, state: 'unknown', charged: 'maybe' } : end;
    const intend = async (): Promise<void> => {
      if (!isIntended) await stored.intend(digest, { number, line }, key, body);
      isIntended = true;
    };
    /** Stores how the request ended. When this returns, it survives this process; when it resolves, a power cut. */
    const settle = async (found: RowEnd): Promise<RowEnd> => {
      const end = inDoubt(found);
      await stored.settle(digest, number, end.state === 'unknown' ? { ...end, key } : end);
      return end;
    };
    const answeredBefore = answered;
    let waited = 0;
    for (let attempt = 1; ; attempt++) {
      let ended: Promise<RowEnd> | undefined;
      let busy: RequestError | undefined;
      await ahead.take();
      try {
        if (halt.aborted) throw notSent;
        // For a row that is bought again, the earlier entry stays valid until it is sent.
        if (!again) await intend();
        await slots.take();
        const since = clock.monotonic();
        try {
          if (halt.aborted) throw notSent;
          await intend();
          const { text, requestId } = await send(request, key, late);
          answered++;
          ended = settle({ state: 'answered', answer: text, requestId });
        } catch (error) {
          if (!isOfRow(error)) {
            // Before there is room for the next row.
            stopWith(error);
            throw error;
          }
          if (error.fault === 'busy') {
            busy = error;
            slots.busy(since);
            // No one waits an hour without being told, and it concerns all rows.
            if ((error.retryAfterMs ?? 0) > budgetMs) stopWith(toLongWait(error, clock.now(), zone));
          } else ended = settle(toFailed(error, isFree));
        } finally {
          slots.free();
        }
        // The service accepted an earlier attempt, whose answer was lost.
        if (busy !== undefined && busy.details.charged !== 'no') charged = 'maybe';
        if (busy !== undefined && halt.aborted) throw notSent;
      } catch (error) {
        stopWith(error);
        if (!(error instanceof LeadpipeError) || error.details.charged !== 'no') throw error;
        if (isIntended && !isInDoubt()) {
          // So that it does not seem to be charged. Where this can't be written, the next run sends it as one that has been counted.
          await stored.settle(digest, number, toFailed(error, isFree)).catch(() => {
            charged = 'maybe';
          });
        }
        throw error.with({ charged });
      } finally {
        ahead.free();
      }
      if (busy === undefined) return await (ended as Promise<RowEnd>);
      const ms = busy.retryAfterMs ?? random() * Math.min(longestPauseMs, pauseMs * 2 ** (attempt - 1));
      waited += ms;
      if (attempt < maxAttempts && waited <= budgetMs) {
        await wait(clock, ms, halt);
        continue;
      }
      // No row was answered in all that time, so others would not be either.
      if (answered === answeredBefore) stopWith(busy);
      const end = toFailed(busy, isFree);
      // A row that may have been sent before stays in doubt.
      return isInDoubt() ? inDoubt(end) : await settle(end);
    }
  }

  /** Resolves when the next row can be stored, or when nothing more is sent: rows that wait take memory. */
  async function room(): Promise<void> {
    await ahead.take();
    ahead.free();
  }

  return { slots, room, buy };
}

/** Pure: the error of a service that asks for a longer wait than any row may have. */
function toLongWait(error: RequestError, now: Date, zone: Zone): LeadpipeError {
  const ms = error.retryAfterMs ?? 0;
  const until = toMinutes(new Date(now.getTime() + ms), zone);
  return error.with(
    { facts: { is: 'busy_until', until } },
    `the service has no room for more requests, and asks to wait ${Math.ceil(ms / 1000)} s`,
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
  const cost = mayBe === 'yes' ? ', but is charged' : ', and may be charged';
  const lost = `its answer was lost${isFree ? '' : cost}`;
  return { state: 'unknown', outcome, message: `${lost}: ${message}`, requestId, charged: mayBe, body };
}

/** After this many milliseconds without a refusal, one more request is allowed. */
const quietMs = 2000;

/**
 * How many requests may be in progress at once. `max` was asked for, and is never exceeded. The number is halved by a refusal, and then
 * grows by one at a time.
 */
function createSlots(clock: Clock, max: number, halt: AbortSignal) {
  const waiting: (() => void)[] = [];
  let allowed = max;
  let used = 0;
  let changed = clock.monotonic();

  function admit(): void {
    if (allowed < max && clock.monotonic() - changed >= quietMs) {
      allowed++;
      changed = clock.monotonic();
    }
    while ((used < allowed || halt.aborted) && waiting.length > 0) {
      used++;
      waiting.shift()?.();
    }
  }

  halt.addEventListener('abort', admit);
  return {
    /** Resolves when there is room, which the caller must free, or when nothing more is sent. */
    take: () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        admit();
      }),
    free(): void {
      used--;
      admit();
    },
    /** The service had too many requests at once, and refused one that began at this time (monotonic). */
    busy(since: number): void {
      // Requests that were sent before the last change say nothing about it.
      if (since < changed && allowed < max) return;
      allowed = Math.max(1, Math.floor(allowed / 2));
      changed = clock.monotonic();
    },
    get used() {
      return used;
    },
  };
}
