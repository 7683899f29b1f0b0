import { Argument, Option } from 'commander';
import { defaults } from '../../../config/defaults.ts';
import type { Settings } from '../../../config/settings.ts';
import type { Connection } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { limits } from '../../../contract/limits.ts';
import { type CreateTaskRequest, terminalTaskStates } from '../../../contract/types.ts';
import { LeadpipeError } from '../../../errors.ts';
import type { OperationEvent, Running } from '../../../operations/events.ts';
import { noJournal } from '../../../operations/journal/journal.ts';
import { readOfTask } from '../../../operations/journal/operation-index.ts';
import type { Listed } from '../../../operations/only-new/filter.ts';
import { type Prices, toCostAtMost, toWorstCase } from '../../../operations/money.ts';
import { waitForTask } from '../../../operations/task/buy.ts';
import {
  enrichFieldsOf,
  type ReadTerms,
  readInto,
  type TaskReading,
} from '../../../operations/task/reading.ts';
import type { Layout, LayoutOf } from '../../../output/layout.ts';
import { entityLayout } from '../../../output/paid-layouts.ts';
import { checkText } from '../../../requests/within-limits.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { close, toNothingFound, toNothingNew, toSaving } from '../../messages/closing-line.ts';
import { toContinuation } from '../../messages/hints.ts';
import { createNotes } from '../../messages/status-line.ts';
import { leadShape } from '../../options/entity-search.ts';
import {
  type ConnectionOptions,
  numberIn,
  option,
  type RecordOptions,
  seconds,
  toFormat,
  toId,
  under,
} from '../../options/options.ts';
import { toTerms } from '../../records/orders.ts';
import { openOutput, withHeldOutput, withOutput } from '../../records/record-output.ts';
import { runOperation } from '../../records/run-operation.ts';

interface ReadOptions extends ConnectionOptions, RecordOptions {
  readonly num?: number;
  readonly positions?: true;
  readonly exitStatus?: true;
}

export interface FollowOptions extends ReadOptions {
  readonly pollInterval?: number;
  readonly waitTimeout?: number;
}

interface PositionOptions {
  readonly pts: number;
}

const pageSize = limits.fetchNum.max;

const heading = 'The task:';

export const taskArgument = new Argument(
  '<leads-search-id>',
  'the ID of the task, which `task create` and `task list` print',
  // rule: status.id, fetch.id
).argParser((value) => checkText(limits.leadsSearchId, 'the leads_search_id', toId(value)));

const positionOptions = under(heading, [
  // rule: fetch.pts
  option('--pts <n>', 'start at this position; 0 is the first lead', numberIn(limits.fetchPts)).default(
    limits.fetchPts.default,
    '0',
  ),
]);

export const readingOptions = under(heading, [
  // rule: fetch.num
  option('--num <n>', `leads per request (1 to ${pageSize}, default ${pageSize})`, numberIn(limits.fetchNum)),
  new Option('--positions', 'put leads_search_id and position in front of each record (only jsonl)'),
  new Option('--exit-status', 'exit with code 7 when nothing was found'),
]);

export const waitingOptions = under(heading, [
  option(
    '--poll-interval <seconds>',
    `seconds between two checks of the task (default ${defaults['poll.interval']}); up to ${defaults['poll.max']} while nothing changes`,
    seconds,
  ),
  option(
    '--wait-timeout <seconds>',
    'stop waiting after this time, with exit code 75; the task keeps running',
    seconds,
  ),
]);

export const replayOption = new Option(
  '--replay-create',
  'create the task again if the first answer was lost more than 24 hours ago; this may buy it again',
).helpGroup(heading);

/** Pure: from the option, else the profile, else the default of the reference workflow. */
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

/**
 * The columns of a task that someone else may have created: its first page shows which enrich fields it has. A file that rows are added to
 * has its header already.
 */
export function foundLayout({ append }: RecordOptions): Layout | LayoutOf {
  if (append) return entityLayout();
  return (records) => entityLayout(enrichFieldsOf(records));
}

