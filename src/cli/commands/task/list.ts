import { Option } from 'commander';
import { headersOf, memberLayout } from '../../../columns/columns.ts';
import type { Layout, TableColumn } from '../../../columns/layout.ts';
import type { Context } from '../../../context.ts';
import { hasEnded } from '../../../contract/types.ts';
import type { LeadpipeError } from '../../../errors.ts';
import type { JsonView } from '../../../json/text.ts';
import { damagedKind } from '../../../operations/journal/operation-index.ts';
import { isTask } from '../../../operations/kinds/kinds.ts';
import { readNewest, toDamageLine } from '../../../operations/known-operations.ts';
import type { Operation } from '../../../operations/operation.ts';
import { refreshTasks, toKnownTasks } from '../../../operations/report/tasks.ts';
import { countOf } from '../../../operations/wording.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, toneOfState } from '../../../output/table-columns.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { freeOutcomes } from '../../exit-codes.ts';
import { routeWords, toCommand } from '../../messages/proposed.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ConnectionOptions } from '../../options/shared-options.ts';
import { printRecords, timeColumn, zoned } from '../../records/record-output.ts';

interface TaskListOptions extends RecordOptions, ConnectionOptions {
  readonly refresh?: true;
}

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
    ' "output":null,"limit":100}',
  ],
  columns: () => headersOf(knownTaskLayout),
  outcomes: freeOutcomes,
  run: runTaskList,
});

async function runTaskList(context: Context, options: TaskListOptions): Promise<void> {
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
      notes.warn(`the service no longer has ${missing} of these tasks`);
    }
    if (others > 0) {
      notes.say(`${countOf(others, 'task')} of another address or API key: the last known state is shown.`);
    }
  }
  const mayChange = known.some(({ leads_search_id: id, state }) => id !== null && !hasEnded(state));
  const tasks = known.map((task) => zoned(task, 'time', context.zone));
  await printRecords(context, options, { shape: 'list', layout: knownTaskLayout }, tasks);
  for (const damage of damages) notes.warn(toDamageLine(damage));
  if (mayChange && !options.refresh && context.stderr.isTerminal)
    notes.say(
      `These states may be old. To ask the service, for free: ${toCommand(['task', 'list', '--refresh', ...routeWords(options)])}`,
    );
  if (tasks.length === 0 && damages.length === 0) notes.say('No tasks recorded on this machine yet.');
}

/** For people: times up to the minute, and no operation ID. */
const knownTaskTable: TableColumn[] = [
  timeColumn('time', { recent: true, role: 'detail', yields: 3 }),
  { header: 'what', min: 10, max: 40, role: 'title', lines: 2, text: subjectOf },
  memberColumn('state', { min: 5, max: 9, tone: toneOfState }),
  { header: 'ready', min: 9, max: 15, text: readyOf },
  memberColumn('position', { header: 'read', min: 4, max: 7, yields: 4 }),
  // Never cut, so that it can be copied.
  memberColumn('leads_search_id', { header: 'task', min: 39, max: 60 }),
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
];

/** As in the history: the type and the objective. */
function subjectOf(task: JsonView): string {
  const parts = ['entity_type', 'objective'].map((name) => readable(task.member(name)));
  return parts.filter((part) => part !== '').join(': ');
}

/** The number of ready leads, of the requested number. */
function readyOf(task: JsonView): string {
  const [ready = '', limit = ''] = ['ready_count', 'limit'].map((name) => readable(task.member(name)));
  return ready === '' || limit === '' ? ready : `${ready} of ${limit}`;
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
    'limit',
  ]),
  table: () => knownTaskTable,
};
