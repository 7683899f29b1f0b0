import { resolve } from 'node:path';
import { defaults } from '../../config/defaults.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { withoutGuards } from '../../files/table-records.ts';
import { isSameFile } from '../../files/target.ts';
import { type JsonText, JsonView } from '../../json/text.ts';
import { kinds } from '../../operations/kinds/kinds.ts';
import type { FinishedList } from '../../operations/kinds/list.ts';
import type { ListRows, RowOrder } from '../../operations/kinds/list-rows.ts';
import type { Fill } from '../../operations/kinds/row-fill.ts';
import { type ListOf, type RowRequest, toListOf } from '../../operations/kinds/row-request.ts';
import { toWorstCase } from '../../operations/money.ts';
import type { Order } from '../../operations/run.ts';
import { shortened } from '../../operations/wording.ts';
import { textAt, toTemplate } from '../../requests/template.ts';
import { withConnection } from '../connect.ts';
import { close } from '../messages/closing-line.ts';
import { startOver } from '../messages/hints.ts';
import { createNotes } from '../messages/status-line.ts';

import { tellAtEnd, tellOfInput } from '../options/inputs.ts';
import { fileOf, inputNames, toFormat } from '../options/options.ts';
import { defaultConcurrency, type RowsOptions, toShard } from '../options/rows-options.ts';
import { runAndShow, type Shown } from '../run-and-show.ts';
import { checkColumns } from './chosen-columns.ts';
import { columnsOf, layoutOf, withoutColumns } from './list-columns.ts';
import { checkOutputOpen, type PurchaseOptions, toBuyer, toTerms } from './orders.ts';
import { checkTemplate, checkUsable, csvLike, namesIn, openRows, type RowInput } from './rows-input.ts';
import { createReceived, openErrors, toProgress, toSummary } from './rows-report.ts';

type Options = PurchaseOptions & RowsOptions & { readonly input: string };

/** A text for an example request: for the worst case, the text does not matter. */
const anyText = 'https://example.com';

/**
 * Buys an answer for each row of `--input` and prints it, joined to the row. Returns the result, undefined after `--dry-run`. Throws as
 * `run`; `partial` when rows have no result, with every row in place; UsageError.
 */
export async function buyList(
  context: Context,
  options: Options,
  asked: RowRequest,
  more: (order: Order) => Partial<Shown> = () => ({}),
): Promise<{ readonly found: number; readonly operationId: string } | undefined> {
  checkTogether(options);
  checkOutputOpen(context, options);
  await checkFiles(options);
  const request = { ...asked, template: options.template };
  const list = toListOf(request);
  const shard = options.shard === undefined ? undefined : toShard(options.shard, context.env);
  const template = options.template === undefined ? undefined : toTemplate(options.template, '--template');
  const textIn = (record: JsonText): string => {
    if (template !== undefined) return template.fill(record);
    const text = textAt(new JsonView(record), list.field);
    return text === '' ? (list.toText?.(record) ?? '') : text;
  };
  const wanted = template?.paths ?? [list.field];
  const input = await openRows(context, options, list.field, wanted, (head, columns) => {
    const last = head.at(-1)?.record;
    const text = last === undefined ? '' : textIn(last);
    return columns !== undefined || (template === undefined ? text !== '' : template.unfound().length === 0);
  });
  // Only text of CSV has apostrophes before formulas.
  const isGuarded = options.csvRaw === true && input.delimiter !== undefined;
  const toText = (record: JsonText): string => textIn(isGuarded ? withoutGuards(record) : record);
  if (template !== undefined) checkTemplate(input, template);
  else checkUsable(input, list, toText);
  const { head, source } = input;
  const { warn, say } = createNotes(context, options);
  tellOfInput({ warn, say }, input);
  const tellOfRows = (): void => {
    tellAtEnd({ say }, input);
    const unfound = head.length === 0 ? [] : (template?.unfound() ?? []);
    for (const path of unfound) warn(`--template: "${path}" is empty in every row`);
  };
  return await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const buyer = toBuyer(context, options, connection);
    const into = options.into ?? list.into;
    const fill = options.onlyMissing ? toFill(list, into, input) : undefined;
    const rowOrder = {
      kind: list.kind,
      toBody: (record: JsonText) => list.toBody(toText(record), inputNames),
      source,
      shard,
      isKept: fill?.isKept,
      first: options.first,
      worst: toWorstCase(list.kind, list.toBody(anyText, inputNames), connection),
    };
    const own = namesIn(input);
    const base = columnsOf(input, head[0]?.record);
    const headers = base.columns.map(({ header }) => header);
    const join = fill ?? list.join(into, new Set([...own, ...headers]));
    const shownColumns = withoutColumns(base, fill?.replaces ?? []);
    const layout = list.layout ?? {
      ...layoutOf(shownColumns, join.columns, join.members),
      records: list.records,
    };
    await checkColumns(options, layout);
    const { inputFormat, sheet, table, headerRow, run } = options;
    const terms = toTerms(options, toFormat(options, context.stdout.isTerminal, settings.format), {
      input: options.input === '-' ? '-' : resolve(options.input),
      inputFormat,
      sheet,
      table,
      headerRow,
      into,
      onlyMissing: options.onlyMissing,
      run,
      shard: shard && `${shard.index}/${shard.of}`,
      // The history shows it.
      ...Object.fromEntries(Object.entries(request).filter(([name]) => name === kinds[request.kind].subject)),
    });
    const received = createReceived(list);
    const rows: ListRows = {
      ...rowOrder,
      toRecords(row, outcome) {
        const records = join.toRecords(row, outcome, toText);
        if (outcome.answer !== undefined) received.add(outcome.answer, records);
        return records;
      },
      concurrency: options.concurrency ?? defaultConcurrency,
      retryUnknown: options.retryUnknown === true,
      budgetMs: 1000 * (settings['retry.budget'] ?? defaults['retry.budget']),
      run,
    };
    const isPreview = options.dryRun === true;
    const order = { kind: `${list.kind} list`, body: request, keep: true, isPreview, terms, rows } as const;
    const isCounted = context.stderr.isTerminal && source.isRepeatable && !isPreview;
    const total = isCounted ? await countRows(source, shard) : undefined;
    let errors: Awaited<ReturnType<typeof openErrors>> | undefined;
    const csv = csvLike(input);
    const shown: Shown = {
      label: `reading ${input.what}`,
      printed: () => ({ shape: 'list', layout, csv }),
      async opened(delivery, lock) {
        const opened = await openErrors(context, options.errors, base, own, csv, lock);
        errors = opened;
        return {
          ...delivery,
          get length() {
            return delivery.length;
          },
          // The run ends its output with this in any case, while it has the lock. What fails here is thrown at the end of the run.
          async cut() {
            const kept = await delivery.cut();
            await opened.end().catch(() => undefined);
            return kept;
          },
        };
      },
      toProgress: (counts, seconds) => toProgress(counts, total, seconds, context.stderr.columns),
      async on(event, warnLater) {
        if (event.is === 'first_row') {
          say(`sent for row ${event.row.number}: ${shortened(event.sends)}`);
        }
        if (event.is === 'row_failed') await errors?.write(event.row, event.failure, warnLater);
      },
      ...more(order),
    };
    const finished = (await runAndShow(context, options, buyer, order, shown).finally(() => errors?.end())) as
      | FinishedList
      | undefined;
    tellOfRows();
    if (finished === undefined) return undefined;
    close(context, options, toSummary(list, finished, received, rowOrder.worst, options.errors));
    if (finished.missing !== undefined) throw finished.missing;
    if (finished.hasMore) say(toRestHint(options, finished.operationId));
    else if (finished.isIdle) say(startOver);
    return { found: received.found, operationId: finished.operationId };
  });
}

