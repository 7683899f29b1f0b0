import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { OperationEvent, Running } from '../../operations/events.ts';
import type { RestOfSearch } from '../../operations/rest-of-search.ts';
import type { BoughtSearch } from '../../operations/search/buy.ts';
import { toCostAtMost, toWorstCase } from '../../operations/spending.ts';
import { close, toNothingNew, toSaving } from '../messages/closing-line.ts';
import { createNotes } from '../messages/status-line.ts';
import type { EntitySearchOptions, ListOptions } from '../options/entity-search.ts';
import type { PurchaseOptions } from '../records/orders.ts';
import { runOperation } from '../records/run-operation.ts';

export interface SearchOptions extends PurchaseOptions, EntitySearchOptions, ListOptions {
  readonly exitStatus?: true;
  readonly continue?: string;
}

/**
 * Runs a search and reports the result; if it was cut, its error does. `before` is what earlier searches brought if this one buys their
 * rest, and what to say at the beginning. Throws as `buySearch`.
 */
export async function runSearch(
  context: Context,
  options: SearchOptions,
  request: EntitySearchRequest,
  { connection }: Buyer,
  search: Running<BoughtSearch | undefined>,
  before?: RestOfSearch & { readonly beginning: string },
): Promise<BoughtSearch | undefined> {
  const { limit = limits.entityLimit.default } = request;
  const on = (event: OperationEvent): void => {
    if (event.is === 'begun' && before) createNotes(context, options).say(before.beginning);
  };
  const end = await runOperation(context, options, search, { most: limit, on });
  if (end === undefined) return undefined;
  const { excluded, list, operationId, stopReason } = end;
  const leads = end.leads - excluded;
  const { credits } = toWorstCase('search', request, connection.settings);
  const ended = { charged: null, complete: true, leads: end.leads };
  // The earlier searches whose leads can be shown again.
  const shown = before?.isKept ? before.chain.filter(({ sent }) => sent > 0) : [];
  const kept = operationId === undefined ? [] : [...shown.map((one) => one.operationId), operationId];
  const again = kept.map((id) => `leadpipe history show ${id}`);
  close(context, options, {
    leads,
    before: before && { arrived: before.arrived, delivered: before.brought.length },
    excluded,
    stopReason,
    limit: limit + (before?.arrived ?? 0),
    costAtMost: toCostAtMost('search', request, credits, ended),
    ids: end,
    why: list && toNothingNew(leads, list),
    next: toSaving(context, options, leads, again),
  });
  return end;
}
