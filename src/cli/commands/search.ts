import { type Argument, type Command, Option } from 'commander';
import { streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { withOperation } from '../../operations/journal/journal.ts';
import { buySearch } from '../../operations/search/buy.ts';
import { checkStreamEntityType, toEntitySearchRequest } from '../../requests/entity-search.ts';
import { defineCommand } from '../command.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { toNothingFound } from '../messages/closing-line.ts';
import { toMissing } from '../messages/corrected.ts';
import { timeOf } from '../messages/earlier-runs.ts';
import {
  createEntityArguments,
  createEntityOptions,
  leadColumns,
  leadShape,
  listOptions,
  readEntitySearchInput,
  toListTerms,
} from '../options/entity-search.ts';
import { inputNames, option, toId } from '../options/options.ts';
import { type Purchase, withPurchase } from '../records/orders.ts';
import { runSearch, type SearchOptions } from './run-search.ts';

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
