import type { Context } from '../../context.ts';
import { LeadpipeError, outputChanged } from '../../errors.ts';
import { chainTo, isComplete, isSearch } from '../../operations/journal/chain.ts';
import { readOperations, type StoredOperation } from '../../operations/journal/journal.ts';
import { withOperation } from '../../operations/journal/with-journal.ts';
import { completeRows, type RestOfSearch, readChain } from '../../operations/search/continue.ts';
import { isResumable } from '../../operations/task/progress.ts';
import { createNotes } from '../messages/notes.ts';
import type { ConnectionOptions } from '../options/options.ts';
import { fromTerms, openOutput } from './orders.ts';
import { printedAs } from './printed-as.ts';

/**
 * Makes the end of a file whole to which rows are to be added, where the last run that added rows was killed in one of them:
 * what of it is stored here is written in full; what is not goes to a file beside. Throws LocalIoError.
 */
export async function mendEnd(context: Context, options: ConnectionOptions, file: string): Promise<void> {
  const { state } = context.directories;
  const { operations } = await readOperations(state);
  const last = await findLast(operations, file);
  if (last === undefined) return;
  const [intent] = last.entries;
  const opened = last.entries.find((entry) => entry.type === 'opened');
  if (isSearch(last)) {
    const rest = await readChain(state, chainTo(last, operations)).catch(() => undefined);
    if (rest?.isKept && (await isCompleted(context, options, rest))) return;
  }
  const { moveTornRow } = await import('../../output/append.ts');
  const format = intent.options.format === 'csv' ? 'csv' : 'jsonl';
  await moveTornRow(file, format, opened?.output_length ?? 0, createNotes(context, options).warn);
}

/** The last operation that added rows to the file, if it was left before its end. */
async function findLast(
  operations: readonly StoredOperation[],
  file: string,
): Promise<StoredOperation | undefined> {
  const { isSameFile } = await import('../../output/file-sink.ts');
  for (const one of operations.toReversed()) {
    const [{ output, options }, ...rest] = one.entries;
    const isOpened = options.append === true && rest.some(({ type }) => type === 'opened');
    if (!isOpened || output === null || !(await isSameFile(output, file))) continue;
    const isOver = isComplete(one) || !(isSearch(one) || isResumable(one.entries[0]));
    return isOver ? undefined : one;
  }
  return undefined;
}

/** False where nothing is missing in the file, or what stands there is not what the search wrote. */
async function isCompleted(
  context: Context,
  options: ConnectionOptions,
  rest: RestOfSearch,
): Promise<boolean> {
  const { brought, counted, intent, outputLength: at, operation } = rest;
  if (at === undefined || counted === brought.length) return false;
  const { warn } = createNotes(context, options);
  const printed = printedAs('search', JSON.parse(intent.body ?? '{}'));
  const begun = { ...options, ...fromTerms(intent) };
  const open = openOutput(context, begun, { ...printed, settings: {}, resumed: { at, warn }, held: true });
  try {
    await withOperation(context, operation.operationId, (journal) => completeRows(rest, journal, open));
    return true;
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.details.type !== outputChanged) throw error;
    return false;
  }
}
