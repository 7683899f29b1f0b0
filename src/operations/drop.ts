import type { StoreContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { statOrNothing } from '../files/target.ts';
import { entry } from './journal/entries.ts';
import { naming } from './journal/journal.ts';

import { openOperation, readSpent } from './known-operations.ts';
import { folderOfList, removeRun } from './only-new/lists.ts';
import type { Operation } from './operation.ts';
import { readHistoryRecord, receivedOf } from './report/history.ts';
import { removeFiles } from './run-output.ts';

/** Whatever the history calls interrupted can be dropped. Throws UsageError for anything else that can't be resumed. */
export async function checkDroppable(operation: Operation): Promise<void> {
  const { operationId } = operation;
  if (operation.resumes !== 'no') return;
  const { state } = await readHistoryRecord(operation);
  if (state === 'interrupted') return;
  throw new UsageError(
    `${operationId} can't be dropped: only unfinished purchases can be dropped (state: ${state})`,
  );
}

/** Whether a temporary output file is left, which is removed when the operation is dropped: no output has its leads then. */
export async function hasFileLeft({ files }: Operation): Promise<boolean> {
  const found = await Promise.all(files.map((file) => statOrNothing(file).catch(() => undefined)));
  return found.some((one) => one !== undefined);
}

/**
 * Ends an unfinished operation, so that it is no longer resumed and can be pruned. Its records and its possible cost stay; its temporary
 * output files are removed, and the leads in them leave their list, which has only what was delivered. Throws `temporary` while a process works
 * on it, UsageError as `checkDroppable`, LocalIoError.
 */
export async function dropOperation(context: StoreContext, operationId: string): Promise<void> {
  const { journal, operation } = await openOperation(context, operationId);
  try {
    await checkDroppable(operation);
    const { list, origin } = operation.intent;
    if (list !== undefined && (await hasFileLeft(operation))) {
      await removeRun(context, folderOfList(context.directories.state, list, origin), operationId);
    }
    const record = await readHistoryRecord(operation);
    const { charged, excluded, found, leads, not_found } = record;
    const counts = {
      charged,
      found,
      not_found,
      leads: leads ?? (found === null ? null : receivedOf(record)),
    };
    const known = Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== null));
    await journal.end(
      entry.terminal('interrupted', {
        dropped: true,
        ...(await readSpent(operation)),
        ...known,
        ...(excluded === null ? {} : { excluded }),
      }),
    );
    await removeFiles(operation.files);
  } catch (error) {
    throw naming(error, operationId);
  } finally {
    await journal.close();
  }
}
