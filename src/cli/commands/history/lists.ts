import { Argument, Command } from 'commander';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError } from '../../../errors.ts';
import {
  type ListedLead,
  type ListRecord,
  readListedLeads,
  readLists,
} from '../../../operations/only-new/lists.ts';
import { memberLayout } from '../../../output/columns.ts';
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

const help: CommandHelp = {
  examples: [
    'leadpipe search company "fintech in Berlin" --list fintechs --local -q\nleadpipe history lists',
    'leadpipe history lists fintechs -f csv',
  ],
  output: [
    'an object per list, by name:',
    '{"list":"company","leads":120,"runs":6,"last_run":"…","origin":"https://…"}',
    'with a name, an object per lead of that list, the oldest first: these are',
    'what --only-new leaves out',
    '{"list":"company","name":"…","time":"…","operation_id":"op_…",',
    ' "leads_search_id":"…","origin":"https://…"}',
  ],
  outcomes: [...localOutcomes, 'not_found'],
  remarks: ['Lists stay when the history is pruned. The leads of --local have lists of their own.'],
};

export function createHistoryListsCommand(context: Context): Command {
  const command = new Command('lists')
    .summary('the lists that --only-new goes by, or the leads of one')
    .description('Prints the lists of this machine, or the leads of one that count as delivered.')
    .addArgument(new Argument('[list]', 'as --list named it; without --list it is the entity type'));
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
  const { state } = context.directories;
  const { say, warn } = createNotes(context, options);
  const records =
    list === undefined ? await readLists(state, warn) : await readListedLeads(state, list, warn);
  if (records === undefined) {
    throw new LeadpipeError('not_found', `this machine has no list ${list}`, {
      type: 'list_not_found',
      hint: 'Those that it has: leadpipe history lists',
      retryable: false,
    });
  }
  const layout = memberLayout(list === undefined ? listMembers : leadMembers);
  await printRecords(context, options, { shape: 'list', layout, settings }, records);
  if (records.length === 0) say('No search has delivered anything on this machine.');
}
