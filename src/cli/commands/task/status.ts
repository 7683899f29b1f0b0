import { Command } from 'commander';
import { toStatusRecord } from '../../../answers.ts';
import type { Context } from '../../../context.ts';
import { taskStatusLayout } from '../../../output/columns.ts';
import { withConnection } from '../../connect.ts';
import { freeOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import {
  addConnectionOptions,
  addRecordOptions,
  type ConnectionOptions,
  type RecordOptions,
} from '../../options/options.ts';
import { withOutput } from '../../records/record-output.ts';
import { withMissingExplained } from './missing.ts';
import { addTaskArgument, createdTaskExample } from './options.ts';

type TaskStatusOptions = ConnectionOptions & RecordOptions;

const help: CommandHelp = {
  examples: [
    createdTaskExample('leadpipe task status "$id" --local'),
    'leadpipe task status "$id" --local -f csv --columns status,ready_count',
  ],
  output: [
    'the status object as the service sent it, with the ID in front:',
    '{"leads_search_id":"…","status":"running","ready_count":40,',
    ' "verified_count":52,"stop_reason":""}',
  ],
  outcomes: [...freeOutcomes, 'not_found'],
};

export function createTaskStatusCommand(context: Context): Command {
  const command = new Command('status')
    .summary('the state of a task')
    .description('Shows the state of a task, and how many leads can be read. It costs nothing.');
  return addHelp(addConnectionOptions(addRecordOptions(addTaskArgument(command))), help).action(
    (id: string, options: TaskStatusOptions) => runTaskStatus(context, id, options),
  );
}

async function runTaskStatus(context: Context, id: string, options: TaskStatusOptions): Promise<void> {
  await withConnection(context, options, (connection) => {
    const { client, settings } = connection;
    const kind = { shape: 'single', layout: taskStatusLayout, settings } as const;
    return withOutput(context, options, kind, async (output) => {
      const { text } = await withMissingExplained(context, connection, id, () =>
        client.status(id, context.signal),
      );
      await output.write([toStatusRecord(id, text)]);
    });
  });
}
