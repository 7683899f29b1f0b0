import { Command, Option } from 'commander';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { type HistoryRecord, readHistory } from '../../../operations/journal/history.ts';
import { type Layout, memberLayout } from '../../../output/columns.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, type TableColumn } from '../../../output/table-columns.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import { checkListName } from '../../options/entity-search.ts';
import {
  addRecordOptions,
  addReportOptions,
  type RecordOptions,
  type ReportOptions,
} from '../../options/options.ts';
import { printRecords, toFormat } from '../../records/record-output.ts';

type HistoryListOptions = RecordOptions & ReportOptions & { readonly list?: string };

const members: readonly (keyof HistoryRecord)[] = [
  'operation_id',
  'time',
  'command',
  'state',
  'leads',
  'leads_search_id',
  'request_id',
  'idempotency_key',
  'charged',
  'credits_before',
  'credits_after',
  'output',
  'list',
  'excluded',
];

/** For people: what they need to find a purchase and to show it. */
const historyTable: TableColumn[] = [
  {
    header: 'time',
    min: 16,
    max: 16,
    text: (record) => readable(record.member('time')).slice(0, 16).replace('T', ' '),
  },
  memberColumn('operation_id', { min: 17, max: 17 }),
  memberColumn('command', { min: 14, max: 26 }),
  memberColumn('state', { min: 11, max: 11 }),
  memberColumn('leads', { min: 5, max: 5 }),
  memberColumn('charged', { min: 7, max: 7 }),
  memberColumn('request_id', { min: 40, max: 40, yields: true }),
  memberColumn('output', { min: 10, max: 40, yields: true }),
];

/** Where the balance was asked for, people want to see it. */
const balanceColumn: TableColumn = {
  header: 'balance',
  min: 9,
  max: 20,
  yields: true,
  text: (record) => {
    const [before, after] = ['credits_before', 'credits_after'].map((name) => readable(record.member(name)));
    return before === '' ? '' : `${before} → ${after || '?'}`;
  },
};

function layoutOf(hasBalance: boolean): Layout {
  const table = hasBalance ? [...historyTable, balanceColumn] : historyTable;
  return { ...memberLayout(members), table };
}

const help: CommandHelp = {
  examples: [
    'leadpipe history list',
    'leadpipe history list --columns time,command,charged -f csv -o purchases.csv',
  ],
  output: [
    'an object per purchase, newest first; null is what this machine does not know:',
    '{"operation_id":"op_…","time":"…","command":"search company",',
    ' "state":"complete","leads":20,"leads_search_id":"…","request_id":"…",',
    ' "idempotency_key":"…","charged":"yes","credits_before":null,',
    ' "credits_after":null,"output":null,"list":"company","excluded":null}',
    'credits_before, credits_after: the balance around a purchase that had',
    '       --max-credits; what else the account did meanwhile is in it too',
    'state: complete, partial, failed, running, interrupted, damaged, or',
    '       unknown (sent, and no answer seen)',
    'list: what the leads count for; excluded: leads that --only-new dropped',
    '      when they arrived, since they had been delivered before',
  ],
  outcomes: localOutcomes,
};

export function createHistoryListCommand(context: Context): Command {
  const command = new Command('list')
    .summary('every paid request of this machine')
    .description('Prints every paid request of this machine: what, when, how it ended, and its IDs.');
  command.addOption(new Option('--list <name>', 'only what counts for this list').argParser(checkListName));
  return addHelp(addReportOptions(addRecordOptions(command)), help).action((options: HistoryListOptions) =>
    runHistoryList(context, options),
  );
}

async function runHistoryList(context: Context, options: HistoryListOptions): Promise<void> {
  const { settings } = await readProfile(context, undefined);
  const { records: all, damages } = await readHistory(context.directories.state);
  const records = options.list === undefined ? all : all.filter(({ list }) => list === options.list);
  const hasBalance = records.some((record) => record.credits_before !== null);
  const layout = layoutOf(hasBalance);
  await printRecords(context, options, { shape: 'list', layout, settings }, records);
  const notes = createNotes(context, options);
  if (hasBalance && toFormat(options, context.stdout.isTerminal, settings.format) === 'table') {
    notes.say('balance: before and after; what else the account did meanwhile is in it too.');
  }
  for (const damage of damages) notes.warn(damage);
  if (all.length === 0) notes.say('This machine has bought nothing that it knows of.');
}
