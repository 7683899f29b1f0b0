import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../../json/text.ts';
import { checkBody } from '../../requests/entity-search.ts';
import { wireNames } from '../../requests/input-names.ts';
import { checkList } from '../../requests/within-limits.ts';
import type { Intent, StoredOperation } from '../journal/journal.ts';
import { kindOf } from '../kinds.ts';

/** A search that did not end well, as its journal has it. */
export interface EarlierSearch {
  readonly intent: Intent;
  /** What was asked for, before anything was left out of it. */
  readonly request: EntitySearchRequest;
  readonly leadsSearchId: string | undefined;
  /** Leads that the service has sent, as far as the journal knows: those that were delivered, and those that were dropped. */
  readonly sent: number;
  /** How many of them are certainly in the output, and its length with them; undefined where that is not known. */
  readonly counted: number;
  readonly outputLength: number | undefined;
}

/** Pure. Throws UsageError for what can't be continued: another command, or a search that is whole or was continued. */
export function toEarlierSearch({ operationId, entries }: StoredOperation): EarlierSearch {
  const [intent] = entries;
  if (kindOf(intent.command)?.goesOn !== 'continue' || intent.body === undefined) {
    throw new UsageError(`${operationId} is not a search`, { is: 'not_a_search', operationId });
  }
  const next = entries.find((entry) => entry.type === 'continued');
  if (next !== undefined) {
    throw new UsageError(`${operationId} was continued already, by ${next.operation_id}`, {
      is: 'continued',
      by: next.operation_id,
    });
  }
  if (entries.some((entry) => entry.type === 'terminal' && entry.outcome === 'complete')) {
    throw new UsageError(`${operationId} is complete`, { is: 'search_complete', operationId });
  }
  const places = entries.filter((entry) => entry.type === 'opened' || entry.type === 'batch');
  // Where a length could not be had, an earlier one holds.
  const counted = places.findLast((place) => place.output_length !== null) ?? places.at(-1);
  const batches = places.filter((place) => place.type === 'batch');
  const { delivered = 0, excluded = 0 } = batches.at(-1) ?? {};
  const created = entries.find((entry) => entry.type === 'created');
  return {
    intent,
    request: JSON.parse(intent.asked ?? intent.body) as EntitySearchRequest,
    leadsSearchId:
      created?.leads_search_id ??
      batches.findLast((batch) => batch.leads_search_id !== null)?.leads_search_id ??
      undefined,
    sent: delivered + excluded,
    counted: counted?.type === 'batch' ? counted.delivered : 0,
    outputLength: counted?.output_length ?? undefined,
  };
}

/**
 * Pure: a new search for the rest, without what the earlier one brought: by its ID, and by name where the service never
 * said its ID. `brought` is what of it is here, beside `dropped` leads. Throws UsageError when nothing is left to ask for, or an exclusion list is full.
 */
export function toContinuedRequest(
  { request, leadsSearchId, sent }: EarlierSearch,
  brought: readonly JsonText[],
  dropped: number,
): EntitySearchRequest {
  const rest = (request.limit ?? limits.entityLimit.default) - Math.max(brought.length + dropped, sent);
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
