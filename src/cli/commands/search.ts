import { type Argument, Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { type EntitySearchRequest, streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import type { FolderLock } from '../../files/folder-lock.ts';
import type { Buyer } from '../../operations/buyer.ts';
import { type Earlier, findEarlier, toWanted } from '../../operations/earlier.ts';
import { withOperation } from '../../operations/journal/journal.ts';
import type { RestOfSearch } from '../../operations/rest-of-search.ts';
import { buySearch, type SearchListener } from '../../operations/search/buy.ts';
import type { SearchEnd } from '../../operations/search/cut.ts';
import { type Prices, toCostAtMost, toWorstCase } from '../../operations/spending.ts';
import { checkStreamEntityType, toEntitySearchRequest } from '../../requests/entity-search.ts';
import { withConnection } from '../connect.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { close, createNothingNew, toNothingFound, toSaving } from '../messages/closing-line.ts';
import { toMissing } from '../messages/corrected.ts';
import { tellEarlier, timeOf } from '../messages/earlier-runs.ts';
import {
  addEntitySearchOptions,
  addListOptions,
  type EntitySearchOptions,
  type ListOptions,
  readEntitySearchInput,
  toListTerms,
} from '../options/entity-search.ts';
import {
  addConnectionOptions,
  addPaidOptions,
  addRecordOptions,
  inputNames,
  toId,
} from '../options/options.ts';
import { createListener, openOutput, type PurchaseOptions, toOrder, toShop } from '../records/orders.ts';
import { printedAs } from '../records/printed-as.ts';
import { withHeldOutput } from '../records/record-output.ts';

export interface SearchOptions extends PurchaseOptions, EntitySearchOptions, ListOptions {
  readonly exitStatus?: true;
  readonly continue?: string;
}

const help: CommandHelp = {
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --limit 20 --local',
    'leadpipe search company "dental clinics" --only-new --local -o clinics.csv',
  ],
  output: [
    'one lead on each line (jsonl), as the service sent it:',
    '{"name":"…","links":{"website":"…"},"description":"…",',
    ' "score":{"score":"…","reason":"…"}}',
    'csv: name,description,score,score_reason,website,linkedin_url,links, then',
    '     <field>,<field>_reference for each of --enrich-fields',
  ],
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
};

export function createSearchCommand(context: Context): Command {
  const command = addEntitySearchOptions(
    new Command('search').description(
      'Finds leads that fit your objective, and prints them as they are found.',
    ),
    streamEntityTypes,
    [
      new Option(
        '--continue <operation-id>',
        'buy only the rest of an earlier search that was interrupted',
      ).argParser(toId),
      new Option('--exit-status', 'exit with code 7 when nothing was found'),
    ],
    'optional',
  );
  addPaidOptions(addRecordOptions(addListOptions(command)));
  return addHelp(addConnectionOptions(command), help).action(
    (entityType: string | undefined, objective: string | undefined, given: SearchOptions) =>
      runSearch(context, command, entityType, objective, given),
  );
}

async function runSearch(
  context: Context,
  command: Command,
  entityType: string | undefined,
  objective: string | undefined,
  options: SearchOptions,
): Promise<void> {
  if (options.continue !== undefined) {
    checkAlone(entityType, options);
    const { continueSearch } = await import('./search/continue.ts');
    return await continueSearch(context, options.continue, options);
  }
  // Before standard input is read for an objective that could not be used.
  if (entityType !== undefined) checkStreamEntityType(entityType);
  if (entityType === undefined || objective === undefined) {
    const [type, text] = command.registeredArguments as [Argument, Argument];
    throw toMissing(command, entityType === undefined ? type : text);
  }
  const input = await readEntitySearchInput(context, objective, options);
  const request = toEntitySearchRequest(entityType, input, inputNames);
  const end = await withConnection(context, options, async (connection) => {
    const buyer = toShop(context, options, connection);
    const order = { ...toOrder(context, options, connection, 'search', request), list: toListTerms(options) };
    return await withHeldOutput(context, options, async (lock) => {
      const earlier = await findEarlier(buyer, toWanted(buyer, order));
      if (earlier.is === 'rest') return await goOnWith(context, options, buyer, earlier, lock);
      if (earlier.is === 'new') tellEarlier(context, options, earlier);
      const { settings } = connection;
      const open = openOutput(context, options, { ...printedAs('search', request), settings, lock });
      const listener = createSearchListener(context, options, request, settings);
      return await buySearch(buyer, { ...order, open }, listener);
    });
  });
  if (end !== undefined && end.leads === end.excluded && options.exitStatus) {
    throw toNothingFound(end, options, end.excluded > 0 ? 'no new leads were found' : undefined);
  }
}

/** The same search was left in the same file: its rest alone is bought, whatever has become of the file. */
async function goOnWith(
  context: Context,
  options: SearchOptions,
  buyer: Buyer,
  { isOurs, operation, rest }: Extract<Earlier, { is: 'rest' }>,
  lock: FolderLock | undefined,
): Promise<SearchEnd | undefined> {
  const { goOn } = await import('./search/continue.ts');
  const { operationId } = operation;
  const beginning = `Resuming ${operationId} (the same search, unfinished since ${timeOf(context, operation)})`;
  return await withOperation(context, operationId, (journal) =>
    goOn(context, options, buyer, rest, journal, { into: 'same', isOurs, lock, beginning }),
  );
}

/** What a search is the rest of. */
type EarlierLeads = Pick<RestOfSearch, 'arrived' | 'brought' | 'chain' | 'isKept'>;

/** Pure: the earlier searches whose leads can be shown again. */
function toShown({ chain, isKept }: EarlierLeads): string[] {
  return isKept ? chain.filter(({ sent }) => sent > 0).map((one) => one.operationId) : [];
}

/** Says what a search came to; one that was cut is told of by its error. */
export function createSearchListener(
  context: Context,
  options: SearchOptions,
  request: EntitySearchRequest,
  prices: Prices,
  rest?: EarlierLeads,
): SearchListener {
  const { limit = limits.entityLimit.default } = request;
  const { leavesOut, why } = createNothingNew();
  return {
    ...createListener(context, options, { most: limit }),
    leavesOut,
    ended(end) {
      const { cut, excluded, operationId, stopReason } = end;
      if (cut !== undefined) return;
      const leads = end.leads - excluded;
      const { credits } = toWorstCase('search', request, prices);
      const ended = { charged: null, complete: true, leads: end.leads };
      const kept = operationId === undefined ? [] : [...(rest ? toShown(rest) : []), operationId];
      close(context, options, {
        leads,
        before: rest && { arrived: rest.arrived, delivered: rest.brought.length },
        excluded,
        stopReason,
        limit: limit + (rest?.arrived ?? 0),
        costAtMost: toCostAtMost('search', request, credits, ended),
        ids: end,
        why: why(leads),
        next: toSaving(
          context,
          options,
          leads,
          kept.map((id) => `leadpipe history show ${id}`),
        ),
      });
    },
  };
}

/** Throws UsageError: what is searched for is the earlier search's. */
function checkAlone(entityType: string | undefined, options: SearchOptions): void {
  const { limit, enrichFields, dedupServiceLeads, dedupCustomLeads, list, onlyNew } = options;
  const more = [entityType, limit, enrichFields, dedupServiceLeads, dedupCustomLeads, list, onlyNew];
  if (more.some((one) => one !== undefined)) {
    throw new UsageError(
      '--continue resumes the earlier search: leave out the arguments and the options of "What to find"',
    );
  }
}
