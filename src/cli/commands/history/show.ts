import { join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError, UsageError } from '../../../errors.ts';
import { objectMembers, objectOf } from '../../../json/text.ts';
import { readAnswer } from '../../../operations/journal/answers.ts';
import { readChainFrom } from '../../../operations/journal/chain.ts';
import type { Intent } from '../../../operations/journal/entries.ts';
import { type HistoryRecord, readHistory, readHistoryRecord } from '../../../operations/journal/history.ts';
import { leadsFile, readStoredLeads, sizeOfStoredLeads } from '../../../operations/journal/leads.ts';
import { hasRows, readStoredAnswers } from '../../../operations/journal/rows.ts';
import { folderOf, readKnown, toUnknownOperation } from '../../../operations/journal/stored.ts';
import { isKept, kinds, recordsOf, rowsOf } from '../../../operations/kinds.ts';
import { countOf } from '../../../operations/wording.ts';
import { memberLayout } from '../../../output/columns.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { close } from '../../messages/closing-line.ts';
import { createNotes } from '../../messages/notes.ts';
import {
  addRecordOptions,
  addReportOptions,
  type RecordOptions,
  type ReportOptions,
  toId,
} from '../../options/options.ts';
import { answersAs, printedAs } from '../../records/printed-as.ts';
import { withOutput } from '../../records/record-output.ts';
import { toContinued, toNextCommand, toNothingKept } from './next-step.ts';

type HistoryShowOptions = RecordOptions & ReportOptions & { readonly answer?: true };

const help: CommandHelp = {
  examples: [
    'leadpipe history show',
    'op=$(leadpipe history list -f jsonl | jq -rs .[-1].operation_id)\nleadpipe history show "$op" -f csv -o answer.csv',
  ],
  output: [
    'what the command printed, in any format: the answer, or the leads that',
    'arrived, with the same columns. The leads of a task are at the service; the',
    'error message names the command that reads them again for free.',
    'With --answer the whole body, for example with the metadata of an extraction;',
    'for a list {"request_id":"…","answer":{…}} for each row.',
  ],
  outcomes: [...localOutcomes, 'partial', 'not_found'],
};

export function createHistoryShowCommand(context: Context): Command {
  const command = new Command('show')
    .summary('print a stored answer again, for free')
    .description(
      'Prints the answer or the leads of an earlier purchase again. It costs nothing: nothing is sent, and no API key is needed.',
    )
    .addArgument(
      new Argument(
        '[operation-id]',
        'the operation ID; `history list` and the last line of each purchase show it (default: the latest purchase)',
      ).argParser(toId),
    )
    .addOption(new Option('--answer', 'print the whole answer of the service as it came'));
  return addHelp(addReportOptions(addRecordOptions(command)), help).action(
    (operationId: string | undefined, options: HistoryShowOptions) =>
      runHistoryShow(context, operationId, options),
  );
}

async function runHistoryShow(
  context: Context,
  given: string | undefined,
  options: HistoryShowOptions,
): Promise<void> {
  const { state } = context.directories;
  const operationId = given ?? (await readLatest(context));
  const operation = await readKnown(context, operationId);
  const folder = folderOf(state, operationId);
  const record = await readHistoryRecord(state, operation);
  const [{ command, body = '{}' }] = operation.entries;
  const list = rowsOf(command);
  if (list !== undefined && (await hasRows(folder))) {
    return await showAnswers(context, options, record, list, operation.entries[0]);
  }
  const kind = isKept(command) ? command : undefined;
  const keeps = kind === undefined ? 'nothing' : kinds[kind].keeps;
  if (options.answer && keeps === 'leads') {
    throw new UsageError(
      `--answer can't be used with a ${command}: its leads are what is kept of it`,
      `To print them: leadpipe history show ${operationId}`,
    );
  }
  const answer = keeps === 'answer' ? await readAnswer(folder) : undefined;
  const stored = keeps === 'leads' ? await sizeOfStoredLeads(folder) : undefined;
  // No leads are the answer of a search that is complete, and of no other.
  const isThere =
    answer !== undefined || (stored !== undefined && (stored > 0 || record.state === 'complete'));
  if (kind === undefined || !isThere) {
    throw toNothingKept(
      record,
      command,
      operation.entries.some(({ type }) => type === 'answered' || type === 'batch'),
    );
  }
  const { settings } = await readProfile(context, undefined);
  const looks =
    options.answer && answer !== undefined
      ? ({ shape: 'single', layout: memberLayout([...objectMembers(answer).keys()]) } as const)
      : printedAs(kind, JSON.parse(body));
  const printed = { ...looks, settings };
  let shown = 0;
  let damaged = 0;
  await withOutput(context, options, printed, async (output) => {
    if (answer !== undefined) {
      // rule: extract.echo, extract.instruction-echo, extract.limit-echo
      const records = options.answer ? [answer] : await recordsOf(kind, answer, context.signal);
      return await output.write(records);
    }
    for await (const leads of readStoredLeads(folder, () => damaged++)) {
      shown += leads.length;
      await output.write(leads);
    }
  });
  const notes = createNotes(context, options);
  close(context, options, {
    what: stored === undefined ? 'stored answer' : countOf(shown),
    also: record.state,
    ids: {
      requestId: record.request_id ?? undefined,
      operationId,
      idempotencyKey: record.idempotency_key ?? undefined,
    },
  });
  const continued = (await readChainFrom(state, operation)).slice(1);
  const next = continued.length > 0 ? toContinued(record, continued) : toNextCommand(record, command);
  if (next !== undefined) notes.say(next);
  if (stored !== undefined && (damaged > 0 || shown < (record.leads ?? 0))) {
    throw toDamagedLeads(record, shown, folder);
  }
}

/** Throws `not_found` where nothing was bought. */
async function readLatest(context: Context): Promise<string> {
  for await (const { record } of readHistory(context, { newestFirst: true })) return record.operation_id;
  throw toUnknownOperation(undefined, []);
}

/** What could be read has been printed, and there will never be more. */
function toDamagedLeads({ leads, request_id }: HistoryRecord, shown: number, folder: string): LeadpipeError {
  const path = join(folder, leadsFile);
  return new LeadpipeError(
    'partial',
    `${path} is damaged: only ${shown} of ${countOf(leads ?? 0)} could be read`,
    {
      type: 'damaged',
      retryable: false,
      hint: 'The leads that could be read are printed. leadpipe did not change the file.',
      ...(request_id === null ? {} : { requestId: request_id }),
    },
  );
}

/** The answers that a list has bought, in the order in which they came. */
async function showAnswers(
  context: Context,
  options: HistoryShowOptions,
  record: HistoryRecord,
  { list, row }: NonNullable<ReturnType<typeof rowsOf>>,
  intent: Intent,
): Promise<void> {
  const { settings } = await readProfile(context, undefined);
  const layout = options.answer ? memberLayout(['request_id', 'answer']) : answersAs(list, intent.options);
  const printed = { shape: 'list', layout, settings } as const;
  const folder = folderOf(context.directories.state, record.operation_id);
  await withOutput(context, options, printed, async (output) => {
    for await (const { answer, requestId } of readStoredAnswers(folder)) {
      const whole = () => [
        objectOf([
          ['request_id', requestId],
          ['answer', answer],
        ]),
      ];
      await output.write(options.answer ? whole() : await recordsOf(row, answer, context.signal));
    }
  });
  createNotes(context, options).say(
    `${record.state} · ${record.leads} ${record.leads === 1 ? 'answer' : 'answers'} (the columns of the input are not stored) · operation ${record.operation_id}`,
  );
}
