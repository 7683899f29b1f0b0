import { limits } from '../contract/limits.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { UsageError } from '../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { checkBody, checkList } from './check-input.ts';
import type { Intent, StoredOperation } from './journal.ts';

/** A search that did not end well, as its journal has it. */
export interface EarlierSearch {
  readonly intent: Intent;
  readonly request: EntitySearchRequest;
  readonly leadsSearchId: string | undefined;
  /** Leads that are certainly in the output, and its length with them. */
  readonly delivered: number;
  readonly outputLength: number | undefined;
}

/** Pure. Throws UsageError for what can't be continued: another command, or a search that is whole or was continued. */
export function toEarlierSearch({ operationId, entries }: StoredOperation): EarlierSearch {
  const [intent] = entries;
  if (intent.command !== 'search' || intent.body === undefined) {
    throw new UsageError(`${operationId} is not a search`, `See \`leadpipe history show ${operationId}\`.`);
  }
  const next = entries.find((entry) => entry.type === 'continued');
  if (next !== undefined) {
    throw new UsageError(
      `${operationId} was continued already, by ${next.operation_id}`,
      `Continue that one: leadpipe search --continue ${next.operation_id}`,
    );
  }
  if (entries.some((entry) => entry.type === 'terminal' && entry.outcome === 'complete')) {
    throw new UsageError(
      `${operationId} is complete`,
      `Print it again: leadpipe history show ${operationId}`,
    );
  }
  const batches = entries.filter((entry) => entry.type === 'batch');
  const last = batches.at(-1);
  return {
    intent,
    request: JSON.parse(intent.body) as EntitySearchRequest,
    leadsSearchId: batches.findLast((batch) => batch.leads_search_id !== null)?.leads_search_id ?? undefined,
    delivered: last?.delivered ?? 0,
    outputLength: last?.output_length ?? undefined,
  };
}

/**
 * Pure: a new search for the rest, without what the earlier one brought: by its ID, and by name where the service never
 * said its ID. Throws UsageError when nothing is left to ask for, or an exclusion list is full.
 */
export function toContinuedRequest(
  { request, leadsSearchId }: EarlierSearch,
  brought: readonly JsonText[],
): EntitySearchRequest {
  const rest = (request.limit ?? limits.entityLimit.default) - brought.length;
  if (rest <= 0) throw new UsageError('all leads that the search asked for have arrived');
  const serviceLeads = [
    ...(request.dedup_service_leads ?? []),
    ...(leadsSearchId === undefined ? [] : [leadsSearchId]),
  ];
  const names =
    leadsSearchId === undefined
      ? brought.flatMap((lead) => stringOf(objectMembers(lead).get('name')) ?? [])
      : [];
  const customLeads = [...new Set([...(request.dedup_custom_leads ?? []), ...names])];
  const continued = {
    ...request,
    limit: rest,
    ...(serviceLeads.length === 0
      ? {}
      : { dedup_service_leads: checkList(limits.dedupServiceLeads, 'dedup_service_leads', serviceLeads) }),
    ...(customLeads.length === 0
      ? {}
      : { dedup_custom_leads: checkList(limits.dedupCustomLeads, 'dedup_custom_leads', customLeads) }),
  };
  checkBody(continued);
  return continued;
}
