import { UsageError } from '../errors.ts';
import { entry } from './journal/entries.ts';
import type { IndexContext } from './journal/operation-index.ts';
import { countRows } from './journal/stored-rows.ts';
import { settleKilledRun } from './killed-list.ts';
import { rowsOf } from './kinds/kinds.ts';
import type { Operation } from './operation.ts';
import { withOperation } from './operation.ts';
import { readHistoryRecord } from './report/history.ts';

export async function checkDroppable(operation: Operation): Promise<void> {
  const { operationId } = operation;
  if (operation.resumes !== 'no') return;
  const record = await readHistoryRecord(operation);
  throw new UsageError(`${operationId} is not unfinished (state: ${record.state}): there is nothing to drop`);
}

/**
 * Ends an unfinished operation: it is not resumed any more, and is pruned like the others. What arrived stays, and so does its possible
 * cost. Throws `temporary` while a process works on it, UsageError as `checkDroppable`, LocalIoError.
 */
export async function dropOperation(context: IndexContext, operationId: string): Promise<void> {
  await withOperation(context, operationId, async (journal, operation) => {
    await checkDroppable(operation);
    const { charged, leads } = await readHistoryRecord(operation);
    const known = { ...(charged === null ? {} : { charged }), ...(leads === null ? {} : { leads }) };
    await settleKilledRun(journal, operation);
    // A list keeps the number of rows that may have been charged.
    const rows = rowsOf(operation.intent.command) && (await countRows(operation.folder));
    const sent = rows && { sent_rows: rows.sent };
    await journal.append(entry.terminal('interrupted', { dropped: true, ...known, ...sent }));
  });
}
