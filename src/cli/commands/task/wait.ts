import type { Context } from '../../../context.ts';
import { waitForTask } from '../../../operations/task/buy.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { toFormat } from '../../options/options.ts';
import { toTerms } from '../../records/orders.ts';
import { openOutput, withHeldOutput } from '../../records/record-output.ts';
import { checkFound, runReading } from './read-and-report.ts';
import {
  type FollowOptions,
  type PositionOptions,
  positionOptions,
  readingOptions,
  readingShape,
  toReadTerms,
  waitingOptions,
} from './reading-options.ts';
import { createdTaskExample, taskArgument, throwExplained } from './task-id.ts';
import { foundLayout } from './task-layout.ts';

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
}