/** Reads a task, and reports the result. What this run buys has a price. Throws what the operation throws. */
export async function runReading<Reading extends (TaskReading & Listed) | undefined>(
  context: Context,
  options: ReadOptions,
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

function toCost(request: CreateTaskRequest, prices: Prices, leads: number): number | null {
  const { credits } = toWorstCase('task run', request, prices);
  return toCostAtMost('task run', request, credits, { charged: null, complete: true, leads });
}

/** With `--exit-status`, throws where a task has brought nothing. */
export function checkFound(reading: TaskReading | undefined, options: ReadOptions): void {
  if (reading?.leads === 0 && options.exitStatus) throw toNothingFound(reading, options);
}

/** An example that first creates its task, as $id. */
export function createdTaskExample(line: string): string {
  return `id=$(leadpipe task create company "dental clinics in Austin" --local -q |
  jq -r .leads_search_id)
${line}`;
}

const leads = [
  'one lead on each line (jsonl), as the service sent it, sorted by position:',
  ...leadShape,
  'csv: the columns of `task run`; enrich fields are those of the first page',
];

export const createTaskFetch = defineCommand({
  name: 'fetch',
  summary: 'the leads that are ready now',
  description: 'Writes all leads of a task that are ready now. It costs nothing.',
  arguments: [taskArgument],
  options: [...positionOptions, ...readingOptions],
  takes: ['records', 'connection'],
  examples: [
    createdTaskExample('leadpipe task fetch "$id" --local'),
    'leadpipe task fetch "$id" --pts 40 --positions --local',
  ],
  output: [...leads, 'The next position is printed on stderr.'],
  outcomes: readOutcomes,
  async run(context, id: string, options: ReadOptions & PositionOptions) {
    await withConnection(context, options, async (connection) => {
      const { client, settings } = connection;
      const printed = { shape: 'list', layout: foundLayout(options), settings } as const;
      const terms = toReadTerms(options, settings);
      const task = { leadsSearchId: id, start: options.pts, from: options.pts };
      const reading = await withOutput(context, options, printed, (delivery) => {
        const run = { buyer: { connection, context }, client, delivery, journal: noJournal, terms };
        return runReading(
          context,
          options,
          readInto(run, 'fetching', async () => task),
        ).catch((error: unknown) => throwExplained(error, context, connection, id));
      });
      const { state, position: pts } = reading.summary;
      if (state === 'created' || state === 'running') {
        createNotes(context, options).say(
          `There may be more leads later. To read on from position ${pts}: ${toContinuation({ ...reading, pts }, options)}`,
        );
      }
      checkFound(reading, options);
    });
  },
});

export const createTaskWait = defineCommand({
  name: 'wait',
  summary: 'write the leads of a task until it ends',
  description:
    'Waits for a task that your API key created, and writes its leads as they become ready, until it ends. It costs nothing.',
  arguments: [taskArgument],
  options: [...positionOptions, ...waitingOptions, ...readingOptions],
  takes: ['records', 'connection'],
  examples: [
    createdTaskExample('leadpipe task wait "$id" --local'),
    'leadpipe task wait "$id" --pts 40 --wait-timeout 600 --local -o rest.jsonl',
  ],
  output: leads,
  outcomes: readOutcomes,
  async run(context, id: string, options: FollowOptions & PositionOptions) {
    const { num, positions, pts } = options;
    await withConnection(context, options, async (connection) => {
      const { settings } = connection;
      const format = toFormat(options, context.stdout.isTerminal, settings.format);
      const terms = toTerms(options, format, { positions, num, pts });
      await withHeldOutput(context, options, async (lock) => {
        const printed = { shape: 'list', layout: foundLayout(options), settings, lock } as const;
        const output = { terms, open: () => openOutput(context, options, printed) };
        const task = { leadsSearchId: id, pts };
        const operation = waitForTask({ connection, context }, task, output, toReadTerms(options, settings));
        const reading = await runReading(context, options, operation).catch((error: unknown) =>
          throwExplained(error, context, connection, id),
        );
        checkFound(reading, options);
      });
    });
  },
});

/**
 * Throws the error of a task. If the service does not know the task but this machine does, the hint says what was different when it was
 * created: a task can only be read with the same key at the same address.
 */
export async function throwExplained(
  error: unknown,
  context: Context,
  { origin, fingerprint }: Connection,
  leadsSearchId: string,
): Promise<never> {
  if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
  // If the history can't be read, the service's error is enough.
  const known = await readOfTask(context, leadsSearchId).catch(() => []);
  const creation = known.find(({ progress }) => progress.isNamed);
  if (creation === undefined) throw error;
  const made = creation.intent;
  const profile = made.profile === null ? '' : ` (profile ${made.profile})`;
  if (made.origin !== origin) {
    const [there, here] = [made.origin, origin].map((one) => (one === 'local' ? 'the local service' : one));
    throw error.with({ hint: `This machine created it at ${there}${profile}, not at ${here}.` });
  }
  if (made.key_fingerprint === fingerprint(creation.operationId)) throw error;
  throw error.with({
    hint: `This machine created it with another API key${profile}, and no other key can read it.`,
  });
}
