import { LeadpipeError } from '../../../errors.ts';
import type { HistoryRecord } from '../../../operations/journal/history.ts';
import type { StoredOperation } from '../../../operations/journal/journal.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { isTask, kindOf } from '../../../operations/kinds.ts';
import { shellWord } from '../../messages/shell-word.ts';

/** Pure: the error of a purchase of which nothing can be shown, and where its leads are instead. */
export function toNothingKept(record: HistoryRecord, kind: string, hadAnswer: boolean): LeadpipeError {
  const { operation_id, output, state } = record;
  if (isTask(kind)) {
    const place = output === null ? '' : `Its output is ${output}. `;
    return notFound(
      `the leads of the task of ${operation_id} are at the service, not here`,
      'not_kept',
      `${place}${toNextCommand(record, kind) ?? 'See: leadpipe task list'}`,
    );
  }
  if (hadAnswer) {
    return notFound(
      `the answer of ${operation_id} is not here any more: answers are kept for ${keptDays.answers} days`,
      'pruned',
      output === null ? 'What it was is in: leadpipe history list' : `Its output was ${output}.`,
    );
  }
  return notFound(
    `${operation_id} brought nothing that could be shown: ${state}`,
    'no_answer',
    toNextCommand(record, kind) ?? 'What it was is in: leadpipe history list',
  );
}

/** Pure: what makes sense after a look at a purchase; undefined when it is done. */
export function toNextCommand(record: HistoryRecord, kind: string): string | undefined {
  const { operation_id, state, leads_search_id, leads, excluded } = record;
  if (state === 'running') return 'It is still at work.';
  if (isTask(kind)) {
    if (state === 'interrupted' || state === 'unknown') {
      return `To go on: leadpipe task resume ${operation_id}`;
    }
    if (leads_search_id === null) return undefined;
    return `To read them again, for nothing: leadpipe task fetch ${shellWord(leads_search_id)}`;
  }
  const goesOn = kindOf(kind)?.goesOn === 'continue';
  const canGoOn = goesOn && leads_search_id !== null && (leads ?? 0) + (excluded ?? 0) > 0;
  if (canGoOn && (state === 'partial' || state === 'interrupted')) {
    return `To search on for the rest: leadpipe search --continue ${operation_id}`;
  }
  if (state !== 'unknown') return undefined;
  return 'It may have been charged. Compare `leadpipe balance` before you run it again: a new run is a new purchase.';
}

/** Pure: where the rest of a search is that others went on with. */
export function toContinued({ state }: HistoryRecord, continued: readonly StoredOperation[]): string {
  const ids = continued.map(({ operationId }) => operationId);
  if (state === 'complete') {
    return `Its rest was bought by ${ids.join(', ')}: ${ids.map((id) => `leadpipe history show ${id}`).join('; ')}`;
  }
  return `It was continued by ${ids.join(', ')}, and is not complete. To search on for the rest: leadpipe search --continue ${ids.at(-1)}`;
}

function notFound(message: string, type: string, hint: string): LeadpipeError {
  return new LeadpipeError('not_found', message, { type, hint, retryable: false });
}
