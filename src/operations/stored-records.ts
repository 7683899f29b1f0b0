import type { JsonText } from '../json/text.ts';
import { countReceived, readAnswer, readReceived, sizeOfReceived } from './journal/received.ts';
import { hasRows, readStoredAnswers } from './journal/stored-rows.ts';
import { isAnswerKind, isKept, recordsOf, rowsOf } from './kinds/kinds.ts';
import type { Operation } from './operation.ts';

/**
 * Whether any received record of the operation is stored. A complete search without leads counts as stored, too. Throws ConfigurationError for a damaged
 * answer, LocalIoError.
 */
export async function isStored({ folder, intent: { command }, isComplete }: Operation): Promise<boolean> {
  if (rowsOf(command) !== undefined) return hasRows(folder);
  if (!isKept(command)) return false;
  if (isAnswerKind(command)) return (await readAnswer(folder)) !== undefined;
  const size = await sizeOfReceived(folder);
  return size !== undefined && (size > 0 || isComplete);
}

/** Whether all that was delivered is stored: a disk may have been full. Throws as `isStored`. */
export async function isStoredWhole(operation: Operation): Promise<boolean> {
  const { folder, intent, progress } = operation;
  if (!(await isStored(operation))) return false;
  const isLeads = isKept(intent.command) && !isAnswerKind(intent.command);
  return !isLeads || (await countReceived(folder)).delivered >= progress.delivered;
}

/**
 * The delivered records of an operation, in batches: its leads, or the records in its answers; none if nothing is stored. `damaged` is called for
 * each lead that can't be read. Throws ConfigurationError for a damaged answer, LocalIoError, and when `signal` aborts.
 */
export async function* readStored(
  operation: Operation,
  signal: AbortSignal,
  damaged: () => void = () => {},
): AsyncGenerator<readonly JsonText[]> {
  const { folder, intent } = operation;
  const { command } = intent;
  const row = rowsOf(command);
  if (row !== undefined) {
    for await (const { answer } of readStoredAnswers(folder)) yield await recordsOf(row, answer, signal);
    return;
  }
  if (isAnswerKind(command)) {
    const answer = await readAnswer(folder);
    if (answer !== undefined) yield await recordsOf(command, answer, signal);
    return;
  }
  for await (const records of readReceived(folder, damaged))
    yield records.flatMap(({ isNew, text }) => (isNew ? [text] : []));
}

/** The whole answers of an operation that has no leads, as they came: of a list with the request ID of each. Throws as `readStored`. */
export async function* readWhole(operation: Operation): AsyncGenerator<{
  readonly answer: JsonText;
  readonly requestId?: JsonText;
}> {
  const { folder, intent } = operation;
  if (rowsOf(intent.command) !== undefined) {
    yield* readStoredAnswers(folder);
    return;
  }
  const answer = await readAnswer(folder);
  if (answer !== undefined) yield { answer };
}

/** At most `max` records from a position on, and the number of all records. */
export async function sliceOf(
  all: AsyncIterable<readonly JsonText[]> | Iterable<readonly JsonText[]>,
  from: number,
  max: number,
) {
  const records: JsonText[] = [];
  let count = 0;
  for await (const some of all) {
    for (const record of some) {
      if (count >= from && records.length < max) records.push(record);
      count++;
    }
  }
  return { records, count };
}
