import { type Operation, readOperation } from '../operation.ts';
import { type IndexContext, openIndex } from './operation-index.ts';

/**
 * A search and those that continued it, oldest first; alone if it is not a search. Leaves out continuations that were never sent, that were
 * refused and cost nothing, or that can't be read.
 */
export async function readChainFrom(stateDir: string, first: Operation): Promise<Operation[]> {
  for (const operationId of first.continuedBy.toReversed()) {
    const next = await readOperation(stateDir, operationId).catch(() => undefined);
    if (next?.isBegun) return [first, ...(await readChainFrom(stateDir, next))];
  }
  return [first];
}

/** A search and those that it continues, oldest first. Throws as `readOperation`. */
export async function readChainTo(context: IndexContext, last: Operation): Promise<Operation[]> {
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
