import { completeAddition } from '../files/addition.ts';
import { pendingAddition } from './journal/entries.ts';
import { toDigests } from './journal/index-lines.ts';
import { withOperation } from './journal/journal.ts';
import { type IndexContext, openIndex, operationOf } from './journal/operation-index.ts';
import { readOperation, type StoredOperation } from './journal/stored.ts';

/**
 * Completes what the last run of this file was adding to it when it was killed, so that its rows stand there once and whole. Whoever
 * asks holds the file. Throws LocalIoError.
 */
export async function completeAdditionTo(context: IndexContext, output: string): Promise<void> {
  const { state } = context.directories;
  const digest = (await toDigests({ command: '', options: {}, origin: '', output })).output ?? '';
  for (const line of (await openIndex(context)).find('output', digest)) {
    // One that can't be read is told of by whoever looks for it.
    const operation = await readOperation(state, operationOf(line)).catch(() => undefined);
    if (operation === undefined) continue;
    const adding = pendingAddition(operation.entries);
    if (adding === undefined || (await completeAddition(output, adding)) !== 'done') return;
    await withOperation(context, operation.operationId, (journal) => journal.append({ type: 'placed' }));
    return;
  }
}

/** Pure: whether its rows are in the file that they were added to. */
export function isAdded({ entries }: StoredOperation): boolean {
  return entries.findLast(({ type }) => ['opened', 'placed'].includes(type))?.type === 'placed';
}
