import { hash } from 'node:crypto';
import type { LeadpipeError } from '../../errors.ts';
import { RequestError } from '../../transport/errors.ts';
import type { Fault } from '../../transport/policy.ts';
import type { RowEnd } from '../journal/rows.ts';

/** What holds for every row, and not for one: nothing more is sent after it. */
const stoppingFaults: readonly Fault[] = [
  'unsent',
  'proxy_credentials',
  'proxy_refused',
  'certificate',
  'not_http',
  'redirect',
  'unauthenticated',
  'forbidden',
  'no_credits',
  'not_enabled',
  'undocumented',
];

/** The same for the same row of the same list, wherever and however often it is sent. */
export function keyOf(
  base: string,
  endpoint: string,
  { number, body }: { number: number; body: string },
): string {
  const said = JSON.stringify([base, endpoint, number, body]);
  return `lp-${hash('sha256', said).slice(0, 40)}`;
}

/** Whether it went wrong for this row, and may go well for the next. */
export function isOfRow(error: unknown): error is RequestError {
  return error instanceof RequestError && !stoppingFaults.includes(error.fault);
}

/** Pure: how the request of a row ended that brought no answer. */
export function toFailed(error: LeadpipeError): RowEnd {
  const { outcome, message, details } = error;
  const { charged = 'maybe', requestId } = details;
  if (charged === 'no' && outcome !== 'unknown')
    return { state: 'failed', outcome, message, requestId, charged };
  // The service has a request with this key: it is from an earlier run, whose answer is not here.
  const mayBe = charged === 'no' ? 'maybe' : charged;
  const brought = error instanceof RequestError ? error.body : undefined;
  return { state: 'unknown', outcome, message, requestId, charged: mayBe, brought };
}
