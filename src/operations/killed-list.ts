import { entry } from './journal/entries.ts';
import type { Journal } from './journal/journal.ts';
import { countRows } from './journal/stored-rows.ts';
import { times } from './money.ts';
import type { Operation } from './operation.ts';

/**
 * Until a list ends, all the rows that its run could buy count for the day. Where that run was killed, this writes down what it can have
 * bought, in place of that. The caller holds the lock of the operation. Returns whether there was such a run. Throws LocalIoError.
 */
export async function settleKilledRun(
  journal: Journal,
  { folder, intent, openRun }: Operation,
): Promise<boolean> {
  const { row_price, worst_case = null } = intent;
  const each = worst_case === null ? row_price && { credits: null, ...row_price } : { credits: worst_case };
  if (openRun === undefined || each === undefined) return false;
  const { sent } = await countRows(folder);
  await journal.append(entry.spent({ ...times(each, sent - openRun.sentBefore), sent_rows: sent }));
  return true;
}
