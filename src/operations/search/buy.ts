import type { EntitySearchRequest } from '../../contract/types.ts';
import type { Listener } from '../delivery.ts';
import { type Deal, type Order, purchase, type Shop } from '../purchase.ts';
import { type SearchEnd, toCutError } from './cut.ts';
import { createKeeping, type Keeping } from './keeping.ts';
import { type SearchSummary, searchEntities } from './stream.ts';

export type SearchOrder = Order<'search'>;

export interface SearchListener extends Listener {
  /** The stream is over, well or not, and its rows are where they belong. */
  ended(end: SearchEnd): void;
}

/**
 * Buys one search, and delivers what it brings as it comes: each lead is stored before it is delivered. Returns undefined
 * after a preview. Throws what ends the search before it begins, and `partial` or `unknown` for one that was cut.
 * `before` is awaited before anything is sent, with the ID of the new operation.
 */
export async function buySearch(
  shop: Shop,
  order: SearchOrder,
  listener: SearchListener,
  before: (operationId: string | undefined) => Promise<void> = async () => {},
): Promise<SearchEnd | undefined> {
  return await purchase(shop, order, listener, async (deal) => {
    const { journal, delivery } = deal;
    const { operationId } = journal;
    const kept = await createKeeping(shop, journal, delivery, (why) =>
      listener.warn(`${why}; what follows can not be shown again`),
    );
    try {
      await before(operationId);
      const summary = await stream(shop, order.body, deal, kept, listener);
      const end = { ...summary, operationId };
      const length = summary.cut === undefined ? undefined : await delivery.sync().catch(() => undefined);
      const error =
        summary.cut === undefined
          ? undefined
          : toCutError(end, order.body, deal.idempotencyKey, await delivery.cut());
      await kept.end(summary, error, length);
      // A reader that went away is told nothing: there may be no one to tell.
      if (error?.outcome !== 'reader_closed') {
        for (const warning of summary.warnings) listener.warn(warning);
        listener.ended(end);
      }
      if (error !== undefined) throw error;
      await delivery.finish();
      return end;
    } finally {
      await kept.close();
    }
  });
}

async function stream(
  { context }: Shop,
  request: EntitySearchRequest,
  deal: Deal,
  kept: Keeping,
  listener: Listener,
): Promise<SearchSummary> {
  const { delivery, idempotencyKey } = deal;
  const client = await deal.begin();
  return await listener.during('searching', delivery, ({ write }) =>
    searchEntities(
      client,
      request,
      idempotencyKey,
      async (entities, ids) => {
        await kept.keep(entities, ids);
        await write(entities);
        await kept.delivered(entities.length, ids);
      },
      context,
    ).catch(async (error: unknown) => {
      await kept.failed(error);
      throw error;
    }),
  );
}
