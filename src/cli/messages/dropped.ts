import { UsageError } from '../../errors.ts';
import { isDropped } from '../../operations/journal/chain.ts';
import type { StoredOperation } from '../../operations/journal/stored.ts';
import { isTask } from '../../operations/kinds.ts';
import { shellWord } from './shell-word.ts';

/** Throws UsageError where somebody has said that nobody wants the rest. */
export function checkNotDropped(operation: StoredOperation): void {
  if (!isDropped(operation)) return;
  const { operationId, entries } = operation;
  const created = entries.find((entry) => entry.type === 'created');
  const isAtService = isTask(entries[0].command) && created?.type === 'created';
  throw new UsageError(
    `${operationId} was dropped, and is not resumed; nothing was bought`,
    isAtService
      ? `To read the leads of its task, for free: leadpipe task wait ${shellWord(created.leads_search_id)}`
      : `To print what arrived, for free: leadpipe history show ${operationId}`,
  );
}
