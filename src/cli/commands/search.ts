import { Argument, Command, Option } from 'commander';
import { requests } from '../../client.ts';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { type EntitySearchRequest, streamEntityTypes } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import {
  checkBody,
  checkIdempotencyKey,
  checkList,
  checkNumber,
  checkStreamEntityType,
  checkText,
} from '../../operations/check-input.ts';
import type { SearchSummary } from '../../operations/search.ts';
import { entityLayout } from '../../output/columns.ts';
import { RequestError } from '../../transport/errors.ts';
import { withConnection } from '../connection.ts';
import { toHelpText } from '../help.ts';
import { readList, readTextArgument } from '../inputs.ts';
import { createNotes } from '../notes.ts';
import {
  addConnectionOptions,
  addPaidOptions,
  addRecordOptions,
  type ConnectionOptions,
  collect,
  type PaidOptions,
  type RecordOptions,
} from '../options.ts';
import { printPreview } from '../preview.ts';
import { toLayout, withOutput } from '../record-output.ts';
import { withSpinner } from '../spinner.ts';

interface SearchOptions extends ConnectionOptions, PaidOptions, RecordOptions {
  readonly limit?: number;
  readonly enrichFields?: string[];
  readonly dedupServiceLeads?: string[];
  readonly dedupCustomLeads?: string[];
  readonly exitStatus?: true;
}

/** What the options hold once files and standard input are read. */
interface SearchInput {
  readonly entityType: string;
  readonly objective: string;
  readonly limit: number | undefined;
  readonly enrichFields: readonly string[];
  readonly dedupServiceLeads: readonly string[];
  readonly dedupCustomLeads: readonly string[];
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

const searchFor = 'What to find:';

export function createSearchCommand(context: Context): Command {
  const { entityLimit } = limits;
  const command = new Command('search')
    .description('Streams leads that fit an objective, and prints them as they are found.')
    .addArgument(new Argument('<entity-type>', streamEntityTypes.join(', ')))
    .addArgument(
      new Argument('<objective>', 'what to find, in your own words; - for stdin, @file for a file'),
    );
  const options = [
    new Option(
      '--limit <n>',
      `at most this many leads (${entityLimit.min} to ${entityLimit.max}, default ${entityLimit.default})`,
    ).argParser((value) => checkNumber(entityLimit, '--limit', value)),
    new Option(
      '--enrich-fields <names>',
      'further fields to fill, such as funding_stage,headcount',
    ).argParser(collect),
    new Option('--dedup-service-leads <ids>', 'leave out what these earlier searches brought').argParser(
      collect,
    ),
    new Option(
      '--dedup-custom-leads <names>',
      'leave out leads of these names; @leads.csv reads a file',
    ).argParser(collect),
    new Option('--exit-status', 'exit 7 when nothing was found'),
  ];
  for (const option of options) command.addOption(option.helpGroup(searchFor));
  return addConnectionOptions(addPaidOptions(addRecordOptions(command)))
    .addHelpText('after', help)
    .action((entityType: string, objective: string, given: SearchOptions) =>
      runSearch(context, entityType, objective, given),
    );
}

/** Pure: the request of a streaming search, checked against the interface's limits. Throws UsageError. */
export function toEntitySearchRequest(input: SearchInput): EntitySearchRequest {
  const enrichFields = checkList(limits.entityEnrichFields, '--enrich-fields', input.enrichFields);
  const serviceLeads = checkList(limits.dedupServiceLeads, '--dedup-service-leads', input.dedupServiceLeads);
  const customLeads = checkList(limits.dedupCustomLeads, '--dedup-custom-leads', input.dedupCustomLeads);
  const request: EntitySearchRequest = {
    entity_type: checkStreamEntityType(input.entityType),
    objective: checkText(limits.entityObjective, 'the objective', input.objective),
    limit: input.limit ?? limits.entityLimit.default,
    ...(enrichFields.length === 0 ? {} : { enrich_fields: enrichFields }),
    ...(serviceLeads.length === 0 ? {} : { dedup_service_leads: serviceLeads }),
    ...(customLeads.length === 0 ? {} : { dedup_custom_leads: customLeads }),
  };
  checkBody(request);
  return request;
}

async function runSearch(
  context: Context,
  entityType: string,
  objective: string,
  options: SearchOptions,
): Promise<void> {
  const request = toEntitySearchRequest({
    // Before standard input is read for an objective that could not be used.
    entityType: checkStreamEntityType(entityType),
    objective: await readTextArgument(context, 'the objective', objective),
    limit: options.limit,
    enrichFields: await readList('--enrich-fields', 'name', options.enrichFields ?? []),
    dedupServiceLeads: await readList(
      '--dedup-service-leads',
      'leads_search_id',
      options.dedupServiceLeads ?? [],
    ),
    dedupCustomLeads: await readList('--dedup-custom-leads', 'name', options.dedupCustomLeads ?? []),
  });
  const idempotencyKey = checkIdempotencyKey(options.idempotencyKey ?? context.ids.idempotencyKey());
  const layout = toLayout(options, entityLayout(request.enrich_fields));

  await withConnection(context, options, async ({ client, settings, preview }) => {
    if (options.dryRun) return printPreview(context, preview(requests.search(request, idempotencyKey)));
    const kind = { shape: 'list', layout, preferred: settings.format } as const;
    await withOutput(context, options, kind, async (output) => {
      const { searchEntities } = await import('../../operations/search.ts');
      const summary = await withSpinner(context, options, output, 'searching', (deliver) =>
        searchEntities(client, request, idempotencyKey, deliver, context.signal),
      );
      const error =
        summary.cut === undefined ? undefined : toCutError(summary, request, idempotencyKey, await output.cut());
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

/** Pure: what a search came to, in one line. */
export function toClosingLine({ leads, stopReason, leadsSearchId, requestId }: SearchSummary): string {
  const facts = [
    `${leads} ${leads === 1 ? 'lead' : 'leads'}`,
    stopReason === undefined ? undefined : `stopped: ${stopReason}`,
    leadsSearchId === undefined ? undefined : `search ${leadsSearchId}`,
    requestId === undefined ? undefined : `request ${requestId}`,
  ];
  return facts.filter((fact) => fact !== undefined).join(' · ');
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
  const arrived =
    leads === 0 ? 'nothing arrived' : `${leads} ${leads === 1 ? 'lead' : 'leads'} arrived${place}`;
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
  const objective = request.objective.length > 200 ? '"…"' : quote(request.objective);
  return `To search on for the rest: leadpipe search ${request.entity_type} ${objective} --limit ${rest} --dedup-service-leads ${quote(exclude)}`;
}

/** A word for a POSIX shell. */
function quote(text: string): string {
  return /^[\w.,:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function idsOf({ requestId }: SearchSummary): { requestId?: string } {
  return requestId === undefined ? {} : { requestId };
}
