import { basename, resolve } from 'node:path';
import { toMinutes } from '../../clock.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { EarlierRun, OperationEvent, Resuming } from '../../operations/events.ts';
import { isTask, kindOf, rowsOf } from '../../operations/kinds/kinds.ts';
import { type Operation, toReceived } from '../../operations/operation.ts';
import { readHistoryRecord, receivedOf, toCommandWords, toSubject } from '../../operations/report/history.ts';
import { isStoredWhole } from '../../operations/stored-records.ts';
import { countOf, plural } from '../../operations/wording.ts';
import { type AskOptions, confirmPurchase } from '../ask.ts';
import type { ReportOptions } from '../options/shared-options.ts';
import {
  type Route,
  routeOf,
  shellWord,
  toBalanceCommand,
  toReadCommand,
  toResumeCommand,
} from './proposed.ts';
import { createNotes } from './status-line.ts';

/** Text about an earlier run: its description, the effect of buying again, and a cheaper command. */
interface Notice {
  readonly was: string;
  readonly means: string;
  readonly cheaper?: string;
}

/** The text about an earlier run of an order that is about to be bought again. */
async function toNotice(
  { operation, why }: EarlierRun,
  context: Pick<Context, 'zone'>,
  given: Pick<Route, 'baseUrl'>,
): Promise<Notice> {
  const { intent, operationId, progress } = operation;
  const time = timeOf(context, operation);
  const which = `${operationId} (${time})`;
  // The rows of the file may have changed.
  const what = rowsOf(intent.command) === undefined ? 'this' : 'a list from this file';
  const name = `${toName(operation)}${await receivedBy(operation)}`;
  const route = routeOf(intent, given);
  const cost =
    intent.origin === 'local' ? '' : ` It may have been charged; check \`${toBalanceCommand(route)}\`.`;
  const means = 'This is a new purchase';
  switch (why) {
    case 'complete':
      return {
        was: `You already bought ${what} at ${time}: ${name}.`,
        means: 'This run will be charged again',
        ...(kindOf(intent.command)?.keeps === 'nothing'
          ? {
              cheaper: `To read its leads, for free: ${toReadCommand('wait', progress.leadsSearchId ?? '', route)}`,
            }
          : (await isStoredWhole(operation).catch(() => false))
            ? { cheaper: `To print that one, for free: leadpipe history show ${operationId}` }
            : {}),
      };
    case 'unfinished':
      return {
        was: `You started ${what} at ${time} and did not finish it: ${name}.`,
        means: 'This run buys everything again',
        cheaper: `To finish that one instead: ${toResumeCommand(operationId, given)}`,
      };
    case 'lost':
      return { was: `The same request was sent by ${which}, and its answer was lost.${cost}`, means };
    case 'gone':
      return { was: `The service no longer knows the task of ${which}.${cost}`, means };
    case 'in_doubt':
      return { was: `The search ${which} was stopped before any lead arrived.${cost}`, means };
    default: {
      const reason = why === 'not_kept' ? 'are no longer stored' : `can't be read: ${why.message}`;
      return { was: `The leads of ${which} ${reason}.`, means: 'All of them are charged again' };
    }
  }
}

/** Before the same order is bought again: asks on a terminal, prints a line elsewhere. Throws Declined. */
export async function confirmRepurchase(
  context: Context,
  options: ReportOptions & AskOptions & Pick<Route, 'baseUrl'>,
  { before, credits }: Extract<OperationEvent, { is: 'again' }>,
): Promise<void> {
  const { was, means, cheaper } = await toNotice(before, context, options);
  const { say, warn } = createNotes(context, options);
  const tell = cheaper === undefined ? warn : say;
  if (before.operation.intent.origin === 'local') return tell(was);
  const price = toPrice(credits);
  const question = `${was}${cheaper === undefined ? '' : ` ${cheaper}.`} Buy it again${price}?`;
  const isAsked = await confirmPurchase(context, options, credits, question);
  if (!isAsked) tell(`${was} ${means}${price}${cheaper === undefined ? '' : `. ${cheaper}`}`);
}

