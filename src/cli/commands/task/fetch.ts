import type { Context } from '../../../context.ts';
import { readInto, unrecordedRun } from '../../../operations/kinds/task-reading.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { readOutcomes } from '../../exit-codes.ts';
import { toTaskCommand } from '../../messages/hints.ts';
import { createNotes } from '../../messages/status-line.ts';
import {
  type PositionOptions,
  positionOptions,
  type ReadOptions,
  readingColumns,
  readingOptions,
  readingShape,
  toReadTerms,
} from '../../options/task-options.ts';
import { withOutput } from '../../records/record-output.ts';
import { show } from '../../run-and-show.ts';
import { checkHasLeads, reportReading, taskLayout } from './read-and-report.ts';
import { createdTaskExample, taskArgument, throwExplained } from './task-id.ts';

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
  output: [...readingShape, 'The next position is printed on stderr.'],
  ...readingColumns,
  outcomes: readOutcomes,
  run: runTaskFetch,
});

async function runTaskFetch(
  context: Context,
  id: string,
  options: ReadOptions & PositionOptions,
): Promise<void> {
  await withConnection(context, options, async (connection) => {
    const { client, settings } = connection;
    const printed = { shape: 'list', layout: taskLayout(options), settings } as const;
    const terms = toReadTerms(options, settings);
    const task = { leadsSearchId: id, start: options.pts, from: options.pts };
    const reading = await withOutput(context, options, printed, async (delivery) => {
      const run = unrecordedRun({ connection, context }, delivery);
      const fetching = readInto({ ...run, client, terms }, 'fetching', async () => task);
      const found = await show(context, options, fetching, {}).catch((error: unknown) =>
        throwExplained(error, context, connection, id),
      );
      reportReading(context, options, found, undefined);
      return found;
    });
    const { state, position: pts } = reading.summary;
    if (state === 'created' || state === 'running') {
      createNotes(context, options).say(
        `There may be more leads later. To continue from position ${pts}: ${toTaskCommand({ ...reading, pts }, { options })}`,
      );
    }
    checkHasLeads(reading, options);
  });
}
