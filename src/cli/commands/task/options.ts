import { Argument, Option } from 'commander';
import { defaults } from '../../../config/defaults.ts';
import type { Settings } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { limits } from '../../../contract/limits.ts';
import { type CreateTaskRequest, terminalTaskStates } from '../../../contract/types.ts';
import { UsageError } from '../../../errors.ts';
import type { OperationEvent, Running } from '../../../operations/events.ts';
import type { Listed } from '../../../operations/only-new/filter.ts';
import { type Prices, toCostAtMost, toWorstCase } from '../../../operations/spending.ts';
import { enrichFieldsOf, type ReadTerms, type TaskReading } from '../../../operations/task/reading.ts';
import { entityLayout } from '../../../output/columns.ts';
import type { Layout, LayoutOf } from '../../../output/layout.ts';
import type { Format } from '../../../output/writer.ts';
import { checkTaskEntityType, toCreateTaskRequest } from '../../../requests/entity-search.ts';
import { checkNumber, checkText } from '../../../requests/within-limits.ts';
import { close, toNothingFound, toNothingNew, toSaving } from '../../messages/closing-line.ts';
import { toContinuation } from '../../messages/hints.ts';
import { type EntitySearchOptions, readEntitySearchInput } from '../../options/entity-search.ts';
import {
  type ConnectionOptions,
  inputNames,
  type RecordOptions,
  secondsOf,
  toId,
  under,
} from '../../options/options.ts';
import type { PurchaseOptions } from '../../records/orders.ts';
import { runOperation } from '../../records/run-operation.ts';

export interface TaskReadOptions {
  readonly num?: number;
  readonly positions?: true;
  readonly exitStatus?: true;
}

export interface FollowOptions extends TaskReadOptions {
  readonly pollInterval?: number;
  readonly waitTimeout?: number;
}

const pageSize = limits.fetchNum.max;

const heading = 'The task:';

export const taskArgument = new Argument(
  '<leads-search-id>',
  'the ID of the task, which `task create` and `task list` print',
  // rule: status.id, fetch.id
).argParser((value) => checkText(limits.leadsSearchId, 'the leads_search_id', toId(value)));

export const positionOptions = under(heading, [
  new Option('--pts <n>', 'start at this position; 0 is the first lead')
    .default(limits.fetchPts.default, '0')
    // rule: fetch.pts
    .argParser((value) => checkNumber(limits.fetchPts, '--pts', value)),
]);

export const readingOptions = under(heading, [
  new Option('--num <n>', `leads per request (1 to ${pageSize}, default ${pageSize})`).argParser((value) =>
    // rule: fetch.num
    checkNumber(limits.fetchNum, '--num', value),
  ),
  new Option('--positions', 'put leads_search_id and position in front of each record (only jsonl)'),
  new Option('--exit-status', 'exit with code 7 when nothing was found'),
]);

export const waitingOptions = under(heading, [
  new Option(
    '--poll-interval <seconds>',
    `seconds between two checks of the task (default ${defaults['poll.interval']}); up to ${defaults['poll.max']} while nothing changes`,
  ).argParser(secondsOf('--poll-interval')),
  new Option(
    '--wait-timeout <seconds>',
    'stop waiting after this time, with exit code 75; the task keeps running',
  ).argParser(secondsOf('--wait-timeout')),
]);

export const resumeArgument = new Argument(
  '[operation-id]',
  'the ID that the interrupted command printed (default: the latest unfinished operation)',
).argParser(toId);

export const resumeOptions = [
  ...waitingOptions,
  ...under(heading, [
    new Option(
      '--replay-create',
      'create the task again if the first answer was lost more than 24 hours ago; this may buy it again',
    ),
  ]),
];

/** Pure: option, then profile, then the default of the reference workflow. */
export function toReadTerms(
  { pollInterval, waitTimeout, num = pageSize, positions }: FollowOptions,
  settings: Settings,
): ReadTerms {
  return {
    num,
    positions: positions === true,
    poll: {
      firstMs: 1000 * (pollInterval ?? settings['poll.interval'] ?? defaults['poll.interval']),
      maxMs: 1000 * (settings['poll.max'] ?? defaults['poll.max']),
    },
    patienceMs: waitTimeout === undefined ? undefined : waitTimeout * 1000,
  };
}

