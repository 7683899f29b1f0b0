import { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { findEarlier, toWanted } from '../../../operations/earlier.ts';
import { creditsOf, toWorstCase } from '../../../operations/spending.ts';
import { buyTask } from '../../../operations/task/buy.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { close } from '../../messages/closing-line.ts';
import { tellEarlier, toRepeated } from '../../messages/earlier-runs.ts';
import { shellWord } from '../../messages/shell-word.ts';
import { toOrder, toShop } from '../../records/orders.ts';
import {
  addTaskCallOptions,
  addTaskSearchOptions,
  readTaskRequest,
  type TaskRequestOptions,
} from './request.ts';

const help: CommandHelp = {
  examples: [
    'leadpipe task create company "dental clinics in Austin" --local',
    'leadpipe task create wechat "skin care" --enable-web-search --local -f csv',
  ],
  output: ['one object:', '{"leads_search_id":"…","idempotency_key":"…","request_id":"…"}'],
  outcomes: paidOutcomes.filter((outcome) => outcome !== 'no_result'),
};

export function createTaskCreateCommand(context: Context): Command {
  const command = new Command('create')
    .summary('only create a task')
    .description(
      'Creates a task and prints its ID. The task runs at the service; this machine is not needed.',
    );
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
  const request = await readTaskRequest(context, entityType, objective, options);
  await withConnection(context, options, async (connection) => {
    const buyer = toShop(context, options, connection);
    const order = toOrder(context, options, connection, 'task create', request);
    const { credits } = toWorstCase('task create', request, connection.settings);
    const earlier = await findEarlier(buyer, toWanted(buyer, order));
    if (earlier.is === 'new') tellEarlier(context, options, earlier);
    await buyTask(
      buyer,
      toRepeated(context, options, order, earlier),
      ({ leadsSearchId, requestId, operationId }) =>
        close(context, options, {
          what: 'task created',
          also: credits === null || options.local ? undefined : `it can cost at most ${creditsOf(credits)}`,
          // On a terminal it stands in the next step.
          ids: {
            of: 'task',
            leadsSearchId: context.stderr.isTerminal ? undefined : leadsSearchId,
            requestId,
            operationId,
          },
          next: `To read its leads: leadpipe task wait ${shellWord(leadsSearchId)}${options.local ? ' --local' : ''}`,
        }),
    );
  });
}
