import { isLocked } from '../../files/folder-lock.ts';
import { sizeOfStoredLeads } from '../journal/leads.ts';
import type { IndexContext } from '../journal/operation-index.ts';
import { openIndex } from '../journal/operation-index.ts';
import { folderOf, readOperation } from '../journal/stored.ts';
import { kindOf } from '../kinds.ts';
import type { Delivered } from './list-files.ts';

/**
 * The runs of a list that were killed, and not gone on with: what they brought counts as delivered, and perhaps not all of it
 * is in their output. A search whose leads are not kept any more is none: there is nothing to go on with. Throws LocalIoError.
 */
export async function unfinishedRuns(context: IndexContext, lines: readonly Delivered[]): Promise<string[]> {
  const { state } = context.directories;
  const runs = new Set(lines.map(({ operation_id }) => operation_id));
  const unfinished: string[] = [];
  for (const line of (await openIndex(context)).newest()) {
    if ('ended' in line) runs.delete(line.ended.op);
    if (!('begun' in line) || !runs.has(line.begun.op)) continue;
    const { op } = line.begun;
    // One that is damaged is told of by the history.
    const operation = await readOperation(state, op).catch(() => undefined);
    if (operation === undefined || isLocked(folderOf(state, op))) continue;
    const [{ command }, ...rest] = operation.entries;
    if (rest.some(({ type }) => type === 'terminal' || type === 'continued')) continue;
    const isKept = (await sizeOfStoredLeads(folderOf(state, op))) !== undefined;
    if (isKept || kindOf(command)?.keeps !== 'leads') unfinished.unshift(op);
  }
  return unfinished;
}
