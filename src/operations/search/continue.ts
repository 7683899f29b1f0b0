import type { EntitySearchRequest } from '../../contract/types.ts';
import { ConfigurationError, LeadpipeError, LocalIoError, outputChanged } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import type { OpenDelivery } from '../delivery.ts';
import { folderOf, type Journal, readOperation, type StoredOperation } from '../journal/journal.ts';
import { checkLast } from '../journal/later.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../journal/leads.ts';
import { listOf, newOf, nothingKnown } from '../only-new/sieve.ts';
import type { Shop } from '../purchase.ts';
import { buySearch, type SearchListener, type SearchOrder } from './buy.ts';
import type { SearchEnd } from './cut.ts';
import { type EarlierSearch, toContinuedRequest, toEarlierSearch } from './earlier.ts';

/** What is left of a search that was cut. */
export interface RestOfSearch {
  readonly operation: StoredOperation;
  readonly earlier: EarlierSearch;
  /** What it brought and delivered, as it is stored here. */
  readonly brought: readonly JsonText[];
  /** A new search for the rest only. */
  readonly request: EntitySearchRequest;
}

/** Throws UsageError for what can't be continued; ConfigurationError for damaged leads, LocalIoError. */
export async function readRest(stateDir: string, operation: StoredOperation): Promise<RestOfSearch> {
  const earlier = toEarlierSearch(await withoutUnbegun(stateDir, operation));
  const { brought, dropped } = await broughtBy(folderOf(stateDir, operation.operationId));
  return { operation, earlier, brought, request: toContinuedRequest(earlier, brought, dropped) };
}

/**
 * Throws LocalIoError where the rows of the earlier search can't be told from others in its output, which is to be gone on
 * with.
 */
export async function checkSameOutput(stateDir: string, rest: RestOfSearch): Promise<void> {
  const { operation, earlier, brought } = rest;
  const { intent, outputLength } = earlier;
  const facts = { is: 'continue_elsewhere', operationId: operation.operationId } as const;
  // Rows that are added leave the others where they are; a .part replaces them.
  if (intent.options.append !== true) return await checkLast(stateDir, operation, { facts });
  if (outputLength !== undefined || brought.length === 0) return;
  throw new LocalIoError(`where the rows of this search begin in ${intent.output} is not known`, {
    charged: 'no',
    facts,
  });
}

/**
 * Goes on where a search was cut, by a new search, which is a new purchase. Into the same output come the rows that it does
 * not hold yet, and into another one all of them. Throws as `buySearch`.
 */
export async function buyRest(
  shop: Shop,
  { operation: { operationId }, earlier, brought }: RestOfSearch,
  earlierJournal: Journal,
  order: SearchOrder & { readonly intoSame: boolean },
  listener: SearchListener,
): Promise<SearchEnd | undefined> {
  const { list: name, asked } = earlier.intent;
  const { known = nothingKnown } = (await listOf(shop, operationId, earlier.intent, listener.warn)) ?? {};
  const open: OpenDelivery = (work) =>
    order.open(async (delivery) => {
      // A file of its own is whole only with all of them; on standard output they stand already.
      const counted = order.intoSame || delivery.file === undefined ? earlier.counted : 0;
      // Another run of the list may have delivered some of them since.
      const missing = newOf(brought.slice(counted), known);
      if (missing.length > 0) await delivery.write(missing);
      await delivery.settle();
      await delivery.sync();
      return await work(delivery);
    });
  const list = { name, onlyNew: asked !== undefined };
  try {
    return await buySearch(shop, { ...order, open, list }, listener, {
      brought,
      async before(by) {
        if (by !== undefined) await earlierJournal.append({ type: 'continued', operation_id: by });
      },
    });
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.details.type !== outputChanged) throw error;
    throw error.with({ charged: 'no', facts: { is: 'continue_elsewhere', operationId } });
  }
}

/** The operation without the continuations that were killed before anything was sent for them. */
async function withoutUnbegun(
  stateDir: string,
  { operationId, entries: [intent, ...rest] }: StoredOperation,
): Promise<StoredOperation> {
  const begun = await Promise.all(
    rest.map(async (entry) => {
      if (entry.type !== 'continued') return true;
      // One that can't be read may have been sent.
      const by = await readOperation(stateDir, entry.operation_id).catch(() => 'unreadable' as const);
      return by === 'unreadable' || by?.entries.some(({ type }) => type === 'sent') === true;
    }),
  );
  return { operationId, entries: [intent, ...rest.filter((_, index) => begun[index])] };
}

/** Throws ConfigurationError for a damaged one: to go on without some of them would pass for all. */
async function broughtBy(folder: string): Promise<{ brought: readonly JsonText[]; dropped: number }> {
  const brought: JsonText[] = [];
  let dropped = 0;
  if ((await sizeOfStoredLeads(folder)) === undefined) return { brought, dropped };
  const damaged = (line: number, path: string): never => {
    throw new ConfigurationError(`line ${line} of ${path} is damaged`, { is: 'damaged_leads' });
  };
  for await (const some of readStoredLeads(folder, damaged, () => dropped++)) brought.push(...some);
  return { brought, dropped };
}
