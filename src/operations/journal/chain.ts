import { type IndexContext, openIndex } from './operation-index.ts';
import { readOperation, type StoredOperation } from './stored.ts';

/**
 * A search with those that bought the rest of it, the oldest first; alone where it is no search. A continuation that was never
 * sent, or was refused and cost nothing, does not count; nor does one that can't be read.
 */
export async function readChainFrom(stateDir: string, first: StoredOperation): Promise<StoredOperation[]> {
  for (const entry of first.entries.toReversed()) {
    if (entry.type !== 'continued') continue;
    const next = await readOperation(stateDir, entry.operation_id).catch(() => undefined);
    if (next?.isBegun) return [first, ...(await readChainFrom(stateDir, next))];
  }
  return [first];
}

/** What a search is the rest of, the oldest first, with itself at the end. Throws as `readOperation`. */
export async function readChainTo(context: IndexContext, last: StoredOperation): Promise<StoredOperation[]> {
  const { entries, isSearch, operationId } = last;
  let [{ continues }] = entries;
  if (continues === undefined && isSearch) {
    // Journals of earlier versions say it in the search that was gone on with.
    for (const line of (await openIndex(context)).find('op', operationId)) {
      if ('begun' in line) continues ??= line.begun.continues;
    }
  }
  const before = continues && (await readOperation(context.directories.state, continues));
  return before ? [...(await readChainTo(context, before)), last] : [last];
}
