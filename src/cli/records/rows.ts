import { resolve } from 'node:path';
import { toMinutes, type Zone } from '../../clock.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, UsageError } from '../../errors.ts';
import { countLines, isRegularFile } from '../../input/file-bytes.ts';
import { entityText, textAt, toTemplate } from '../../input/template.ts';
import { type JsonText, JsonView, objectMembers } from '../../json/text.ts';
import type { StoredOperation } from '../../operations/journal/journal.ts';
import type { AnswerKind, BodyOf } from '../../operations/kinds.ts';
import { type FinishedList, runList } from '../../operations/list/list.ts';
import { toWorstCase } from '../../operations/spending.ts';
import type { LayoutOf } from '../../output/columns.ts';
import { withConnection } from '../connect.ts';
import { close } from '../messages/closing-line.ts';
import { listAnew } from '../messages/hints.ts';
import { createNotes } from '../messages/notes.ts';
import { type RowsOptions, toShard } from '../options/rows.ts';
import { columnsOf, type Join, layoutOf } from './joined.ts';
import { checkOutputOpen, openOutput, type PurchaseOptions, toShop, toTerms } from './orders.ts';
import { fileOf, toFormat } from './record-output.ts';
import { checkTemplate, checkUsable, countRows, readInput } from './rows-input.ts';
import { previewList } from './rows-preview.ts';
import { addTo, createRowWarnings, openErrors, tellFailed, toProgress, toSummary } from './rows-told.ts';
import { withProgress } from './spinner.ts';

/** What a command buys for each row. */
export interface ListOf<Kind extends AnswerKind> {
  readonly kind: Kind;
  /** The field of the interface that a row fills: the column that is looked for. */
  readonly field: 'objective' | 'query' | 'entity_context' | 'target';
  /** Whether a record that looks like a lead says by itself what to send. */
  readonly takesEntities: boolean;
  /** Throws UsageError. */
  toBody(text: string): BodyOf<Kind>;
  /** A request that costs what any of them does. */
  readonly sample: BodyOf<Kind>;
  /** Where the answer goes, when it is not said. */
  readonly into: string;
  join(into: string): Join;
  /** Of what is printed, where it is not the record with the answer beside it. */
  readonly layout?: LayoutOf;
  /** Whether the columns of the record are printed too. */
  readonly keepsRecord: boolean;
  /** What else shapes the answers, for the run that goes on. */
  readonly terms: Readonly<Record<string, unknown>>;
}

type Options = PurchaseOptions & RowsOptions;

/** The member of a record that a lead is known by. */
const entityColumns = ['name', 'website', 'linkedin_url'];

/**
 * Buys an answer for each row of `--input` and prints them, joined to the rows. Returns what came, undefined after `--dry-run`. Throws as `runList`; `partial` when rows have no result, with every row in place; UsageError.
 */
