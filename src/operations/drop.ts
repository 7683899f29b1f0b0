import { UsageError } from '../errors.ts';
import { entry } from './journal/entries.ts';
import type { IndexContext } from './journal/operation-index.ts';
import { countRows } from './journal/stored-rows.ts';
import { rowsOf } from './kinds/kinds.ts';
import { times } from './money.ts';
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
    // A list keeps the number of rows that may have been charged, and counts for the day with these instead of all its rows.
    const { command, row_price, worst_case = null } = operation.intent;
    const rows = rowsOf(command) && (await countRows(operation.folder));
    const each = worst_case === null ? row_price && { credits: null, ...row_price } : { credits: worst_case };
    const { credits: spent, unknown } = (rows && each && times(each, rows.sent)) ?? {};
    const cost = { ...(spent === undefined ? {} : { spent }), ...(unknown === undefined ? {} : { unknown }) };
    const sent = rows && { sent_rows: rows.sent, ...cost };
    await journal.append(entry.terminal('interrupted', { dropped: true, ...known, ...sent }));
  });
}
