import type { Connection } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError } from '../../../errors.ts';
import type { Intent } from '../../../operations/journal/entries.ts';
import { noJournal } from '../../../operations/journal/journal.ts';
import { readOfTask } from '../../../operations/journal/operation-index.ts';
import { waitForTask } from '../../../operations/task/buy.ts';
import { readInto } from '../../../operations/task/reading.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { toContinuation } from '../../messages/hints.ts';
import { createNotes } from '../../messages/status-line.ts';
import { leadShape } from '../../options/entity-search.ts';
import { type ConnectionOptions, type RecordOptions, toFormat } from '../../options/options.ts';
import { toTerms } from '../../records/orders.ts';
import { openOutput, withHeldOutput, withOutput } from '../../records/record-output.ts';
import {
  checkFound,
  checkPositions,
  createdTaskExample,
  type FollowOptions,
  foundLayout,
  positionOptions,
  readingOptions,
  runReading,
  type TaskReadOptions,
  taskArgument,
  toReadTerms,
  waitingOptions,
} from './options.ts';

type Options<Reading> = ConnectionOptions & RecordOptions & Reading & { readonly pts: number };

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
  async run(context, id: string, options: Options<TaskReadOptions>) {
    await withConnection(context, options, async (connection) => {
      const { client, settings } = connection;
      checkPositions(options, toFormat(options, context.stdout.isTerminal, settings.format));
      const printed = { shape: 'list', layout: foundLayout(options), settings } as const;
      const terms = toReadTerms(options, settings);
      const task = { leadsSearchId: id, start: options.pts, from: options.pts };
      const reading = await withOutput(context, options, printed, (delivery) => {
        const run = { buyer: { connection, context }, client, delivery, journal: noJournal, terms };
        const operation = readInto(run, 'fetching', async () => task);
        return withMissingExplained(context, connection, id, () => runReading(context, options, operation));
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
  async run(context, id: string, options: Options<FollowOptions>) {
    const { num, positions, pts } = options;
    await withConnection(context, options, async (connection) => {
      const { settings } = connection;
      const format = toFormat(options, context.stdout.isTerminal, settings.format);
      checkPositions(options, format);
      await withHeldOutput(context, options, async (lock) => {
        const printed = { shape: 'list', layout: foundLayout(options), settings, lock } as const;
        const operation = waitForTask(
          { connection, context },
          { leadsSearchId: id, pts },
          {
            terms: toTerms(options, format, { positions, num, pts }),
            open: () => openOutput(context, options, printed),
          },
          toReadTerms(options, settings),
        );
        const reading = await withMissingExplained(context, connection, id, () =>
          runReading(context, options, operation),
        );
        checkFound(reading, options);
      });
    });
  },
});

/**
 * Runs `work`, which reads a task. Where the service does not know the task and this machine does, the hint says
 * what differs from its creation: a task can be read only with the key and at the address that made it.
 */
export async function withMissingExplained<T>(
  context: Context,
  connection: Connection,
  leadsSearchId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
    // A history that can't be read is no reason to say anything but what the service said.
    const known = await readOfTask(context, leadsSearchId).catch(() => []);
    for (const { operationId, entries } of known) {
      if (!entries.some(({ type }) => type === 'created')) continue;
      const hint = toDifference(entries[0], connection, connection.fingerprint(operationId));
      throw hint === undefined ? error : error.with({ hint });
    }
    throw error;
  }
}

function toDifference(made: Intent, { origin }: Connection, fingerprint: string): string | undefined {
  const profile = made.profile === null ? '' : ` (profile ${made.profile})`;
  if (made.origin !== origin)
    return `This machine created it at ${nameOf(made.origin)}${profile}, not at ${nameOf(origin)}.`;
  return made.key_fingerprint === fingerprint
    ? undefined
    : `This machine created it with another API key${profile}, and no other key can read it.`;
}

function nameOf(origin: string): string {
  return origin === 'local' ? 'the local service' : origin;
}
