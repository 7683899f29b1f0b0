import type { EntitySearchRequest } from '../contract/types.ts';
import type { Buyer } from './buyer.ts';
import type { Asking, Earlier, Wanted } from './earlier.ts';
import { digestOf, toDigests } from './journal/index-lines.ts';
import { openIndex } from './journal/operation-index.ts';
import { type PaidKind, toRequest } from './kinds.ts';
import { completeAdditionTo } from './output-owner.ts';
import type { Order } from './purchase.ts';

/** What no run of this machine has asked for. */
export const anew = { is: 'new', answers: [] } as const;
/** In one of these, an earlier run of an order is the same. */
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
 * Is there an earlier run of this order, and how does it go on? The one place that is asked: by searches, tasks, lists and agents.
 * The output is held by whoever asks, so that nothing changes meanwhile. Throws ConfigurationError for a journal of the same order that
 * can't be read, LocalIoError.
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
