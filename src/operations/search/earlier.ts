import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../../json/text.ts';
import { checkBody } from '../../requests/entity-search.ts';
import { wireNames } from '../../requests/input-names.ts';
import { checkList } from '../../requests/within-limits.ts';
import { hasDelivered, isComplete, isSearch } from '../journal/chain.ts';
import type { Intent, StoredOperation } from '../journal/journal.ts';

/** A search as its journal has it. */
export interface EarlierSearch {
  readonly operationId: string;
  readonly intent: Intent;
  /** What was asked for, before anything was left out of it. */
  readonly request: EntitySearchRequest;
  readonly leadsSearchId: string | undefined;
  /** Leads that the service has sent, as far as the journal knows: those that were delivered, and those that were dropped. */
  readonly sent: number;
  /** How many of them are certainly in the output, and its length with them; undefined where that is not known. */
  readonly counted: number;
  readonly outputLength: number | undefined;
  /** The searches that were to bring its rest, those that were refused too. */
  readonly continuedBy: readonly string[];
}

/**
 * Throws UsageError for what can't be continued: another command, or a search that is whole or was continued. `chain` is the
 * search, with those that went on with it.
 */
export function checkLeft(operation: StoredOperation, chain: readonly StoredOperation[]): void {
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

/** Pure. */
export function toEarlierSearch({ operationId, entries }: StoredOperation): EarlierSearch {
  const [intent] = entries;
  const places = entries.filter((entry) => entry.type === 'opened' || entry.type === 'batch');
  // Where a length could not be had, an earlier one holds.
  const counted = places.findLast((place) => place.output_length !== null) ?? places.at(-1);
  const batches = places.filter((place) => place.type === 'batch');
  const { delivered = 0, excluded = 0 } = batches.at(-1) ?? {};
  const created = entries.find((entry) => entry.type === 'created');
  return {
    operationId,
    intent,
    request: JSON.parse(intent.asked ?? intent.body ?? '{}') as EntitySearchRequest,
    leadsSearchId:
      created?.leads_search_id ??
      batches.findLast((batch) => batch.leads_search_id !== null)?.leads_search_id ??
      undefined,
    sent: delivered + excluded,
    counted: counted?.type === 'batch' ? counted.delivered : 0,
    outputLength: counted?.output_length ?? undefined,
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
export function toContinuedRequest(
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
