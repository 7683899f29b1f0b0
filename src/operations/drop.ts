import { UsageError } from '../errors.ts';
import { readChainFrom } from './journal/chain.ts';
import { toTerminal } from './journal/entries.ts';
import { readHistoryRecord } from './report/history.ts';
import { withOperation } from './journal/journal.ts';
import type { IndexContext } from './journal/operation-index.ts';
import { countRows } from './journal/rows.ts';
import { rowsOf } from './kinds/kinds.ts';
import type { Operation } from './operation.ts';
import { exact } from './money.ts';

export async function checkDroppable(
  { directories: { state } }: IndexContext,
  operation: Operation,
): Promise<void> {
  const { operationId } = operation;
  const last = (await readChainFrom(state, operation)).at(-1) ?? operation;
  if (last !== operation) {
    throw new UsageError(`${operationId} was resumed by ${last.operationId}: that one can be dropped`);
  }
  if (operation.resumes !== 'no') return;
  const record = await readHistoryRecord(state, operation);
  throw new UsageError(`${operationId} is not unfinished (state: ${record.state}): there is nothing to drop`);
}

/**
 * Ends an unfinished operation: it is not resumed any more, and is pruned like the others. What arrived stays, and so does its possible
 * cost. Throws `temporary` while a process works on it, UsageError as `checkDroppable`, LocalIoError.
 */
export async function dropOperation(context: IndexContext, operationId: string): Promise<void> {
  await withOperation(context, operationId, async (journal, operation) => {
    await checkDroppable(context, operation);
    const { state } = context.directories;
    const { charged, leads } = await readHistoryRecord(state, operation);
    const known = { ...(charged === null ? {} : { charged }), ...(leads === null ? {} : { leads }) };
    // A list keeps the number of rows that may have been charged, and counts for the day with these instead of all its rows.
    const { command, worst_case } = operation.intent;
    const rows = rowsOf(command) && (await countRows(operation.folder));
    const spent = rows && worst_case != null ? { spent: exact(rows.sent * worst_case) } : {};
    const sent = rows && { sent_rows: rows.sent, ...spent };
    await journal.append(toTerminal('interrupted', { dropped: true, ...known, ...sent }));
  });
}
