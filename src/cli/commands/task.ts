import { Option } from 'commander';
import { toStatusRecord } from '../../answers.ts';
import { entityTypes } from '../../contract/types.ts';
import type { LeadpipeError } from '../../errors.ts';
import type { JsonView } from '../../json/text.ts';
import type { OperationEvent } from '../../operations/events.ts';
import { damagedKind, readNewest } from '../../operations/journal/operation-index.ts';
import { isTask } from '../../operations/kinds/kinds.ts';
import { type Operation, toDamageLine } from '../../operations/operation.ts';
import { toWorstCase } from '../../operations/money.ts';
import { buyTask } from '../../operations/task/buy.ts';
import { refreshTasks, toKnownTasks } from '../../operations/report/tasks.ts';
import { countOf } from '../../operations/wording.ts';
import { memberLayout, taskStatusLayout } from '../../output/columns.ts';
import type { Layout, TableColumn } from '../../output/layout.ts';
import { readable } from '../../output/readable.ts';
import { memberColumn, toneOfState } from '../../output/table-columns.ts';
import { defineCommand, defineGroup } from '../command.ts';
import { withConnection } from '../connect.ts';
import { freeOutcomes, paidOutcomes } from '../exit-codes.ts';
import { close } from '../messages/closing-line.ts';
import { shellWord } from '../messages/quoted.ts';
import { createNotes } from '../messages/status-line.ts';
import {
  createEntityArguments,
  createEntityOptions,
  enableWebSearch,
  readTaskRequest,
  type TaskRequestOptions,
} from '../options/entity-search.ts';
import type { ConnectionOptions, RecordOptions } from '../options/options.ts';
import { type PurchaseOptions, withPurchase } from '../records/orders.ts';
import { printRecords, timeColumn, withOutput, zoned } from '../records/record-output.ts';
import { runOperation } from '../records/run-operation.ts';
import {
  createdTaskExample,
  createTaskFetch,
  createTaskWait,
  taskArgument,
  throwExplained,
} from './task/reading.ts';
import { createTaskResume, createTaskRun } from './task/run.ts';

interface TaskListOptions extends RecordOptions, ConnectionOptions {
  readonly refresh?: true;
}

/** For people: times up to the minute, and no operation ID. */
const knownTaskTable: TableColumn[] = [
  timeColumn('time', { recent: true, role: 'detail', yields: 3 }),
  { header: 'what', min: 10, max: 60, role: 'title', text: subjectOf },
  memberColumn('state', { min: 5, max: 9, tone: toneOfState }),
  { header: 'read', min: 8, max: 15, text: readOf, value: (task) => task.member('position') },
  // Never cut, since it is there to be copied.
  memberColumn('leads_search_id', { min: 39, max: 60 }),
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
];

/** As in the history: the type and the objective. */
function subjectOf(task: JsonView): string {
  const parts = ['entity_type', 'objective'].map((name) => readable(task.member(name)));
  return parts.filter((part) => part !== '').join(': ');
}

/** How many of the leads that were ready have been read on this machine. */
function readOf(task: JsonView): string {
  const [position, ready] = ['position', 'ready_count'].map((name) => readable(task.member(name)));
  return ready === '' ? `${position}` : `${position} of ${ready}`;
}

const knownTaskLayout: Layout = {
  ...memberLayout([
    'operation_id',
    'time',
    'leads_search_id',
    'entity_type',
    'objective',
    'state',
    'position',
    'ready_count',
    'output',
  ]),
  table: () => knownTaskTable,
};

export const createTaskList = defineCommand({
  name: 'list',
  summary: 'the tasks this machine knows',
  description:
    'Shows the tasks that this machine has created or waited for, with the last known state and position. Nothing is sent, except with --refresh.',
  options: [
    new Option('--refresh', 'ask the service for the state of each task that has not ended, for free'),
  ],
  takes: ['records', 'connection'],
  examples: ['leadpipe task list', 'leadpipe task list --refresh --local --columns leads_search_id,state'],
  output: [
    'one object for each task, the newest first; null means unknown here:',
    '{"operation_id":"…","time":"…","leads_search_id":"…","entity_type":"company",',
    ' "objective":"…","state":"running","position":20,"ready_count":40,',
    ' "output":null}',
  ],
  outcomes: freeOutcomes,
  async run(context, options: TaskListOptions) {
    const damages: LeadpipeError[] = [];
    const operations: Operation[] = [];
    const isListed = (kind: string): boolean => isTask(kind) || kind === damagedKind;
    for await (const operation of readNewest(context, isListed, (damage) => void damages.push(damage))) {
      operations.unshift(operation);
    }
    const notes = createNotes(context, options);
    let known = toKnownTasks(operations);
    if (options.refresh) {
      const { missing, others, tasks } = await withConnection(context, options, (connection) =>
        refreshTasks({ connection, context }, known, operations),
      );
      known = tasks;
      if (missing > 0) {
        notes.warn(`the service does not know ${countOf(missing, 'task')} of these any more`);
      }
      if (others > 0) {
        notes.say(`${countOf(others, 'task')} of another address or API key: shown as last seen.`);
      }
    }
    const tasks = known.map((task) => zoned(task, 'time', context.zone));
    await printRecords(context, options, { shape: 'list', layout: knownTaskLayout }, tasks);
    for (const damage of damages) notes.warn(toDamageLine(damage));
    if (tasks.length === 0) notes.say('No tasks recorded on this machine yet.');
  },
});

const createTaskCreate = defineCommand({
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
  outcomes: paidOutcomes.filter((outcome) => outcome !== 'no_result'),
  async run(context, entityType: string, objective: string, options: TaskRequestOptions & PurchaseOptions) {
    const request = await readTaskRequest(context, entityType, objective, options);
    await withPurchase(context, options, 'task create', request, ({ buyer, order, open }) => {
      const { credits } = toWorstCase('task create', request, buyer.connection.settings);
      const on = (event: OperationEvent): void => {
        if (event.is !== 'created') return;
        const { leadsSearchId, requestId, operationId } = event.task;
        close(context, options, {
          what: 'task created',
          also:
            credits === null || options.local
              ? undefined
              : `it can cost at most ${countOf(credits, 'credit')}`,
          // On a terminal, the next step names it.
          ids: {
            of: 'task',
            leadsSearchId: context.stderr.isTerminal ? undefined : leadsSearchId,
            requestId,
            operationId,
          },
          next: `To read its leads: leadpipe task wait ${shellWord(leadsSearchId)}${options.local ? ' --local' : ''}`,
        });
      };
      return runOperation(context, options, buyTask(buyer, order, open), { on });
    });
  },
});

const createTaskStatus = defineCommand({
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
  outcomes: [...freeOutcomes, 'not_found'],
  async run(context, id: string, options: ConnectionOptions & RecordOptions) {
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
  },
});

export const createCommand = defineGroup(
  {
    name: 'task',
    description:
      'Finds leads with a task. A task runs at the service, even while this machine is off. Its leads can be read again for free.',
    examples: ['leadpipe task run company "fintech in Berlin" --local -o leads.csv', 'leadpipe task list'],
    remarks: [
      '`leadpipe task resume` finishes what was interrupted, into the same file. `leadpipe task wait <leads-search-id>` reads the leads of a task for free, as often as you like, from any position.',
    ],
  },
  [
    createTaskRun,
    createTaskCreate,
    createTaskStatus,
    createTaskFetch,
    createTaskWait,
    createTaskResume,
    createTaskList,
  ],
);
