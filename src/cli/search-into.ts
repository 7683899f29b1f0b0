import { requests } from '../client.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { limits } from '../contract/limits.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { Journal } from '../operations/journal/journal.ts';
import type { SearchJournal } from '../operations/search/keeping.ts';
import type { SearchSummary } from '../operations/search/stream.ts';
import { RequestError } from '../transport/errors.ts';
import { countOf, toClosingLine } from './closing-line.ts';
import type { EntitySearchOptions } from './entity-search-options.ts';
import { toIntent } from './journaled.ts';
import { createNotes, type Notes } from './notes.ts';
import type { ConnectionOptions, PaidOptions, RecordOptions } from './options.ts';
import { type RecordOutput, toFormat } from './record-output.ts';
import { shellWord } from './shell-word.ts';
import { withSpinner } from './spinner.ts';

export interface SearchOptions extends ConnectionOptions, PaidOptions, RecordOptions, EntitySearchOptions {
  readonly exitStatus?: true;
  readonly continue?: string;
}

export interface SearchRun {
  readonly context: Context;
  readonly options: SearchOptions;
  readonly connection: Connection;
  readonly output: RecordOutput;
  readonly journal: Journal;
}

/**
 * Sends one search and writes what it brings, with a journal of both. Throws what ends the search early, and
 * `partial` or `unknown` for one that was cut.
 */
export async function searchInto(
  run: SearchRun,
  request: EntitySearchRequest,
  idempotencyKey: string,
): Promise<void> {
  const { context, options, connection, output, journal } = run;
  const { operationId } = journal;
  const notes = createNotes(context, options);
  const { searchEntities } = await import('../operations/search/stream.ts');
  const kept = await openSearchJournal(run, request, idempotencyKey, notes);
  try {
    const summary = await withSpinner(context, options, output, 'searching', (deliver) =>
      searchEntities(
        connection.client,
        request,
        idempotencyKey,
        async (entities, ids) => {
          await kept.keep(entities, ids);
          await deliver(entities);
          await kept.delivered(entities.length, ids);
        },
        context,
      ).catch(async (error: unknown) => {
        await kept.failed(error);
        throw error;
      }),
    );
    const length = summary.cut === undefined ? undefined : await output.sync().catch(() => undefined);
    const error =
      summary.cut === undefined
        ? undefined
        : toCutError(summary, request, idempotencyKey, await output.cut(), operationId);
    await kept.end(summary, error, length);
    if (error?.outcome !== 'reader_closed') {
      for (const warning of summary.warnings) notes.warn(warning);
      notes.say(toClosingLine({ ...summary, operationId }));
    }
    if (error !== undefined) throw error;
    await output.finish();
    if (options.exitStatus && summary.leads === 0) {
      throw new LeadpipeError('no_result', 'no leads were found', idsOf(summary));
    }
  } finally {
    await kept.close();
  }
}

/** Writes down what is about to be sent, and where in the output its rows begin. Throws LocalIoError. */
async function openSearchJournal(
  { context, options, connection, output, journal }: SearchRun,
  request: EntitySearchRequest,
  idempotencyKey: string,
  notes: Notes,
): Promise<SearchJournal> {
  const { createSearchJournal } = await import('../operations/search/keeping.ts');
  const { body = '' } = requests.search(request, idempotencyKey);
  const kept = await createSearchJournal(
    journal,
    context.directories.state,
    context.clock,
    output.sync,
    (why) => notes.warn(`${why}; what follows can not be shown again`),
  );
  // What a profile or an extension decided may be decided otherwise later.
  const format = toFormat(options, context.stdout.isTerminal, connection.settings.format);
  const begun = output.file === undefined ? options : { ...options, format };
  await journal.append(
    {
      ...toIntent(context, connection, journal, 'search', begun, {}),
      idempotency_key: idempotencyKey,
      body,
    },
    ...(output.length === undefined ? [] : [{ type: 'opened', output_length: output.length } as const]),
    { type: 'sent', time: context.clock.now().toISOString() },
  );
  return kept;
}

/**
 * The error of a search that was not whole: how it ends is the cause's business when the run was stopped or the output
 * failed, else it is partial, or unknown when nothing came.
 */
function toCutError(
  summary: SearchSummary,
  request: EntitySearchRequest,
  idempotencyKey: string,
  kept: string | undefined,
  operationId: string | undefined,
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
    hint: toContinuation(summary, request, operationId),
    cause,
    ...idsOf(summary),
  });
}

/** A new search, and a new purchase, for the rest only. */
function toContinuation(
  { leads, leadsSearchId }: SearchSummary,
  request: EntitySearchRequest,
  operationId: string | undefined,
): string {
  const rest = (request.limit ?? limits.entityLimit.default) - leads;
  if (leadsSearchId === undefined || leads === 0) {
    return 'It may have been charged. Compare `leadpipe balance` before you run it again: a new run is a new purchase.';
  }
  if (rest <= 0) return 'All leads that were asked for have arrived.';
  if (operationId !== undefined) {
    return `To search on for the rest, as a new purchase: leadpipe search --continue ${operationId}`;
  }
  const exclude = [...(request.dedup_service_leads ?? []), leadsSearchId].join(',');
  const objective = request.objective.length > 200 ? '"…"' : shellWord(request.objective);
  return `To search on for the rest: leadpipe search ${request.entity_type} ${objective} --limit ${rest} --dedup-service-leads ${shellWord(exclude)}`;
}

function idsOf({ requestId }: SearchSummary): { requestId?: string } {
  return requestId === undefined ? {} : { requestId };
}
