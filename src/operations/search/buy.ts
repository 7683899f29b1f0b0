import type { EntitySearchRequest } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery, Listener } from '../delivery.ts';
import { toDoubtful } from '../journal/failed.ts';
import { begunAnew, type GoingOn, type LeadFilter, purchaseForList } from '../only-new/filter.ts';
import { type Order, type PaidRequest, putInPlace } from '../purchase.ts';
import { type SearchEnd, toCutError } from './cut.ts';
import { createKeeping } from './keeping.ts';
import { type SearchIds, searchEntities } from './stream.ts';

export type SearchOrder = Order<'search'>;

export interface SearchListener extends Listener {
  /** The stream is over, well or not, and its rows are where they belong. */
  ended(end: SearchEnd): void;
}

/**
 * Buys one search, and delivers what it brings as it comes: each lead is stored, and counts for its list, before it is
 * delivered. Returns undefined after a preview. Throws what ends the search before it begins, and `partial` or `unknown` for
 * one that was cut.
 */
export async function buySearch(
  buyer: Buyer,
  order: SearchOrder,
  listener: SearchListener,
  goingOn: GoingOn = begunAnew,
): Promise<SearchEnd | undefined> {
  return await purchaseForList(buyer, order, listener, goingOn, (paid, filter, body) =>
    streamInto(buyer, body, paid, filter, listener),
  );
}

async function streamInto(
  buyer: Buyer,
  request: EntitySearchRequest,
  paid: PaidRequest,
  filter: LeadFilter,
  listener: SearchListener,
): Promise<SearchEnd> {
  const { journal, delivery, idempotencyKey } = paid;
  const { operationId } = journal;
  const kept = await createKeeping(buyer, journal, delivery, filter, listener.warn);
  try {
    const client = await paid.begin();
    const deliver = (write: Delivery['write']) => async (entities: Records, ids: SearchIds) => {
      // What is dropped has arrived all the same: whether the search is whole is counted in what the service sent.
      const fresh = await kept.keep(entities, ids);
      if (fresh.length > 0) await write(fresh);
      await kept.delivered(fresh.length, ids);
    };
    const summary = await listener
      .during('searching', delivery, ({ write }) =>
        searchEntities(client, request, idempotencyKey, deliver(write), buyer.context),
      )
      .catch(async (thrown: unknown) => {
        const error = paid.isAgain ? toDoubtful(thrown) : thrown;
        await kept.failed(error);
        throw error;
      });
    const end = { ...summary, excluded: kept.excluded(), operationId, idempotencyKey };
    const isWhole = summary.cut === undefined;
    const error = isWhole ? undefined : toCutError(end, request, await delivery.cut());
    await kept.end(summary, error, isWhole ? await delivery.sync().catch(() => undefined) : undefined);
    // Whatever is said stands behind the last byte.
    if (isWhole) {
      await putInPlace(journal, delivery).catch((thrown: unknown) => {
        throw toUnplaced(thrown, end);
      });
      await kept.placed(summary);
    }
    // A reader that went away is told nothing: there may be no one to tell.
    if (error?.outcome !== 'reader_closed') {
      for (const warning of summary.warnings) listener.warn(warning);
      listener.ended(end);
    }
    if (error !== undefined) throw error;
    return end;
  } finally {
    await kept.close();
  }
}

/** What the output has thrown, with what is known of the purchase: all of it has arrived. */
function toUnplaced(error: unknown, { leads, operationId, idempotencyKey, requestId }: SearchEnd): unknown {
  if (!(error instanceof LeadpipeError)) return error;
  return error.with({
    charged: leads > 0 ? 'yes' : 'maybe',
    idempotencyKey,
    facts: { is: 'unplaced', operationId },
    ...error.details,
    ...(requestId === undefined ? {} : { requestId }),
  });
}
