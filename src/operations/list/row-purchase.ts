import { type Client, requests } from '../../client.ts';
import { wait } from '../../clock.ts';
import { LeadpipeError } from '../../errors.ts';
import type { RequestError } from '../../transport/errors.ts';
import type { Request } from '../../transport/request.ts';
import type { RowEnd, RowIntent, StoredRows } from '../journal/rows.ts';
import { type AnswerKind, type BodyOf, kinds } from '../kinds.ts';
import type { Shop } from '../purchase.ts';
import { isOfRow, keyOf, toFailed } from './row-end.ts';
import { createSlots, type Slots } from './slots.ts';

/** A row that is about to be bought, and what is sent for it. */
export type RowToBuy<Kind extends AnswerKind> = Omit<RowIntent, 'key'> & {
  readonly request: BodyOf<Kind>;
  /** Its answer was lost, and it is bought again with another key. */
  readonly again: boolean;
  /** It may have been sent with this key, by this operation or another of the same run. */
  readonly sentWith: { readonly key: string | undefined; readonly isOwn: boolean } | undefined;
};

/** What the purchases of a list share. */
export interface RowPurchases<Kind extends AnswerKind> {
  readonly kind: Kind;
  /** The most requests at once. */
  readonly concurrency: number;
  /** What the keys of the rows are derived from, beside the row and its request. */
  readonly keyBase: string;
  readonly stored: StoredRows;
  /** Milliseconds that a row may wait for the service to have room for it, all in all. */
  readonly budgetMs: number;
  /** Ends what is under way. */
  readonly late: AbortSignal;
  /** Once it aborts, nothing more is sent. */
  readonly halt: AbortSignal;
  /** Told of what holds for every row, and not for one: nothing more is sent after it. */
  stopWith(error: unknown): void;
}

/** Buys a row. Throws what it has stopped the list with, and why it was not sent. */
export type BuyRow<Kind extends AnswerKind> = (row: RowToBuy<Kind>) => Promise<RowEnd>;

/** How a request ended, and when that survives a power cut. */
interface Ended {
  readonly end: RowEnd;
  readonly kept: Promise<void>;
}

/** How often a row that the service had no room for goes back to the others. */
const mostTurns = 30;
/** Between two turns, where the service does not say how long: the first, and the longest. */
const turnMs = 1000;
const longestTurnMs = 30_000;
/**
 * Rows that have their intents on the disk before there is room for them, so that a free slot waits for the service and not
 * for the disk. As many may look sent after a kill, and were not: whoever goes on with the list sends them with their keys.
 */
const mostAhead = 8;
/** Why a row was not sent. */
const notSent = new LeadpipeError('interrupted', 'not sent', { charged: 'no' });

/** The exact text that is sent. */
export function bodyOf<Kind extends AnswerKind>(kind: Kind, request: BodyOf<Kind>): string {
  const toRequest = requests[kinds[kind].endpoint] as (body: object, key: string) => Request;
  return toRequest(request, '').body ?? '';
}

