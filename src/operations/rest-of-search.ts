import { limits } from '../contract/limits.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { ConfigurationError, UsageError } from '../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { checkBody } from '../requests/entity-search.ts';
import { checkList, wireNames } from '../requests/within-limits.ts';
import { hasDelivered, isComplete, isSearch, readChainFrom, readChainTo } from './journal/chain.ts';
import type { Intent } from './journal/entries.ts';
import { readStoredLeads, sizeOfStoredLeads } from './journal/leads.ts';
import type { IndexContext } from './journal/operation-index.ts';
import { folderOf, type StoredOperation } from './journal/stored.ts';

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
  /** How many of those that are here were certainly in the output when it was left. */
  readonly counted: number;
  /** A new search for the rest only; undefined where everything that there is has arrived. */
  readonly request: EntitySearchRequest | undefined;
  /** Why the search ended, where it did. */
  readonly stopReason: string | undefined;
}

/** A search as its journal has it. */
export interface EarlierSearch {
  readonly operationId: string;
  readonly intent: Intent;
  readonly leadsSearchId: string | undefined;
  /** Leads that the service has sent, as far as the journal knows: those that were delivered, and those that were dropped. */
  readonly sent: number;
  readonly counted: number;
  /** The searches that were to bring its rest, those that were refused too. */
  readonly continuedBy: readonly string[];
}

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
): Promise<RestOfSearch> {
  const chain = operations.map(toEarlierSearch);
  const parts = await Promise.all(
    operations.map(({ operationId }) => broughtBy(folderOf(stateDir, operationId))),
  );
  const [first, operation, last] = [operations[0], operations.at(-1), chain.at(-1)];
  if (first === undefined || operation === undefined || last === undefined) {
    throw new Error('a chain of searches without any');
  }
  const before = parts.slice(0, -1).reduce((sum, { brought }) => sum + brought.length, 0);
  const arrived = parts.map((part, at) => ({
    ...part,
    leadsSearchId: chain[at]?.leadsSearchId,
    sent: Math.max(part.brought.length + part.dropped, chain[at]?.sent ?? 0),
  }));
  const written = operation.entries.findLast((entry) => entry.type === 'written');
  return {
    operation,
    chain,
    intent: last.intent,
    own: parts.at(-1)?.brought.length ?? 0,
    brought: parts.flatMap(({ brought }) => brought),
    isKept: arrived.every(({ brought, dropped, sent }) => brought.length + dropped >= sent),
    arrived: arrived.reduce((sum, { sent }) => sum + sent, 0),
    counted: before + last.counted,
    request: written === undefined ? toContinuedRequest(asked ?? requestOf(first), arrived) : undefined,
    stopReason: written?.stop_reason ?? undefined,
  };
}

/** Throws UsageError for what can't be continued: another command, or a search that is whole or was continued. */
function checkLeft(operation: StoredOperation, chain: readonly StoredOperation[]): void {
  const { operationId } = operation;
  if (!isSearch(operation)) {
    throw new UsageError(`${operationId} is not a search`, { is: 'not_a_search', operationId });
  }
  if (isComplete(operation)) {
    throw new UsageError(`${operationId} is complete`, { is: 'search_complete', operationId });
  }
  const last = chain.at(-1) ?? operation;
  if (last.operationId === operationId) return;
  if (isComplete(last)) {
    const others = chain.slice(1).map((one) => one.operationId);
    const brought = chain.filter(hasDelivered).map((one) => one.operationId);
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

/** What was asked for, before anything was left out of it. */
function requestOf({ entries: [intent] }: StoredOperation): EntitySearchRequest {
  return JSON.parse(intent.asked ?? intent.body ?? '{}');
}

function toEarlierSearch({ operationId, entries }: StoredOperation): EarlierSearch {
  const [intent] = entries;
  const batches = entries.filter((entry) => entry.type === 'batch');
  const { delivered = 0, excluded = 0 } = batches.at(-1) ?? {};
  const created = entries.find((entry) => entry.type === 'created');
  return {
    operationId,
    intent,
    leadsSearchId:
      created?.leads_search_id ??
      batches.findLast((batch) => batch.leads_search_id !== null)?.leads_search_id ??
      undefined,
    sent: delivered + excluded,
    // Where a length could not be had, an earlier one holds.
    counted: (batches.findLast((batch) => batch.output_length !== null) ?? batches.at(-1))?.delivered ?? 0,
    continuedBy: entries.flatMap((entry) => (entry.type === 'continued' ? [entry.operation_id] : [])),
  };
}

/** What a search has brought: leads that are here, and those that were dropped. */
export interface Arrived {
  readonly leadsSearchId: string | undefined;
  readonly brought: readonly JsonText[];
  readonly sent: number;
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
  const continued = {
    ...request,
    limit: rest,
    ...(serviceLeads.length === 0
      ? {}
      : {
          dedup_service_leads: checkList(
            limits.dedupServiceLeads,
            wireNames.dedup_service_leads,
            serviceLeads,
          ),
        }),
    ...(customLeads.length === 0
      ? {}
      : {
          dedup_custom_leads: checkList(limits.dedupCustomLeads, wireNames.dedup_custom_leads, customLeads),
        }),
  };
  checkBody(continued, wireNames);
  return continued;
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
