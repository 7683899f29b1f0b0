import { LeadpipeError } from '../../../errors.ts';
import { hasDelivered } from '../../../operations/journal/chain.ts';
import type { HistoryRecord } from '../../../operations/journal/history.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import type { StoredOperation } from '../../../operations/journal/stored.ts';
import { isTask, kindOf } from '../../../operations/kinds.ts';
import { shellWord } from '../../messages/shell-word.ts';

/** Pure: the error of a purchase of which nothing can be shown, and where its leads are instead. */
export function toNothingKept(record: HistoryRecord, kind: string, hadAnswer: boolean): LeadpipeError {
  const { operation_id, output, state } = record;
  if (isTask(kind)) {
    const place = output === null ? '' : `Its output is ${output}. `;
    return notFound(
      `${operation_id} is a task: its leads are stored at the service, not on this machine`,
      'not_kept',
      `${place}${toNextCommand(record, kind) ?? 'See: leadpipe task list'}`,
    );
  }
  if (hadAnswer) {
    return notFound(
      `the answer of ${operation_id} is no longer on this machine: answers are stored for ${keptDays.answers} days`,
      'pruned',
      output === null ? 'To see what it was about: leadpipe history list' : `Its output was ${output}.`,
    );
  }
  return notFound(
    `${operation_id} has nothing to show (state: ${state})`,
    'no_answer',
    toNextCommand(record, kind) ?? 'To see what it was about: leadpipe history list',
  );
}

/** Pure: what makes sense after a look at a purchase; undefined when it is done. */
export function toNextCommand(record: HistoryRecord, kind: string): string | undefined {
  const { operation_id, state, leads_search_id, leads, excluded } = record;
  if (state === 'running') return 'It is still running.';
  if (isTask(kind)) {
    if (state === 'interrupted' || state === 'unknown') {
      return `To resume it: leadpipe task resume ${operation_id}`;
    }
    if (leads_search_id === null) return undefined;
    return `To read its leads again, for free: leadpipe task fetch ${shellWord(leads_search_id)}`;
  }
  const goesOn = kindOf(kind)?.goesOn === 'continue';
  const canGoOn = goesOn && leads_search_id !== null && (leads ?? 0) + (excluded ?? 0) > 0;
  if (canGoOn && (state === 'partial' || state === 'interrupted')) {
    return `To buy the rest: leadpipe search --continue ${operation_id}`;
  }
  if (state !== 'unknown') return undefined;
  return 'It may or may not have been charged; check `leadpipe balance` before you run it again: a new run is a new purchase.';
}

/** Pure: where the rest of a search is that others went on with. */
export function toContinued({ state }: HistoryRecord, continued: readonly StoredOperation[]): string {
  const ids = continued.map(({ operationId }) => operationId);
  if (state === 'complete') {
    const shown = continued.filter(hasDelivered).map((one) => `leadpipe history show ${one.operationId}`);
    const bought = `The rest was bought by ${ids.join(', ')}`;
    return shown.length === 0
      ? `${bought}, and found nothing new.`
      : `${bought}. To print it: ${shown.join('; ')}`;
  }
  return `It was resumed by ${ids.join(', ')}, but is still not complete. To buy the rest: leadpipe search --continue ${ids.at(-1)}`;
}

function notFound(message: string, type: string, hint: string): LeadpipeError {
  return new LeadpipeError('not_found', message, { type, hint, retryable: false });
}
