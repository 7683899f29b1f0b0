import type { EntitySearchRequest } from '../contract/types.ts';
import type { Buyer } from './buyer.ts';
import type { Asking, Earlier, Wanted } from './earlier.ts';
import { digestOf } from './journal/index-lines.ts';
import { openIndex } from './journal/operation-index.ts';
import { type PaidKind, toRequest } from './kinds/kinds.ts';
import { toDigests } from './order-digests.ts';
import { completeAdditionTo } from './output-owner.ts';
import type { Order } from './purchase.ts';

/** No run on this machine has asked for this. */
export const anew = { is: 'new', answers: [] } as const;
/** An earlier run can only matter if it has one of these in common with the order. */
const deciding = ['like', 'same', 'run', 'key'] as const;

export function toWanted<Kind extends PaidKind>(
  { connection }: Buyer,
  { body, idempotencyKey, isPreview, keep, kind, list, terms }: Order<Kind>,
): Wanted {
  const text = toRequest(kind, body, '').body ?? '{}';
  const type =
    kind === 'search' || kind === 'task run' ? (body as EntitySearchRequest).entity_type : undefined;
  return {
    command: kind,
    body: text,
    ...(list?.onlyNew ? { asked: text } : {}),
    ...(type === undefined ? {} : { list: list?.name ?? type }),
    origin: connection.origin,
    options: terms.options,
    output: terms.output,
    idempotencyKey,
    keep: keep && !isPreview,
  };
}

/**
 * Finds an earlier run of this order, and how to go on with it. Searches, tasks, lists and agents all ask here. The caller holds the lock
 * of the output, so that nothing changes meanwhile. Throws LocalIoError, and ConfigurationError for a journal of the same order that can't
 * be read.
 */
export async function findEarlier(buyer: Buyer, wanted: Wanted): Promise<Earlier> {
  if (!wanted.keep) return anew;
  const { idempotencyKey, output } = wanted;
  const [digests, index] = [await toDigests(wanted), await openIndex(buyer.context)];
  const key = idempotencyKey === undefined ? undefined : digestOf(idempotencyKey);
  const asking: Asking = { buyer, wanted, digests: { ...digests, key }, index };
  if (output !== null) await completeAdditionTo(buyer.context, output);
  const isKnown = deciding.some((name) => {
    const digest = asking.digests[name];
    return digest !== undefined && !index.find(name, digest).next().done;
  });
  return isKnown ? await (await import('./earlier.ts')).findAmong(asking) : anew;
}
