import type { JsonText } from '../json/text.ts';
import { readAnswer } from '../operations/journal/answers.ts';
import { readChainFrom } from '../operations/journal/chain.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../operations/journal/leads.ts';
import { hasRows, readStoredAnswers } from '../operations/journal/rows.ts';
import { folderOf, readOperation, type StoredOperation } from '../operations/journal/stored.ts';
import { isKept, kinds, recordsOf, rowsOf } from '../operations/kinds.ts';

/** What is kept of an operation and of those that went on with it. */
export interface Stored {
  readonly first: StoredOperation;
  readonly last: StoredOperation;
  /** All records, some at a time; none at all, not even an empty batch, where nothing is kept any more. */
  read(signal: AbortSignal, damaged?: () => void): AsyncGenerator<readonly JsonText[]>;
}

/** Undefined where there is no such operation. Throws LocalIoError. */
export async function findStored(stateDir: string, operationId: string): Promise<Stored | undefined> {
  const first = await readOperation(stateDir, operationId);
  if (first === undefined) return undefined;
  const chain = await readChainFrom(stateDir, first);
  return {
    first,
    last: chain.at(-1) ?? first,
    async *read(signal, damaged = () => {}) {
      for (const { operationId, entries } of chain) {
        yield* recordsIn(folderOf(stateDir, operationId), entries[0].command, signal, damaged);
      }
    },
  };
}

/**
 * Records from a position on, and how many there are in all; undefined where nothing is kept. Throws ConfigurationError for a
 * damaged answer, LocalIoError, and when `signal` aborts.
 */
export async function readSome(
  stored: Stored,
  from: number,
  most: number,
  signal: AbortSignal,
): Promise<{ records: readonly JsonText[]; count: number; damaged: number } | undefined> {
  const records: JsonText[] = [];
  let count = 0;
  let damaged = 0;
  let isKeptHere = false;
  for await (const some of stored.read(signal, () => damaged++)) {
    isKeptHere = true;
    for (const record of some) {
      if (count >= from && records.length < most) records.push(record);
      count++;
    }
  }
  return isKeptHere ? { records, count, damaged } : undefined;
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
    for await (const { answer } of readStoredAnswers(folder)) yield await recordsOf(list, answer, signal);
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
