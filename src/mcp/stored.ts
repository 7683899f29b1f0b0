import type { JsonText } from '../json/text.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../operations/journal/leads.ts';
import { readAnswer } from '../operations/journal/stored-answer.ts';
import { hasRows, readStoredAnswers } from '../operations/journal/stored-rows.ts';
import { isKept, kinds, recordsOf, rowsOf } from '../operations/kinds/kinds.ts';
import type { Operation } from '../operations/operation.ts';

/**
 * All records of an operation, some at a time. Yields nothing, not even an empty batch, where nothing is stored any more. Throws
 * ConfigurationError for a damaged answer, LocalIoError, and when `signal` aborts.
 */
export async function* readStored(
  { folder, intent: { command } }: Operation,
  signal: AbortSignal,
  damaged = (): void => {},
): AsyncGenerator<readonly JsonText[]> {
  const list = rowsOf(command);
  if (list !== undefined) {
    if (!hasRows(folder)) return;
    for await (const { answer } of readStoredAnswers(folder)) yield await recordsOf(list, answer, signal);
  } else if (isKept(command) && kinds[command].keeps === 'answer') {
    const answer = await readAnswer(folder);
    if (answer !== undefined) yield await recordsOf(command, answer, signal);
  } else if (isKept(command) && (await sizeOfStoredLeads(folder)) !== undefined) {
    yield [];
    yield* readStoredLeads(folder, damaged);
  }
}

/** Records from a position on, and the number of all; undefined where nothing is stored. */
export async function readSome(
  all: AsyncIterable<readonly JsonText[]> | Iterable<readonly JsonText[]>,
  from: number,
  max: number,
) {
  const records: JsonText[] = [];
  let count: number | undefined;
  for await (const some of all) {
    count ??= 0;
    for (const record of some) {
      if (count >= from && records.length < max) records.push(record);
      count++;
    }
  }
  return count === undefined ? undefined : { records, count };
}
