import { type EntryOf, entry } from './journal/entries.ts';
import { toIndexLine } from './journal/index-lines.ts';
import type { Journal } from './journal/journal.ts';
import { type Reader, withLine } from './journal/operation-index.ts';
import { countRows } from './journal/stored-rows.ts';
import { times } from './money.ts';
import type { Operation } from './operation.ts';

/**
 * Until a list ends, all the rows that its run could buy count for the day. Where that run was killed, this is what it can have bought, in
 * place of that. Undefined where there was no such run. Throws LocalIoError.
 */
async function countSpent({ folder, intent, openRun }: Operation): Promise<EntryOf<'spent'> | undefined> {
  const { row_price, worst_case = null } = intent;
  const each = worst_case === null ? row_price && { credits: null, ...row_price } : { credits: worst_case };
  if (openRun === undefined || each === undefined) return undefined;
  const { sent } = await countRows(folder);
  return entry.spent({ ...times(each, sent - openRun.sentBefore), sent_rows: sent });
}

/**
 * Writes down what a killed run of a list can have bought. The caller holds the lock of the operation. Returns whether there was such a run.
 * Throws LocalIoError.
 */
export async function settleKilledRun(journal: Journal, operation: Operation): Promise<boolean> {
  const spent = await countSpent(operation);
  if (spent !== undefined) await journal.append(spent);
  return spent !== undefined;
}

/** What would be read once that is written down. Throws LocalIoError. */
export async function asSettled(reader: Reader, operation: Operation): Promise<Reader> {
  const spent = await countSpent(operation);
  const line = spent && toIndexLine(operation.operationId, spent, operation.intent);
  if (line === undefined) return reader;
  return { ...reader, openIndex: async () => withLine(await reader.openIndex(), line) };
}
