import type { OpenDelivery } from '../delivery.ts';
import { withNewJournal } from '../journal/journal.ts';
import { toListed, withSieve } from '../only-new/sieve.ts';
import { type Order, type OutputTerms, purchase, type Shop, toIntent, withIntent } from '../purchase.ts';
import { createTask } from './create.ts';
import type { TaskReading } from './end.ts';
import { followInto, type ReadTerms, type TaskListener } from './reading.ts';

/** Buys a task and follows it to its end; undefined after a preview. Throws as `followInto`. */
export async function runTask(
  shop: Shop,
  given: Order<'task run'>,
  terms: ReadTerms,
  listener: TaskListener,
): Promise<TaskReading | undefined> {
  const { order, list } = await toListed(shop, given, listener.warn);
  if (list.size !== undefined) listener.leavesOut?.(list.name, list.size);
  return await purchase(shop, order, listener, ({ begin, idempotencyKey, journal, delivery }) =>
    withSieve(shop, list, journal, async (sieve) => {
      const client = await begin();
      const run = { shop, client, terms, delivery, journal, sieve, listener };
      return await followInto(run, 'creating', async () => {
        const created = await createTask(client, order.body, idempotencyKey, journal, shop.context.signal);
        return {
          leadsSearchId: created.value.leads_search_id,
          start: 0,
          from: 0,
          created: { requestId: created.requestId, idempotencyKey, at: shop.context.clock.monotonic() },
        };
      });
    }),
  );
}

/**
 * Follows a task that is there, from the position `pts`: it costs nothing, and a record of it is kept where that can be.
 * Throws as `followInto`.
 */
export async function waitForTask(
  shop: Shop,
  task: { readonly leadsSearchId: string; readonly pts: number },
  to: { readonly terms: OutputTerms; readonly open: OpenDelivery },
  terms: ReadTerms,
  listener: TaskListener,
): Promise<TaskReading> {
  const { leadsSearchId, pts } = task;
  return await withNewJournal(shop.context, { unkept: listener.warn }, (journal) => {
    const intent = { ...toIntent(shop, journal, 'task wait', to.terms), leads_search_id: leadsSearchId };
    return withIntent(shop, journal, intent, to.open, async (delivery, begun) => {
      await begun();
      const { client } = shop.connection;
      return await followInto({ shop, client, terms, delivery, journal, listener }, 'waiting', async () => ({
        leadsSearchId,
        start: pts,
        from: pts,
      }));
    });
  });
}
