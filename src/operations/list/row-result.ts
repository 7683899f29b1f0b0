import type { Charged } from '../../errors.ts';
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
