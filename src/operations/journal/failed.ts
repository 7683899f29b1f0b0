import type { Repetition } from '../../contract/endpoints.ts';
import { LeadpipeError } from '../../errors.ts';
import { RequestError } from '../../transport/errors.ts';
import { type JournalEntry, toTerminal } from './entries.ts';

/**
 * Pure: what the journal says of a request that brought nothing. It is closed only when it surely cost nothing; otherwise it
 * stays open, because nobody knows.
 */
export function toFailedEntries(error: unknown, repetition: Repetition = 'refused'): JournalEntry[] {
  const known = error instanceof LeadpipeError ? error : undefined;
  const { charged, requestId, type: errorType } = known?.details ?? {};
  const outcome = known?.outcome ?? 'bug';
  const failed: JournalEntry = {
    type: 'failed',
    outcome,
    message: error instanceof Error ? error.message : String(error),
    ...(errorType === undefined ? {} : { error_type: errorType }),
    request_id: requestId ?? null,
    charged: charged ?? null,
    ...(isGone(error, repetition) ? { gone: true } : {}),
  };
  if (charged !== 'no') return [failed];
  return [failed, toTerminal(outcome, { charged })];
}

/**
 * Pure: whether the service has the request, and does not give its answer again: it has said so, or the answer came and could
 * not be read. To send it once more brings nothing.
 */
export function isGone(error: unknown, repetition: Repetition): boolean {
  if (!(error instanceof RequestError) || error.details.charged === 'no') return false;
  const { fault } = error.cause instanceof RequestError ? error.cause : error;
  return fault === 'conflict' || (repetition === 'refused' && ['already_exists', 'garbled'].includes(fault));
}

/**
 * Pure: the error of a request that was sent before, and whose answer was lost then. That it cost nothing now says nothing of
 * the first time.
 */
export function toDoubtful(error: unknown): unknown {
  if (!(error instanceof LeadpipeError) || error.details.charged !== 'no' || provesNothingBought(error))
    return error;
  return error.with({ charged: 'maybe' });
}

/** Pure: the service looks at what it has before it looks at price or body, so these refusals prove that there is nothing. */
export function provesNothingBought(error: LeadpipeError): boolean {
  return error instanceof RequestError && (error.fault === 'no_credits' || error.fault === 'invalid');
}
