import { Command, Option } from 'commander';
import { requests } from '../../client.ts';
import type { Context } from '../../context.ts';
import { streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { entityLayout } from '../../output/columns.ts';
import { checkStreamEntityType, toEntitySearchRequest } from '../../requests/entity-search.ts';
import { checkIdempotencyKey } from '../../requests/within-limits.ts';
import { withConnection } from '../connect.ts';
import { addEntitySearchOptions, readEntitySearchInput } from '../entity-search-options.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { withJournal } from '../journaled.ts';
import { addConnectionOptions, addPaidOptions, addRecordOptions, inputNames } from '../options.ts';
import { printPreview } from '../preview.ts';
import { withOutput } from '../record-output.ts';
import { type SearchOptions, searchInto } from '../search-into.ts';

const help: CommandHelp = {
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --limit 20 --local',
    'leadpipe search youtube_creator "climate podcasts" --local -o creators.csv',
  ],
  output: [
    'a lead per line (jsonl), as the service sent it:',
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
      'Streams leads that fit an objective, and prints them as they are found.',
    ),
    streamEntityTypes,
    [
      new Option('--continue <operation-id>', 'search on where an earlier search was cut, for the rest only'),
      new Option('--exit-status', 'exit 7 when nothing was found'),
    ],
    'optional',
  );
  return addHelp(addConnectionOptions(addPaidOptions(addRecordOptions(command))), help).action(
    (entityType: string | undefined, objective: string | undefined, given: SearchOptions) =>
      runSearch(context, entityType, objective, given),
  );
}

async function runSearch(
  context: Context,
  entityType: string | undefined,
  objective: string | undefined,
  options: SearchOptions,
): Promise<void> {
  if (options.continue !== undefined) {
    checkAlone(entityType, options);
    const { continueSearch } = await import('../search-continuing.ts');
    return await continueSearch(context, options.continue, options);
  }
  if (entityType === undefined || objective === undefined) {
    throw new UsageError(
      `missing required argument '${entityType === undefined ? 'entity-type' : 'objective'}'`,
      'As in: leadpipe search company "seed-stage fintech in Berlin"',
    );
  }
  // Before standard input is read for an objective that could not be used.
  checkStreamEntityType(entityType);
  const input = await readEntitySearchInput(context, objective, options);
  const request = toEntitySearchRequest(entityType, input, inputNames);
  const idempotencyKey = checkIdempotencyKey(
    options.idempotencyKey ?? context.ids.idempotencyKey(),
    inputNames,
  );

  await withConnection(context, options, async (connection) => {
    const { settings, preview } = connection;
    if (options.dryRun) return printPreview(context, preview(requests.search(request, idempotencyKey)));
    const kind = { shape: 'list', layout: entityLayout(request.enrich_fields), settings } as const;
    await withOutput(context, options, kind, (output) =>
      withJournal(context, options, (journal) =>
        searchInto({ context, options, connection, output, journal }, request, idempotencyKey),
      ),
    );
  });
}

/** Throws UsageError: what is searched for is the earlier search's. */
function checkAlone(entityType: string | undefined, options: SearchOptions): void {
  const { limit, enrichFields, dedupServiceLeads, dedupCustomLeads } = options;
  const more = [entityType, limit, enrichFields, dedupServiceLeads, dedupCustomLeads];
  if (more.some((one) => one !== undefined)) {
    throw new UsageError(
      '--continue takes what to find from the earlier search: no arguments, and none of the options of what to find',
    );
  }
}
