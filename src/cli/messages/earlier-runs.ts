import { basename } from 'node:path';
import { toMinutes } from '../../clock.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { EarlierRuns, LeftBehind } from '../../operations/events.ts';
import { isTask, rowsOf } from '../../operations/kinds/kinds.ts';
import type { Operation } from '../../operations/operation.ts';
import { toCommandWords, toSubject } from '../../operations/report/history.ts';
import type { ReportOptions } from '../options/options.ts';
import { shellWord } from './quoted.ts';
import { createNotes } from './status-line.ts';

/** Says what the user should know about earlier runs before something is bought. A run that is resumed says so elsewhere. */
export function tellEarlier(context: Context, options: ReportOptions, runs: EarlierRuns): void {
  const { say, warn } = createNotes(context, options);
  const { same, left, recent } = runs;
  if (left !== undefined) warn(toLeft(left, context));
  if (same !== undefined) {
    say(
      `A run like this is unfinished: ${toName(same)} of ${timeOf(context, same)}. This is a new purchase. To resume that one: leadpipe resume ${same.operationId}`,
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
    return `the same was sent as ${which}, and its answer was lost.${cost} This is a new purchase`;
  if (why === 'gone')
    return `the service no longer knows the task of ${which}.${cost} This is a new purchase`;
  if (why === 'in_doubt') {
    return `the search ${which} was stopped before any lead arrived.${cost} A new search starts now; it is a new purchase`;
  }
  const reason = why === 'not_kept' ? 'are no longer stored' : `can't be read: ${why.message}`;
  return `the leads of ${which} ${reason}. A new search starts now${isFree ? '' : ', and all its leads are charged again'}`;
}

/** Pure: the command of a run with its subject: `contact email --input rows.csv`. */
function toName({ intent }: Operation): string {
  const about = toSubject(intent) ?? '-';
  const isList = rowsOf(intent.command) !== undefined;
  return `${toCommandWords(intent)} ${isList ? `--input ${shellWord(basename(about))}` : shellWord(about)}`;
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
