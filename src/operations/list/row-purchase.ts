import { type Client, requests } from '../../client.ts';
import { wait } from '../../clock.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Request } from '../../transport/request.ts';
import type { RowEnd, RowIntent, StoredRows } from '../journal/rows.ts';
import { type AnswerKind, type BodyOf, kinds } from '../kinds.ts';
import type { Shop } from '../purchase.ts';
import { isOfRow, keyOf, toFailed } from './row-request.ts';
import { createSlots, type Slots } from './slots.ts';

/** A row that is about to be bought, and what is sent for it. */
export type RowToBuy<Kind extends AnswerKind> = Omit<RowIntent, 'key'> & {
  readonly request: BodyOf<Kind>;
  /** Its answer was lost, and it is bought again with another key. */
  readonly again: boolean;
};

/** What the purchases of a list share. */
export interface RowPurchases<Kind extends AnswerKind> {
  readonly kind: Kind;
  /** The most requests at once. */
  readonly concurrency: number;
  /** What the keys of the rows are derived from, beside the row and its request. */
  readonly keyBase: string;
  readonly stored: StoredRows;
  /** Ends what is under way. */
  readonly late: AbortSignal;
  /** Whether nothing more is sent. */
  isStopped(): boolean;
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
/** Between two turns, where the service does not say how long. */
const turnMs = 500;
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
  { connection, context: { clock, ids, random, signal } }: Pick<Shop, 'connection' | 'context'>,
  { kind, concurrency, keyBase, stored, late, isStopped, stopWith }: RowPurchases<Kind>,
): { readonly slots: Slots; readonly buy: BuyRow<Kind> } {
  const { endpoint } = kinds[kind];
  const slots = createSlots(clock, concurrency);
  const ahead = createSlots(clock, concurrency + Math.min(concurrency, mostAhead));
  // A row that the service has no room for goes back to the others.
  const client = connection.newClient((error) => error.fault !== 'busy');
  const send = client[endpoint] as (...asked: unknown[]) => ReturnType<Client['enrich']>;

  /**
   * Gives how a request ended, once that survives this process, or how many milliseconds its row should wait for the service
   * to have room for it.
   */
  async function sendInSlot(
    request: BodyOf<Kind>,
    key: string,
    isLast: boolean,
    intend: () => Promise<void>,
    settle: (end: RowEnd) => Ended,
  ): Promise<Ended | number> {
    await slots.take();
    const since = clock.monotonic();
    try {
      if (isStopped()) throw notSent;
      await intend();
      const { text, requestId } = await send(request, key, late);
      return settle({ state: 'answered', answer: text, requestId });
    } catch (error) {
      if (!isOfRow(error)) {
        // Before there is room for the next.
        stopWith(error);
        throw error;
      }
      if (error.fault !== 'busy') return settle(toFailed(error));
      slots.busy(since);
      return isLast ? settle(toFailed(error)) : (error.retryAfterMs ?? random() * turnMs);
    } finally {
      slots.free();
    }
  }

  async function buy({ request, again, ...row }: RowToBuy<Kind>): Promise<RowEnd> {
    const earlier = await stored.keyOf(row.digest);
    const key = earlier ?? (again ? ids.idempotencyKey() : keyOf(keyBase, endpoint, row));
    let isIntended = earlier !== undefined;
    const intend = async (): Promise<void> => {
      if (!isIntended) await stored.intend({ ...row, key });
      isIntended = true;
    };
    const settle = (end: RowEnd): Ended => {
      const kept = stored.settle(row.digest, row.number, end);
      // Whoever waits for it is told; until then it is in nobody's hands.
      kept.catch(() => undefined);
      return { end, kept };
    };
    for (let turn = 1; ; turn++) {
      await ahead.take();
      let ended: Ended | number;
      try {
        if (isStopped()) throw notSent;
        // What is known of a row that is bought again holds until it is sent.
        if (!again) await intend();
        ended = await sendInSlot(request, key, turn === mostTurns, intend, settle);
      } catch (error) {
        stopWith(error);
        const isFree = error instanceof LeadpipeError && error.details.charged === 'no';
        if (isFree && isIntended && earlier === undefined && !again) {
          // So that it does not look as if it may have been charged. Where that can't be written, the reason is known.
          await stored.settle(row.digest, row.number, toFailed(error)).catch(() => undefined);
        }
        throw error;
      } finally {
        ahead.free();
      }
      if (typeof ended !== 'number') {
        await ended.kept;
        return ended.end;
      }
      await wait(clock, ended, signal);
    }
  }

  return { slots, buy };
}
