import { type Charged, type ErrorDetails, isStop, LeadpipeError } from '../../errors.ts';
import type { Place } from '../../files/reading.ts';
import { entry, type JournalEntry } from '../journal/entries.ts';
import { countRows, type RowEnd, type StoredRows } from '../journal/stored-rows.ts';
import type { OutputTerms } from '../operation.ts';
import { nothing } from '../prices.ts';
import { countOf, plural } from '../wording.ts';
import { type AnswerKind, chargedFor, failureOf, foundIn, kinds } from './kinds.ts';
import type { ListRows } from './list-rows.ts';
import type { RowOutcome } from './row-parts.ts';

/** The end of a row. Without an outcome where nothing is bought for it. */
export interface RowResult {
  readonly state: RowEnd['state'] | 'flawed' | 'kept';
  readonly charged: Charged;
  readonly outcome?: RowOutcome;
}

export function toResult(kind: AnswerKind, end: RowEnd): RowResult & { readonly outcome: RowOutcome } {
  const { state, requestId } = end;
  const { answer, charged, message } =
    end.state === 'answered'
      ? { ...end, charged: chargedFor(kind, end.answer), message: failureOf(kind, end.answer) }
      : { answer: '', ...end };
  const outcome = message === undefined ? { answer } : { failure: { message, requestId, charged } };
  return { state, charged, outcome };
}

/** Row counts of a run by outcome, all zero. */
export const noRows = {
  done: 0,
  /** Of these: without an answer. */
  failed: 0,
  /** Of the failed: those that may have been charged. */
  unknown: 0,
  /** Of the failed: those that can't be sent. */
  flawed: 0,
  /** Rows that the service answered without a result. */
  withoutResult: 0,
  /** Rows that were answered before this run. */
  earlier: 0,
  /** Rows that ask for the same as another row of this run. */
  duplicates: 0,
  /** Rows for which nothing was bought, since they have their answer. */
  kept: 0,
};

export type ListCounts = Readonly<typeof noRows>;

export interface ListEnd {
  readonly counts: ListCounts;
  /** For the requests of this run only. */
  readonly cost: {
    readonly sent: number;
    /** Of these: answered now, although an earlier run had recorded them. That run was not charged for them. */
    readonly recorded: number;
    readonly charged: Charged;
  };
  /** For the requests of all runs. */
  readonly charged: Charged;
  /** The places of the first rows that can't be sent. */
  readonly flawedLines: readonly Place[];
  readonly stop: LeadpipeError | undefined;
  /** Whether the input has more rows than were requested so far. */
  readonly hasMore: boolean;
}

/** The journal entry at the end of a run: the outcome of the list, or that it can be resumed. */
export async function toLastEntry(
  { first, kind, total }: Pick<ListRows, 'first' | 'kind' | 'total'>,
  folder: string,
  stored: StoredRows,
  end: ListEnd,
  isFree: boolean,
): Promise<JournalEntry> {
  const { counts, hasMore, stop } = end;
  const { done, failed } = counts;
  // A stopped list stays open, unless the reader of its output has gone.
  if (stop !== undefined && stop.outcome !== 'reader_closed') return entry.spent(nothing, stored.sent());
  const rows = { done_rows: done, all_rows: stop !== undefined || hasMore ? (total ?? null) : done };
  // A row that the service answered without a result has an answer. The next run of the list buys it again.
  const outcome = stop?.outcome ?? (hasMore || failed > 0 ? 'partial' : 'complete');
  // Only the first rows were requested; the same command buys the rest.
  if (stop === undefined && first !== undefined)
    return entry.spent(nothing, stored.sent(), { outcome, ...rows });
  return entry.terminal(outcome, {
    ...(await countAnswers(kind, folder)),
    charged: isFree ? 'no' : stored.unseen() > 0 ? 'yes' : end.charged,
    ...rows,
  });
}

/** The result counts of a list over all its runs. Throws LocalIoError. */
export async function countAnswers(kind: AnswerKind, folder: string) {
  const { answered, found, items, sent } = await countRows(folder, (answer) => foundIn(kind, answer));
  const leads = kinds[kind].prints === 'list' ? items : answered;
  return { leads, found, not_found: answered - found, sent_rows: sent };
}

/** Pure: the higher of two values, in the order `no`, `maybe`, `yes`. */
export function maxCharged(one: Charged, other: Charged): Charged {
  return one === 'yes' || other === 'no' ? one : other;
}

/** Pure: the error of a list with rows without a result; undefined if there are none. `kept` is the file with the rows, if they are not in place. */
export function toRowsFailedError(
  { counts, cost, flawedLines, hasMore }: ListEnd,
  isIdle: boolean,
  operationId: string,
  kept: string | undefined,
  { options, output }: OutputTerms,
  isFree: boolean,
): LeadpipeError | undefined {
  const { done, failed, flawed, withoutResult, unknown } = counts;
  if (failed + withoutResult === 0 && kept === undefined) return undefined;
  const words: string[] = [];
  const rows = `of ${countOf(done, 'row')}`;
  if (failed > 0) {
    const some = plural(failed, 'it', `${unknown} of them`);
    const maybe = unknown === 0 || isFree ? '' : `; ${some} may have been charged`;
    words.push(`${failed} ${rows} ${plural(failed, 'has', 'have')} no answer${maybe}`);
  }
  if (withoutResult > 0) {
    const maybe = isFree ? '' : `, and may have charged for ${plural(withoutResult, 'it', 'them')}`;
    words.push(`the service found no result for ${withoutResult} ${rows}${maybe}`);
  }
  if (kept !== undefined) {
    const later = `the rows are in ${kept}, and nothing was added to ${output}`;
    words.push(options.append === true ? later : `the file was left as it was, and the rows are in ${kept}`);
  }
  const failures = { failed: failed - unknown - flawed, unknown, flawed, flawedLines };
  return new LeadpipeError('partial', words.join('; '), {
    type: 'rows_failed',
    operationId,
    charged: cost.charged,
    facts: { is: 'rows_failed', operationId, ...failures, isIdle, hasMore, kept },
  });
}

/** Pure: the error of a list that stopped early. What was written stays, and what was bought is stored. */
export function toStoppedListError(
  stop: LeadpipeError,
  { counts, cost }: ListEnd,
  kept: string | undefined,
  operationId: string,
): LeadpipeError {
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
  const done = counts.done - counts.failed;
  const failed = counts.failed === 0 ? '' : `, ${counts.failed} failed`;
  const place = kept === undefined ? '' : ` (${kept})`;
  const rows = `${countOf(done, 'row')} ${plural(done, 'is', 'are')} done${failed}${place}`;
  const words = isStop(stop) ? `${stop.words}. ${rows}` : `stopped: ${stop.words}. ${rows}`;
  return new LeadpipeError(stop.outcome, words, known);
}
