import type { EntitySearchRequest } from '../../contract/types.ts';
import { ConfigurationError, LeadpipeError, outputChanged } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import type { Delivery, OpenDelivery } from '../delivery.ts';
import { chainFrom, chainTo, isComplete } from '../journal/chain.ts';
import {
  folderOf,
  type Intent,
  type Journal,
  readOperations,
  type StoredOperation,
} from '../journal/journal.ts';
import { checkLast } from '../journal/later.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../journal/leads.ts';
import type { Known } from '../only-new/identity.ts';
import { listOf, newOf, nothingKnown } from '../only-new/sieve.ts';
import type { Shop } from '../purchase.ts';
import { buySearch, type SearchListener, type SearchOrder } from './buy.ts';
import type { SearchEnd } from './cut.ts';
import { checkLeft, type EarlierSearch, toContinuedRequest, toEarlierSearch } from './earlier.ts';

/** What is left of a search that was cut or killed. */
export interface RestOfSearch {
  readonly operation: StoredOperation;
  /** Itself, and before it the searches that it is the rest of. */
  readonly chain: readonly EarlierSearch[];
  readonly intent: Intent;
  /** What all of them brought and delivered, as it is stored here. */
  readonly brought: readonly JsonText[];
  /** How many of these are its own, not those of the searches before it. */
  readonly own: number;
  /** Whether that is all of it: stored leads are removed after some days. */
  readonly isKept: boolean;
  /** How many the service has sent: those that were dropped, and those that are not here any more, too. */
  readonly arrived: number;
  /** How many of those that are here are certainly in the output, and its length with them; undefined where that is not known. */
  readonly counted: number;
  readonly outputLength: number | undefined;
  /** A new search for the rest only; undefined where everything that was asked for has arrived. */
  readonly request: EntitySearchRequest | undefined;
}

/**
 * Where the rows of the earlier search stand: in the .part, which is written again from what is stored; in the .part, which is
 * gone on with, since they are not stored any more; nowhere, since others have changed it; or in another place.
 */
export type Standing = 'part' | 'counted' | 'lost' | 'elsewhere';

/** Throws UsageError for what can't be continued; ConfigurationError for damaged leads, LocalIoError. */
export async function readRest(stateDir: string, operation: StoredOperation): Promise<RestOfSearch> {
  const { operations } = await readOperations(stateDir);
  checkLeft(operation, chainFrom(operation, operations));
  return await readChain(stateDir, chainTo(operation, operations));
}

/**
 * As `readRest`, of a search with those that it is the rest of. `asked` is what is searched for now, where that is not the
 * same to the letter. Throws ConfigurationError for damaged leads, LocalIoError, UsageError.
 */
export async function readChain(
  stateDir: string,
  operations: readonly StoredOperation[],
  asked?: EntitySearchRequest,
): Promise<RestOfSearch> {
  const chain = operations.map(toEarlierSearch);
  const parts = await Promise.all(
    operations.map(({ operationId }) => broughtBy(folderOf(stateDir, operationId))),
  );
  const [operation, last] = [operations.at(-1), chain.at(-1)];
  if (operation === undefined || last === undefined) throw new Error('a chain of searches without any');
  const before = parts.slice(0, -1).reduce((sum, { brought }) => sum + brought.length, 0);
  const arrived = parts.map((part, at) => ({
    ...part,
    leadsSearchId: chain[at]?.leadsSearchId,
    sent: Math.max(part.brought.length + part.dropped, chain[at]?.sent ?? 0),
  }));
  return {
    operation,
    chain,
    intent: last.intent,
    own: parts.at(-1)?.brought.length ?? 0,
    brought: parts.flatMap(({ brought }) => brought),
    isKept: arrived.every(({ brought, dropped, sent }) => brought.length + dropped >= sent),
    arrived: arrived.reduce((sum, { sent }) => sum + sent, 0),
    counted: before + last.counted,
    outputLength: last.outputLength,
    request: isComplete(operation)
      ? undefined
      : toContinuedRequest(asked ?? (chain[0] ?? last).request, arrived),
  };
}

/**
 * Throws LocalIoError where the rows of the earlier search can't be told from others in its output, which is to be gone on
 * with.
 */
export async function checkSameOutput(stateDir: string, rest: RestOfSearch): Promise<void> {
  const { operation, intent } = rest;
  const facts = { is: 'continue_elsewhere', operationId: operation.operationId } as const;
  // Rows that are added leave the others where they are.
  if (intent.options.append !== true) await checkLast(stateDir, operation, { facts });
}

/** What is told of a search that is gone on with. */
export interface RestListener extends SearchListener {
  /** The output is open, and the rest is about to be bought. */
  goingOn(): void;
}

/**
 * Goes on where a search was cut, by a new search, which is a new purchase. Into the same output come the rows that it does
 * not hold yet, and into another one all of them. Throws as `buySearch`.
 */
export async function buyRest(
  shop: Shop,
  rest: RestOfSearch,
  earlierJournal: Journal,
  order: SearchOrder & { readonly standing: Standing },
  listener: RestListener,
): Promise<SearchEnd | undefined> {
  const { operation, intent, brought } = rest;
  const known = await knownOf(shop, rest, listener.warn);
  const open: OpenDelivery = (work) =>
    order.open(async (delivery) => {
      await writeBrought(rest, order.standing, known, delivery);
      return await work(delivery);
    });
  const list = { name: intent.list, onlyNew: intent.asked !== undefined };
  try {
    return await buySearch(shop, { ...order, open, list }, listener, {
      brought,
      async before(by) {
        listener.goingOn();
        if (by !== undefined) await earlierJournal.append({ type: 'continued', operation_id: by });
      },
    });
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.details.type !== outputChanged) throw error;
    const { operationId } = operation;
    throw error.with({ charged: 'no', facts: { is: 'continue_elsewhere', operationId } });
  }
}

/** Everything has arrived: what its output lacks is written, and nothing is bought. Throws LocalIoError. */
export async function finishSearch(
  shop: Shop,
  rest: RestOfSearch,
  journal: Journal,
  { open, standing }: Pick<SearchOrder, 'open'> & { readonly standing: Standing },
  warn: (line: string) => void,
): Promise<void> {
  const { operation, own } = rest;
  const known = await knownOf(shop, rest, warn);
  await open(async (delivery) => {
    await writeBrought(rest, standing, known, delivery);
    if (isComplete(operation)) return;
    const terminal = { state: null, ready_count: null, charged: 'yes', leads: own } as const;
    await journal.append({ type: 'terminal', outcome: 'complete', ...terminal });
  });
}

async function writeBrought(
  { brought, counted }: RestOfSearch,
  standing: Standing,
  known: Known,
  delivery: Delivery,
): Promise<void> {
  // Another run of the list may have delivered some of them since. On standard output they stand already.
  const all = delivery.file !== undefined && standing === 'elsewhere';
  const [sure, unsure] = all ? [[], brought] : [brought.slice(0, counted), brought.slice(counted)];
  const missing = [...(standing === 'part' ? sure : []), ...newOf(unsure, known)];
  if (missing.length > 0) await delivery.write(missing);
  await delivery.sync();
}

/** What other runs of the list have delivered. */
async function knownOf(
  shop: Shop,
  { chain, intent }: RestOfSearch,
  warn: (line: string) => void,
): Promise<Known> {
  // What a search brought counts for those that went on with it too, also where they were refused.
  const ids = chain.flatMap(({ operationId, continuedBy }) => [operationId, ...continuedBy]);
  return (await listOf(shop, ids, intent, warn))?.known ?? nothingKnown;
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
