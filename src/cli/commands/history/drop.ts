import { Argument, Command } from 'commander';
import type { Context } from '../../../context.ts';
import { checkDroppable, dropOperation } from '../../../operations/drop.ts';
import type { Intent } from '../../../operations/journal/entries.ts';
import { type HistoryRecord, readHistoryRecord } from '../../../operations/journal/history.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { readKnown } from '../../../operations/journal/stored.ts';
import { isTask, rowsOf } from '../../../operations/kinds.ts';
import { confirm } from '../../ask.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { timeOf } from '../../messages/earlier-runs.ts';
import { createNotes } from '../../messages/notes.ts';
import { shellWord } from '../../messages/shell-word.ts';
import { addReportOptions, type ReportOptions, toId } from '../../options/options.ts';

const help: CommandHelp = {
  examples: [
    'leadpipe history list -f jsonl |\n  jq -r \'select(.state == "interrupted") | "\\(.operation_id) \\(.subject)"\'',
    'for op in $(leadpipe history list -f jsonl |\n    jq -r \'select(.state == "interrupted").operation_id\'); do\n  leadpipe history drop "$op"\ndone',
  ],
  output: ['nothing'],
  outcomes: [...localOutcomes, 'usage', 'not_found', 'temporary'],
};

export function createHistoryDropCommand(context: Context): Command {
  const command = new Command('drop')
    .summary('end an unfinished purchase that nobody wants')
    .description(
      'Ends an unfinished search, task or list, so that nothing resumes it. It says first what is lost, and asks on a terminal. What arrived stays stored. Nothing is sent.',
    )
    .addArgument(
      new Argument('<operation-id>', 'the operation ID, as `history list` shows it').argParser(toId),
    );
  return addHelp(addReportOptions(command), help).action((operationId: string, options: ReportOptions) =>
    runHistoryDrop(context, operationId, options),
  );
}

async function runHistoryDrop(context: Context, operationId: string, options: ReportOptions): Promise<void> {
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
}

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
