import type { Repetition } from '../../contract/endpoints.ts';
import { LeadpipeError, toMessage } from '../../errors.ts';
import { RequestError } from '../../transport/request-error.ts';
import { entry, type JournalEntry } from '../journal/entries.ts';

/** Pure: the entries for a request that failed. They end the operation only when it certainly cost nothing; otherwise it stays open. */
export function toFailedEntries(error: unknown, repetition: Repetition = 'refused'): JournalEntry[] {
  const known = error instanceof LeadpipeError ? error : undefined;
  const { charged, requestId, type: errorType } = known?.details ?? {};
  const outcome = known?.outcome ?? 'bug';
  const failed = entry.failed({
    outcome,
    message: toMessage(error),
    ...(errorType === undefined ? {} : { error_type: errorType }),
    request_id: requestId ?? null,
    charged: charged ?? null,
    ...(isGone(error, repetition) ? { gone: true } : {}),
  });
  if (charged !== 'no') return [failed];
  return [failed, entry.terminal(outcome, { charged })];
}

/**
 * Pure: whether the service has the request but does not send its answer again: it said so, or the answer came and could not be read.
 * Sending it once more would bring nothing.
 */
export function isGone(error: unknown, repetition: Repetition): boolean {
  if (!(error instanceof RequestError)) return false;
  const { fault } = error.cause instanceof RequestError ? error.cause : error;
  return fault === 'conflict' || (repetition === 'refused' && ['already_exists', 'garbled'].includes(fault));
}
