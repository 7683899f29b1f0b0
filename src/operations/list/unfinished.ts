import type { StoredOperation } from '../journal/journal.ts';
import { rowsOf } from '../kinds.ts';

/** Pure: whether a run of a list has not come to its end, or has rows without an answer. */
export function isUnfinished({ entries }: StoredOperation): boolean {
  const last = entries.findLast((entry) => entry.type === 'terminal');
  return last?.type !== 'terminal' || last.outcome !== 'complete';
}

/** Pure: the lists that were left before their end, and can be gone on with: their rows are in a file. */
export function unfinishedLists(operations: readonly StoredOperation[]): StoredOperation[] {
  return operations.filter(
    ({ entries: [intent, ...rest] }) =>
      rowsOf(intent.command) !== undefined &&
      intent.options.input !== '-' &&
      !rest.some(({ type }) => type === 'terminal'),
  );
}
