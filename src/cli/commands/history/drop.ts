import { Argument } from 'commander';
import type { Context } from '../../../context.ts';
import { checkDroppable, dropOperation, hasFileLeft } from '../../../operations/drop.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { isTask, rowsOf } from '../../../operations/kinds/kinds.ts';
import { readKnown } from '../../../operations/known-operations.ts';
import { type Operation, toReceived } from '../../../operations/operation.ts';
import { type HistoryRecord, readHistoryRecord, receivedOf } from '../../../operations/report/history.ts';
import { plural } from '../../../operations/wording.ts';
import { canAsk, confirm } from '../../ask.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { timeOf } from '../../messages/earlier-runs.ts';
import { routeOf, toReadCommand } from '../../messages/proposed.ts';
import { createNotes } from '../../messages/status-line.ts';
import { toId } from '../../options/option-builders.ts';
import type { ReportOptions } from '../../options/shared-options.ts';

export const createHistoryDrop = defineCommand({
  name: 'drop',
  summary: 'give up an unfinished purchase',
  description:
    'Gives up an unfinished search, task or list, so that nothing resumes it. It first shows what would be lost, and asks on a terminal. Stored results stay. Nothing is sent.',
  arguments: [new Argument('<operation-id>', 'the operation ID, as `history list` shows it').argParser(toId)],
  takes: ['report'],
  examples: [
    'leadpipe history list -f jsonl |\n  jq -r \'select(.state == "interrupted") | "\\(.operation_id) \\(.subject)"\'',
    'for op in $(leadpipe history list -f jsonl |\n    jq -r \'select(.state == "interrupted").operation_id\'); do\n  leadpipe history drop "$op"\ndone',
  ],
  output: ['nothing'],
  outcomes: [...localOutcomes, 'usage', 'not_found', 'temporary'],
  run: runHistoryDrop,
});

async function runHistoryDrop(context: Context, id: string, options: ReportOptions): Promise<void> {
  const operation = await readKnown(context, id);
  await checkDroppable(operation);
  const record = await readHistoryRecord(operation);
  const { say } = createNotes(context, options);
  const subject = record.subject === null ? '' : `: ${record.subject}`;
  say(`${id}, ${record.command}${subject}, started ${timeOf(context, operation)}.`);
  say(toLoss(record, operation, await hasFileLeft(operation)));
  if (canAsk(context) && !(await confirm(context, 'Drop it?'))) return say('Nothing was changed.');
  await dropOperation(context, id);
  say('Dropped.');
}

/** Pure: what will be lost, and what stays. `isFileLeft`: its leads are in no other output. */
function toLoss(record: HistoryRecord, operation: Operation, isFileLeft: boolean): string {
  const { command, list, options } = operation.intent;
  const { leads_search_id: id, operation_id, service } = record;
  const isLocal = service === 'local';
  if (isTask(command)) {
    const buys = command === 'task wait' ? '' : ', and the same command buys a new task';
    return id === null
      ? 'Its task may have been bought, but its ID never arrived. If you drop it, leadpipe no longer asks for this ID: the same command buys a new task.'
      : `If you drop it, nothing resumes it${buys}. The task itself keeps running at the service${isLocal ? '' : ', and is charged as usual'}. To read its leads, for free: ${toReadCommand('wait', id, routeOf(operation.intent))}`;
  }
  const count = receivedOf(record);
  const all = rowsOf(command) === undefined ? 'leads' : 'rows';
  const received = `${toReceived(operation, count) ?? `0 ${all}`} ${plural(count, 'has', 'have')} arrived. If you drop it,`;
  const loss =
    typeof options.run === 'string'
      ? `nothing resumes it; the run ${options.run} still knows these answers.`
      : list === undefined || isFileLeft
        ? `the same command buys these ${all} again.`
        : `they stay in your list "${list}", so --only-new leaves them out.`;
  return `${received} ${loss} For ${keptDays.answers} days, this prints the results, for free: leadpipe history show ${operation_id}`;
}
