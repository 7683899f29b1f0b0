import type { Context, RunFacts } from '../../context.ts';
import { type Charged, LeadpipeError } from '../../errors.ts';
import { balanceMs } from '../../operations/events.ts';
import type { LeadsBefore } from '../../operations/kinds/search-cut.ts';
import type { Listed } from '../../operations/only-new/filter.ts';
import { exact } from '../../operations/prices.ts';
import { countOf, plural, toStopReason } from '../../operations/wording.ts';
import { toFacts } from '../../output/wrap.ts';
import type { RecordOptions } from '../options/record-options.ts';
import type { ConnectionOptions, ReportOptions } from '../options/shared-options.ts';
import { factsOf, recordEnd } from '../run-facts.ts';
import { shellWord, toSetCommand } from './proposed.ts';
import { createNotes } from './status-line.ts';

export interface Closing {
  /** Result phrase for results that are not leads, e.g. `email found`. */
  readonly what?: string;
  /** For a list: the line begins with the file, since some rows may have no result. */
  readonly isOfRows?: boolean;
  /** The word before the file name, if the options don't decide it. */
  readonly place?: 'in';
  /** The file with the rows, if it is not that of -o. */
  readonly kept?: string | undefined;
  /** Anything else to say. */
  readonly also?: string | undefined;
  readonly leads?: number;
  /** For a search that was resumed. */
  readonly before?: LeadsBefore | undefined;
  /** How many more leads arrived that had been delivered before. */
  readonly excluded?: number;
  readonly state?: string | undefined;
  readonly stopReason?: string | undefined;
  readonly limit?: number | undefined;
  /** True if it can cost credits. `later`: charged when the task has ended. */
  readonly isPaid?: true | 'later';
  /** Whether a purchase was charged. */
  readonly charged?: Charged;
  readonly ids: {
    /** The kind of purchase that the search ID belongs to. */
    readonly of?: 'task';
    readonly leadsSearchId?: string | undefined;
    readonly requestId?: string | undefined;
    readonly operationId?: string | undefined;
    readonly idempotencyKey?: string | undefined;
  };
  /** Why there are no new leads. */
  readonly why?: string | undefined;
  /** The usual next step. */
  readonly next?: string | undefined;
}

/** Prints the result of a run, its file and its cost; then, dimmed, the IDs. */
export function close(
  context: Context,
  options: RecordOptions & Partial<ConnectionOptions>,
  closing: Closing,
): void {
  const { append, output } = options;
  const notes = createNotes(context, options);
  // The status line is no longer needed.
  context.run.statusLine?.pause();
  const isAdded = closing.kept === undefined && append;
  const place = closing.place ?? (isAdded ? 'added to' : 'in');
  recordEnd(context, toKnown(closing));
  const { cost, costBefore, creditsBefore, creditsAfter, isReplaced, newPrice } = factsOf(context);
  const known = { cost, costBefore, creditsBefore, creditsAfter };
  const paid = {
    ...closing,
    isLocal: options.local === true,
    isReplaced: closing.kept === undefined && isReplaced,
    ...known,
  };
  const file = closing.kept ?? (output === '-' ? undefined : output);
  const line = toClosingLine(paid, file, place, append);
  if (line !== '') notes.say(line);
  if (newPrice !== undefined)
    notes.say(`To see what it costs, set your price, such as 5: ${toSetCommand(newPrice, options, '5')}`);
  if (closing.why !== undefined) notes.say(closing.why);
  else if (closing.next !== undefined && context.stderr.isTerminal) notes.say(closing.next);
  // People use the operation ID. In a log, all IDs are needed.
  const ids = toIds(closing, !context.stderr.isTerminal, options.verbose === true);
  if (ids !== '') notes.quote(ids);
}

/** Says on a terminal what was found before the reader closed the output, as `head` does. */
export function closeUnread(context: Context, options: Partial<ConnectionOptions>): void {
  const { cost, costBefore, operationId, received: what } = factsOf(context);
  if (cost === undefined || !context.stderr.isTerminal) return;
  const charged = what === undefined ? 'maybe' : 'yes';
  const known = { cost, costBefore, charged, isLocal: options.local === true } as const;
  const line = toClosingLine({ ...known, isPaid: true, ...(what === undefined ? {} : { what }) });
  const show = operationId && ` To print all of it, for free: leadpipe history show ${operationId}`;
  createNotes(context, options).say(`${line}.${show ?? ''}`);
}

/** Pure: the facts of the closing line, for --summary. */
function toKnown({ before, charged, excluded, ids, leads, stopReason }: Closing) {
  const { leadsSearchId, operationId, requestId } = ids;
  const all = leads === undefined ? undefined : leads + (before?.delivered ?? 0);
  return {
    ...{ charged, excluded, stopReason, leadsSearchId, operationId, requestId },
    leads: all,
  };
}

/** The content of a closing line, with the cost and the balance of the run. */
interface ClosingFacts extends Omit<Closing, 'ids'> {
  readonly cost?: RunFacts['cost'] | undefined;
  readonly costBefore?: number | undefined;
  readonly creditsBefore?: number | undefined;
  readonly creditsAfter?: number | undefined;
  readonly isLocal?: boolean;
  readonly isReplaced?: boolean | undefined;
}

