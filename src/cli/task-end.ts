import { terminalTaskStates } from '../contract/types.ts';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import type { TaskSummary } from '../operations/task/follow.ts';
import { outputChanged } from '../output/open-file.ts';
import { RequestError } from '../transport/errors.ts';
import { countOf } from './closing-line.ts';
import type { ConnectionOptions, RecordOptions } from './options.ts';
import { shellWord } from './shell-word.ts';

/** How a task was read. */
export interface TaskReading {
  readonly leadsSearchId: string;
  readonly summary: TaskSummary;
  /** Leads that earlier runs had put into the same file. */
  readonly earlier: number;
  /** The subcommand that goes on, where no operation can be resumed. */
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
  options: ConnectionOptions & RecordOptions,
): LeadpipeError {
  const { summary, leadsSearchId, bought } = reading;
  const requestId = failure.details.requestId ?? reading.requestId;
  const ids = {
    ...(requestId === undefined ? {} : { requestId }),
    ...(bought === undefined ? {} : { idempotencyKey: bought }),
  };
  if (isRefused(failure, reading)) return failure.with(ids);
  const { position, state } = summary;
  const leads = reading.earlier + summary.leads;
  const place = kept === undefined ? '' : `, and ${leads === 1 ? 'is' : 'are'} in ${kept}`;
  const written =
    leads === 0 ? 'nothing was written' : `${countOf(leads)} ${leads === 1 ? 'was' : 'were'} written${place}`;
  const ended = terminalTaskStates.some((one) => one === state);
  const hint =
    failure.details.type === outputChanged
      ? toElsewhere(leadsSearchId, position, options)
      : `${ended ? 'Its leads stay readable' : 'It goes on at the service'}, and reading costs nothing. To go on: ${toContinuation(reading, options)}`;
  return new LeadpipeError(
    failure.outcome,
    `the task ${leadsSearchId} was left at position ${position}: ${failure.message}; ${written}`,
    {
      ...failure.details,
      type: failure.details.type ?? failure.outcome,
      charged: bought === undefined ? 'no' : 'maybe',
      retryable: bought === undefined && failure.outcome === 'temporary',
      hint,
      cause: failure,
      ...ids,
    },
  );
}

/** Pure: whether there is nothing to go on with: no task, no access. */
export function isRefused(failure: LeadpipeError, { bought, earlier, summary }: TaskReading): boolean {
  const refused = failure instanceof RequestError && !['temporary', 'interface'].includes(failure.outcome);
  return refused && bought === undefined && earlier + summary.leads === 0;
}

/** Pure: the error of a task that ended in `error`, once everything it will ever have is written. */
export function toTaskError({ summary, leadsSearchId, bought, requestId }: TaskReading): LeadpipeError {
  const { position, stopReason } = summary;
  const why = stopReason === undefined ? '' : ` (${stopReason})`;
  const rest =
    position === 0
      ? 'it has no leads'
      : `all of its ${countOf(position)} can be read, and more will not come`;
  return new LeadpipeError('partial', `the task ${leadsSearchId} ended in error${why}; ${rest}`, {
    type: 'task_error',
    charged: bought === undefined ? 'no' : position > 0 ? 'yes' : 'maybe',
    retryable: false,
    hint: 'Its leads are billed as any others. A new run is a new purchase.',
    ...(requestId === undefined ? {} : { requestId }),
  });
}

/** Pure: the error of a task whose creation was left in doubt: the operation knows its key and its bytes. */
export function toUnbegunError(
  error: unknown,
  operationId: string | undefined,
  options: ConnectionOptions,
): unknown {
  if (!(error instanceof LeadpipeError) || operationId === undefined) return error;
  const { charged } = error.details;
  if (error instanceof LocalIoError || charged === undefined || charged === 'no') return error;
  return error.with({
    hint: `To go on, without buying it twice: ${toResumption(operationId, options)}`,
  });
}

export function toNothingFound({ requestId }: TaskReading): LeadpipeError {
  return new LeadpipeError('no_result', 'no leads were found', requestId === undefined ? {} : { requestId });
}

/** Pure: the command that resumes the operation, or goes on from the position where there is none. */
export function toContinuation(
  {
    leadsSearchId,
    goOn,
    summary,
    operationId,
  }: Pick<TaskReading, 'leadsSearchId' | 'goOn' | 'summary' | 'operationId'>,
  options: ConnectionOptions & RecordOptions,
): string {
  if (operationId !== undefined) return toResumption(operationId, options);
  const { append, output, format } = options;
  const words = ['task', goOn, leadsSearchId];
  if (summary.position > 0) words.push('--pts', String(summary.position));
  words.push(...routeWords(options));
  // The file itself holds the rows so far; a .part has to be finished by hand.
  if (append && output !== undefined) words.push('-o', output, '--append');
  if (append && format !== undefined) words.push('-f', format);
  return toCommand(words);
}

export function toResumption(operationId: string, options: ConnectionOptions): string {
  return toCommand(['task', 'resume', operationId, ...routeWords(options)]);
}

/** Pure: how to have the leads from a position on, where their own file can't be gone on with. */
export function toElsewhere(leadsSearchId: string, pts: number, options: ConnectionOptions): string {
  const from = pts === 0 ? [] : ['--pts', String(pts)];
  const again = toCommand(['task', 'wait', leadsSearchId, ...from, ...routeWords(options)]);
  return `To read ${pts === 0 ? 'all of it' : 'the rest'} into another file, for nothing: ${again} -o <file>`;
}

/** Pure: the options that name the same service again. */
export function routeWords({ local, baseUrl, profile }: ConnectionOptions): string[] {
  return [
    ...(local ? ['--local'] : []),
    ...(baseUrl === undefined ? [] : ['--base-url', baseUrl]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ];
}

/** Pure: a command line of leadpipe, to copy. */
export function toCommand(words: readonly string[]): string {
  return ['leadpipe', ...words].map(shellWord).join(' ');
}
