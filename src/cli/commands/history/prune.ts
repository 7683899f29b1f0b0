import { headersOf, memberLayout } from '../../../columns/columns.ts';
import type { Layout } from '../../../columns/layout.ts';
import type { Context } from '../../../context.ts';
import type { LocalIoError } from '../../../errors.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { pruneOld } from '../../../operations/prune-if-due.ts';
import { countOf } from '../../../operations/wording.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { timeColumn, withOutput, zoned } from '../../records/record-output.ts';
import { operationIdColumn } from './purchase-columns.ts';

const prunedLayout: Layout = {
  ...memberLayout(['operation_id', 'time', 'command', 'removed']),
  table: () => [
    timeColumn('time'),
    memberColumn('command', { min: 14, max: 40, role: 'title' }),
    memberColumn('removed', { min: 9, max: 9 }),
    operationIdColumn,
  ],
};

export const createHistoryPrune = defineCommand({
  name: 'prune',
  summary: 'remove old purchases and answers',
  description: `Removes stored answers and leads that are older than ${keptDays.answers} days, and records of purchases that are older than ${keptDays.operations} days. Time, command, list, counts and costs stay for ${keptDays.costs} days, for \`history totals\`. Paid commands do this automatically once a day.`,
  takes: ['records', 'report'],
  examples: ['leadpipe history prune', 'leadpipe history prune --columns operation_id,removed'],
  output: [
    'one object for each purchase that something was removed from:',
    '{"operation_id":"op_…","time":"…","command":"contact","removed":"answer"}',
    'removed: answer (the record of the purchase stays), or operation (all of it)',
  ],
  columns: () => headersOf(prunedLayout),
  outcomes: localOutcomes,
  run: runHistoryPrune,
});

async function runHistoryPrune(context: Context, options: RecordOptions & ReportOptions): Promise<void> {
  const kind = { shape: 'list', layout: prunedLayout } as const;
  const notes = createNotes(context, options);
  let failure: LocalIoError | undefined;
  const pruned = await withOutput(context, options, kind, async (output) => {
    const failed = (error: LocalIoError): void => {
      if (failure !== undefined) notes.warn(failure.message);
      failure = error;
    };
    const removed = await pruneOld(context, failed);
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
}
