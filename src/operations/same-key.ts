import { requests } from '../client.ts';
import { isLocked } from '../files/folder-lock.ts';
import { folderOf, readOperations, type StoredOperation } from './journal/journal.ts';
import { kinds } from './kinds.ts';
import { isSameBuyer, type Order, type Shop } from './purchase.ts';

/**
 * The order as the purchase that it repeats: the same request with the same key, sent before, and nobody knows what came of
 * it. Else the order as it is. What can't be read is no reason to stop. Throws LocalIoError.
 */
export async function withSameKey<Wanted extends Order>(shop: Shop, order: Wanted): Promise<Wanted> {
  const { body, idempotencyKey, keep, kind, preview, terms } = order;
  if (!keep || preview !== undefined || idempotencyKey === undefined) return order;
  const { state } = shop.context.directories;
  const { operations } = await readOperations(state);
  const toRequest = requests[kinds[kind].endpoint] as (body: object, key: string) => { body?: string };
  const wanted = toRequest(body, '').body;
  const again = operations.findLast((operation) => {
    const [intent] = operation.entries;
    return (
      intent.command === kind &&
      intent.idempotency_key === idempotencyKey &&
      intent.body === wanted &&
      intent.output === terms.output &&
      isInDoubt(operation) &&
      isSameBuyer(shop, operation) &&
      !isLocked(folderOf(state, operation.operationId))
    );
  });
  return again === undefined ? order : { ...order, again };
}

function isInDoubt({ entries }: StoredOperation): boolean {
  const types = entries.map(({ type }) => type);
  return types.includes('sent') && !types.includes('terminal');
}
