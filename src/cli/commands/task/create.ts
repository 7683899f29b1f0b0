import { Command } from 'commander';
import { requests } from '../../../client.ts';
import type { Context } from '../../../context.ts';
import { createTask, toPurchase } from '../../../operations/task/create.ts';
import { memberLayout } from '../../../output/columns.ts';
import { toClosingLine } from '../../closing-line.ts';
import { withConnection } from '../../connect.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { toIntent, withJournal } from '../../journaled.ts';
import { createNotes } from '../../notes.ts';
import { printPreview } from '../../preview.ts';
import { withOutput } from '../../record-output.ts';
import {
  addTaskCallOptions,
  addTaskSearchOptions,
  readTaskRequest,
  type TaskRequestOptions,
} from '../../task-request.ts';

const createdLayout = memberLayout(['leads_search_id', 'idempotency_key', 'request_id']);

const help: CommandHelp = {
  examples: [
    'leadpipe task create company "dental clinics in Austin" --local',
    'leadpipe task create wechat "skin care" --enable-web-search --local -f csv',
  ],
  output: ['one object:', '{"leads_search_id":"…","idempotency_key":"…","request_id":"…"}'],
  outcomes: [
    'complete',
    'usage',
    'authentication',
    'credits',
    'unknown',
    'not_enabled',
    'local_io',
    'temporary',
    'interface',
    'configuration',
    'interrupted',
    'terminated',
  ],
};

export function createTaskCreateCommand(context: Context): Command {
  const command = new Command('create')
    .summary('only create a task')
    .description('Creates a task and prints its ID. It runs at the service, without this machine.');
  return addHelp(addTaskCallOptions(addTaskSearchOptions(command)), help).action(
    (entityType: string, objective: string, given: TaskRequestOptions) =>
      runTaskCreate(context, entityType, objective, given),
  );
}

async function runTaskCreate(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRequestOptions,
): Promise<void> {
  const { request, idempotencyKey } = await readTaskRequest(context, entityType, objective, options);
  await withConnection(context, options, async (connection) => {
    const { client, settings, preview } = connection;
    if (options.dryRun) return printPreview(context, preview(requests.createTask(request, idempotencyKey)));
    await withOutput(context, options, { shape: 'single', layout: createdLayout, settings }, (output) =>
      withJournal(context, options, async (journal) => {
        const { operationId } = journal;
        const intent = toIntent(context, connection, journal, 'task create', options, {});
        await journal.append({ ...intent, ...toPurchase(request, idempotencyKey) });
        const { value, requestId } = await createTask(
          client,
          request,
          idempotencyKey,
          journal,
          context.signal,
        );
        const leadsSearchId = value.leads_search_id;
        // First of all, so that an output that fails does not take the ID with it.
        createNotes(context, options).say(toClosingLine({ leadsSearchId, requestId, operationId }));
        await journal.append({ type: 'terminal', outcome: 'complete', state: null, ready_count: null });
        await output.write([
          JSON.stringify({
            leads_search_id: leadsSearchId,
            idempotency_key: idempotencyKey,
            request_id: requestId ?? null,
          }),
        ]);
      }),
    );
  });
}