export async function buyList<Kind extends AnswerKind>(
  context: Context,
  options: Options & { readonly input: string },
  list: ListOf<Kind>,
): Promise<{ readonly found: number; readonly operationId: string } | undefined> {
  checkTogether(options);
  checkOutputOpen(context, options);
  await checkFiles(options);
  const template = options.template === undefined ? undefined : toTemplate(options.template, '--template');
  const wanted = template?.paths ?? [list.field, ...(list.takesEntities ? entityColumns : [])];
  const { input, first } = await readInput(context, options, list.field, wanted);
  const toText = (record: JsonText): string => {
    if (template !== undefined) return template.fill(record);
    const text = textAt(new JsonView(record), list.field);
    return text === '' && list.takesEntities ? entityText(record) : text;
  };
  if (template !== undefined) checkTemplate(input, first?.record, template);
  else if (first !== undefined) checkUsable(options.input, input, first, list, toText);
  const toBody = (record: JsonText): BodyOf<Kind> => list.toBody(toText(record));
  const shard = options.shard === undefined ? undefined : toShard(options.shard, context.env);
  const into = options.into ?? list.into;
  const own = input.columns ?? [...objectMembers(first?.record ?? '{}').keys()];
  if (list.keepsRecord && own.includes(into)) {
    throw new UsageError(
      `the rows already have "${into}", and the answers would replace it`,
      'Choose another name for the answers: --into <name>.',
    );
  }
  const base = columnsOf(input, first?.record);
  const join = list.join(into);
  const layout = list.layout ?? layoutOf(base, join.columns, join.members, list.kind);
  const notes = createNotes(context, options);
  return await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const shop = toShop(context, options, connection);
    const worst = toWorstCase(list.kind, list.sample, settings);
    const tellUnfound = (): void => {
      const unfound = first === undefined ? [] : (template?.unfound() ?? []);
      for (const path of unfound) notes.warn(`--template: "${path}" is empty in every row`);
    };
    if (options.dryRun) {
      await previewList(context, options, shop, list, worst, input.rows, toBody, shard);
      tellUnfound();
      return undefined;
    }
    // What comes through a pipe can be read only once.
    const isFile = options.input !== '-' && (await isRegularFile(options.input));
    const rowsInAll =
      shop.spending === undefined || !isFile
        ? undefined
        : await countRows((await readInput(context, options, list.field, wanted)).input.rows, toBody, shard);
    const format = toFormat(options, context.stdout.isTerminal, settings.format);
    const { inputFormat, template: given, unordered, run, shard: part } = options;
    const more = {
      ...list.terms,
      input: nameOf(options.input),
      inputFormat,
      template: given,
      into,
      unordered,
      run,
      shard: part,
    };
    const errors = await openErrors(context, options.errors, base);
    const counted = context.stderr.isTerminal && isFile ? await countLines(options.input) : undefined;
    // A header is no row.
    const lines = counted && counted - Number(input.format === 'csv');
    const total = lines && shard ? Math.ceil(lines / shard.of) : lines;
    const file = fileOf(options);
    const isOneTerminal = file === undefined && context.stdout.isTerminal && context.stderr.isTerminal;
    const warnings = createRowWarnings(isOneTerminal, notes.warn);
    const brought = { found: 0, records: 0 };
    let failed = false;
    let finished: FinishedList;
    try {
      finished = await withProgress(context, options, (show) =>
        runList(
          shop,
          {
            worst,
            rowsInAll,
            kind: list.kind,
            rows: input.rows,
            toBody,
            toRecords(row, result) {
              const records = join.toRecords(row, result, toText(row.record ?? '{}'));
              addTo(brought, list.kind, result, records);
              return records;
            },
            shard,
            concurrency: options.concurrency,
            order: unordered ? 'arrival' : 'input',
            onError: options.onError,
            retryUnknown: options.retryUnknown === true,
            run,
            terms: toTerms(options, format, more),
            open: (opening) =>
              openOutput(context, options, {
                shape: 'list',
                layout,
                settings,
                opening,
              }),
          },
          {
            warn: warnings.warn,
            goingOn: (operation) => notes.say(toResumingLine(operation, context.zone)),
            progress: (counts, slots) =>
              show((seconds) => toProgress(counts, slots, total, seconds, context.stderr.columns)),
            failed(row, failure) {
              failed = true;
              return tellFailed(row, failure, warnings.warn, errors);
            },
          },
        ),
      );
      await errors?.finish();
      tellUnfound();
    } catch (error) {
      if (error instanceof LeadpipeError && error.details.facts?.is === 'rows_failed') tellUnfound();
      // Without failed rows there is nothing to put in the place of an earlier file.
      await (failed ? errors?.finish() : errors?.cut());
      throw error;
    } finally {
      warnings.release();
    }
    close(context, options, toSummary(list.kind, finished, brought, worst.credits, options.errors));
    if (finished.missing !== undefined) throw finished.missing;
    if (finished.isIdle) notes.say(listAnew);
    return { found: brought.found, operationId: finished.operationId };
  });
}

/** Pure: which list is gone on with. */
function toResumingLine({ operationId, entries: [intent, ...rest] }: StoredOperation, zone: Zone): string {
  const isOver = rest.some((entry) => entry.type === 'terminal' && entry.outcome === 'complete');
  const { command, output, time } = intent;
  const begun = `${command.replace(/ list$/, ' --input')}, started ${toMinutes(new Date(time), zone)}${isOver ? '' : ', unfinished'}`;
  const place = output === null ? '' : `, into ${output}`;
  return `Resuming ${operationId}: ${begun}${place}. Rows that are already bought are not bought again.`;
}

/** Throws UsageError for options that a list has no use for. */
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

/** Throws UsageError where one file would be written over another. */
async function checkFiles({
  input,
  errors,
  ...options
}: Options & { readonly input: string }): Promise<void> {
  const { isSameFile } = await import('../../files/target.ts');
  const output = fileOf(options);
  // What a shell has opened for this process has a name too, on most systems.
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

function nameOf(input: string): string {
  return input === '-' ? input : resolve(input);
}
