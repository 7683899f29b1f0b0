import { limits } from '../contract/limits.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { ConfigurationError, UsageError } from '../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { toEntitySearchRequest } from '../requests/entity-search.ts';
import { wireNames } from '../requests/within-limits.ts';
import { readChainFrom, readChainTo } from './journal/chain.ts';
import { readStoredLeads } from './journal/leads.ts';
import type { IndexContext } from './journal/operation-index.ts';
import type { Operation } from './operation.ts';

export type RestOfSearch = Awaited<ReturnType<typeof readRestOf>>;

/** Pure: the IDs of a search, of those that it continues, and of those that tried to continue it, even if they were refused. */
export function idsOf({ chain }: RestOfSearch): string[] {
  return chain.flatMap(({ operationId, continuedBy }) => [operationId, ...continuedBy]);
}

/**
 * Throws UsageError for what can't be continued (another command, a search that is complete or was continued), ConfigurationError for
 * damaged leads, LocalIoError.
 */
export async function readRest(context: IndexContext, operation: Operation): Promise<RestOfSearch> {
  const { operationId, isComplete, isSearch } = operation;
  if (!isSearch) throw new UsageError(`${operationId} is not a search`, { is: 'not_a_search', operationId });
  if (isComplete) {
    throw new UsageError(`${operationId} is complete`, {
      is: 'search_completed',
      operationIds: [operationId],
    });
  }
  const chain = await readChainFrom(context.directories.state, operation);
  const others = chain.slice(1).map((one) => one.operationId);
  const by = others.at(-1);
  if (by === undefined) return await readRestOf(await readChainTo(context, operation));
  if (!chain.at(-1)?.isComplete) {
    throw new UsageError(`${operationId} was already resumed by ${others[0]}`, { is: 'continued', by });
  }
  const brought = chain.filter((one) => one.hasDelivered).map((one) => one.operationId);
  throw new UsageError(`${operationId} is complete: ${others.join(', ')} brought the rest`, {
    is: 'search_completed',
    operationIds: brought.length > 0 ? brought : [operationId],
  });
}

/**
 * The rest of a search, of which `chain` are the parts so far, oldest first. `asked` is the request of now, where it is not exactly the
 * same. Throws ConfigurationError for damaged leads, LocalIoError, UsageError.
 */
export async function readRestOf(operations: readonly Operation[], asked?: EntitySearchRequest) {
  const chain = await Promise.all(operations.map(readArrived));
  const operation = operations.at(-1) as Operation;
  const [first, last] = [chain[0], chain.at(-1)] as [Arrived, Arrived];
  const brought = chain.flatMap((one) => one.brought);
  const { intent } = first;
  const { written } = operation.progress;
  return {
    operation,
    /** The searches that it continues, and itself. */
    chain,
    intent: last.intent,
    /** How many of these leads are its own, and not of the searches that it continues. */
    own: last.brought.length,
    /** Everything that they delivered, as stored here. */
    brought,
    /** Whether all of it is still stored: leads are removed after some days. */
    isKept: chain.every((one) => one.brought.length + one.dropped >= one.sent),
    /** How many leads the service has sent, including those that were dropped or are no longer stored. */
    arrived: chain.reduce((sum, { sent }) => sum + sent, 0),
    /** How many of the stored leads were certainly in the output when the run stopped. */
    counted: brought.length - last.brought.length + last.counted,
    /** A new search for the rest; undefined where nothing is left to ask for. */
    request:
      written === undefined
        ? toContinuedRequest(asked ?? JSON.parse(intent.asked ?? intent.body ?? '{}'), chain)
        : undefined,
    stopReason: written?.stopReason,
  };
}

/** What arrived of a search: the leads that are stored, and how many were dropped. */
type Arrived = Awaited<ReturnType<typeof readArrived>>;

/** Throws ConfigurationError for damaged leads: without them, the rest would look complete. */
async function readArrived({ operationId, continuedBy, intent, folder, progress }: Operation) {
  const brought: JsonText[] = [];
  let dropped = 0;
  const damaged = (line: number, path: string): never => {
    throw new ConfigurationError(`line ${line} of ${path} is damaged`, { is: 'damaged_leads' });
  };
  for await (const some of readStoredLeads(folder, damaged, () => dropped++)) brought.push(...some);
  const { counted, delivered, excluded, leadsSearchId } = progress;
  return {
    operationId,
    intent,
    brought,
    dropped,
    leadsSearchId,
    /** Leads that the service has sent, as far as this machine knows. */
    sent: Math.max(brought.length + dropped, delivered + excluded),
    counted,
    continuedBy,
  };
}

/**
 * Pure: a new search for the rest. It excludes what arrived by the IDs of its searches, and by name where the service told no ID. Undefined
 * when nothing is left to ask for. Throws UsageError where an exclusion list is full.
 */
function toContinuedRequest(
  request: EntitySearchRequest,
  arrived: readonly Arrived[],
): EntitySearchRequest | undefined {
  const { dedup_custom_leads = [], dedup_service_leads = [], limit = limits.entityLimit.default } = request;
  const rest = arrived.reduce((left, { sent }) => left - sent, limit);
  if (rest <= 0) return undefined;
  const ids = arrived.flatMap(({ leadsSearchId }) => leadsSearchId ?? []);
  const unnamed = arrived.flatMap(({ brought, leadsSearchId }) =>
    leadsSearchId === undefined ? brought : [],
  );
  const names = unnamed.flatMap((lead) => stringOf(objectMembers(lead).get('name')) ?? []);
  return toEntitySearchRequest(
    {
      ...request,
      limit: rest,
      dedup_service_leads: [...dedup_service_leads, ...ids],
      dedup_custom_leads: [...new Set([...dedup_custom_leads, ...names])],
    },
    wireNames,
  );
}
