import { Command } from 'commander';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import type { LeadpipeError } from '../../../errors.ts';
import type { JsonView } from '../../../json/text.ts';
import { damagedKind, readNewest } from '../../../operations/journal/open-index.ts';
import { type StoredOperation, toDamageLine } from '../../../operations/journal/stored.ts';
import { isTask } from '../../../operations/kinds.ts';
import { toKnownTasks } from '../../../operations/task/known.ts';
import { type Layout, memberLayout } from '../../../output/columns.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, type TableColumn, toneOfState } from '../../../output/table-columns.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import {
  addRecordOptions,
  addReportOptions,
  type RecordOptions,
  type ReportOptions,
} from '../../options/options.ts';
import { printRecords } from '../../records/record-output.ts';
import { recentColumn, zoned } from '../../records/zoned.ts';

type TaskListOptions = RecordOptions & ReportOptions;

/** For people: the time in their eyes' resolution, and no operation ID. */
const knownTaskTable: TableColumn[] = [
  recentColumn('time', { role: 'detail', yields: 3 }),
  { header: 'what', min: 10, max: 60, role: 'title', text: subjectOf },
  memberColumn('state', { min: 5, max: 9, tone: toneOfState }),
  { header: 'read', min: 8, max: 15, text: readOf, value: (task) => task.member('position') },
  // Whole, to be copied.
  memberColumn('leads_search_id', { min: 39, max: 60 }),
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
];

/** As in the history: the type, and what was looked for. */
function subjectOf(task: JsonView): string {
  const parts = ['entity_type', 'objective'].map((name) => readable(task.member(name)));
  return parts.filter((part) => part !== '').join(': ');
}

/** How many of the leads that were ready this machine has read. */
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
  table: knownTaskTable,
};

const help: CommandHelp = {
  examples: ['leadpipe task list', 'leadpipe task list --columns leads_search_id,state,objective'],
  output: [
    'one object for each task, the newest first; null means unknown here:',
    '{"operation_id":"…","time":"…","leads_search_id":"…","entity_type":"company",',
    ' "objective":"…","state":"running","position":20,"ready_count":40,',
    ' "output":null}',
  ],
  outcomes: localOutcomes,
};

export function createTaskListCommand(context: Context): Command {
  const command = new Command('list')
    .summary('the tasks this machine knows')
    .description(
      'Shows the tasks that this machine has created or waited for, with the last known state and position. Nothing is sent.',
    );
  return addHelp(addReportOptions(addRecordOptions(command)), help).action((options: TaskListOptions) =>
    runTaskList(context, options),
  );
}

async function runTaskList(context: Context, options: TaskListOptions): Promise<void> {
  const { settings } = await readProfile(context, undefined);
  const damages: LeadpipeError[] = [];
  const operations: StoredOperation[] = [];
  const isListed = (kind: string): boolean => isTask(kind) || kind === damagedKind;
  for await (const operation of readNewest(context, isListed, (damage) => void damages.push(damage))) {
    operations.unshift(operation);
  }
  const tasks = toKnownTasks(operations).map((task) => zoned(task, 'time', context.zone));
  await printRecords(context, options, { shape: 'list', layout: knownTaskLayout, settings }, tasks);
  const notes = createNotes(context, options);
  for (const damage of damages) notes.warn(toDamageLine(damage));
  if (tasks.length === 0) notes.say('No tasks recorded on this machine yet.');
}
