import { Command, Option } from 'commander';
import { requests } from '../../client.ts';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { type EntitySearchRequest, streamEntityTypes } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import { checkBody, checkIdempotencyKey, checkStreamEntityType } from '../../operations/check-input.ts';
import type { SearchSummary } from '../../operations/search.ts';
import { entityLayout } from '../../output/columns.ts';
import { RequestError } from '../../transport/errors.ts';
import { countOf, toClosingLine } from '../closing-line.ts';
import { withConnection } from '../connection.ts';
import {
  addEntitySearchOptions,
  type EntitySearchOptions,
  readEntitySearchInput,
  toEntitySearchRequest,
} from '../entity-search-options.ts';
import { toHelpText } from '../help.ts';
import { createNotes } from '../notes.ts';
import {
  addConnectionOptions,
  addPaidOptions,
  addRecordOptions,
  type ConnectionOptions,
  type PaidOptions,
  type RecordOptions,
} from '../options.ts';
import { printPreview } from '../preview.ts';
import { toLayout, withOutput } from '../record-output.ts';
import { shellWord } from '../shell-word.ts';
import { withSpinner } from '../spinner.ts';

interface SearchOptions extends ConnectionOptions, PaidOptions, RecordOptions, EntitySearchOptions {
  readonly exitStatus?: true;
}

const help = toHelpText({
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --limit 20 --local',
    'leadpipe search youtube_creator "climate podcasts with over 100k subscribers" --local -o creators.csv',
  ],
  output: [
    'a lead per line (jsonl), as the service sent it:',
    '{"name":"…","links":{"website":"…"},"description":"…","score":{"score":"…","reason":"…"}}',
    'csv: name,description,score,score_reason,website,linkedin_url,links, then',
    '     <field>,<field>_reference for each of --enrich-fields',
  ],
  outcomes: [
    'complete',
    'usage',
    'partial',
    'authentication',
    'credits',
    'no_result',
    'unknown',
    'not_enabled',
    'local_io',
    'temporary',
    'interface',
    'configuration',
    'interrupted',
    'reader_closed',
    'terminated',
  ],
});

export function createSearchCommand(context: Context): Command {
  const command = addEntitySearchOptions(
    new Command('search').description(
      'Streams leads that fit an objective, and prints them as they are found.',
    ),
    streamEntityTypes,
    [new Option('--exit-status', 'exit 7 when nothing was found')],
  );
  return addConnectionOptions(addPaidOptions(addRecordOptions(command)))
    .addHelpText('after', help)
    .action((entityType: string, objective: string, given: SearchOptions) =>
      runSearch(context, entityType, objective, given),
    );
}

async function runSearch(
  context: Context,
  entityType: string,
  objective: string,
  options: SearchOptions,
): Promise<void> {
  // Before standard input is read for an objective that could not be used.
  const type = checkStreamEntityType(entityType);
  const request = toEntitySearchRequest(type, await readEntitySearchInput(context, objective, options));
  checkBody(request);
  const idempotencyKey = checkIdempotencyKey(options.idempotencyKey ?? context.ids.idempotencyKey());
  const layout = toLayout(options, entityLayout(request.enrich_fields));

  await withConnection(context, options, async ({ client, settings, preview }) => {
    if (options.dryRun) return printPreview(context, preview(requests.search(request, idempotencyKey)));
    const kind = { shape: 'list', layout, preferred: settings.format } as const;
    await withOutput(context, options, kind, async (output) => {
      const { searchEntities } = await import('../../operations/search.ts');
      const summary = await withSpinner(context, options, output, 'searching', (deliver) =>
        searchEntities(client, request, idempotencyKey, deliver, context),
      );
      const error =
        summary.cut === undefined
          ? undefined
          : toCutError(summary, request, idempotencyKey, await output.cut());
      if (error?.outcome !== 'reader_closed') {
        const notes = createNotes(context, options);
        for (const warning of summary.warnings) notes.warn(warning);
        notes.say(toClosingLine(summary));
      }
      if (error !== undefined) throw error;
      if (options.exitStatus && summary.leads === 0) {
        throw new LeadpipeError('no_result', 'no leads were found', idsOf(summary));
      }
    });
  });
}

/**
 * The error of a search that was not whole: how it ends is the cause's business when the run was stopped or the output
 * failed, else it is partial, or unknown when nothing came.
 */
export function toCutError(
  summary: SearchSummary,
  request: EntitySearchRequest,
  idempotencyKey: string,
  kept: string | undefined,
): LeadpipeError {
  const { cause, leads, cut } = summary;
  const ownEnd = cause instanceof LeadpipeError && !(cause instanceof RequestError) ? cause : undefined;
  const outcome = ownEnd?.outcome ?? (leads > 0 ? 'partial' : 'unknown');
  const place = kept === undefined ? '' : `, and ${leads === 1 ? 'is' : 'are'} in ${kept}`;
  const arrived = leads === 0 ? 'nothing arrived' : `${countOf(leads)} arrived${place}`;
  return new LeadpipeError(outcome, `the search was cut short: ${cut}; ${arrived}`, {
    type: ownEnd === undefined ? 'cut' : (ownEnd.details.type ?? ownEnd.outcome),
    charged: leads > 0 ? 'yes' : 'maybe',
    retryable: false,
    idempotencyKey,
    hint: toContinuation(summary, request),
    cause,
    ...idsOf(summary),
  });
}

/** A new search, and a new purchase, for the rest only. */
function toContinuation({ leads, leadsSearchId }: SearchSummary, request: EntitySearchRequest): string {
  const rest = (request.limit ?? limits.entityLimit.default) - leads;
  if (leadsSearchId === undefined || leads === 0) {
    return 'It may have been charged. Compare `leadpipe balance` before you run it again: a new run is a new purchase.';
  }
  if (rest <= 0) return 'All leads that were asked for have arrived.';
  const exclude = [...(request.dedup_service_leads ?? []), leadsSearchId].join(',');
  const objective = request.objective.length > 200 ? '"…"' : shellWord(request.objective);
  return `To search on for the rest: leadpipe search ${request.entity_type} ${objective} --limit ${rest} --dedup-service-leads ${shellWord(exclude)}`;
}

function idsOf({ requestId }: SearchSummary): { requestId?: string } {
  return requestId === undefined ? {} : { requestId };
}
