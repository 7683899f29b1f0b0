import { type Charged, type ErrorDetails, isStop, LeadpipeError } from '../../errors.ts';
import type { StoredRows } from '../journal/rows.ts';
import { toThem } from '../wording.ts';
import type { ListCounts, ListEnd } from './run.ts';

export function chargedIn(stored: StoredRows, { resultless }: ListCounts): Charged {
  if (stored.sent() === 0) return 'no';
  return stored.answered() > resultless ? 'yes' : 'maybe';
}

/** Pure: the error of a list in which rows have no result; undefined where all have one. `kept` holds the rows where they are not in place. */
export function toMissing(
  { counts, cost, flawedLines }: ListEnd,
  isIdle: boolean,
  operationId: string,
  kept: string | undefined,
  isFree: boolean,
): LeadpipeError | undefined {
  const { done, failed, flawed, resultless, unknown } = counts;
  if (failed + resultless === 0) return undefined;
  const words = [
    ...(failed === 0 ? [] : [toUnanswered(counts, isFree)]),
    ...(resultless === 0
      ? []
      : [
          `the service found no result for ${resultless} of ${done} ${toThem(done, 'row', 'rows')}${isFree ? '' : `, and may have charged ${toThem(resultless)}`}`,
        ]),
    ...(kept === undefined
      ? []
      : [`the file of an earlier run was not replaced, and the rows are in ${kept}`]),
  ].join('; ');
  return new LeadpipeError('partial', words, {
    type: 'rows_failed',
    operationId,
    charged: cost.charged,
    retryable: false,
    facts: {
      is: 'rows_failed',
      operationId,
      failed: failed - unknown - flawed,
      unknown,
      flawed,
      flawedLines,
      isIdle,
    },
  });
}

function toUnanswered({ done, failed, unknown }: ListCounts, isFree: boolean): string {
  const rows = `${failed} of ${done} ${done === 1 ? 'row' : 'rows'} ${failed === 1 ? 'has' : 'have'} no answer`;
  if (unknown === 0 || isFree) return rows;
  return failed === 1
    ? `${rows}; it may have been charged`
    : `${rows}; ${unknown} of them may have been charged`;
}

/** Pure: why a list was left before its end: what is written stays, and what is bought is here. */
export function toLeft(
  stop: LeadpipeError,
  { counts: { done }, cost }: ListEnd,
  kept: string | undefined,
  operationId: string,
): LeadpipeError {
  const place = kept === undefined ? '' : `; ${toThem(done, 'it is', 'they are')} in ${kept}`;
  const { hint: _, facts, ...details } = stop.details;
  const known: ErrorDetails = {
    ...details,
    charged: cost.charged,
    facts: {
      is: 'list_left',
      operationId,
      isOverLimit: facts?.is === 'over_limit',
      setting: facts?.is === 'over_limit' ? facts.setting : undefined,
      until: facts?.is === 'busy_until' ? facts.until : undefined,
    },
    cause: stop,
  };
  const rows = `${done} ${done === 1 ? 'row was' : 'rows were'} written${place}`;
  const words = isStop(stop) ? `${stop.words}. ${rows}` : `the list is not finished: ${stop.words}. ${rows}`;
  return new LeadpipeError(stop.outcome, words, known);
}
