import { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { waitForTask } from '../../../operations/task/buy.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { toNothingFound } from '../../messages/closing-line.ts';
import {
  addConnectionOptions,
  addRecordOptions,
  type ConnectionOptions,
  type RecordOptions,
} from '../../options/options.ts';
import { openOutput, toTerms } from '../../records/orders.ts';
import { toFormat } from '../../records/record-output.ts';
import { withMissingExplained } from './missing.ts';
import {
  addFollowOptions,
  addPositionOption,
  addTaskArgument,
  checkPositions,
  createdTaskExample,
  createTaskListener,
  type FollowOptions,
  foundLayout,
  toReadTerms,
} from './options.ts';

interface TaskWaitOptions extends ConnectionOptions, RecordOptions, FollowOptions {
  readonly pts: number;
}

const help: CommandHelp = {
  examples: [
    createdTaskExample('leadpipe task wait "$id" --local'),
    'leadpipe task wait "$id" --pts 40 --wait-timeout 600 --local -o rest.jsonl',
  ],
  output: [
    'one lead on each line (jsonl), as the service sent it, sorted by position:',
    '{"name":"…","links":{"website":"…"},"description":"…",',
    ' "score":{"score":"…","reason":"…"}}',
    'csv: the columns of `task run`; enrich fields are those of the first page',
  ],
  outcomes: readOutcomes,
};

export function createTaskWaitCommand(context: Context): Command {
  const command = new Command('wait')
    .summary('write the leads of a task until it ends')
    .description(
      'Waits for a task that your API key created, and writes its leads as they become ready, until it ends. It costs nothing.',
    );
  addFollowOptions(addPositionOption(addTaskArgument(command)));
  return addHelp(addConnectionOptions(addRecordOptions(command)), help).action(
    (id: string, given: TaskWaitOptions) => runTaskWait(context, id, given),
  );
}

async function runTaskWait(context: Context, id: string, options: TaskWaitOptions): Promise<void> {
  const { exitStatus, num, positions, pts } = options;
  await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const format = toFormat(options, context.stdout.isTerminal, settings.format);
    checkPositions(options, format);
    const reading = await withMissingExplained(context, connection, id, () =>
      waitForTask(
        { connection, context },
        { leadsSearchId: id, pts },
        {
          terms: toTerms(options, format, { positions, num, pts }),
          open: openOutput(context, options, { shape: 'list', layout: foundLayout(options), settings }),
        },
        toReadTerms(options, settings),
        createTaskListener(context, options),
      ),
    );
    if (reading.leads === 0 && exitStatus) throw toNothingFound(reading, options);
  });
}
