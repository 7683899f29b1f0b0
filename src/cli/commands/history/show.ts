import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Argument, Option } from 'commander';
import { memberLayout } from '../../../columns/columns.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError, UsageError } from '../../../errors.ts';
import { type JsonText, objectMembers, objectOf } from '../../../json/text.ts';
import { folderOf } from '../../../operations/journal/folders.ts';
import { toUnknownOperation } from '../../../operations/journal/journal-file.ts';
import { garbledFile, receivedFile } from '../../../operations/journal/received.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { isKept, isTask, kinds, rowsOf } from '../../../operations/kinds/kinds.ts';
import { readKnown } from '../../../operations/known-operations.ts';
import type { Operation } from '../../../operations/operation.ts';
import {
  type HistoryRecord,
  readHistory,
  readHistoryRecord,
  receivedOf,
} from '../../../operations/report/history.ts';
import { isStored, readStored, readWhole } from '../../../operations/stored-records.ts';
import { countOf } from '../../../operations/wording.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { close } from '../../messages/closing-line.ts';
import { inDoubt } from '../../messages/hints.ts';
import { routeOf, toReadCommand } from '../../messages/proposed.ts';
import { createNotes } from '../../messages/status-line.ts';
import { toId } from '../../options/option-builders.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { withOutput } from '../../records/record-output.ts';

type HistoryShowOptions = RecordOptions & ReportOptions & { readonly answer?: true };

export const createHistoryShow = defineCommand({
  name: 'show',
  summary: 'print a stored answer again, for free',
  description:
    'Prints the answer or the leads of an earlier purchase again. It costs nothing: nothing is sent, and no API key is needed.',
  arguments: [
    new Argument(
      '[operation-id]',
      'the operation ID; `history list` and the last line of each purchase show it (default: the latest purchase)',
    ).argParser(toId),
  ],
  options: [new Option('--answer', 'print the whole answer of the service as it came')],
  takes: ['records', 'report'],
  examples: [
    'leadpipe history show',
    'op=$(leadpipe history list -f jsonl | jq -rs .[-1].operation_id)\nleadpipe history show "$op" -f csv -o answer.csv',
  ],
  output: [
    'what the command printed, in any format: the answer, or the leads that',
    'arrived, with the same columns.',
    'With --answer the whole body, for example with the metadata of an extraction;',
    'for a list {"request_id":"…","answer":{…}} for each row.',
  ],
  columns: () => [],
  moreColumns: 'those of the command that bought it',
  outcomes: [...localOutcomes, 'partial', 'not_found'],
  run: runHistoryShow,
});

async function runHistoryShow(
  context: Context,
  given: string | undefined,
  options: HistoryShowOptions,
): Promise<void> {
  const { state } = context.directories;
  const operationId = given ?? (await readLatest(context));
  const operation = await readKnown(context, operationId);
  const record = await readHistoryRecord(operation);
  let damaged = 0;
  const stored = await findStored(context, operation, record, options.answer === true, () => damaged++);
  if (stored === undefined) throw toNothingStoredError(record, operation, state);
  let shown = 0;
  await withOutput(context, options, stored.printed, async (output) => {
    for await (const records of stored.records) {
      shown += records.length;
      await output.write(records);
    }
  });
  const [requestId, idempotencyKey] = [record.request_id ?? undefined, record.idempotency_key ?? undefined];
  const ids = { requestId, operationId, idempotencyKey };
  close(context, options, { what: stored.what ?? countOf(shown), also: record.state, ids });
  const next = toNextCommand(record, operation, true);
  if (next !== undefined) createNotes(context, options).say(next);
  if (stored.what !== undefined || (damaged === 0 && shown >= (record.leads ?? 0))) return;
  // Everything readable has been printed, and there will never be more.
  const path = join(folderOf(state, operationId), receivedFile);
  const words = `${path} is damaged: only ${shown} of ${countOf(record.leads ?? 0)} could be read`;
  throw new LeadpipeError('partial', words, {
    type: 'damaged',
    hint: 'The leads that could be read are printed. leadpipe did not change the file.',
    requestId,
  });
}

