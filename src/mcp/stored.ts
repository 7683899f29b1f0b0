import type { JsonText } from '../json/text.ts';
import { readAnswer } from '../operations/journal/answers.ts';
import { folderOf, readOperation, type StoredOperation } from '../operations/journal/journal.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../operations/journal/leads.ts';
import { hasRows, readStoredAnswers } from '../operations/journal/rows.ts';
import { isKept, kinds, recordsOf, rowsOf } from '../operations/kinds.ts';
import { chainOf } from './earlier.ts';

/** Some of the records that are kept of an operation. */
export interface StoredRecords {
  readonly records: readonly JsonText[];
  /** How many there are in all. */
  readonly count: number;
  /** How many could not be read. */
  readonly damaged: number;
  /** The operation that went on with it last. */
  readonly last: StoredOperation;
}

/**
 * Records of an operation and of those that went on with it, from a position on; `records` is undefined where nothing is kept of
 * them. Undefined where there is no such operation. Throws ConfigurationError for a damaged answer, LocalIoError, and when
 * `signal` aborts.
 */
export async function readRecords(
  stateDir: string,
  operationId: string,
  from: number,
  most: number,
  signal: AbortSignal,
): Promise<(Omit<StoredRecords, 'records'> & Partial<StoredRecords>) | undefined> {
  const operation = await readOperation(stateDir, operationId);
  if (operation === undefined) return undefined;
  const chain = await chainOf(stateDir, operation);
  const last = chain.at(-1) ?? operation;
  const records: JsonText[] = [];
  let count = 0;
  let damaged = 0;
  let isKeptHere = false;
  for (const { operationId, entries } of chain) {
    const folder = folderOf(stateDir, operationId);
    for await (const some of recordsIn(folder, entries[0].command, signal, () => damaged++)) {
      isKeptHere = true;
      for (const record of some) {
        if (count >= from && records.length < most) records.push(record);
        count++;
      }
    }
  }
  return { ...(isKeptHere ? { records } : {}), count, damaged, last };
}

/** All that is kept, some at a time; nothing at all where nothing is kept any more. */
async function* recordsIn(
  folder: string,
  command: string,
  signal: AbortSignal,
  damaged: () => void,
): AsyncGenerator<readonly JsonText[]> {
  const list = rowsOf(command);
  if (list !== undefined) {
    if (!(await hasRows(folder))) return;
    for await (const answer of readStoredAnswers(folder)) yield await recordsOf(list.row, answer, signal);
    return;
  }
  if (!isKept(command)) return;
  if (kinds[command].keeps === 'answer') {
    const answer = await readAnswer(folder);
    if (answer !== undefined) yield await recordsOf(command, answer, signal);
    return;
  }
  if ((await sizeOfStoredLeads(folder)) === undefined) return;
  yield [];
  for await (const leads of readStoredLeads(folder, damaged)) yield leads;
}
