import type { Context } from '../../../context.ts';
import { entityTypes } from '../../../contract/types.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import {
  createEntityArguments,
  createEntityOptions,
  enableWebSearch,
  type ListOptions,
  leadColumns,
  leadShape,
  listOptions,
  readTaskRequest,
  type TaskRequestOptions,
  taskCost,
  toListTerms,
} from '../../options/search-options.ts';
import {
  type FollowOptions,
  readingOptions,
  toReadTerms,
  waitingOptions,
} from '../../options/task-options.ts';
import { type PurchaseOptions, toBuyer, toOrder } from '../../records/orders.ts';
import { checkHasLeads, readAndReport } from './read-and-report.ts';

interface RunOptions extends PurchaseOptions, FollowOptions, TaskRequestOptions, ListOptions {}

export const createTaskRun = defineCommand({
  name: 'run',
  summary: 'create a task and write its leads until it ends',
  description: 'Creates a task, and writes its leads as they become ready, until it ends.',
  arguments: createEntityArguments(entityTypes),
  options: [...createEntityOptions([enableWebSearch, ...listOptions]), ...waitingOptions, ...readingOptions],
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe task run person "founders in Lisbon" --local \\\n  --enrich-fields job_title,company -o founders.csv',
    'leadpipe task run xiaohongshu "skin care" --enable-web-search --local',
  ],
  output: ['one lead on each line (jsonl), as the service sent it, sorted by position:', ...leadShape],
  ...leadColumns,
  cost: taskCost,
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
  run: runTaskRun,
});

async function runTaskRun(
  context: Context,
  entityType: string,
  objective: string,
  options: RunOptions,
): Promise<void> {
  const request = await readTaskRequest(context, entityType, objective, options);
  const { num, positions } = options;
  await withConnection(context, options, async (connection) => {
    const buyer = toBuyer(context, options, connection);
    const ordered = toOrder(context, options, connection, 'task run', request, { positions, num });
    const order = { ...ordered, list: toListTerms(options), read: toReadTerms(options, connection.settings) };
    checkHasLeads(await readAndReport(context, options, buyer, order), options);
  });
}
