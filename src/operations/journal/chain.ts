import { type IndexContext, openIndex } from './operation-index.ts';
import { readOperation, type StoredOperation } from './stored.ts';

/**
 * A search and those that continued it, oldest first; alone if it is not a search. Leaves out continuations that were never sent, that were
 * refused and cost nothing, or that can't be read.
 */
export async function readChainFrom(stateDir: string, first: StoredOperation): Promise<StoredOperation[]> {
  for (const entry of first.entries.toReversed()) {
    if (entry.type !== 'continued') continue;
    const next = await readOperation(stateDir, entry.operation_id).catch(() => undefined);
    if (next?.isBegun) return [first, ...(await readChainFrom(stateDir, next))];
  }
  return [first];
}

/** A search and those that it continues, oldest first. Throws as `readOperation`. */
export async function readChainTo(context: IndexContext, last: StoredOperation): Promise<StoredOperation[]> {
  const { intent, isSearch, operationId } = last;
  let { continues } = intent;
  if (continues === undefined && isSearch) {
    // Journals of earlier versions name the continuation in the search that was continued.
    for (const line of (await openIndex(context)).find('op', operationId)) {
      if (line.is === 'begun') continues ??= line.continues;
    }
  }
  const before = continues && (await readOperation(context.directories.state, continues));
  return before ? [...(await readChainTo(context, before)), last] : [last];
}
