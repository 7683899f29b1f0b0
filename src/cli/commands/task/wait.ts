import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { toFormat } from '../../options/record-options.ts';
import {
  type FollowOptions,
  type PositionOptions,
  positionOptions,
  readingColumns,
  readingOptions,
  readingShape,
  toReadTerms,
  waitingOptions,
} from '../../options/task-options.ts';
import { toTerms } from '../../records/orders.ts';
import { checkHasLeads, readAndReport } from './read-and-report.ts';
import { createdTaskExample, taskArgument, throwExplained } from './task-id.ts';

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
  output: readingShape,
  ...readingColumns,
  outcomes: readOutcomes,
  run: runTaskWait,
});

async function runTaskWait(
  context: Context,
  id: string,
  options: FollowOptions & PositionOptions,
): Promise<void> {
  const { num, positions, pts } = options;
  await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const format = toFormat(options, context.stdout.isTerminal, settings.format);
    const terms = toTerms(options, format, { positions, num, pts });
    const order = {
      kind: 'task wait',
      body: { leads_search_id: id },
      keep: true,
      terms,
      read: toReadTerms(options, settings),
    } as const;
    const reading = await readAndReport(context, options, { connection, context }, order).catch(
      (error: unknown) => throwExplained(error, context, connection, id),
    );
    checkHasLeads(reading, options);
  });
}