/**
 * The stored records of a purchase or, with `isWhole`, its whole answers; undefined if nothing is stored. `what` names records that are not
 * leads. Throws UsageError for whole answers of a purchase that only has leads.
 */
async function findStored(
  { signal }: Context,
  operation: Operation,
  record: HistoryRecord,
  isWhole: boolean,
  damaged: () => void,
) {
  if (!(await isStored(operation))) return undefined;
  const { intent, operationId } = operation;
  const { command } = intent;
  const row = rowsOf(command);
  const isLeads = row === undefined && isKept(command) && kinds[command].keeps === 'leads';
  if (isWhole && isLeads) {
    throw new UsageError(
      `--answer can't be used with a ${command}: only its leads are stored`,
      `To print them: leadpipe history show ${operationId}`,
    );
  }
  const what =
    row !== undefined
      ? `${countOf(receivedOf(record), row === 'extract' ? 'item' : 'answer')} (the columns of the input are not stored)`
      : isLeads
        ? undefined
        : 'stored answer';
  if (isWhole) return { what, ...(await toWhole(operation)) };
  // The other subcommands do not need the requests of lists.
  const { storedAs } = await import('../../../operations/kinds/layouts.ts');
  return { what, printed: storedAs(intent), records: readStored(operation, signal, damaged) };
}

/** The whole, unchanged answers; for a list, each with its request ID. */
async function toWhole(operation: Operation) {
  if (rowsOf(operation.intent.command) !== undefined) {
    const toRecords = async function* () {
      for await (const { answer, requestId = 'null' } of readWhole(operation))
        yield [objectOf(Object.entries({ request_id: requestId, answer }))];
    };
    const layout = memberLayout(['request_id', 'answer']);
    return { printed: { shape: 'list', layout } as const, records: toRecords() };
  }
  const answers: JsonText[] = [];
  for await (const { answer } of readWhole(operation)) answers.push(answer);
  const layout = memberLayout([...objectMembers(answers[0] ?? '{}').keys()]);
  return { printed: { shape: 'single', layout } as const, records: [answers] };
}

async function readLatest(context: Context): Promise<string> {
  for await (const { record } of readHistory(context)) return record.operation_id;
  throw toUnknownOperation(undefined, []);
}

/** The error for a purchase without stored results. Its hint says where the leads or the unreadable response are. */
function toNothingStoredError(record: HistoryRecord, operation: Operation, state: string): LeadpipeError {
  const { intent, isComplete, progress } = operation;
  const { operation_id: id, output } = record;
  const { command } = intent;
  const hasArrived = progress.hasCounts || progress.isAnswered;
  const place = output === null || !(hasArrived || isComplete) ? '' : `Its output is ${output}. `;
  const garbled = join(folderOf(state, id), garbledFile);
  const kept = existsSync(garbled) ? `The unreadable response was saved to ${garbled}. ` : '';
  const hint = `${kept}${place}${toNextCommand(record, operation, false) ?? 'To see what it was about: leadpipe history list'}`;
  const days = `answers are stored for ${keptDays.answers} days`;
  const [type, message] =
    command === 'task create'
      ? ['not_kept', `${id} only created a task: its leads are stored at the service, not on this machine`]
      : hasArrived
        ? ['pruned', `the answer of ${id} is no longer on this machine: ${days}`]
        : ['no_answer', `${id} has nothing to show (state: ${record.state})`];
  return new LeadpipeError('not_found', message, { type, hint });
}

/** Pure: the next step for a purchase; undefined if it needs none. */
function toNextCommand(
  record: HistoryRecord,
  { intent, resumes }: Operation,
  isShown: boolean,
): string | undefined {
  const { charged, operation_id, state, leads_search_id } = record;
  if (state === 'running') return 'It is still running.';
  if (resumes !== 'no' && state !== 'complete' && intent.options.input !== '-') {
    return `To resume it: leadpipe resume ${operation_id}`;
  }
  if (isTask(intent.command)) {
    if (leads_search_id === null || (isShown && state === 'complete')) return undefined;
    return `To read its leads again, for free: ${toReadCommand('fetch', leads_search_id, routeOf(intent))}`;
  }
  return state === 'unknown' && charged !== 'no' ? inDoubt(routeOf(intent)) : undefined;
}
