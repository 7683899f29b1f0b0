import { requests } from '../client.ts';
import type { Context } from '../context.ts';
import type { JsonText } from '../json/text.ts';
import { checkIdempotencyKey } from '../operations/check-input.ts';
import { toContinuedRequest, toEarlierSearch } from '../operations/continue-search.ts';
import { folderOf } from '../operations/journal.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../operations/stored-leads.ts';
import { entityLayout } from '../output/columns.ts';
import { withConnection } from './connection.ts';
import { withJournal } from './journaled.ts';
import { createNotes } from './notes.ts';
import { printPreview } from './preview.ts';
import { toLayout, withOutput } from './record-output.ts';
import { type SearchOptions, searchInto } from './search-into.ts';
import { checkSame, outputOf, withOperation } from './task-resuming.ts';

/**
 * Goes on where a search was cut, by a new search, which is a new purchase: for the rest only, and into the same file,
 * cut back to what is counted and completed with what arrived and was not.
 */
export async function continueSearch(
  context: Context,
  operationId: string,
  given: SearchOptions,
): Promise<void> {
  const idempotencyKey = checkIdempotencyKey(given.idempotencyKey ?? context.ids.idempotencyKey());
  await withOperation(context, operationId, async (earlierJournal, operation) => {
    const earlier = toEarlierSearch(operation);
    const brought = await broughtBy(folderOf(context.directories.state, operationId));
    const request = toContinuedRequest(earlier, brought);
    const intoSame = given.output === undefined && earlier.intent.output !== null;
    const options = intoSame ? { ...given, ...outputOf(earlier.intent) } : given;
    const layout = toLayout(options, entityLayout(request.enrich_fields));
    await withConnection(context, options, async (connection) => {
      checkSame(earlier.intent, connection, connection.fingerprint(operationId));
      if (options.dryRun) {
        return printPreview(context, connection.preview(requests.search(request, idempotencyKey)));
      }
      const kind = {
        shape: 'list',
        layout,
        preferred: connection.settings.format,
        ...(intoSame ? { resumeAt: earlier.outputLength ?? 0 } : {}),
      } as const;
      createNotes(context, options).say(
        `Continuing ${operationId}: ${brought.length} of its leads are here, up to ${request.limit} more are bought.`,
      );
      await withOutput(context, options, kind, (output) =>
        withJournal(context, options, async (journal) => {
          // A file of its own is whole only with all of them; on standard output they stand already.
          const counted = intoSame || output.file === undefined ? earlier.delivered : 0;
          if (brought.length > counted) await output.write(brought.slice(counted));
          const length = await output.sync();
          if (journal.operationId !== undefined) {
            await earlierJournal.append({ type: 'continued', operation_id: journal.operationId });
          }
          await searchInto(
            { context, options, connection, output, journal },
            request,
            idempotencyKey,
            length,
          );
        }),
      );
    });
  });
}

async function broughtBy(folder: string): Promise<JsonText[]> {
  const leads: JsonText[] = [];
  if ((await sizeOfStoredLeads(folder)) === undefined) return leads;
  for await (const some of readStoredLeads(folder)) leads.push(...some);
  return leads;
}