export function createRowPurchases<Kind extends AnswerKind>(
  { connection, context: { clock, ids, random } }: Pick<Shop, 'connection' | 'context'>,
  { kind, concurrency, keyBase, stored, budgetMs, late, halt, stopWith }: RowPurchases<Kind>,
): { readonly slots: Slots; readonly buy: BuyRow<Kind> } {
  const { endpoint } = kinds[kind];
  const slots = createSlots(clock, concurrency, halt);
  const ahead = createSlots(clock, concurrency + Math.min(concurrency, mostAhead), halt);
  // A row that the service has no room for goes back to the others.
  const client = connection.newClient((error) => error.fault !== 'busy');
  const send = client[endpoint] as (...asked: unknown[]) => ReturnType<Client['enrich']>;
  let answeredAt = Number.NEGATIVE_INFINITY;

  /** Gives how a request ended, once that survives this process, or that the service has no room for it. */
  async function sendInSlot(
    request: BodyOf<Kind>,
    key: string,
    intend: () => Promise<void>,
    settle: (end: RowEnd) => Ended,
  ): Promise<Ended | { readonly busy: RequestError }> {
    await slots.take();
    const since = clock.monotonic();
    try {
      if (halt.aborted) throw notSent;
      await intend();
      const { text, requestId } = await send(request, key, late);
      answeredAt = clock.monotonic();
      return settle({ state: 'answered', answer: text, requestId });
    } catch (error) {
      if (!isOfRow(error)) {
        // Before there is room for the next.
        stopWith(error);
        throw error;
      }
      if (error.fault !== 'busy') return settle(toFailed(error));
      slots.busy(since);
      // Nobody waits an hour without a word: it holds for all rows.
      if ((error.retryAfterMs ?? 0) > budgetMs) stopWith(toLongWait(error, clock.now()));
      return { busy: error };
    } finally {
      slots.free();
    }
  }

  async function buy({ request, again, sentWith, ...row }: RowToBuy<Kind>): Promise<RowEnd> {
    const key = sentWith?.key ?? (again ? ids.idempotencyKey() : keyOf(keyBase, endpoint, row));
    const mayBeSent = sentWith !== undefined;
    let isIntended = sentWith?.isOwn === true;
    const intend = async (): Promise<void> => {
      if (!isIntended) await stored.intend({ ...row, key });
      isIntended = true;
    };
    const settle = (found: RowEnd): Ended => {
      // Refused this time, it may have been charged the first time all the same.
      const end: RowEnd =
        again && found.state === 'failed' ? { ...found, state: 'unknown', charged: 'maybe' } : found;
      const kept = stored.settle(row.digest, row.number, end);
      // Whoever waits for it is told; until then it is in nobody's hands.
      kept.catch(() => undefined);
      return { end, kept };
    };
    const begun = clock.monotonic();
    let waited = 0;
    for (let turn = 1; ; turn++) {
      await ahead.take();
      let ended: Ended | { readonly busy: RequestError };
      try {
        if (halt.aborted) throw notSent;
        // What is known of a row that is bought again holds until it is sent.
        if (!again) await intend();
        ended = await sendInSlot(request, key, intend, settle);
        if ('busy' in ended && halt.aborted) throw notSent;
      } catch (error) {
        stopWith(error);
        const isFree = error instanceof LeadpipeError && error.details.charged === 'no';
        if (isFree && isIntended && !mayBeSent && !again) {
          // So that it does not look as if it may have been charged. Where that can't be written, the reason is known.
          await stored.settle(row.digest, row.number, toFailed(error)).catch(() => undefined);
        }
        throw error;
      } finally {
        ahead.free();
      }
      if ('end' in ended) {
        await ended.kept;
        return ended.end;
      }
      const { busy } = ended;
      const ms = busy.retryAfterMs ?? random() * Math.min(longestTurnMs, turnMs * 2 ** (turn - 1));
      waited += ms;
      if (turn < mostTurns && waited <= budgetMs) {
        await wait(clock, ms, halt);
        continue;
      }
      // Nothing has come for as long: it will be no better for the others.
      if (answeredAt < begun) stopWith(busy);
      const end = toFailed(busy);
      // One that may have been sent before stays one.
      if (!mayBeSent) await settle(end).kept;
      return end;
    }
  }

  return { slots, buy };
}

/** Pure: the service wants to be left alone for longer than any row waits. */
function toLongWait(error: RequestError, now: Date): LeadpipeError {
  const ms = error.retryAfterMs ?? 0;
  const until = new Date(Math.min(now.getTime() + ms, 8.64e15)).toISOString();
  return error.with(
    { facts: { is: 'busy_until', until } },
    `the service has no room for more requests, and asks to wait ${Math.ceil(ms / 1000)} s`,
  );
}