export function toClosingLine(closing: ClosingFacts, file?: string, place = 'in', append = false): string {
  const { what, also, leads, excluded = 0, isPaid, state, stopReason, limit, isLocal, isReplaced } = closing;
  const { received, delivered, printed } = closing.before ?? { received: 0, delivered: 0, printed: 0 };
  const isFull = limit !== undefined && (leads ?? 0) + excluded + received >= limit;
  const all = delivered + (leads ?? 0);
  // A file contains all leads; standard output gets those that no earlier run has printed.
  const isTogether = file !== undefined && delivered > 0;
  const found = what ?? (leads === undefined ? undefined : countOf(isTogether ? all : all - printed));
  const inAll = isTogether ? `, ${delivered} of them stored earlier` : printed > 0 ? `, ${all} in all` : '';
  // A complete run that found nothing has replaced the file, too.
  const isIn = file !== undefined && (leads !== 0 || delivered > 0 || (!append && state !== 'error'));
  const old = isReplaced ? ' (replaced)' : '';
  const isInFront = isIn && closing.isOfRows;
  return toFacts([
    isInFront && `${place === 'in' ? '' : `${place} `}${shellWord(file)}${old}: ${found}`,
    !isInFront && found && `${found}${isIn ? ` ${place} ${shellWord(file)}${old}` : ''}${inAll}`,
    also,
    excluded > 0 && `${excluded} left out (delivered before)`,
    state !== 'done' && state && `task ${state}`,
    stopReason && toStopReason(stopReason, isFull ? limit : undefined),
    isPaid && (isLocal ? 'cost nothing' : toCost(closing)),
    isPaid && toBalance(closing),
  ]);
}

/** Pure: the maximum cost in words: in total and, if earlier runs paid a part, for this run. */
function toCost({ charged, cost, costBefore = 0, isPaid }: ClosingFacts): string | undefined {
  if (cost === undefined) return undefined;
  const { credits, unknown } = cost;
  if (unknown === undefined || unknown === 'rows') {
    if (credits === 0) return 'cost nothing';
    // Requests of earlier runs counted with their worst case until they ended.
    const now = exact(Math.max(0, credits - costBefore));
    const part = costBefore === 0 ? '' : ` (${now === 0 ? 'none' : now} of them now)`;
    return `${isPaid === 'later' ? 'can cost' : 'cost'} at most ${countOf(credits, 'credit')}${part}`;
  }
  const isCharged =
    isPaid === 'later' ? 'can be charged' : charged === 'maybe' ? 'may be charged' : 'charged';
  return `${isCharged}; price unknown`;
}

/** Pure: the balance before and after, where both were asked for. */
function toBalance({ creditsBefore, creditsAfter }: ClosingFacts): string | undefined {
  if (creditsBefore === undefined) return undefined;
  if (creditsAfter === undefined)
    return `balance ${creditsBefore} before; balance after unknown: no answer within ${balanceMs / 1000} s`;
  return `balance ${creditsBefore} before, ${creditsAfter} after`;
}

function toIds({ ids }: Closing, isFile: boolean, isVerbose: boolean): string {
  const { leadsSearchId, requestId, operationId, idempotencyKey } = ids;
  const all = isFile || isVerbose || operationId === undefined;
  return toFacts([
    all && leadsSearchId && `${ids.of ?? 'search'} ${leadsSearchId}`,
    all && requestId && `request ${requestId}`,
    operationId && `operation ${operationId}`,
    isVerbose && idempotencyKey && `idempotency key ${idempotencyKey}`,
  ]);
}

/** Pure: why there are no new leads; undefined if there are some, or if the list is empty. */
export function toNoNewLeadsNote(
  leads: number,
  { name, size = 0 }: NonNullable<Listed['list']>,
): string | undefined {
  if (leads > 0 || size === 0 || name === undefined) return undefined;
  return `No new leads: the service found none, or only leads that are already in your list "${name}" (${countOf(size)}). To see ${plural(size, 'it', 'them')}: leadpipe history lists ${shellWord(name)}`;
}

/** Pure: how to save leads that are only on the screen: the command `again` prints them again, for free. */
export function toSaveHint(
  { stdout }: Context,
  { output }: RecordOptions,
  leads: number,
  again: string | undefined,
): string | undefined {
  if (leads === 0) return 'To find more: use other words, or fewer conditions.';
  if (again === undefined || output !== undefined || !stdout.isTerminal) return undefined;
  return `To save ${plural(leads, 'it', 'them')}, for free: ${again} -o leads.csv`;
}

/** The error of `--exit-status`, for a run that found nothing, or nothing new. */
export function toNothingFoundError(
  { requestId, operationId, idempotencyKey, excluded = 0 }: Closing['ids'] & { readonly excluded?: number },
  options: Partial<ReportOptions>,
  what = excluded > 0 ? 'no new leads were found' : 'no leads were found',
): LeadpipeError {
  // The closing lines have shown the IDs, unless they were silenced.
  const isShown = !options.quiet && !options.jsonErrors;
  return new LeadpipeError('no_result', what, isShown ? {} : { requestId, operationId, idempotencyKey });
}
