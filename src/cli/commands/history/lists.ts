import { Argument, Command } from 'commander';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import {
  type ListedLead,
  type ListRecord,
  readListedLeads,
  readLists,
} from '../../../operations/only-new/lists.ts';
import { memberLayout } from '../../../output/columns.ts';
import type { Layout } from '../../../output/layout.ts';
import { memberColumn } from '../../../output/table-columns.ts';
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
import { timeColumn, zoned } from '../../records/zoned.ts';
import { toUnknownList } from './nothing.ts';

type HistoryListsOptions = RecordOptions & ReportOptions;

const listMembers: readonly (keyof ListRecord)[] = ['list', 'leads', 'runs', 'last_run', 'origin'];
const leadMembers: readonly (keyof ListedLead)[] = [
  'list',
  'name',
  'time',
  'operation_id',
  'leads_search_id',
  'origin',
];

const listsLayout: Layout = {
  ...memberLayout(listMembers),
  table: [
    memberColumn('list', { min: 4, max: 40, role: 'title' }),
    memberColumn('leads', { min: 5, max: 9 }),
    memberColumn('runs', { min: 4, max: 7 }),
    timeColumn('last_run', { role: 'detail' }),
    memberColumn('origin', { min: 16, max: 60, yields: 1 }),
  ],
};

const leadsLayout: Layout = {
  ...memberLayout(leadMembers),
  table: [
    memberColumn('name', { min: 16, max: 60, role: 'title' }),
    timeColumn('time', { role: 'detail' }),
    memberColumn('operation_id', { min: 17, max: 17 }),
    memberColumn('leads_search_id', { min: 39, max: 60, yields: 2 }),
    memberColumn('origin', { min: 16, max: 60, yields: 1 }),
  ],
};

const help: CommandHelp = {
  examples: [
    'leadpipe search company "fintech in Berlin" --list fintechs --local -q\nleadpipe history lists',
    'leadpipe history lists fintechs -f csv',
  ],
  output: [
    'one object for each list, sorted by name:',
    '{"list":"company","leads":120,"runs":6,"last_run":"…","origin":"https://…"}',
    'with a name: one object for each lead of that list, the oldest first:',
    '{"list":"company","name":"…","time":"…","operation_id":"op_…",',
    ' "leads_search_id":"…","origin":"https://…"}',
  ],
  outcomes: [...localOutcomes, 'not_found'],
  remarks: [
    '`history prune` removes old purchases, but never a list. The fictional leads of --local have lists of their own.',
  ],
};

export function createHistoryListsCommand(context: Context): Command {
  const command = new Command('lists')
    .summary('the lists of leads that --only-new leaves out')
    .description(
      'Shows the lists of this machine, or the leads of one list. These are the leads that --only-new leaves out.',
    )
    .addArgument(new Argument('[list]', 'the name of a list: as given with --list, or else the entity type'));
  return addHelp(addReportOptions(addRecordOptions(command)), help).action(
    (list: string | undefined, options: HistoryListsOptions) => runHistoryLists(context, list, options),
  );
}

async function runHistoryLists(
  context: Context,
  list: string | undefined,
  options: HistoryListsOptions,
): Promise<void> {
  const { settings } = await readProfile(context, undefined);
  const {
    directories: { state },
    zone,
  } = context;
  const { say, warn } = createNotes(context, options);
  if (list !== undefined) {
    const leads = await readListedLeads(state, list, warn);
    if (leads === undefined) throw toUnknownList(list);
    const records = leads.map((lead) => zoned(lead, 'time', zone));
    return await printRecords(context, options, { shape: 'list', layout: leadsLayout, settings }, records);
  }
  const lists = await readLists(state, warn);
  const records = lists.map((one) => zoned(one, 'last_run', zone));
  await printRecords(context, options, { shape: 'list', layout: listsLayout, settings }, records);
  if (lists.length === 0) say('No search or task of this machine has delivered leads yet.');
}
