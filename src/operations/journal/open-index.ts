import type { LeadpipeError } from '../../errors.ts';
import { toIndexLine } from './index-lines.ts';
import { type IndexContext, type IndexLine, type OperationIndex, readIndex } from './operation-index.ts';
import { listOperations, readIntent, readOperation, type StoredOperation } from './stored.ts';

/** The index of this machine's operations, as it stands. Throws LocalIoError. */
export async function openIndex(context: IndexContext): Promise<OperationIndex> {
  return await readIndex(context, readStored);
}

/** The operations of some kinds, the newest first. `damaged` is told of what can't be read. Throws LocalIoError. */
export async function* readNewest(
  context: IndexContext,
  isMeant: (kind: string) => boolean,
  damaged: (error: LeadpipeError) => void = () => {},
): AsyncGenerator<StoredOperation> {
  for (const line of (await openIndex(context)).newest()) {
    if (!('begun' in line) || !isMeant(line.begun.kind)) continue;
    const found = await readOperation(context.directories.state, line.begun.op).catch(damaged);
    if (found !== undefined) yield found;
  }
}

/** The operations that have this task, the oldest first. Throws LocalIoError. */
export async function readOfTask(context: IndexContext, leadsSearchId: string): Promise<StoredOperation[]> {
  const operations: StoredOperation[] = [];
  for (const line of (await openIndex(context)).find('task', leadsSearchId)) {
    const op = 'begun' in line ? line.begun.op : 'created' in line ? line.created.op : '';
    const found = await readOperation(context.directories.state, op).catch(() => undefined);
    if (found !== undefined) operations.unshift(found);
  }
  return operations;
}

/** What stands for the kind of an operation of which nothing can be read. */
export const damagedKind = 'damaged';

/** The lines of all journals, by the time that is in their IDs: nothing better is known of the order. */
export async function readStored(stateDir: string): Promise<IndexLine[]> {
  const lines: IndexLine[] = [];
  const continues = new Map<string, string>();
  for (const op of await listOperations(stateDir)) {
    // Of a damaged one, what was ordered is mostly there: it must not be taken for one that never was.
    const operation = await readOperation(stateDir, op).catch(() => readIntent(stateDir, op));
    if (operation === null) {
      lines.push({ begun: { op, kind: damagedKind, time: '', origin: '', like: '' } });
      continue;
    }
    for (const entry of operation?.entries ?? []) {
      if (entry.type === 'continued') continues.set(entry.operation_id, op);
      const line = await toIndexLine(op, entry, operation?.entries ?? []);
      const first = continues.get(op);
      if (line === undefined) continue;
      lines.push(
        'begun' in line && first !== undefined ? { begun: { ...line.begun, continues: first } } : line,
      );
    }
  }
  return lines;
}
