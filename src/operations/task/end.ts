import { terminalTaskStates } from '../../contract/types.ts';
import { isStop, LeadpipeError, LocalIoError, outputChanged } from '../../errors.ts';
import { RequestError } from '../../transport/errors.ts';
import { countOf } from '../delivery.ts';
import { toStopWords } from '../stop-words.ts';
import type { TaskSummary } from './follow.ts';

/** How a task was read. */
export interface TaskReading {
  readonly leadsSearchId: string;
  /** Of this run. */
  readonly summary: TaskSummary;
  /** Leads that were delivered, with those that earlier runs put into the same file. */
  readonly leads: number;
  /** Leads beside them that were dropped here: an earlier run of the list has delivered them. */
  readonly excluded: number;
  /** Where no operation can be resumed: whether to go on is to wait for its end, or to fetch once more. */
  readonly goOn: 'wait' | 'fetch';
  /** The operation to resume; undefined without a journal. */
  readonly operationId: string | undefined;
  /** The key that this run bought the task with; undefined for a task that was there before. */
  readonly bought: string | undefined;
  /** Of the request to quote to support. */
  readonly requestId: string | undefined;
}

/** Pure: the error of a reading that was left before its end; `kept` is the file that holds its rows. */
export function toLeftError(
  failure: LeadpipeError,
  reading: TaskReading,
  kept: string | undefined,
): LeadpipeError {
  const { summary, leads, excluded, leadsSearchId, bought, goOn, operationId } = reading;
  const requestId = failure.details.requestId ?? reading.requestId;
  const ids = {
    ...(requestId === undefined ? {} : { requestId }),
    ...(bought === undefined ? {} : { idempotencyKey: bought }),
  };
  if (isRefused(failure, reading)) return failure.with(ids);
  const { position, state } = summary;
  const place = kept === undefined ? '' : `, and ${leads === 1 ? 'is' : 'are'} in ${kept}`;
  const dropped = excluded === 0 ? '' : `; ${excluded} left out (delivered before)`;
  const written =
    leads + excluded === 0
      ? ''
      : `. ${countOf(leads)} ${leads === 1 ? 'was' : 'were'} written${leads === 0 ? '' : place}${dropped}`;
  const ended = terminalTaskStates.some((one) => one === state);
  const why = isStop(failure) ? '' : `: ${failure.words}`;
  // Nothing is known of a task that was never seen.
  const isKnown = state !== undefined || bought !== undefined;
  // rule: states.background
  const runs = ended ? 'has ended' : 'keeps running at the service';
  const goes = isKnown ? `${why === '' ? 'it' : 'the task'} ${runs}, and ` : '';
  const { hint: _, ...details } = failure.details;
  return new LeadpipeError(
    failure.outcome,
    `stopped following task ${leadsSearchId}${why}; ${goes}reading its leads is free${written}`,
    {
      ...details,
      type: failure.details.type ?? failure.outcome,
      charged: bought === undefined ? 'no' : 'maybe',
      retryable: bought === undefined && failure.outcome === 'temporary',
      facts:
        failure.details.type === outputChanged
          ? { is: 'read_elsewhere', leadsSearchId, pts: position }
          : { is: 'task_left', leadsSearchId, pts: position, ended, goOn, operationId },
      cause: failure,
      ...ids,
    },
  );
}

/** Pure: whether there is nothing to go on with: no task, no access. */
export function isRefused(failure: LeadpipeError, { bought, leads }: TaskReading): boolean {
  const refused = failure instanceof RequestError && !['temporary', 'interface'].includes(failure.outcome);
  return refused && bought === undefined && leads === 0;
}

/** Pure: the error of a task that ended in `error`, once everything it will ever have is written. */
export function toTaskError({ summary, leadsSearchId, bought, requestId }: TaskReading): LeadpipeError {
  const { position, stopReason } = summary;
  const why = stopReason === undefined ? '' : ` (${toStopWords(stopReason)})`;
  const rest =
    position === 0
      ? 'It has no leads'
      : `Its ${countOf(position)} ${position === 1 ? 'was' : 'were'} read, and there will be no more`;
  // rule: states.error
  return new LeadpipeError('partial', `task ${leadsSearchId} ended in error${why}. ${rest}`, {
    type: 'task_error',
    charged: bought === undefined ? 'no' : position > 0 ? 'yes' : 'maybe',
    retryable: false,
    hint: 'You pay for the leads that it found. To search again is a new purchase.',
    ...(requestId === undefined ? {} : { requestId }),
  });
}

/** Pure: the error of a task whose creation was left in doubt: the operation knows its key and its bytes. */
export function toUnbegunError(error: unknown, operationId: string | undefined): unknown {
  if (!(error instanceof LeadpipeError) || operationId === undefined) return error;
  const { charged } = error.details;
  if (error instanceof LocalIoError || charged === undefined || charged === 'no') return error;
  return error.with({ facts: { is: 'task_unbegun', operationId } });
}
