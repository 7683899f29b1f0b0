import { join } from 'node:path';
import { Argument, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { LeadpipeError, UsageError } from '../../../errors.ts';
import { objectMembers, objectOf } from '../../../json/text.ts';
import { readAnswer } from '../../../operations/journal/answers.ts';
import { hasDelivered, readChainFrom } from '../../../operations/journal/chain.ts';
import type { Intent } from '../../../operations/journal/entries.ts';
import { type HistoryRecord, readHistory, readHistoryRecord } from '../../../operations/journal/history.ts';
import { leadsFile, readStoredLeads, sizeOfStoredLeads } from '../../../operations/journal/leads.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { hasRows, readStoredAnswers } from '../../../operations/journal/rows.ts';
import {
  folderOf,
  readKnown,
  type StoredOperation,
  toUnknownOperation,
} from '../../../operations/journal/stored.ts';
import {
  type AnswerKind,
  isKept,
  isTask,
  kindOf,
  kinds,
  recordsOf,
  rowsOf,
} from '../../../operations/kinds.ts';
import { countOf } from '../../../operations/wording.ts';
import { memberLayout } from '../../../output/columns.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { close } from '../../messages/closing-line.ts';
import { shellWord } from '../../messages/quoted.ts';
import { createNotes } from '../../messages/status-line.ts';
import { type RecordOptions, type ReportOptions, toId } from '../../options/options.ts';
import { answersAs, printedAs } from '../../records/orders.ts';
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
    'arrived, with the same columns. The leads of a task are at the service; the',
    'error message names the command that reads them again for free.',
    'With --answer the whole body, for example with the metadata of an extraction;',
    'for a list {"request_id":"…","answer":{…}} for each row.',
  ],
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
  const folder = folderOf(state, operationId);
  const record = await readHistoryRecord(state, operation);
  const [{ command, body = '{}' }] = operation.entries;
  const row = rowsOf(command);
  if (row !== undefined && (await hasRows(folder))) {
    return await showAnswers(context, options, record, row, operation.entries[0]);
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
  const printed =
    options.answer && answer !== undefined
      ? ({ shape: 'single', layout: memberLayout([...objectMembers(answer).keys()]) } as const)
      : printedAs(kind, JSON.parse(body));
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

async function showAnswers(
  context: Context,
  options: HistoryShowOptions,
  record: HistoryRecord,
  row: AnswerKind,
  intent: Intent,
): Promise<void> {
  const layout = options.answer ? memberLayout(['request_id', 'answer']) : answersAs(row, intent.options);
  const printed = { shape: 'list', layout } as const;
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

/** Pure: the error of a purchase of which nothing can be shown, and where its leads are instead. */
function toNothingKept(record: HistoryRecord, kind: string, hadAnswer: boolean): LeadpipeError {
  const { operation_id, output, state } = record;
  if (isTask(kind)) {
    const place = output === null ? '' : `Its output is ${output}. `;
    return notFound(
      `${operation_id} is a task: its leads are stored at the service, not on this machine`,
      'not_kept',
      `${place}${toNextCommand(record, kind) ?? 'See: leadpipe task list'}`,
    );
  }
  if (hadAnswer) {
    return notFound(
      `the answer of ${operation_id} is no longer on this machine: answers are stored for ${keptDays.answers} days`,
      'pruned',
      output === null ? 'To see what it was about: leadpipe history list' : `Its output was ${output}.`,
    );
  }
  return notFound(
    `${operation_id} has nothing to show (state: ${state})`,
    'no_answer',
    toNextCommand(record, kind) ?? 'To see what it was about: leadpipe history list',
  );
}

/** Pure: what makes sense after a look at a purchase; undefined when it is done. */
function toNextCommand(record: HistoryRecord, kind: string): string | undefined {
  const { operation_id, state, leads_search_id, leads, excluded } = record;
  if (state === 'running') return 'It is still running.';
  if (isTask(kind)) {
    if (state === 'interrupted' || state === 'unknown') {
      return `To resume it: leadpipe task resume ${operation_id}`;
    }
    if (leads_search_id === null) return undefined;
    return `To read its leads again, for free: leadpipe task fetch ${shellWord(leads_search_id)}`;
  }
  const goesOn = kindOf(kind)?.goesOn === 'continue';
  const canGoOn = goesOn && leads_search_id !== null && (leads ?? 0) + (excluded ?? 0) > 0;
  if (canGoOn && (state === 'partial' || state === 'interrupted')) {
    return `To buy the rest: leadpipe search --continue ${operation_id}`;
  }
  if (state !== 'unknown' || record.service === 'local') return undefined;
  return 'It may or may not have been charged; check `leadpipe balance` before you run it again: a new run is a new purchase.';
}

/** Pure: where the rest of a search is that others went on with. */
function toContinued({ state }: HistoryRecord, continued: readonly StoredOperation[]): string {
  const ids = continued.map(({ operationId }) => operationId);
  if (state === 'complete') {
    const shown = continued.filter(hasDelivered).map((one) => `leadpipe history show ${one.operationId}`);
    const bought = `The rest was bought by ${ids.join(', ')}`;
    return shown.length === 0
      ? `${bought}, and found nothing new.`
      : `${bought}. To print it: ${shown.join('; ')}`;
  }
  return `It was resumed by ${ids.join(', ')}, but is still not complete. To buy the rest: leadpipe search --continue ${ids.at(-1)}`;
}

function notFound(message: string, type: string, hint: string): LeadpipeError {
  return new LeadpipeError('not_found', message, { type, hint, retryable: false });
}
