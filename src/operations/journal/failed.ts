import { LeadpipeError } from '../../errors.ts';
import type { JournalEntry } from './journal.ts';

/**
 * Pure: what the journal says of a request that brought nothing. It is closed only when it surely cost nothing;
 * otherwise it stays open, because nobody knows.
 */
export function toFailedEntries(error: unknown): JournalEntry[] {
  const known = error instanceof LeadpipeError ? error : undefined;
  const { charged, requestId } = known?.details ?? {};
  const outcome = known?.outcome ?? 'bug';
  const failed: JournalEntry = {
    type: 'failed',
    outcome,
    message: error instanceof Error ? error.message : String(error),
    request_id: requestId ?? null,
    charged: charged ?? null,
  };
  if (charged !== 'no') return [failed];
  return [failed, { type: 'terminal', outcome, state: null, ready_count: null, charged }];
}
