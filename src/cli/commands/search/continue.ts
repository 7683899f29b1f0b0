import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import type { Intent } from '../../../operations/journal/journal.ts';
import { withOperation } from '../../../operations/journal/with-journal.ts';
import { checkSameBuyer } from '../../../operations/purchase.ts';
import { buyRest, checkSameOutput, readRest } from '../../../operations/search/continue.ts';
import { withConnection } from '../../connect.ts';
import { createNotes } from '../../messages/notes.ts';
import { fromTerms, openOutput, toOrder, toShop } from '../../records/orders.ts';
import { printedAs } from '../../records/printed-as.ts';
import { createSearchListener, type SearchOptions } from '../search.ts';

/**
 * Goes on where a search was cut, by a new search, which is a new purchase: for the rest only, and into the same file,
 * completed with what arrived and is not there.
 */
export async function continueSearch(
  context: Context,
  operationId: string,
  given: SearchOptions,
): Promise<void> {
  const { state } = context.directories;
  await withOperation(context, operationId, async (earlierJournal, operation) => {
    const rest = await readRest(state, operation);
    const { intent } = rest.earlier;
    const intoSame = await isIntoSame(intent, given);
    const options = intoSame ? { ...given, ...fromTerms(intent) } : given;
    if (intoSame) {
      checkBegun(intent, given);
      await checkSameOutput(state, rest);
    }
    await withConnection(context, options, async (connection) => {
      const shop = toShop(context, options, connection);
      checkSameBuyer(shop, operation);
      const { say, warn } = createNotes(context, options);
      const order = toOrder(context, options, connection, 'search', rest.request);
      const resumed = intoSame ? { at: rest.earlier.outputLength, warn } : undefined;
      const { settings } = connection;
      const open = openOutput(context, options, { ...printedAs('search', rest.request), settings, resumed });
      if (!options.dryRun) {
        say(
          `Continuing ${operationId}: ${rest.brought.length} of its leads are here, up to ${rest.request.limit} more are bought.`,
        );
      }
      const listener = createSearchListener(context, options);
      await buyRest(shop, rest, earlierJournal, { ...order, open, intoSame }, listener);
    });
  });
}

/** Whether the rows go where those of the earlier search went: also where that file is named again. */
async function isIntoSame({ output: begun }: Intent, { output }: SearchOptions): Promise<boolean> {
  if (begun === null) return false;
  if (output === undefined) return true;
  const { isSameFile } = await import('../../../output/file-sink.ts');
  return output !== '-' && (await isSameFile(output, begun));
}

/** Throws UsageError for another output than the one that was begun. */
function checkBegun(intent: Intent, given: SearchOptions): void {
  const begun = fromTerms(intent);
  const names = ['format', 'columns', 'csvRaw', 'append'] as const;
  if (names.every((name) => given[name] === undefined || String(given[name]) === String(begun[name]))) return;
  throw new UsageError(
    `${intent.output} was begun with other options than these`,
    'Leave out -f, --columns, --csv-raw and --append, or name another file with -o.',
  );
}
