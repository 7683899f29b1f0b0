import type { Context } from '../../context.ts';
import { completeAddition } from '../../files/addition.ts';
import { isSameFile } from '../../files/target.ts';
import { pendingAddition } from '../../operations/journal/entries.ts';
import { type Journal, readOperations, type StoredOperation } from '../../operations/journal/journal.ts';
import { withOperation } from '../../operations/journal/with-journal.ts';

/**
 * Completes what the last run that added rows to a file was killed in. The lock of the output is held; `held` is the operation whose
 * journal this run has open. Throws LocalIoError.
 */
export async function completePending(
  context: Context,
  file: string,
  held?: { readonly journal: Journal; readonly operation: StoredOperation },
): Promise<void> {
  const { operations } = await readOperations(context.directories.state);
  for (const one of operations.toReversed()) {
    const [{ output }] = one.entries;
    if (output === null || pendingAddition(one.entries) === undefined) continue;
    if (!(await isSameFile(output, file))) continue;
    if (one.operationId === held?.operation.operationId) {
      return void (await completeOf(held.journal, held.operation));
    }
    return void (await withOperation(context, one.operationId, completeOf));
  }
}

/** Whether nothing is left to add of this operation. Throws LocalIoError. */
export async function completeOf(journal: Journal, { entries }: StoredOperation): Promise<boolean> {
  const addition = pendingAddition(entries);
  const { output } = entries[0];
  if (addition === undefined || output === null) return entries.some(({ type }) => type === 'placed');
  if ((await completeAddition(output, addition)) === 'not_added') return false;
  await journal.append({ type: 'placed' });
  return true;
}