/** Throws UsageError: only a line of JSON can carry more than the columns it was given. */
export function checkPositions({ positions }: TaskReadOptions, format: Format): void {
  if (positions && format !== 'jsonl') {
    throw new UsageError(`--positions works only with jsonl, not with ${format}`, 'Add -f jsonl.');
  }
}

/**
 * The columns of a task that somebody else may have created: which enrich fields it has is seen in its first page. A
 * file that rows are added to has its header already.
 */
export function foundLayout({ append }: RecordOptions): Layout | LayoutOf {
  if (append) return entityLayout();
  return (records) => entityLayout(enrichFieldsOf(records));
}

/** Reads a task, and says what that came to; what this run pays for has prices. Throws as `readInto`; nothing found, with `--exit-status`. */
export async function runReading<Reading extends (TaskReading & Listed) | undefined>(
  context: Context,
  options: ConnectionOptions & RecordOptions & TaskReadOptions,
  operation: Running<Reading>,
  asked?: { readonly request: CreateTaskRequest; readonly prices?: Prices },
  on?: (event: OperationEvent) => void,
): Promise<Reading> {
  const most = asked && (asked.request.limit ?? limits.entityLimit.default);
  const reading = await runOperation(context, options, operation, { most, on });
  if (reading === undefined) return reading;
  const { leads, excluded, leadsSearchId, list, summary } = reading;
  const { position, readyCount, state, stopReason } = summary;
  const { append: _, ...route } = options;
  const again = toContinuation({ leadsSearchId, goOn: 'fetch', pts: 0, operationId: undefined }, route);
  const isOver = terminalTaskStates.some((one) => one === state);
  const isPast = leads + excluded === 0 && readyCount > 0 && position >= readyCount;
  close(context, options, {
    leads,
    excluded,
    also: isPast ? `${readyCount} are ready, and position ${position} is past them` : undefined,
    state,
    stopReason,
    limit: most,
    ...(asked?.prices && { costAtMost: toCost(asked.request, asked.prices, leads + excluded) }),
    ids: { ...reading, of: 'task', idempotencyKey: reading.bought },
    why: isOver && list ? toNothingNew(leads, list) : undefined,
    next: isPast
      ? `To read all of them, for free: ${again}`
      : isOver
        ? toSaving(context, options, leads, [again])
        : undefined,
  });
  return reading;
}

/** Throws, with `--exit-status`, where a task has brought nothing. */
export function checkFound(
  reading: TaskReading | undefined,
  options: ConnectionOptions & TaskReadOptions,
): void {
  if (reading?.leads === 0 && options.exitStatus) throw toNothingFound(reading, options);
}

function toCost(request: CreateTaskRequest, prices: Prices, leads: number): number | null {
  const { credits } = toWorstCase('task run', request, prices);
  return toCostAtMost('task run', request, credits, { charged: null, complete: true, leads });
}

/** An example that makes the task it is about, as $id. */
export function createdTaskExample(line: string): string {
  return `id=$(leadpipe task create company "dental clinics in Austin" --local -q |
  jq -r .leads_search_id)
${line}`;
}

export interface TaskRequestOptions extends PurchaseOptions, EntitySearchOptions {
  readonly enableWebSearch?: true;
}

export const enableWebSearch = new Option(
  '--enable-web-search',
  'also search the open web: slower and more expensive; needed for xiaohongshu and wechat',
);

/** Reads and checks what is to be created, before anything is sent. Throws UsageError. */
export async function readTaskRequest(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRequestOptions,
): Promise<CreateTaskRequest> {
  const enable_web_search = options.enableWebSearch === true;
  // Before standard input is read for a type that could not be used.
  checkTaskEntityType(entityType, enable_web_search, inputNames);
  const input = await readEntitySearchInput(context, objective, options);
  return toCreateTaskRequest({ entity_type: entityType, ...input, enable_web_search }, inputNames);
}
