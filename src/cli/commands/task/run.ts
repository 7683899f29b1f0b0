import { Command } from 'commander';
import { requests } from '../../../client.ts';
import type { Context } from '../../../context.ts';
import { createTask, toPurchase } from '../../../operations/task/create.ts';
import { entityLayout } from '../../../output/columns.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { toIntent, withJournal } from '../../journaled.ts';
import { printPreview } from '../../preview.ts';
import { toFormat } from '../../record-output.ts';
import { findEarlierRun, goOnWith } from '../../task-earlier.ts';
import { addFollowOptions, checkPositions, type FollowOptions } from '../../task-options.ts';
import { toTaskIntentOptions, withFirstOutput } from '../../task-output.ts';
import { followInto } from '../../task-reading.ts';
import {
  addTaskCallOptions,
  addTaskSearchOptions,
  readTaskRequest,
  type TaskRequestOptions,
} from '../../task-request.ts';

interface TaskRunOptions extends TaskRequestOptions, FollowOptions {}

const help: CommandHelp = {
  examples: [
    'leadpipe task run company "dental clinics in Austin" --local -o clinics.csv',
    'leadpipe task run xiaohongshu "skin care" --enable-web-search --local',
  ],
  output: [
    'a lead per line (jsonl), as the service sent it, in the order of positions:',
    '{"name":"…","links":{"website":"…"},"description":"…",',
    ' "score":{"score":"…","reason":"…"}}',
    'csv: name,description,score,score_reason,website,linkedin_url,links, then',
    '     <field>,<field>_reference for each of --enrich-fields',
  ],
  outcomes: [...paidOutcomes, 'partial'],
};

export function createTaskRunCommand(context: Context): Command {
  const command = new Command('run')
    .summary('create a task and follow it to its end')
    .description('Creates a task, follows it, and writes its leads as they become ready, to the end.');
  return addHelp(addTaskCallOptions(addFollowOptions(addTaskSearchOptions(command))), help).action(
    (entityType: string, objective: string, given: TaskRunOptions) =>
      runTaskRun(context, entityType, objective, given),
  );
}

async function runTaskRun(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRunOptions,
): Promise<void> {
  const { request, idempotencyKey } = await readTaskRequest(context, entityType, objective, options);
  const layout = entityLayout(request.enrich_fields);
  await withConnection(context, options, async (connection) => {
    const { client, settings, preview } = connection;
    if (options.dryRun) return printPreview(context, preview(requests.createTask(request, idempotencyKey)));
    const format = toFormat(options, context.stdout.isTerminal, settings.format);
    checkPositions(options, format);
    const purchase = toPurchase(request, idempotencyKey);
    const more = toTaskIntentOptions(options, format);
    const earlier = await findEarlierRun(context, options, connection, purchase, more);
    if (earlier !== undefined) return await goOnWith(context, options, connection, earlier);
    await withJournal(context, options, async (journal) => {
      const intent = toIntent(context, connection, journal, 'task run', options, more);
      await journal.append({ ...intent, ...purchase });
      await withFirstOutput(context, options, layout, connection, journal, (output) =>
        followInto({ context, options, connection, output, journal }, 'creating the task', async () => {
          const created = await createTask(client, request, idempotencyKey, journal, context.signal);
          return {
            leadsSearchId: created.value.leads_search_id,
            start: 0,
            from: 0,
            created: { requestId: created.requestId, idempotencyKey, at: context.clock.monotonic() },
          };
        }),
      );
    });
  });
}