/** Asks on a terminal before the rest of an operation is bought. Throws Declined. */
export async function confirmRest(
  context: Context,
  options: AskOptions,
  { credits: known, operation, rest: left = 0, rows, stored }: Resuming,
): Promise<void> {
  const credits = known ?? null;
  const leads = stored === undefined ? '' : `, ${stored} of ${countOf(stored + left)}`;
  const far = rows === undefined ? leads : `, ${rows.done} of ${countOf(rows.all, 'row')}`;
  const question = `Unfinished: ${toName(operation)}${far}. Buy the rest${toPrice(credits)}?`;
  await confirmPurchase(context, options, credits, question);
}

/** Pure: the maximum cost, as the end of a sentence. */
function toPrice(credits: number | null): string {
  return credits === null ? ', at an unknown price' : `, for at most ${countOf(credits, 'credit')}`;
}

/**
 * Pure: the line about a resumed operation, its stored part and the cost of the rest. `isNamed`: the user has named it. `file`: the output of this
 * run, which can be another one than that of the operation.
 */
export function toResumingLine(
  resuming: Resuming,
  isNamed: boolean,
  file: string | undefined,
  context: Pick<Context, 'zone'>,
  given: Pick<Route, 'baseUrl'>,
): string {
  const { credits, isInDoubt, operation, rest, stored } = resuming;
  const { intent, operationId } = operation;
  const since = timeOf(context, operation);
  const isFree = intent.origin === 'local';
  const isList = rowsOf(intent.command) !== undefined;
  const price = credits === undefined || isFree ? '' : `, for at most ${countOf(credits, 'credit')}`;
  const place = file === undefined ? '' : `, into ${resolve(file)}`;
  const what =
    isNamed || isList
      ? `: ${toName(operation)}, started ${since}${place}`
      : ` (the same ${isTask(intent.command) ? 'task' : 'search'}, unfinished since ${since})`;
  const begins = `Resuming ${operationId}${what}.`;
  if (isList) {
    const cost = !credits || isFree ? '' : ` The rest can cost at most ${countOf(credits, 'credit')}.`;
    return `${begins} Rows that are already bought are not bought again.${cost}`;
  }
  const free = isFree ? '' : ' You are not charged again for what arrived.';
  if (isTask(intent.command)) {
    const again = isFree ? '' : ' The same request is sent again, so you are not charged twice.';
    return `${begins}${operation.isInDoubt ? again : free}`;
  }
  const all = plural(stored ?? 0, 'Its lead has', `All ${countOf(stored ?? 0)} have`);
  if (rest === 0) return `${begins} ${all} arrived. Nothing is bought.`;
  const lost =
    isInDoubt && !isFree
      ? ` The answer of the last attempt was lost, and it may have been charged; check \`${toBalanceCommand(routeOf(intent, given))}\`.`
      : '';
  return `${begins} ${countOf(stored ?? 0)} stored.${lost} Buying up to ${rest} more${price}.${free}`;
}

/** The number of received leads, items or answers, after a comma; empty if there are none. */
async function receivedBy(operation: Operation): Promise<string> {
  // Of a single answer there is nothing to count.
  const isOne = kindOf(operation.intent.command)?.prints === 'single';
  const received = isOne ? undefined : toReceived(operation, receivedOf(await readHistoryRecord(operation)));
  return received === undefined ? '' : `, ${received.replace(/ rows?$/, '$& done')}`;
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

/** Throws UsageError if the operation was dropped. */
export function checkNotDropped(operation: Operation): void {
  if (!operation.isDropped) return;
  const { operationId, intent, progress } = operation;
  const task = isTask(intent.command) && progress.isNamed ? progress.leadsSearchId : undefined;
  throw new UsageError(
    `${operationId} was dropped, so it can't be resumed; nothing was bought`,
    task === undefined
      ? `To print what arrived, for free: leadpipe history show ${operationId}`
      : `To read the leads of its task, for free: ${toReadCommand('wait', task, routeOf(intent))}`,
  );
}
