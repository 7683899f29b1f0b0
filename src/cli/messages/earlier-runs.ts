import { basename } from 'node:path';
import { toMinutes } from '../../clock.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { EarlierRuns, LeftBehind, Resuming } from '../../operations/events.ts';
import { isTask, rowsOf } from '../../operations/kinds/kinds.ts';
import type { Operation } from '../../operations/operation.ts';
import { toCommandWords, toSubject } from '../../operations/report/history.ts';
import { countOf } from '../../operations/wording.ts';
import type { ReportOptions } from '../options/shared-options.ts';
import { shellWord } from './quoted.ts';
import { createNotes } from './status-line.ts';

/** Says what the user should know about earlier runs before something is bought. A run that is resumed says so elsewhere. */
export function tellEarlier(context: Context, options: ReportOptions, runs: EarlierRuns): void {
  const { say, warn } = createNotes(context, options);
  const { same, left, recent } = runs;
  if (left !== undefined) warn(toLeft(left, context));
  if (same !== undefined) {
    say(
      `You started this before and did not finish it (${timeOf(context, same)}${toReceived(same)}). This run buys everything again. To finish the old one instead: leadpipe resume ${same.operationId}`,
    );
  } else if (recent !== undefined && context.stderr.isTerminal) {
    const time = timeOf(context, recent);
    const what =
      rowsOf(recent.intent.command) === undefined
        ? `You already bought this at ${time}. This run will be charged again.`
        : `You already bought a list from this file at ${time}. Rows that were in it are charged again.`;
    say(`${what} To print that one, for free: leadpipe history show ${recent.operationId}`);
  }
}

function toLeft({ operation, why }: LeftBehind, context: Context): string {
  const which = `${operation.operationId} (${timeOf(context, operation)})`;
  const isFree = operation.intent.origin === 'local';
  const cost = isFree ? '' : ' It may have been charged; check `leadpipe balance`.';
  if (why === 'lost')
    return `${which} sent the same request, and its answer was lost.${cost} This is a new purchase`;
  if (why === 'gone')
    return `the service no longer knows the task of ${which}.${cost} This is a new purchase`;
  if (why === 'in_doubt') {
    return `the search ${which} was stopped before any lead arrived.${cost} A new search starts now; it is a new purchase`;
  }
  const reason = why === 'not_kept' ? 'are no longer stored' : `can't be read: ${why.message}`;
  return `the leads of ${which} ${reason}. A new search starts now${isFree ? '' : ', and all its leads are charged again'}`;
}

/** Pure: what is resumed, what is stored of it, and what the rest can cost. `isNamed`: the user has asked for this operation. */
export function toResumingLine(resuming: Resuming, isNamed: boolean, context: Pick<Context, 'zone'>): string {
  const { credits, isInDoubt, operation, rest, stored } = resuming;
  const { intent, operationId, terms } = operation;
  const since = timeOf(context, operation);
  const isFree = intent.origin === 'local';
  const isList = rowsOf(intent.command) !== undefined;
  const price = credits === undefined || isFree ? '' : `, for at most ${countOf(credits, 'credit')}`;
  const place = terms.output === null ? '' : `, into ${terms.output}`;
  const what =
    isNamed || isList
      ? `: ${toName(operation)}, started ${since}${place}`
      : ` (the same ${isTask(intent.command) ? 'task' : 'search'}, unfinished since ${since})`;
  const begins = `Resuming ${operationId}${what}.`;
  if (isList) {
    const cost =
      credits === undefined || isFree ? '' : ` The rest can cost at most ${countOf(credits, 'credit')}.`;
    return `${begins} Rows that are already bought are not bought again.${cost}`;
  }
  const free = isFree ? '' : ' You are not charged again for what arrived.';
  if (isTask(intent.command)) {
    const again = isFree ? '' : ' The same request is sent again, so you are not charged twice.';
    return `${begins}${operation.isInDoubt ? again : free}`;
  }
  if (rest === 0) return `${begins} All ${countOf(stored ?? 0)} have arrived. Nothing is bought.`;
  const lost =
    isInDoubt && !isFree
      ? ' The answer of the last attempt was lost, and it may have been charged; check `leadpipe balance`.'
      : '';
  return `${begins} ${countOf(stored ?? 0)} stored.${lost} Buying up to ${rest} more${price}.${free}`;
}

/** Pure: how many leads of a search or a task have arrived, where there are any. */
function toReceived({ progress: { delivered } }: Operation): string {
  return delivered === 0 ? '' : `, ${countOf(delivered)} so far`;
}

/** Pure: the command of a run with its subject: `contact email rows.csv`, `search company "dental clinics"`. */
export function toName({ intent }: Operation): string {
  const about = toSubject(intent);
  const words = toCommandWords(intent);
  if (about === null) return words;
  return `${words} ${shellWord(rowsOf(intent.command) === undefined ? about : basename(about))}`;
}

/** Pure: when it began, in the time zone of this machine. */
export function timeOf({ zone }: Pick<Context, 'zone'>, { intent }: Operation): string {
  return toMinutes(new Date(intent.time), zone);
}

/** Throws UsageError where the rest was dropped. */
export function checkNotDropped(operation: Operation): void {
  if (!operation.isDropped) return;
  const { operationId, intent, progress } = operation;
  const task = isTask(intent.command) && progress.isNamed ? progress.leadsSearchId : undefined;
  throw new UsageError(
    `${operationId} was dropped, and is not resumed; nothing was bought`,
    task === undefined
      ? `To print what arrived, for free: leadpipe history show ${operationId}`
      : `To read the leads of its task, for free: leadpipe task wait ${shellWord(task)}`,
  );
}
