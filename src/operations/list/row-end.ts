import { hash } from 'node:crypto';
import type { Charged, LeadpipeError } from '../../errors.ts';
import { RequestError } from '../../transport/errors.ts';
import type { Fault } from '../../transport/policy.ts';
import type { RowEnd } from '../journal/rows.ts';
import { type AnswerKind, failureOf } from '../kinds.ts';

/** What becomes of a row: how its request ended, or why it was never sent. */
export type RowResult = RowEnd | { readonly state: 'flawed'; readonly message: string };

/** Why a row has no result. */
export interface RowFailure {
  readonly message: string;
  readonly requestId?: string | undefined;
  readonly charged: Charged;
}

/** Pure: why a row has no result; undefined for one that has. */
export function toFailure(kind: AnswerKind, result: RowResult): RowFailure | undefined {
  if (result.state === 'flawed') return { message: result.message, charged: 'no' };
  const { requestId } = result;
  if (result.state !== 'answered') return { message: result.message, requestId, charged: result.charged };
  const message = failureOf(kind, result.answer);
  return message === undefined ? undefined : { message, requestId, charged: chargeOf(result) };
}

/** Whether an answer without a result is charged, the service does not say. */
function chargeOf(end: RowEnd): Charged {
  return end.state === 'answered' ? 'maybe' : end.charged;
}

/** Pure: what the request of a row has cost. */
export function costOf(kind: AnswerKind, end: RowEnd): Charged {
  return end.state === 'answered' && failureOf(kind, end.answer) === undefined ? 'yes' : chargeOf(end);
}

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
  const lost =
    mayBe === 'yes' ? 'its answer was lost, but is charged' : 'its answer was lost, and may be charged';
  return { state: 'unknown', outcome, message: `${lost}: ${message}`, requestId, charged: mayBe, brought };
}
