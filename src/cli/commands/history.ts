import { Argument } from 'commander';
import type { LocalIoError } from '../../errors.ts';
import { checkDroppable, dropOperation } from '../../operations/drop.ts';
import type { Intent } from '../../operations/journal/entries.ts';
import { type HistoryRecord, readHistoryRecord } from '../../operations/journal/history.ts';
import { keptDays, prune } from '../../operations/journal/retention.ts';
import { readKnown } from '../../operations/journal/stored.ts';
import { isTask, rowsOf } from '../../operations/kinds.ts';
import {
  type ListedLead,
  type ListRecord,
  readListedLeads,
  readLists,
} from '../../operations/only-new/lists.ts';
import { countOf } from '../../operations/wording.ts';
import { memberLayout } from '../../output/columns.ts';
import type { Layout } from '../../output/layout.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { confirm } from '../ask.ts';
import { defineCommand, defineGroup } from '../command.ts';
import { localOutcomes } from '../exit-codes.ts';
import { timeOf } from '../messages/earlier-runs.ts';
import { shellWord } from '../messages/quoted.ts';
import { createNotes } from '../messages/status-line.ts';
import { type RecordOptions, type ReportOptions, toId } from '../options/options.ts';
import { printRecords, timeColumn, withOutput, zoned } from '../records/record-output.ts';
import { createHistoryList, toUnknownList } from './history/list.ts';
import { createHistoryResume } from './history/resume.ts';
import { createHistoryShow } from './history/show.ts';
import { createHistoryTotals } from './history/totals.ts';

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

export const createHistoryLists = defineCommand({
  name: 'lists',
  summary: 'the lists of leads that --only-new leaves out',
  description:
    'Shows the lists of this machine, or the leads of one list. These are the leads that --only-new leaves out.',
  arguments: [new Argument('[list]', 'the name of a list: as given with --list, or else the entity type')],
  takes: ['records', 'report'],
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
  async run(context, list: string | undefined, options: RecordOptions & ReportOptions) {
    const {
      directories: { state },
      zone,
    } = context;
    const { say, warn } = createNotes(context, options);
    if (list !== undefined) {
      const leads = await readListedLeads(state, list, warn);
      if (leads === undefined) throw toUnknownList(list);
      const records = leads.map((lead) => zoned(lead, 'time', zone));
      return await printRecords(context, options, { shape: 'list', layout: leadsLayout }, records);
    }
    const lists = await readLists(state, warn);
    const records = lists.map((one) => zoned(one, 'last_run', zone));
    await printRecords(context, options, { shape: 'list', layout: listsLayout }, records);
    if (lists.length === 0) say('No search or task of this machine has delivered leads yet.');
  },
});

const createHistoryDrop = defineCommand({
  name: 'drop',
  summary: 'end an unfinished purchase that nobody wants',
  description:
    'Ends an unfinished search, task or list, so that nothing resumes it. It says first what is lost, and asks on a terminal. What arrived stays stored. Nothing is sent.',
  arguments: [new Argument('<operation-id>', 'the operation ID, as `history list` shows it').argParser(toId)],
  takes: ['report'],
  examples: [
    'leadpipe history list -f jsonl |\n  jq -r \'select(.state == "interrupted") | "\\(.operation_id) \\(.subject)"\'',
    'for op in $(leadpipe history list -f jsonl |\n    jq -r \'select(.state == "interrupted").operation_id\'); do\n  leadpipe history drop "$op"\ndone',
  ],
  output: ['nothing'],
  outcomes: [...localOutcomes, 'usage', 'not_found', 'temporary'],
  async run(context, operationId: string, options: ReportOptions) {
    const operation = await readKnown(context, operationId);
    await checkDroppable(context, operation);
    const record = await readHistoryRecord(context.directories.state, operation);
    const { say } = createNotes(context, options);
    const subject = record.subject === null ? '' : `: ${record.subject}`;
    say(`${operationId}, ${record.command}${subject}, started ${timeOf(context, operation)}.`);
    say(toLoss(record, operation.entries[0]));
    const { stderr, stdin } = context;
    if (stdin.isTerminal && stderr.isTerminal && !(await confirm(context, 'Drop it?'))) {
      return say('Nothing was changed.');
    }
    await dropOperation(context, operationId);
    say('Dropped.');
  },
});

