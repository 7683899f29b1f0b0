import { requests } from '../client.ts';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError, UsageError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { folderOf, readOperation, type StoredOperation } from '../operations/journal/journal.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../operations/journal/leads.ts';
import { type EarlierSearch, toContinuedRequest, toEarlierSearch } from '../operations/search/earlier.ts';
import { entityLayout } from '../output/columns.ts';
import { outputChanged } from '../output/open-file.ts';
import { checkIdempotencyKey } from '../requests/within-limits.ts';
import { withConnection } from './connect.ts';
import { withJournal } from './journaled.ts';
import { createNotes } from './notes.ts';
import { inputNames } from './options.ts';
import { printPreview } from './preview.ts';
import { withOutput } from './record-output.ts';
import { type SearchOptions, searchInto } from './search-into.ts';
import { checkLast, checkSame, outputOf, withOperation } from './task-resuming.ts';

/**
 * Goes on where a search was cut, by a new search, which is a new purchase: for the rest only, and into the same file,
 * completed with what arrived and is not there.
 */
export async function continueSearch(
  context: Context,
  operationId: string,
  given: SearchOptions,
): Promise<void> {
  const idempotencyKey = checkIdempotencyKey(
    given.idempotencyKey ?? context.ids.idempotencyKey(),
    inputNames,
  );
  const { state } = context.directories;
  await withOperation(context, operationId, async (earlierJournal, operation) => {
    const earlier = toEarlierSearch(await withoutUnbegun(state, operation));
    const brought = await broughtBy(folderOf(state, operationId));
    const request = toContinuedRequest(earlier, brought);
    const intoSame = await isIntoSame(earlier, given);
    const options = intoSame ? { ...given, ...outputOf(earlier.intent) } : given;
    if (intoSame) await checkBegun(context, operation, earlier, brought.length, given);
    await withConnection(context, options, async (connection) => {
      checkSame(earlier.intent, connection, connection.fingerprint(operationId));
      if (options.dryRun) {
        return printPreview(context, connection.preview(requests.search(request, idempotencyKey)));
      }
      const notes = createNotes(context, options);
      const kind = {
        shape: 'list',
        layout: entityLayout(request.enrich_fields),
        settings: connection.settings,
        ...(intoSame ? { resumed: { at: earlier.outputLength, warn: notes.warn } } : {}),
      } as const;
      notes.say(
        `Continuing ${operationId}: ${brought.length} of its leads are here, up to ${request.limit} more are bought.`,
      );
      await withOutput(context, options, kind, async (output) => {
        // A file of its own is whole only with all of them; on standard output they stand already.
        const counted = intoSame || output.file === undefined ? earlier.counted : 0;
        if (brought.length > counted) await output.write(brought.slice(counted));
        await output.settle();
        await output.sync();
        await withJournal(context, options, async (journal) => {
          if (journal.operationId !== undefined) {
            await earlierJournal.append({ type: 'continued', operation_id: journal.operationId });
          }
          await searchInto({ context, options, connection, output, journal }, request, idempotencyKey);
        });
      }).catch((error: unknown) => {
        throw isChanged(error) ? error.with({ charged: 'no', hint: toElsewhere(operationId) }) : error;
      });
    });
  });
}

/** The operation without the continuations that were killed before they were written down: nothing was sent for them. */
async function withoutUnbegun(
  stateDir: string,
  { operationId, entries: [intent, ...rest] }: StoredOperation,
): Promise<StoredOperation> {
  const begun = await Promise.all(
    rest.map(
      async (entry) =>
        entry.type !== 'continued' ||
        // One that can't be read may have been sent.
        (await readOperation(stateDir, entry.operation_id).catch(() => entry)) !== undefined,
    ),
  );
  return { operationId, entries: [intent, ...rest.filter((_, index) => begun[index])] };
}

/** Whether the rows go where those of the earlier search went: also where that file is named again. */
async function isIntoSame({ intent }: EarlierSearch, { output }: SearchOptions): Promise<boolean> {
  if (intent.output === null) return false;
  if (output === undefined) return true;
  const { isSameFile } = await import('../output/file-sink.ts');
  return output !== '-' && (await isSameFile(output, intent.output));
}

/** Throws UsageError for another output than the one that was begun, LocalIoError where its rows can't be told from others. */
async function checkBegun(
  context: Context,
  operation: StoredOperation,
  { intent, outputLength }: EarlierSearch,
  brought: number,
  given: SearchOptions,
): Promise<void> {
  const begun = outputOf(intent);
  const names = ['format', 'columns', 'csvRaw', 'append'] as const;
  if (names.some((name) => given[name] !== undefined && String(given[name]) !== String(begun[name]))) {
    throw new UsageError(
      `${intent.output} was begun with other options than these`,
      'Leave out -f, --columns, --csv-raw and --append, or name another file with -o.',
    );
  }
  const hint = toElsewhere(operation.operationId);
  // Rows that are added leave the others where they are; a .part replaces them.
  if (!begun.append) return await checkLast(context, operation, hint);
  if (outputLength === undefined && brought > 0) {
    throw new LocalIoError(`where the rows of this search begin in ${intent.output} is not known`, {
      charged: 'no',
      hint,
    });
  }
}

function isChanged(error: unknown): error is LeadpipeError {
  return error instanceof LeadpipeError && error.details.type === outputChanged;
}

function toElsewhere(operationId: string): string {
  return `Nothing was sent. To go on in another file, with all of its leads: leadpipe search --continue ${operationId} -o <file>`;
}

/** Throws ConfigurationError for a damaged one: to go on without some of them would pass for all. */
async function broughtBy(folder: string): Promise<JsonText[]> {
  const leads: JsonText[] = [];
  if ((await sizeOfStoredLeads(folder)) === undefined) return leads;
  const damaged = (line: number, path: string): never => {
    throw new ConfigurationError(
      `line ${line} of ${path} is damaged`,
      'What can be read of it: leadpipe history show; leadpipe has changed nothing.',
    );
  };
  for await (const some of readStoredLeads(folder, damaged)) leads.push(...some);
  return leads;
}
