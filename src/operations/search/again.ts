import { ConfigurationError, type LeadpipeError } from '../../errors.ts';
import { chainFrom, chainTo, isBegun, isComplete, isSearch } from '../journal/chain.ts';
import { readNewest, readOperations, type StoredOperation } from '../journal/journal.ts';
import { isSameBuyer, type Shop } from '../purchase.ts';
import type { SearchOrder } from './buy.ts';
import { type RestOfSearch, readChain } from './continue.ts';

/** Asked about the output that is wanted, and told why a search begins anew although one of its kind was left. */
export interface AgainListener {
  /** Whether rows of an unfinished run stand beside it. */
  hasPart(): Promise<boolean>;
  /** Whether this is the same file. */
  isSame(output: string): Promise<boolean>;
  /** An operation can't be read: it may be the one that was left. */
  damaged(damage: LeadpipeError): void;
  /** It ended before a lead arrived, and may have been charged. */
  lost(operation: StoredOperation): void;
  /** Its leads are not here any more, or can't be read. */
  unkept(operation: StoredOperation, damage: LeadpipeError | undefined): void;
}

/** Operations. */
const lookedAt = 20;

/**
 * What the same search into the same file goes on with; undefined where it begins anew: nothing of an earlier run is there, it
 * was of another search, or its leads are not kept any more. Throws LocalIoError where the history can't be read.
 */
export async function findSearchAgain(
  shop: Shop,
  order: SearchOrder,
  listener: AgainListener,
): Promise<RestOfSearch | undefined> {
  const { output, options } = order.terms;
  const isAdded = options.append === true;
  if (!order.keep || output === null) return undefined;
  const { state } = shop.context.directories;
  const hasRows = isAdded || (await listener.hasPart());
  // Without rows there is nothing to go on with: only what has just happened is worth a look.
  const { operations, damages } = hasRows
    ? await readOperations(state)
    : { operations: await readNewest(state, lookedAt), damages: [] };
  for (const damage of damages) listener.damaged(damage);
  const last = await findLast(shop, order, operations, listener);
  if (last === undefined) return undefined;
  if (!hasRows) return void (isInDoubt(last) && listener.lost(last));
  let damage: LeadpipeError | undefined;
  const rest = await readChain(state, chainTo(last, operations), order.body).catch((error: unknown) => {
    if (!(error instanceof ConfigurationError)) throw error;
    damage = error;
    return undefined;
  });
  if (rest === undefined || !rest.isKept) listener.unkept(last, damage);
  else if (rest.arrived > 0) return rest;
  else if (isInDoubt(last)) listener.lost(last);
  return undefined;
}

/** Whether it brought nothing, and nobody knows what it cost. */
function isInDoubt({ entries }: StoredOperation): boolean {
  return !entries.some(
    (entry) =>
      entry.type === 'terminal' ||
      entry.type === 'created' ||
      (entry.type === 'batch' && entry.delivered + (entry.excluded ?? 0) > 0),
  );
}

/** The last run of the same search into the same file, if it was left, or only its file may be missing. */
async function findLast(
  shop: Shop,
  order: SearchOrder,
  operations: readonly StoredOperation[],
  { isSame }: AgainListener,
): Promise<StoredOperation | undefined> {
  const isAdded = order.terms.options.append === true;
  const isThis = (one: StoredOperation): boolean =>
    isSearch(one) && isSameBuyer(shop, one) && isSameSearch(order, chainTo(one, operations)[0] ?? one);
  for (const one of operations.toReversed()) {
    const { output, options } = one.entries[0];
    if (output === null || !isBegun(one) || !(await isSame(output))) continue;
    // To a file that rows are added to, others may have added since; a .part is of the last run.
    if (isAdded && !(isThis(one) && options.append === true)) continue;
    if (!isThis(one) || chainFrom(one, operations).length > 1) return undefined;
    return isComplete(one) && isPlaced(one) ? undefined : one;
  }
  return undefined;
}

function isPlaced({ entries }: StoredOperation): boolean {
  return entries.some(({ type }) => type === 'placed');
}

/** How many are wanted, and what is left out, may be another each day. */
function isSameSearch({ body, list }: SearchOrder, { entries: [intent] }: StoredOperation): boolean {
  const { entity_type, enrich_fields = [], objective } = JSON.parse(intent.asked ?? intent.body ?? '{}');
  return (
    entity_type === body.entity_type &&
    objective === body.objective &&
    JSON.stringify(enrich_fields) === JSON.stringify(body.enrich_fields ?? []) &&
    (intent.asked !== undefined) === (list?.onlyNew === true) &&
    (intent.list ?? entity_type) === (list?.name ?? entity_type)
  );
}
