import { resolve } from 'node:path';
import { defaults } from '../../config/defaults.ts';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { isPartName } from '../../files/own-file.ts';
import { isSameFile, targetOf } from '../../files/target.ts';
import { kinds } from '../../operations/kinds/kinds.ts';
import { type ListOf, type RowRequest, toListOf } from '../../operations/kinds/layouts.ts';
import type { FinishedList } from '../../operations/kinds/list.ts';
import type { ListRows, Shard } from '../../operations/kinds/list-rows.ts';
import type { Fill } from '../../operations/kinds/row-fill.ts';
import type { OutputTerms } from '../../operations/operation.ts';
import { toWorstCase } from '../../operations/prices.ts';
import { shortened } from '../../operations/wording.ts';
import type { Format } from '../../output/writer.ts';
import type { InputRow } from '../../requests/rows.ts';
import { withConnection } from '../connect.ts';
import { close } from '../messages/closing-line.ts';
import { toStartOver } from '../messages/hints.ts';
import { toResumeCommand } from '../messages/proposed.ts';
import { createNotes } from '../messages/status-line.ts';
import { inputNames, printEndNote, printInputNotes } from '../options/inputs.ts';
import { fileOf, toFormat } from '../options/record-options.ts';
import { defaultConcurrency, listTerms, type RowsOptions, toShard } from '../options/rows-options.ts';
import { type Resumes, runAndShow, type Shown } from '../run-and-show.ts';
import { note } from '../run-facts.ts';
import { toFilling } from './filling.ts';
import { columnsOf, layoutOf } from './list-columns.ts';
import { checkOutputOpen, type PurchaseOptions, toBuyer, toTerms } from './orders.ts';
import { checkColumns } from './record-output.ts';
import { csvLike, namesIn, openRowsInput, type RowInput, toUnused } from './rows-input.ts';
import { createErrors, createReceived, toProgress, toSummary } from './rows-report.ts';

type Options = PurchaseOptions & RowsOptions & { readonly input: string };

/**
 * Buys an answer for each row of `--input` and prints it, joined to the row. Returns the result, undefined after `--dry-run`. Throws as
 * `run`; `partial` when rows have no result, with every row in place; UsageError.
 */
export async function buyList(
  context: Context,
  options: Options,
  asked: RowRequest,
  resumes?: Resumes,
): Promise<{ readonly found: number; readonly operationId: string } | undefined> {
  checkTogether(options);
  checkOutputOpen(context, options);
  await checkFiles(options);
  const request = { ...asked, template: options.template };
  const list = toListOf(request);
  const shard = options.shard === undefined ? undefined : toShard(options.shard, context.env);
  const input = await openRowsInput(context, options, list);
  const notes = createNotes(context, options);
  printInputNotes(notes, input);
  return await withConnection(context, options, async (connection) => {
    const joined = toJoined(options, list, input);
    const received = createReceived(list);
    const isCounted = context.stderr.isTerminal && input.source.isRepeatable && options.dryRun !== true;
    const total = isCounted ? await countRows(input.source, shard) : undefined;
    const rows = { ...toRows(options, connection, list, input, shard, joined, received), total };
    await checkColumns(options, joined.layout);
    const format = toFormat(options, context.stdout.isTerminal, connection.settings.format);
    const terms = toListTerms(options, format, request, joined.into, shard);
    const isPreview = options.dryRun === true;
    const order = { kind: `${list.kind} list`, body: request, keep: true, isPreview, terms, rows } as const;
    const csv = csvLike(input);
    const errors = createErrors(context, options.errors, joined.base, namesIn(input), csv);
    const shown: Shown = {
      label: 'waiting for the first answer',
      printed: { shape: 'list', layout: joined.layout, csv },
      opened: errors.openBeside,
      toProgress: (counts, seconds) => toProgress(counts, total, seconds, context.stderr.columns),
      async on(event, warnLater) {
        if (event.is === 'first_row')
          notes.say(
            `sent for row ${event.row.number}: ${shortened(event.sends)}${toUnused(input, event.row, ' · not used: ')}`,
          );
        if (event.is === 'row_failed') await errors.write(event.row, event.failure, warnLater);
        if (event.is === 'rows_ended' && kinds[list.kind].prints === 'list')
          note(context, { leads: received.records });
        // An empty input is probably a mistake.
        if (event.is === 'rows_ended' && !event.isStopped && event.counts.done > 0) errors.complete();
      },
      resumes,
    };
    // A list that is resumed keeps its options.
    if (resumes === undefined && joined.note !== undefined) notes.say(joined.note);
    const unused = isPreview
      ? toUnused(input, firstSent(input, joined.fill), 'not used for the first row: ')
      : '';
    if (unused !== '') notes.say(unused);
    const buyer = toBuyer(context, options, connection);
    const finished = (await runAndShow(context, options, buyer, order, shown).finally(errors.end)) as
      | FinishedList
      | undefined;
    printEndNote(notes, input);
    printEndNote(notes, joined);
    for (const path of input.unfound()) notes.warn(`--template: "${path}" is empty in every row`);
    if (finished === undefined) return undefined;
    close(context, options, toSummary(list, finished, received, options.errors));
    if (finished.missing !== undefined) throw finished.missing;
    if (finished.hasMore) {
      notes.say(toRestHint(options, finished.operationId));
      const resume = toResumeCommand(finished.operationId, { baseUrl: options.baseUrl });
      if (options.input !== '-') note(context, { resume });
    } else if (finished.isIdle) notes.say(toStartOver(true, options.run));
    return { found: received.found, operationId: finished.operationId };
  });
}

