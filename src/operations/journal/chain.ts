import { kindOf } from '../kinds.ts';
import { type JournalEntry, lastOf } from './entries.ts';
import type { IndexContext } from './operation-index.ts';
import { openIndex } from './operation-index.ts';
import { readOperation, type StoredOperation } from './stored.ts';

/**
 * A search with those that bought the rest of it, the oldest first; alone where it is no search. A continuation that was never
 * sent, or was refused and cost nothing, does not count; nor does one that can't be read.
 */
export async function readChainFrom(stateDir: string, first: StoredOperation): Promise<StoredOperation[]> {
  const chain: StoredOperation[] = [];
  for (let one: StoredOperation | undefined = first; one !== undefined; one = await readNext(stateDir, one))
    chain.push(one);
  return chain;
}

async function readNext(
  stateDir: string,
  { entries }: StoredOperation,
): Promise<StoredOperation | undefined> {
  for (const entry of entries.toReversed()) {
    if (entry.type !== 'continued') continue;
    const next = await readOperation(stateDir, entry.operation_id).catch(() => undefined);
    if (next !== undefined && isBegun(next)) return next;
  }
  return undefined;
}

/** What a search is the rest of, the oldest first, with itself at the end. Throws as `readOperation`. */
export async function readChainTo(context: IndexContext, last: StoredOperation): Promise<StoredOperation[]> {
  const chain = [last];
  for (let id = await firstOf(context, last); id !== undefined; ) {
    const before = await readOperation(context.directories.state, id);
    if (before !== undefined) chain.unshift(before);
    id = before && (await firstOf(context, before));
  }
  return chain;
}

async function firstOf(
  context: IndexContext,
  { operationId, entries: [intent] }: StoredOperation,
): Promise<string | undefined> {
  if (intent.continues !== undefined || !isSearch({ operationId, entries: [intent] }))
    return intent.continues;
  // Journals of earlier versions say it in the search that was gone on with.
  for (const line of (await openIndex(context)).find('op', operationId)) {
    if ('begun' in line) return line.begun.continues;
  }
  return undefined;
}

export function isComplete({ entries }: StoredOperation): boolean {
  return entries.some((entry) => entry.type === 'terminal' && entry.outcome === 'complete');
}

export function isDropped({ entries }: StoredOperation): boolean {
  return entries.some((entry) => entry.type === 'terminal' && entry.dropped === true);
}

export function isSearch({ entries: [intent] }: StoredOperation): boolean {
  return kindOf(intent.command)?.goesOn === 'continue' && intent.body !== undefined;
}

/** Pure: whether anything was sent that was not refused for nothing. */
export function isBegun({ entries }: StoredOperation): boolean {
  const last = lastOf(entries, 'terminal');
  const isRefused = last !== undefined && last.outcome !== 'complete' && last.charged === 'no';
  return entries.some(({ type }) => type === 'sent') && !isRefused;
}

/** Pure: whether a search has brought leads that were not dropped here. */
export function hasDelivered({ entries }: StoredOperation): boolean {
  return entries.some((entry) => entry.type === 'batch' && entry.delivered > 0);
}

/** Pure: whether the reader of its output went away: it has what it wanted. */
export function isReaderGone({ entries }: StoredOperation): boolean {
  return lastOf(entries, 'terminal')?.outcome === 'reader_closed';
}

export function hasEnded({ entries }: StoredOperation): boolean {
  return lastOf(entries, 'terminal') !== undefined;
}

/** Pure: whether it ended before it could cost anything. */
export function isRefused(operation: StoredOperation): boolean {
  return hasEnded(operation) && !isBegun(operation);
}

/** Pure: whether it was sent, and nobody knows what came of it. */
export function isInDoubt({ entries }: StoredOperation): boolean {
  const isKnown = (entry: JournalEntry): boolean =>
    entry.type === 'terminal' ||
    entry.type === 'created' ||
    (entry.type === 'batch' && entry.delivered + (entry.excluded ?? 0) > 0);
  return entries.some(({ type }) => type === 'sent') && !entries.some(isKnown);
}
