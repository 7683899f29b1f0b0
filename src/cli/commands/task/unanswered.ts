import type { Context } from '../../../context.ts';
import type { Order, Shop } from '../../../operations/purchase.ts';
import { findUnanswered } from '../../../operations/task/unanswered.ts';
import { createNotes } from '../../messages/notes.ts';
import type { ConnectionOptions } from '../../options/options.ts';

/** The order with the key of an earlier creation of the same task whose answer was lost, so that it is bought only once. */
export async function withUnansweredKey<Kind extends 'task create' | 'task run'>(
  context: Context,
  options: ConnectionOptions,
  shop: Shop,
  order: Order<Kind>,
): Promise<Order<Kind>> {
  const earlier = await findUnanswered(shop, order as Order<'task create' | 'task run'>);
  if (earlier === undefined) return order;
  const [{ idempotency_key: idempotencyKey }] = earlier.entries;
  createNotes(context, options).say(
    `Asking for the task of ${earlier.operationId} again, with the same idempotency key: its answer was lost. You are not charged twice.`,
  );
  // A run is followed as it was begun, which may have been with other options.
  return order.kind === 'task create' ? { ...order, again: earlier } : { ...order, idempotencyKey };
}
