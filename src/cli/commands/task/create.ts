import { headersOf, memberLayout } from '../../../columns/columns.ts';
import type { Context } from '../../../context.ts';
import { entityTypes } from '../../../contract/types.ts';
import type { BoughtTask, OperationEvent } from '../../../operations/events.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { close } from '../../messages/closing-line.ts';
import { toReadCommand } from '../../messages/proposed.ts';
import {
  createEntityArguments,
  createEntityOptions,
  enableWebSearch,
  readTaskRequest,
  type TaskRequestOptions,
  taskCost,
} from '../../options/search-options.ts';
import { type PurchaseOptions, toBuyer, toOrder } from '../../records/orders.ts';
import { runAndShow } from '../../run-and-show.ts';

const layout = memberLayout(['leads_search_id', 'idempotency_key', 'request_id']);

export const createTaskCreate = defineCommand({
  name: 'create',
  summary: 'only create a task',
  description: 'Creates a task and prints its ID. The task runs at the service; this machine is not needed.',
  arguments: createEntityArguments(entityTypes),
  options: createEntityOptions([enableWebSearch]),
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe task create company "dental clinics in Austin" --local',
    'leadpipe task create wechat "skin care" --enable-web-search --local -f csv',
  ],
  output: ['one object:', '{"leads_search_id":"…","idempotency_key":"…","request_id":"…"}'],
  columns: () => headersOf(layout),
  cost: taskCost,
  outcomes: paidOutcomes.filter((outcome) => outcome !== 'no_result'),
  run: runTaskCreate,
});

async function runTaskCreate(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRequestOptions & PurchaseOptions,
): Promise<void> {
  const request = await readTaskRequest(context, entityType, objective, options);
  await withConnection(context, options, async (connection) => {
    let created: BoughtTask | undefined;
    const on = (event: OperationEvent): void => {
      if (event.is === 'created') created = event.task;
    };
    const report = ({ leadsSearchId, requestId, operationId }: BoughtTask): void => {
      close(context, options, {
        what: 'task created',
        isPaid: 'later',
        charged: 'maybe',
        // On a terminal, the next step shows this ID.
        ids: {
          of: 'task',
          leadsSearchId: context.stderr.isTerminal ? undefined : leadsSearchId,
          requestId,
          operationId,
        },
        next: `To read its leads: ${toReadCommand('wait', leadsSearchId, options)}`,
      });
    };
    const buyer = toBuyer(context, options, connection);
    const order = toOrder(context, options, connection, 'task create', request);
    const printed = { shape: 'single', layout } as const;
    try {
      await runAndShow(context, options, buyer, order, { printed, on });
    } finally {
      // Also if the output failed, so that the ID is not lost.
      if (created !== undefined) report(created);
    }
  });
}
