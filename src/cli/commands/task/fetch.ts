import { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { noJournal } from '../../../operations/journal/journal.ts';
import { readInto } from '../../../operations/task/reading.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { toNothingFound } from '../../messages/closing-line.ts';
import { toContinuation } from '../../messages/hints.ts';
import { createNotes } from '../../messages/notes.ts';
import {
  addConnectionOptions,
  addRecordOptions,
  type ConnectionOptions,
  type RecordOptions,
} from '../../options/options.ts';
import { toFormat, withOutput } from '../../records/record-output.ts';
import { withMissingExplained } from './missing.ts';
import {
  addPositionOption,
  addTaskArgument,
  addTaskReadOptions,
  checkPositions,
  createdTaskExample,
  createTaskListener,
  foundLayout,
  type TaskReadOptions,
  toReadTerms,
} from './options.ts';

interface TaskFetchOptions extends ConnectionOptions, RecordOptions, TaskReadOptions {
  readonly pts: number;
}

const help: CommandHelp = {
  examples: [
    createdTaskExample('leadpipe task fetch "$id" --local'),
    'leadpipe task fetch "$id" --pts 40 --positions --local',
  ],
  output: [
    'one lead on each line (jsonl), as the service sent it, sorted by position:',
    '{"name":"…","links":{"website":"…"},"description":"…",',
    ' "score":{"score":"…","reason":"…"}}',
    'csv: the columns of `task run`; enrich fields are those of the first page',
    'The next position is printed on stderr.',
  ],
  outcomes: readOutcomes,
};

export function createTaskFetchCommand(context: Context): Command {
  const command = new Command('fetch')
    .summary('the leads that are ready now')
    .description('Writes all leads of a task that are ready now. It costs nothing.');
  addTaskReadOptions(addPositionOption(addTaskArgument(command)));
  return addHelp(addConnectionOptions(addRecordOptions(command)), help).action(
    (id: string, given: TaskFetchOptions) => runTaskFetch(context, id, given),
  );
}

async function runTaskFetch(context: Context, id: string, options: TaskFetchOptions): Promise<void> {
  const { say } = createNotes(context, options);
  await withConnection(context, options, async (connection) => {
    const { client, settings } = connection;
    checkPositions(options, toFormat(options, context.stdout.isTerminal, settings.format));
    const printed = { shape: 'list', layout: foundLayout(options), settings } as const;
    const reading = await withOutput(context, options, printed, (delivery) =>
      withMissingExplained(context, connection, id, () =>
        readInto(
          {
            buyer: { connection, context },
            client,
            delivery,
            journal: noJournal,
            terms: toReadTerms(options, settings),
            listener: createTaskListener(context, options),
          },
          'fetching',
          async () => ({ leadsSearchId: id, start: options.pts, from: options.pts }),
        ),
      ),
    );
    const { state, position: pts } = reading.summary;
    if (state === 'created' || state === 'running') {
      say(
        `There may be more leads later. To read on from position ${pts}: ${toContinuation({ ...reading, pts }, options)}`,
      );
    }
    if (reading.leads === 0 && options.exitStatus) throw toNothingFound(reading, options);
  });
}
