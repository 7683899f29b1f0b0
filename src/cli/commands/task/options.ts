import { Argument, type Command, Option } from 'commander';
import { defaults } from '../../../config/defaults.ts';
import type { Settings } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { limits } from '../../../contract/limits.ts';
import { type CreateTaskRequest, terminalTaskStates } from '../../../contract/types.ts';
import { UsageError } from '../../../errors.ts';
import { type Prices, toCostAtMost, toWorstCase } from '../../../operations/spending.ts';
import { enrichFieldsOf, type ReadTerms, type TaskListener } from '../../../operations/task/reading.ts';
import { entityLayout } from '../../../output/columns.ts';
import type { Layout, LayoutOf } from '../../../output/layout.ts';
import type { Format } from '../../../output/writer.ts';
import { checkNumber, checkText } from '../../../requests/within-limits.ts';
import { close, createNothingNew, toSaving } from '../../messages/closing-line.ts';
import { toContinuation } from '../../messages/hints.ts';
import { type ConnectionOptions, type RecordOptions, secondsOf, toId } from '../../options/options.ts';
import { createListener } from '../../records/orders.ts';

/** Options of every command that reads the leads of a task. */
export interface TaskReadOptions {
  readonly num?: number;
  readonly positions?: true;
  readonly exitStatus?: true;
}

/** Options of those that wait for more. */
export interface FollowOptions extends TaskReadOptions {
  readonly pollInterval?: number;
  readonly waitTimeout?: number;
}

/** The most that the interface allows: the fewest requests. */
const pageSize = limits.fetchNum.max;

const group = 'The task:';

export function addTaskArgument(command: Command): Command {
  return command.addArgument(
    new Argument(
      '<leads-search-id>',
      'the ID of the task, which `task create` and `task list` print',
      // rule: status.id, fetch.id
    ).argParser((value) => checkText(limits.leadsSearchId, 'the leads_search_id', toId(value))),
  );
}

export function addPositionOption(command: Command): Command {
  return add(command, [
    new Option('--pts <n>', 'start at this position; 0 is the first lead')
      .default(limits.fetchPts.default, '0')
      // rule: fetch.pts
      .argParser((value) => checkNumber(limits.fetchPts, '--pts', value)),
  ]);
}

export function addTaskReadOptions(command: Command): Command {
  return add(command, [
    new Option('--num <n>', `leads per request (1 to ${pageSize}, default ${pageSize})`).argParser((value) =>
      // rule: fetch.num
      checkNumber(limits.fetchNum, '--num', value),
    ),
    new Option('--positions', 'put leads_search_id and position in front of each record (only jsonl)'),
    new Option('--exit-status', 'exit with code 7 when nothing was found'),
  ]);
}

export function addFollowOptions(command: Command): Command {
  return addTaskReadOptions(addWaitingOptions(command));
}

/** The part of `addFollowOptions` that does not shape the output. */
export function addWaitingOptions(command: Command): Command {
  return add(command, [
    new Option(
      '--poll-interval <seconds>',
      `seconds between two checks of the task (default ${defaults['poll.interval']}); up to ${defaults['poll.max']} while nothing changes`,
    ).argParser(secondsOf('--poll-interval')),
    new Option(
      '--wait-timeout <seconds>',
      'stop waiting after this time, with exit code 75; the task keeps running',
    ).argParser(secondsOf('--wait-timeout')),
  ]);
}

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

/** Shows how the reading of a task goes, and says what it came to; what this run pays for has prices. */
export function createTaskListener(
  context: Context,
  options: ConnectionOptions & RecordOptions,
  asked?: { readonly request: CreateTaskRequest; readonly prices?: Prices },
): TaskListener {
  const most = asked && (asked.request.limit ?? limits.entityLimit.default);
  const { leavesOut, why } = createNothingNew();
  return {
    ...createListener(context, options, { most }),
    leavesOut,
    ended(reading) {
      const { leads, excluded, leadsSearchId, summary } = reading;
      const { state, stopReason } = summary;
      // Its error says all of it.
      if (state === 'error') return;
      const { append: _, ...route } = options;
      const all = { leadsSearchId, goOn: 'fetch', pts: 0, operationId: undefined } as const;
      const again = toContinuation(all, route);
      const isOver = terminalTaskStates.some((one) => one === state);
      const { position, readyCount } = summary;
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
        why: isOver ? why(leads) : undefined,
        next: isPast
          ? `To read all of them, for free: ${again}`
          : isOver
            ? toSaving(context, options, leads, [again])
            : undefined,
      });
    },
  };
}

function toCost(request: CreateTaskRequest, prices: Prices, leads: number): number | null {
  const { credits } = toWorstCase('task run', request, prices);
  return toCostAtMost('task run', request, credits, { charged: null, complete: true, leads });
}

function add(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option.helpGroup(group));
  return command;
}

/** An example that makes the task it is about, as $id. */
export function createdTaskExample(line: string): string {
  return `id=$(leadpipe task create company "dental clinics in Austin" --local -q |
  jq -r .leads_search_id)
${line}`;
}
