import { kindOf } from '../kinds.ts';
import type { StoredOperation } from './journal.ts';
import { isReplaced } from './later.ts';

/**
 * Pure: a search and those that bought the rest of it, the oldest first; alone where it is no search. A continuation that was
 * never sent, or was refused and cost nothing, does not count.
 */
export function chainFrom(first: StoredOperation, operations: readonly StoredOperation[]): StoredOperation[] {
  const chain = [first];
  for (let next = nextOf(first, operations); next !== undefined; next = nextOf(next, operations)) {
    chain.push(next);
  }
  return chain;
}

/** Pure: what a search is the rest of, the oldest first, with itself at the end. */
export function chainTo(last: StoredOperation, operations: readonly StoredOperation[]): StoredOperation[] {
  const chain = [last];
  for (const operation of operations.toReversed()) {
    const [begun] = chain;
    if (begun !== undefined && nextOf(operation, operations)?.operationId === begun.operationId) {
      chain.unshift(operation);
    }
  }
  return chain;
}

/** Pure: whether it came to its end. */
export function isComplete({ entries }: StoredOperation): boolean {
  return entries.some((entry) => entry.type === 'terminal' && entry.outcome === 'complete');
}

/** Pure: whether it is a search, whose rest another can bring. */
export function isSearch({ entries: [intent] }: StoredOperation): boolean {
  return kindOf(intent.command)?.goesOn === 'continue' && intent.body !== undefined;
}

function nextOf(
  { entries }: StoredOperation,
  operations: readonly StoredOperation[],
): StoredOperation | undefined {
  const ids = entries.flatMap((entry) => (entry.type === 'continued' ? [entry.operation_id] : []));
  if (ids.length === 0) return undefined;
  return operations.findLast((one) => ids.includes(one.operationId) && isBegun(one));
}

/** Pure: whether anything was sent that was not refused for nothing. */
export function isBegun({ entries }: StoredOperation): boolean {
  const last = entries.findLast((entry) => entry.type === 'terminal');
  const isRefused = last?.type === 'terminal' && last.outcome !== 'complete' && last.charged === 'no';
  return entries.some(({ type }) => type === 'sent') && !isRefused;
}

/** Pure: the interrupted searches that still wait for their rest: not continued, and not replaced in their file by another run. */
export function unfinishedSearches(operations: readonly StoredOperation[]): StoredOperation[] {
  return operations.filter(
    (one) =>
      isSearch(one) &&
      isBegun(one) &&
      !isComplete(one) &&
      chainFrom(one, operations).length === 1 &&
      !isReplaced(operations, one) &&
      chainTo(one, operations).some(hasBrought),
  );
}

/** Pure: whether a search has brought leads that were not dropped here. */
export function hasDelivered({ entries }: StoredOperation): boolean {
  return entries.some((entry) => entry.type === 'batch' && entry.delivered > 0);
}

function hasBrought(operation: StoredOperation): boolean {
  return operation.entries.some((entry) => entry.type === 'created') || hasDelivered(operation);
}
