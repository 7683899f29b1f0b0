import { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { noJournal } from '../../../operations/journal/journal.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { withMissingExplained } from '../../missing-task.ts';
import {
  addConnectionOptions,
  addRecordOptions,
  type ConnectionOptions,
  type RecordOptions,
} from '../../options.ts';
import { toFormat, withOutput } from '../../record-output.ts';
import {
  addPositionOption,
  addTaskArgument,
  addTaskReadOptions,
  checkPositions,
  createdTaskExample,
  foundLayout,
  type TaskReadOptions,
} from '../../task-options.ts';
import { readReadyInto } from '../../task-reading.ts';

interface TaskFetchOptions extends ConnectionOptions, RecordOptions, TaskReadOptions {
  readonly pts: number;
}

const help: CommandHelp = {
  examples: [
    createdTaskExample('leadpipe task fetch "$id" --local'),
    'leadpipe task fetch "$id" --pts 40 --positions --local',
  ],
  output: [
    'a lead per line (jsonl), as the service sent it, in the order of positions:',
    '{"name":"…","links":{"website":"…"},"description":"…",',
    ' "score":{"score":"…","reason":"…"}}',
    'csv: the columns of `task run`; enrich fields as the first page shows them',
    'The next position is on stderr.',
  ],
  outcomes: readOutcomes,
};

export function createTaskFetchCommand(context: Context): Command {
  const command = new Command('fetch')
    .summary('the leads that are ready now')
    .description('Writes the leads of a task that are ready now, page after page. It costs nothing.');
  addTaskReadOptions(addPositionOption(addTaskArgument(command)));
  return addHelp(addConnectionOptions(addRecordOptions(command)), help).action(
    (id: string, given: TaskFetchOptions) => runTaskFetch(context, id, given),
  );
}

async function runTaskFetch(context: Context, id: string, options: TaskFetchOptions): Promise<void> {
  await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    checkPositions(options, toFormat(options, context.stdout.isTerminal, settings.format));
    await withOutput(context, options, { shape: 'list', layout: foundLayout(options), settings }, (output) =>
      withMissingExplained(context, connection, id, () =>
        readReadyInto(
          { context, options, connection, output, journal: noJournal },
          { leadsSearchId: id, start: options.pts, from: options.pts },
        ),
      ),
    );
  });
}
