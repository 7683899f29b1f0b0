import type { EntitySearchRequest } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { OpenDelivery } from '../delivery.ts';
import { type Running, warningsOf } from '../events.ts';
import { toDoubtful } from '../journal/failed.ts';
import {
  begunAnew,
  type GoingOn,
  type LeadFilter,
  type Listed,
  purchaseForList,
} from '../only-new/filter.ts';
import { type Order, type PaidRequest, putInPlace } from '../purchase.ts';
import { type SearchEnd, toCutError } from './cut.ts';
import { createKeeping } from './keeping.ts';
import { type SearchIds, type SearchSummary, searchEntities } from './stream.ts';

export type SearchOrder = Order<'search'>;

export type BoughtSearch = SearchEnd & Listed;

/**
 * Buys one search, and delivers what it brings as it comes: each lead is stored, and counts for its list, before it is
 * delivered. Returns undefined after a preview. Throws what ends the search before it begins, and `partial` or `unknown` for
 * one that was cut.
 */
export async function* buySearch(
  buyer: Buyer,
  order: SearchOrder,
  open: OpenDelivery,
  goingOn: GoingOn = begunAnew,
): Running<BoughtSearch | undefined> {
  return yield* purchaseForList(buyer, order, open, goingOn, (paid, filter, body) =>
    streamInto(buyer, body, paid, filter),
  );
}

async function* streamInto(
  buyer: Buyer,
  request: EntitySearchRequest,
  paid: PaidRequest,
  filter: LeadFilter,
): Running<SearchEnd> {
  const { journal, delivery, idempotencyKey } = paid;
  const { operationId } = journal;
  const warnings: string[] = [];
  const kept = await createKeeping(buyer, journal, delivery, filter, warnings);
  async function* deliver(entities: Records, ids: SearchIds): Running<void> {
    // What is dropped has arrived all the same: whether the search is whole is counted in what the service sent.
    const fresh = await kept.keep(entities, ids);
    yield* warningsOf(warnings);
    if (fresh.length > 0) await delivery.write(fresh);
    yield { is: 'delivered', records: fresh.length };
    await kept.delivered(fresh.length, ids);
  }
  try {
    const client = yield* paid.begin();
    yield { is: 'stage', stage: 'searching' };
    let summary: SearchSummary;
    try {
      summary = yield* searchEntities(client, request, idempotencyKey, deliver, buyer.context);
    } catch (thrown) {
      const error = paid.isAgain ? toDoubtful(thrown) : thrown;
      await kept.failed(error);
      throw error;
    }
    const isStored = await kept.sync();
    const end = { ...summary, excluded: kept.excluded(), isStored, operationId, idempotencyKey };
    const isWhole = summary.cut === undefined;
    const error = isWhole ? undefined : toCutError(end, request, await delivery.cut());
    await kept.end(summary, error, isWhole ? await delivery.sync().catch(() => undefined) : undefined);
    // Whatever is said stands behind the last byte.
    if (isWhole) {
      try {
        await putInPlace(journal, delivery);
      } catch (thrown) {
        yield* warningsOf(warnings);
        throw toUnplaced(thrown, end);
      }
      await kept.placed(summary);
    }
    // A reader that went away is told nothing: there may be no one to tell.
    if (error?.outcome !== 'reader_closed') {
      yield* warningsOf([...warnings, ...summary.warnings]);
      yield { is: 'ended', arrived: end };
    }
    if (error !== undefined) throw error;
    return end;
  } finally {
    await kept.close();
  }
}

/** What the output has thrown, with what is known of the purchase: all of it has arrived. */
function toUnplaced(
  error: unknown,
  { isStored, leads, operationId, idempotencyKey, requestId }: SearchEnd,
): unknown {
  if (!(error instanceof LeadpipeError)) return error;
  return error.with({
    charged: leads > 0 ? 'yes' : 'maybe',
    idempotencyKey,
    facts: { is: 'unplaced', operationId, isStored },
    ...error.details,
    ...(requestId === undefined ? {} : { requestId }),
  });
}