/** Pure: what can't be had any more, and what is left. */
function toLoss(record: HistoryRecord, { command, options: { run } }: Intent): string {
  const { leads, leads_search_id, operation_id, service } = record;
  if (isTask(command)) {
    return leads_search_id === null
      ? 'Its task may have been bought, but its ID never arrived. If it is dropped, it is not asked for again: the same command buys a new task.'
      : `If it is dropped, nothing resumes it. The task itself keeps running at the service${service === 'local' ? '' : ', and is charged as usual'}. To read its leads, for free: leadpipe task wait ${shellWord(leads_search_id)}${service === 'local' ? ' --local' : ''}`;
  }
  const print = `For ${keptDays.answers} days, this prints what arrived, for free: leadpipe history show ${operation_id}`;
  if (rowsOf(command) !== undefined) {
    const answers = `${leads ?? 0} ${leads === 1 ? 'row is' : 'rows are'} answered.`;
    return typeof run === 'string'
      ? `${answers} If it is dropped, nothing resumes it; the run ${run} still knows these answers. ${print}`
      : `${answers} If it is dropped, the same list buys all its rows again. ${print}`;
  }
  const arrived = `${leads ?? 0} ${leads === 1 ? 'lead has' : 'leads have'} arrived.`;
  return `${arrived} If it is dropped, the same search buys all its leads again. ${print}`;
}

const prunedLayout: Layout = {
  ...memberLayout(['operation_id', 'time', 'command', 'removed']),
  table: [
    timeColumn('time'),
    memberColumn('command', { min: 14, max: 40, role: 'title' }),
    memberColumn('removed', { min: 9, max: 9 }),
    memberColumn('operation_id', { min: 17, max: 17 }),
  ],
};

const createHistoryPrune = defineCommand({
  name: 'prune',
  summary: 'remove old purchases and answers',
  description: `Removes stored answers and leads that are older than ${keptDays.answers} days, and records of purchases that are older than ${keptDays.operations} days. Paid commands do this automatically once a day.`,
  takes: ['records', 'report'],
  examples: ['leadpipe history prune', 'leadpipe history prune --quiet -o /dev/null'],
  output: [
    'one object for each purchase that something was removed from:',
    '{"operation_id":"op_…","time":"…","command":"contact","removed":"answer"}',
    'removed: answer (the record of the purchase stays), or operation (all of it)',
  ],
  outcomes: localOutcomes,
  async run(context, options: RecordOptions & ReportOptions) {
    const kind = { shape: 'list', layout: prunedLayout } as const;
    const notes = createNotes(context, options);
    let failure: LocalIoError | undefined;
    const pruned = await withOutput(context, options, kind, async (output) => {
      const removed = await prune(context, (error) => {
        if (failure !== undefined) notes.warn(failure.message);
        failure = error;
      });
      await output.write(removed.map((one) => JSON.stringify(zoned(one, 'time', context.zone))));
      return removed;
    });
    const operations = pruned.filter(({ removed }) => removed === 'operation').length;
    const removed = [
      countOf(pruned.length - operations, 'stored answer'),
      `${operations} ${operations === 1 ? 'record of a purchase' : 'records of purchases'}`,
    ];
    notes.say(`Removed: ${removed.join(', ')}.`);
    if (failure !== undefined) throw failure;
  },
});

export const createCommand = defineGroup(
  {
    name: 'history',
    description:
      'Shows what this machine has bought, and prints stored answers again. `leadpipe history` does the same as `leadpipe history list`.',
    examples: ['leadpipe history', 'leadpipe history list --since 7d -f csv -o purchases.csv'],
    remarks: [
      `Answers and leads are stored for ${keptDays.answers} days, and the record of a purchase for ${keptDays.operations} days. The history stays on this machine.`,
    ],
  },
  [
    createHistoryList,
    createHistoryLists,
    createHistoryShow,
    createHistoryResume,
    createHistoryDrop,
    createHistoryPrune,
    createHistoryTotals,
  ],
  createHistoryList,
);
