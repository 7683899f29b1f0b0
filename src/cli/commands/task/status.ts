import { toStatusRecord } from '../../../answers.ts';
import { headersOf, taskStatusLayout } from '../../../columns/columns.ts';
import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { freeOutcomes } from '../../exit-codes.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ConnectionOptions } from '../../options/shared-options.ts';
import { withOutput } from '../../records/record-output.ts';
import { createdTaskExample, taskArgument, throwExplained } from './task-id.ts';

export const createTaskStatus = defineCommand({
  name: 'status',
  summary: 'the state of a task',
  description: 'Shows the state of a task, and how many leads can be read. It costs nothing.',
  arguments: [taskArgument],
  takes: ['records', 'connection'],
  examples: [
    createdTaskExample('leadpipe task status "$id" --local'),
    'leadpipe task status "$id" --local -f csv --columns status,ready_count',
  ],
  output: [
    'the status object as the service sent it, with the ID in front:',
    '{"leads_search_id":"…","status":"running","ready_count":40,',
    ' "verified_count":52,"stop_reason":""}',
  ],
  columns: () => headersOf(taskStatusLayout),
  outcomes: [...freeOutcomes, 'not_found'],
  run: runTaskStatus,
});

async function runTaskStatus(
  context: Context,
  id: string,
  options: ConnectionOptions & RecordOptions,
): Promise<void> {
  await withConnection(context, options, (connection) => {
    const { client, settings } = connection;
    const kind = { shape: 'single', layout: taskStatusLayout, settings } as const;
    return withOutput(context, options, kind, async (output) => {
      const { text } = await client
        .status(id, context.signal)
        .catch((error: unknown) => throwExplained(error, context, connection, id));
      await output.write([toStatusRecord(id, text)]);
    });
  });
}
