import { isLocked } from '../../files/folder-lock.ts';
import { folderOf, listOperations, readOperation } from '../journal/journal.ts';
import { sizeOfStoredLeads } from '../journal/leads.ts';
import { kindOf } from '../kinds.ts';
import type { Delivered } from './list-lines.ts';

/**
 * The runs of a list that were killed, and not gone on with: what they brought counts as delivered, and perhaps not all of it
 * is in their output. A search whose leads are not kept any more is none: there is nothing to go on with. Throws LocalIoError.
 */
export async function unfinishedRuns(stateDir: string, lines: readonly Delivered[]): Promise<string[]> {
  const runs = new Set(lines.map(({ operation_id }) => operation_id));
  const unfinished: string[] = [];
  for (const operationId of (await listOperations(stateDir)).filter((id) => runs.has(id))) {
    // One that is damaged is told of by the history.
    const operation = await readOperation(stateDir, operationId).catch(() => undefined);
    if (operation === undefined || isLocked(folderOf(stateDir, operationId))) continue;
    const [{ command }, ...rest] = operation.entries;
    if (rest.some(({ type }) => type === 'terminal' || type === 'continued')) continue;
    const isKept = (await sizeOfStoredLeads(folderOf(stateDir, operationId))) !== undefined;
    if (isKept || kindOf(command)?.keeps !== 'leads') unfinished.push(operationId);
  }
  return unfinished;
}
