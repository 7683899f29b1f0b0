import type { EntitySearchRequest } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { Listener } from '../delivery.ts';
import { toDoubtful } from '../journal/failed.ts';
import { type LeadFilter, purchaseForList } from '../only-new/filter.ts';
import { type Order, type PaidRequest, putInPlace } from '../purchase.ts';
import { type SearchEnd, toCutError } from './cut.ts';
import { createKeeping, type Keeping } from './keeping.ts';
import { type SearchSummary, searchEntities } from './stream.ts';

export type SearchOrder = Order<'search'>;

export interface SearchListener extends Listener {
  /** The stream is over, well or not, and its rows are where they belong. */
  ended(end: SearchEnd): void;
}

/** What a search is the rest of. */
export interface GoingOn {
  /** Leads that are here already. */
  readonly brought: readonly JsonText[];
  /** Awaited before anything is sent, with the ID of the new operation. */
  before(operationId: string | undefined): Promise<void>;
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
  goingOn: GoingOn = { brought: [], before: async () => {} },
): Promise<SearchEnd | undefined> {
  return await purchaseForList(buyer, order, listener, goingOn.brought, (paid, filter, body) =>
    streamInto(buyer, body, paid, filter, listener, goingOn),
  );
}

async function streamInto(
  buyer: Buyer,
  request: EntitySearchRequest,
  paid: PaidRequest,
  filter: LeadFilter,
  listener: SearchListener,
  { before }: GoingOn,
): Promise<SearchEnd> {
  const { journal, delivery } = paid;
  const { operationId } = journal;
  const kept = await createKeeping(buyer, journal, delivery, filter, (why) =>
    listener.warn(
      `${why}. The next leads are written, but not stored: they can't be printed again, and later searches may deliver and charge them again`,
    ),
  );
  try {
    await before(operationId);
    // Behind it: whoever goes on with that search has to know why its leads stand under this one too.
    filter.begin();
    const summary = await stream(buyer, request, paid, kept, listener);
    const end = { ...summary, excluded: kept.excluded(), operationId, idempotencyKey: paid.idempotencyKey };
    const length = summary.cut === undefined ? undefined : await delivery.sync().catch(() => undefined);
    const error = summary.cut === undefined ? undefined : toCutError(end, request, await delivery.cut());
    await kept.end(summary, error, length);
    // Whatever is said stands behind the last byte.
    if (error === undefined) {
      await place(paid, end);
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

/** Throws what the output throws, with what is known of the purchase: all of it has arrived. */
async function place({ delivery, journal }: PaidRequest, end: SearchEnd): Promise<void> {
  const { leads, operationId, idempotencyKey, requestId } = end;
  try {
    await putInPlace(journal, delivery);
  } catch (error) {
    if (!(error instanceof LeadpipeError)) throw error;
    throw error.with({
      charged: leads > 0 ? 'yes' : 'maybe',
      idempotencyKey,
      facts: { is: 'unplaced', operationId },
      ...error.details,
      ...(requestId === undefined ? {} : { requestId }),
    });
  }
}

async function stream(
  { context }: Buyer,
  request: EntitySearchRequest,
  paid: PaidRequest,
  kept: Keeping,
  listener: Listener,
): Promise<SearchSummary> {
  const { delivery, idempotencyKey } = paid;
  const client = await paid.begin();
  return await listener.during('searching', delivery, ({ write }) =>
    searchEntities(
      client,
      request,
      idempotencyKey,
      async (entities, ids) => {
        // What is dropped has arrived all the same: whether the search is whole is counted in what the service sent.
        const fresh = await kept.keep(entities, ids);
        if (fresh.length > 0) await write(fresh);
        await kept.delivered(fresh.length, ids);
      },
      context,
    ).catch(async (thrown: unknown) => {
      const error = paid.isAgain ? toDoubtful(thrown) : thrown;
      await kept.failed(error);
      throw error;
    }),
  );
}
