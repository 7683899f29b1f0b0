import { limits } from '../contract/limits.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { ConfigurationError, UsageError } from '../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { checkBody } from '../requests/entity-search.ts';
import { checkList, wireNames } from '../requests/within-limits.ts';
import { readChainFrom, readChainTo } from './journal/chain.ts';
import { readStoredLeads, sizeOfStoredLeads } from './journal/leads.ts';
import type { IndexContext } from './journal/operation-index.ts';
import { folderOf, type StoredOperation } from './journal/stored.ts';

export type RestOfSearch = Awaited<ReturnType<typeof readRestOf>>;

/** Pure: a search, those that it is the rest of, and those that were to bring its rest, also where they were refused. */
export function idsOf({ chain }: RestOfSearch): string[] {
  return chain.flatMap(({ operationId, continuedBy }) => [operationId, ...continuedBy]);
}

/** Throws UsageError for what can't be continued; ConfigurationError for damaged leads, LocalIoError. */
export async function readRest(context: IndexContext, operation: StoredOperation): Promise<RestOfSearch> {
  const { state } = context.directories;
  checkLeft(operation, await readChainFrom(state, operation));
  return await readRestOf(state, await readChainTo(context, operation));
}

/**
 * As `readRest`, of a search with those that it is the rest of, the oldest first. `asked` is what is searched for now, where that
 * is not the same to the letter. Throws ConfigurationError for damaged leads, LocalIoError, UsageError.
 */
export async function readRestOf(
  stateDir: string,
  operations: readonly StoredOperation[],
  asked?: EntitySearchRequest,
) {
  const [first, operation] = [operations[0], operations.at(-1)];
  if (first === undefined || operation === undefined) throw new Error('a chain of searches without any');
  const chain = await Promise.all(operations.map((one) => readArrived(stateDir, one)));
  const own = chain.at(-1)?.brought.length ?? 0;
  const brought = chain.flatMap((one) => one.brought);
  const written = operation.last.written;
  return {
    operation,
    /** Itself, and before it the searches that it is the rest of. */
    chain,
    intent: operation.entries[0],
    /** How many of these leads are its own, not those of the searches before it. */
    own,
    /** What all of them brought and delivered, as it is stored here. */
    brought,
    /** Whether that is all of it: stored leads are removed after some days. */
    isKept: chain.every((one) => one.brought.length + one.dropped >= one.sent),
    /** How many the service has sent: those that were dropped, and those that are not here any more, too. */
    arrived: chain.reduce((sum, { sent }) => sum + sent, 0),
    /** How many of those that are here were certainly in the output when it was left. */
    counted: brought.length - own + (chain.at(-1)?.counted ?? 0),
    /** A new search for the rest only; undefined where everything that there is has arrived. */
    request: written === undefined ? toContinuedRequest(asked ?? requestOf(first), chain) : undefined,
    stopReason: written?.stop_reason ?? undefined,
  };
}

/** Throws UsageError for what can't be continued: another command, or a search that is whole or was continued. */
function checkLeft(operation: StoredOperation, chain: readonly StoredOperation[]): void {
  const { operationId } = operation;
  if (!operation.isSearch) {
    throw new UsageError(`${operationId} is not a search`, { is: 'not_a_search', operationId });
  }
  if (operation.isComplete) {
    throw new UsageError(`${operationId} is complete`, { is: 'search_complete', operationId });
  }
  const last = chain.at(-1) ?? operation;
  if (last.operationId === operationId) return;
  if (last.isComplete) {
    const others = chain.slice(1).map((one) => one.operationId);
    const brought = chain.filter((one) => one.hasDelivered).map((one) => one.operationId);
    throw new UsageError(`${operationId} is complete: ${others.join(', ')} brought the rest`, {
      is: 'search_completed',
      operationIds: brought.length > 0 ? brought : [operationId],
    });
  }
  const next = chain[1]?.operationId ?? '';
  throw new UsageError(`${operationId} was already resumed by ${next}`, {
    is: 'continued',
    by: last.operationId,
  });
}

function requestOf({ entries: [intent] }: StoredOperation): EntitySearchRequest {
  return JSON.parse(intent.asked ?? intent.body ?? '{}');
}

/** What a search has brought: leads that are here, and those that were dropped. */
type Arrived = Awaited<ReturnType<typeof readArrived>>;

/** Throws ConfigurationError for damaged leads: to go on without some of them would pass for all. */
async function readArrived(stateDir: string, { operationId, entries }: StoredOperation) {
  const folder = folderOf(stateDir, operationId);
  const brought: JsonText[] = [];
  let dropped = 0;
  const damaged = (line: number, path: string): never => {
    throw new ConfigurationError(`line ${line} of ${path} is damaged`, { is: 'damaged_leads' });
  };
  if ((await sizeOfStoredLeads(folder)) !== undefined) {
    for await (const some of readStoredLeads(folder, damaged, () => dropped++)) brought.push(...some);
  }
  const batches = entries.filter((entry) => entry.type === 'batch');
  const { delivered = 0, excluded = 0 } = batches.at(-1) ?? {};
  return {
    operationId,
    intent: entries[0],
    brought,
    dropped,
    leadsSearchId:
      entries.find((entry) => entry.type === 'created')?.leads_search_id ??
      batches.findLast((batch) => batch.leads_search_id !== null)?.leads_search_id ??
      undefined,
    /** Leads that the service has sent, as far as is known here. */
    sent: Math.max(brought.length + dropped, delivered + excluded),
    // Where a length could not be had, an earlier one holds.
    counted: (batches.findLast((batch) => batch.output_length !== null) ?? batches.at(-1))?.delivered ?? 0,
    /** The searches that were to bring its rest, those that were refused too. */
    continuedBy: entries.flatMap((entry) => (entry.type === 'continued' ? [entry.operation_id] : [])),
  };
}

/**
 * Pure: a new search for the rest, without what earlier ones brought: by their IDs, and by name where the service never said
 * one. Undefined when nothing is left to ask for. Throws UsageError where an exclusion list is full.
 */
function toContinuedRequest(
  request: EntitySearchRequest,
  arrived: readonly Arrived[],
): EntitySearchRequest | undefined {
  const sent = arrived.reduce((sum, one) => sum + one.sent, 0);
  const rest = (request.limit ?? limits.entityLimit.default) - sent;
  if (rest <= 0) return undefined;
  const ids = arrived.flatMap(({ leadsSearchId }) => leadsSearchId ?? []);
  const names = arrived
    .filter(({ leadsSearchId }) => leadsSearchId === undefined)
    .flatMap(({ brought }) => brought)
    .flatMap((lead) => stringOf(objectMembers(lead).get('name')) ?? []);
  const serviceLeads = [...(request.dedup_service_leads ?? []), ...ids];
  const customLeads = [...new Set([...(request.dedup_custom_leads ?? []), ...names])];
  const { dedup_service_leads: searches, dedup_custom_leads: custom } = wireNames;
  const continued = {
    ...request,
    limit: rest,
    ...(serviceLeads.length === 0
      ? {}
      : { dedup_service_leads: checkList(limits.dedupServiceLeads, searches, serviceLeads) }),
    ...(customLeads.length === 0
      ? {}
      : { dedup_custom_leads: checkList(limits.dedupCustomLeads, custom, customLeads) }),
  };
  checkBody(continued, wireNames);
  return continued;
}
