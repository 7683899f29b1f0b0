import { Argument } from 'commander';
import type { LocalIoError } from '../../errors.ts';
import { checkDroppable, dropOperation } from '../../operations/drop.ts';
import type { Intent } from '../../operations/journal/entries.ts';
import { type HistoryRecord, readHistoryRecord } from '../../operations/report/history.ts';
import { keptDays, prune } from '../../operations/journal/retention.ts';
import { isTask, rowsOf } from '../../operations/kinds/kinds.ts';
import { readListedLeads, readLists } from '../../operations/only-new/lists.ts';
import { readKnown } from '../../operations/operation.ts';
import { countOf } from '../../operations/wording.ts';
import { confirm } from '../ask.ts';
import { defineCommand, defineGroup } from '../command.ts';
import { localOutcomes } from '../exit-codes.ts';
import { timeOf } from '../messages/earlier-runs.ts';
import { shellWord } from '../messages/quoted.ts';
import { createNotes } from '../messages/status-line.ts';
import { type RecordOptions, type ReportOptions, toId } from '../options/options.ts';
import { printRecords, withOutput, zoned } from '../records/record-output.ts';
import { leadsLayout, listsLayout, prunedLayout } from './history/columns.ts';
import { createHistoryList, toUnknownList } from './history/list.ts';
import { createHistoryResume } from './history/resume.ts';
import { createHistoryShow } from './history/show.ts';
import { createHistoryTotals } from './history/totals.ts';

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
  async run(context, name: string | undefined, options: RecordOptions & ReportOptions) {
    const { directories, zone } = context;
    const { say, warn } = createNotes(context, options);
    if (name === undefined) {
      const lists = (await readLists(directories.state, warn)).map((one) => zoned(one, 'last_run', zone));
      await printRecords(context, options, { shape: 'list', layout: listsLayout }, lists);
      if (lists.length === 0) say('No search or task of this machine has delivered leads yet.');
      return;
    }
    const leads = await readListedLeads(directories.state, name, warn);
    if (leads === undefined) throw toUnknownList(name);
    const records = leads.map((lead) => zoned(lead, 'time', zone));
    await printRecords(context, options, { shape: 'list', layout: leadsLayout }, records);
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
  async run(context, id: string, options: ReportOptions) {
    const operation = await readKnown(context, id);
    await checkDroppable(context, operation);
    const record = await readHistoryRecord(context.directories.state, operation);
    const { say } = createNotes(context, options);
    const subject = record.subject === null ? '' : `: ${record.subject}`;
    say(`${id}, ${record.command}${subject}, started ${timeOf(context, operation)}.`);
    say(toLoss(record, operation.intent));
    const { stderr, stdin } = context;
    if (stdin.isTerminal && stderr.isTerminal && !(await confirm(context, 'Drop it?'))) {
      return say('Nothing was changed.');
    }
    await dropOperation(context, id);
    say('Dropped.');
  },
});

/** Pure: what will be lost, and what stays. */
function toLoss(record: HistoryRecord, { command, options: { run } }: Intent): string {
  const { leads_search_id: id, operation_id, service } = record;
  const isLocal = service === 'local';
  if (isTask(command)) {
    return id === null
      ? 'Its task may have been bought, but its ID never arrived. If it is dropped, it is not asked for again: the same command buys a new task.'
      : `If it is dropped, nothing resumes it. The task itself keeps running at the service${isLocal ? '' : ', and is charged as usual'}. To read its leads, for free: leadpipe task wait ${shellWord(id)}${isLocal ? ' --local' : ''}`;
  }
  const leads = record.leads ?? 0;
  const [what, all] = rowsOf(command) === undefined ? ['lead', 'leads'] : ['answer', 'rows'];
  const arrived = `${countOf(leads, what)} ${leads === 1 ? 'has' : 'have'} arrived. If it is dropped,`;
  const loss =
    typeof run === 'string'
      ? `nothing resumes it; the run ${run} still knows these answers.`
      : `the same command buys all its ${all} again.`;
  return `${arrived} ${loss} For ${keptDays.answers} days, this prints what arrived, for free: leadpipe history show ${operation_id}`;
}

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