/** How answers are joined to rows, and rows are printed. Throws UsageError if --only-missing has no column to fill. */
function toJoined(options: Options, list: ListOf, input: RowInput) {
  const into = options.into ?? list.into;
  const first = input.head[0]?.record;
  const base = columnsOf(input, first);
  const filling = toFilling(options, list, into, input, base);
  const { fill } = filling;
  const own = [...namesIn(input), ...base.columns.map(({ header }) => header)];
  const join = fill ?? list.join(into, new Set(own));
  const shown = columnsOf(input, first, fill?.replaces);
  const layout = list.layout ?? { ...layoutOf(shown, join.columns, join.members), records: list.records };
  return { ...filling, into, base, join, layout };
}

function firstSent({ head, toText }: RowInput, fill: Fill | undefined): InputRow | undefined {
  return head.find(({ record, flaw }) => {
    const isSent = record !== undefined && flaw === undefined && !fill?.isKept(record);
    return isSent && toText(record) !== '';
  });
}

/** The rows, with the request for each. */
function toRows(
  options: Options,
  connection: Connection,
  list: ListOf,
  { source, toText }: RowInput,
  shard: Shard | undefined,
  { join, rows }: ReturnType<typeof toJoined>,
  received: ReturnType<typeof createReceived>,
): ListRows {
  return {
    kind: list.kind,
    toBody: (record) => list.toBody(toText(record), inputNames),
    source,
    ...rows,
    shard,
    first: options.first,
    // The worst case does not depend on the text; this one is a valid target of every type.
    worst: toWorstCase(list.kind, list.toBody('https://example.com/acme/rocket', inputNames), connection),
    toRecords(row, outcome) {
      const records = join.toRecords(row, outcome, toText);
      if (outcome.answer !== undefined) received.add(outcome.answer, records);
      return records;
    },
    concurrency: options.concurrency ?? defaultConcurrency,
    retryUnknown: options.retryUnknown === true,
    budgetMs: 1000 * (connection.settings['retry.budget'] ?? defaults['retry.budget']),
    run: options.run,
  };
}

/** Pure: what is stored for a later run. */
function toListTerms(
  options: Options,
  format: Format,
  request: RowRequest,
  into: string,
  shard: Shard | undefined,
): OutputTerms {
  const { errors, input } = options;
  return toTerms(options, format, {
    input: input === '-' ? '-' : resolve(input),
    ...Object.fromEntries(listTerms.map((name) => [name, options[name]])),
    errors: errors && resolve(errors),
    into,
    shard: shard && `${shard.index}/${shard.of}`,
    // The history shows it.
    ...Object.fromEntries(Object.entries(request).filter(([name]) => name === kinds[request.kind].subject)),
  });
}

/** Pure: how to buy the rest of a list after --first. */
function toRestHint(options: Options, operationId: string): string {
  const { input, run } = options;
  const by =
    fileOf(options) !== undefined || run !== undefined
      ? 'run the same command without --first'
      : input === '-'
        ? undefined
        : `run \`${toResumeCommand(operationId, { baseUrl: options.baseUrl })}\``;
  return by === undefined
    ? 'The list is not finished. With -o or --run, the same command without --first would buy only the rest.'
    : `The list is not finished. To buy the rest, ${by}. Rows that are already bought are not bought again.`;
}

/** The number of rows for this shard. Lines are not rows: a cell can have several, and JSON can be on one. */
async function countRows(source: ListRows['source'], shard: Shard | undefined): Promise<number> {
  let count = 0;
  for await (const { number } of source.look()) {
    if (shard === undefined || number % shard.of === shard.index) count++;
  }
  return count;
}

/** Throws UsageError for options that make no sense for a list. */
function checkTogether({ idempotencyKey, history }: Options): void {
  if (idempotencyKey !== undefined) {
    throw new UsageError(
      '--idempotency-key is for one purchase, but a list has one for each row',
      'Name the run instead: --run <name>.',
    );
  }
  if (!history) {
    throw new UsageError(
      "--no-history can't be used with --input: without the history, rows could be paid for twice after a crash",
    );
  }
}

/** Throws UsageError where the output would overwrite the input, which a shell may have opened. */
async function checkFiles({ input, ...options }: Options): Promise<void> {
  const output = fileOf(options);
  // On most systems, these paths name redirected input and output.
  const given = input === '-' ? '/dev/stdin' : input;
  if (output === undefined && (await isSameFile('/dev/stdout', given))) {
    throw new UsageError(
      `standard output and --input are the same file, ${given}`,
      'Name another file for one of them.',
    );
  }
  if (output === undefined || !isPartName(await targetOf(output), await targetOf(given))) return;
  throw new UsageError(
    `--input is a temporary file of -o, ${input}`,
    'It is removed when the run that wrote it is resumed. Copy it to another name first.',
  );
}
