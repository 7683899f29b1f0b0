import { type Argument, type Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { type EntitySearchRequest, streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { OperationEvent, Running } from '../../operations/events.ts';
import { withOperation } from '../../operations/journal/journal.ts';
import type { RestOfSearch } from '../../operations/rest-of-search.ts';
import { type BoughtSearch, buySearch } from '../../operations/search/buy.ts';
import { toCostAtMost, toWorstCase } from '../../operations/money.ts';
import { checkStreamEntityType, toEntitySearchRequest } from '../../requests/entity-search.ts';
import { defineCommand } from '../command.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { close, toNothingFound, toNothingNew, toSaving } from '../messages/closing-line.ts';
import { toMissing } from '../messages/corrected.ts';
import { timeOf } from '../messages/earlier-runs.ts';
import { createNotes } from '../messages/status-line.ts';
import {
  createEntityArguments,
  createEntityOptions,
  type EntitySearchOptions,
  type ListOptions,
  leadColumns,
  leadShape,
  listOptions,
  readEntitySearchInput,
  toListTerms,
} from '../options/entity-search.ts';
import { inputNames, option, toId } from '../options/options.ts';
import { type Purchase, type PurchaseOptions, withPurchase } from '../records/orders.ts';
import { runOperation } from '../records/run-operation.ts';

export interface SearchOptions extends PurchaseOptions, EntitySearchOptions, ListOptions {
  readonly exitStatus?: true;
  readonly continue?: string;
}

export const createCommand = defineCommand({
  name: 'search',
  description: 'Finds leads that fit your objective, and prints them as they are found.',
  arguments: createEntityArguments(streamEntityTypes, 'optional'),
  options: createEntityOptions([
    option('--continue <operation-id>', 'buy only the rest of an earlier search that was interrupted', toId),
    new Option('--exit-status', 'exit with code 7 when nothing was found'),
    ...listOptions,
  ]),
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --limit 20 --local',
    'leadpipe search company "dental clinics" --only-new --local -o clinics.csv',
  ],
  output: ['one lead on each line (jsonl), as the service sent it:', ...leadShape, ...leadColumns],
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
  async run(
    context,
    entityType: string | undefined,
    objective: string | undefined,
    options: SearchOptions,
    command: Command,
  ) {
    if (options.continue !== undefined) {
      const { limit, enrichFields, dedupServiceLeads, dedupCustomLeads, list, onlyNew } = options;
      const more = [entityType, limit, enrichFields, dedupServiceLeads, dedupCustomLeads, list, onlyNew];
      if (more.every((one) => one === undefined))
        return await (await import('./search-rest.ts')).continueSearch(context, options.continue, options);
      throw new UsageError(
        '--continue resumes the earlier search: leave out the arguments and the options of "What to find"',
      );
    }
    // Check this first, so that standard input is not read in vain.
    if (entityType !== undefined) checkStreamEntityType(entityType);
    if (entityType === undefined || objective === undefined) {
      const [type, text] = command.registeredArguments as [Argument, Argument];
      throw toMissing(command, entityType === undefined ? type : text);
    }
    const input = await readEntitySearchInput(context, objective, options);
    const request = toEntitySearchRequest({ entity_type: entityType, ...input }, inputNames);
    const terms = { list: toListTerms(options) };
    const buying = async ({ buyer, order, open, earlier, lock }: Purchase<'search'>) => {
      if (earlier.is !== 'rest') {
        return await runSearch(context, options, request, buyer, buySearch(buyer, order, open));
      }
      // A search into this file was left: only its rest is bought, whatever happened to the file.
      const { isOurs, operation, rest } = earlier;
      const since = timeOf(context, operation);
      const beginning = `Resuming ${operation.operationId} (the same search, unfinished since ${since})`;
      const { goOn } = await import('./search-rest.ts');
      return await withOperation(context, operation.operationId, (journal) =>
        goOn(context, options, buyer, { rest, journal, into: 'same', isOurs, lock, beginning }),
      );
    };
    const end = await withPurchase(context, options, 'search', request, buying, terms);
    if (end !== undefined && end.leads === end.excluded && options.exitStatus)
      throw toNothingFound(end, options);
  },
});

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
