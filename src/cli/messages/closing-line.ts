import type { Context } from '../../context.ts';
import { LeadpipeError } from '../../errors.ts';
import type { Listed } from '../../operations/only-new/filter.ts';
import { countOf, toStopReason, toThem } from '../../operations/wording.ts';
import type { ConnectionOptions, RecordOptions, ReportOptions } from '../options/options.ts';
import { shellWord } from './quoted.ts';
import { createNotes, statusLineOf } from './status-line.ts';

export interface Closing {
  /** As `email found`, where it is not leads. */
  readonly what?: string;
  /** How it is to the file, where that is not said by the options. */
  readonly place?: 'in';
  /** What else is to be said of it. */
  readonly also?: string | undefined;
  readonly leads?: number;
  /** What earlier runs of the same search brought: how many leads arrived, and how many of them were delivered. */
  readonly before?: { readonly arrived: number; readonly delivered: number } | undefined;
  /** Leads beside these that arrived, and had been delivered before. */
  readonly excluded?: number;
  readonly state?: string | undefined;
  readonly stopReason?: string | undefined;
  readonly limit?: number | undefined;
  /** Credits; null where nobody can say. */
  readonly costAtMost?: number | null;
  readonly ids: {
    /** What the ID of the search is of. */
    readonly of?: 'task';
    readonly leadsSearchId?: string | undefined;
    readonly requestId?: string | undefined;
    readonly operationId?: string | undefined;
    readonly idempotencyKey?: string | undefined;
  };
  /** Why it is so little. */
  readonly why?: string | undefined;
  /** What is nearly always done next, for a person. */
  readonly next?: string | undefined;
}

/** Says what a run came to, where that is, and what it cost; then, faint, the IDs to ask about it with. */
export function close(
  context: Context,
  options: RecordOptions & Partial<ConnectionOptions>,
  closing: Closing,
): void {
  const { append, output } = options;
  const notes = createNotes(context, options);
  // What is done after that, nobody waits for.
  statusLineOf(context)?.hush();
  const place = closing.place ?? (append || closing.before?.delivered ? 'added to' : 'in');
  // What --local buys costs nothing, whatever its prices are.
  const paid = options.local && closing.costAtMost !== undefined ? { ...closing, costAtMost: 0 } : closing;
  const line = toClosingLine(paid, output === '-' ? undefined : output, place, append);
  if (line !== '') notes.say(line);
  if (closing.why !== undefined) notes.say(closing.why);
  else if (closing.next !== undefined && context.stderr.isTerminal) notes.say(closing.next);
  // A person asks with the operation; whoever reads a file has nothing to ask with but what stands there.
  const ids = toIds(closing, !context.stderr.isTerminal, options.verbose === true);
  if (ids !== '') notes.quote(ids);
}

export function toClosingLine(closing: Closing, file?: string, place = 'in', append = false): string {
  const { what, also, leads, excluded = 0, state, stopReason, limit, costAtMost = null } = closing;
  const { arrived, delivered } = closing.before ?? { arrived: 0, delivered: 0 };
  const isFull = limit !== undefined && (leads ?? 0) + excluded + arrived >= limit;
  const all = delivered + (leads ?? 0);
  // What is added to a file is added in one go, with what was stored before.
  const isTogether = append && file !== undefined && delivered > 0;
  const found = what ?? (leads === undefined ? undefined : countOf(isTogether ? all : leads));
  const inAll =
    delivered === 0 ? '' : isTogether ? `, ${delivered} of them stored earlier` : `, ${all} in all`;
  const parts = [
    found !== undefined && file !== undefined && leads !== 0
      ? `${found} ${place} ${shellWord(file)}${inAll}`
      : found && `${found}${inAll}`,
    also,
    excluded === 0 ? undefined : `${excluded} left out (delivered before)`,
    state === undefined || state === 'done' ? undefined : `task ${state}`,
    stopReason === undefined ? undefined : toStopReason(stopReason, isFull ? limit : undefined),
    costAtMost === null ? undefined : toCost(costAtMost),
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

function toCost(credits: number): string {
  return credits === 0 ? 'cost nothing' : `cost at most ${countOf(credits, 'credit')}`;
}

function toIds({ ids }: Closing, isFile: boolean, isVerbose: boolean): string {
  const { leadsSearchId, requestId, operationId, idempotencyKey } = ids;
  const all = isFile || isVerbose || operationId === undefined;
  const parts = [
    leadsSearchId === undefined || !all ? undefined : `${ids.of ?? 'search'} ${leadsSearchId}`,
    requestId === undefined || !all ? undefined : `request ${requestId}`,
    operationId === undefined ? undefined : `operation ${operationId}`,
    idempotencyKey === undefined || !isVerbose ? undefined : `idempotency key ${idempotencyKey}`,
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

/** Pure: why a run that brought nothing did so; undefined where there are leads, or its list left nothing out. */
export function toNothingNew(
  leads: number,
  { name, size = 0 }: NonNullable<Listed['list']>,
): string | undefined {
  if (leads > 0 || size === 0) return undefined;
  return `Nothing new: the list ${name} has ${countOf(size)}, and ${toThem(size, 'it was', 'they were')} left out. To see ${toThem(size)}: leadpipe history lists ${shellWord(name)}`;
}

/** Pure: what to do with leads that stand on the screen alone: each of `again` prints some of them once more, for nothing. */
export function toSaving(
  { stdout }: Context,
  { output }: RecordOptions,
  leads: number,
  again: readonly string[],
): string | undefined {
  if (leads === 0) return 'To find more: use other words, or fewer conditions.';
  if (again.length === 0 || output !== undefined || !stdout.isTerminal) return undefined;
  const [first, ...others] = again.map((one) => `${one} -o leads.csv`);
  return `To save ${toThem(Math.max(leads, again.length))}, for free: ${[first, ...others.map((one) => `${one} --append`)].join('; ')}`;
}

/** The error of `--exit-status`, where everything went well and brought nothing, or nothing new. */
export function toNothingFound(
  { requestId, operationId, idempotencyKey, excluded = 0 }: Closing['ids'] & { readonly excluded?: number },
  options: Partial<ReportOptions>,
  what = excluded > 0 ? 'no new leads were found' : 'no leads were found',
): LeadpipeError {
  // The closing lines have said the IDs, unless they say nothing.
  const isTold = !options.quiet && !options.jsonErrors;
  return new LeadpipeError('no_result', what, isTold ? {} : { requestId, operationId, idempotencyKey });
}