/** How answers are filled in. Throws UsageError where a table has no column for them: all of it would be bought. */
function toFill({ fields = [], fill }: ListOf, into: string, input: RowInput): Fill | undefined {
  const { columns, format, head, what } = input;
  const records = head.flatMap(({ record }) => record ?? []);
  const found = fill?.(into, { isTable: format === 'csv', names: namesIn(input), head: records });
  if (columns === undefined || columns.length === 0 || found?.isThere) return found;
  const wanted = fields.length === 0 ? `"${into}"` : fields.map((field) => `"${field}"`).join(', ');
  throw new UsageError(
    `--only-missing: ${what} has no column ${wanted} in which an answer could be missing`,
    fields.length === 0
      ? 'Name the column with --into, or leave out --only-missing to buy all rows.'
      : 'Leave out --only-missing to buy all rows.',
  );
}

/** Pure: how the rest of a list is bought of which only the first rows were wanted. */
function toRestHint(options: Options, operationId: string): string {
  const { input, run } = options;
  const by =
    fileOf(options) !== undefined || run !== undefined
      ? 'run the same command without --first'
      : input === '-'
        ? undefined
        : `run \`leadpipe resume ${operationId}\``;
  return by === undefined
    ? 'The list is not finished. With -o or --run, the same command without --first would buy the rest alone.'
    : `The list is not finished. To buy the rest, ${by}. Rows that are already bought are not bought again.`;
}

/** The number of rows of this machine. Lines would be other ones: a text may stand in several, and JSON in one. */
async function countRows(source: RowOrder['source'], shard: RowOrder['shard']): Promise<number> {
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

/** Throws UsageError where one file would overwrite another. */
async function checkFiles({ input, errors, ...options }: Options): Promise<void> {
  const output = fileOf(options);
  // On most systems, what a shell has opened for this process has a name, too.
  const given = input === '-' ? '/dev/stdin' : input;
  const pairs = [
    ['--errors', errors, '-o', output],
    ['--errors', errors, '--input', given],
    [output === undefined ? 'standard output' : '-o', output ?? '/dev/stdout', '--input', given],
  ] as const;
  for (const [one, file, other, another] of pairs) {
    if (file === undefined || another === undefined || !(await isSameFile(file, another))) continue;
    throw new UsageError(
      `${one} and ${other} are the same file, ${output === undefined ? another : file}`,
      'Name another file for one of them.',
    );
  }
}
