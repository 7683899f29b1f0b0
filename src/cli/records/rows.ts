import { resolve } from 'node:path';
import { toMinutes, type Zone } from '../../clock.ts';
import { defaults } from '../../config/defaults.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, stoppedBy, UsageError } from '../../errors.ts';
import type { FolderLock } from '../../files/folder-lock.ts';
import { isSameFile, type Opening, statOrNothing } from '../../files/target.ts';
import { type JsonText, JsonView } from '../../json/text.ts';
import type { Buyer } from '../../operations/buyer.ts';
import { checkCovered, glanceAtBalance } from '../../operations/credit-limits.ts';
import { runToEnd } from '../../operations/events.ts';
import type { StoredOperation } from '../../operations/journal/stored.ts';
import { type AnswerKind, type BodyOf, toRequest } from '../../operations/kinds.ts';
import { type FinishedList, type ListOrder, type RowSource, runList } from '../../operations/list/list.ts';
import { isIn, type ListEvent, type ListWork, toSent } from '../../operations/list/run.ts';
import type { RowRequest } from '../../operations/row-request.ts';
import { creditsOf, exact, toWorstCase } from '../../operations/spending.ts';
import { countOf, createWarnings, toThem } from '../../operations/wording.ts';
import { countLines } from '../../requests/file-bytes.ts';
import { entityText, textAt, toTemplate } from '../../requests/template.ts';
import { withConnection } from '../connect.ts';
import { close } from '../messages/closing-line.ts';
import { tellEarlier } from '../messages/earlier-runs.ts';
import { listAnew } from '../messages/hints.ts';
import { createNotes, statusLineOf, withStatus } from '../messages/status-line.ts';
import { fileOf, toFormat } from '../options/options.ts';
import { type RowsOptions, toShard, usualConcurrency } from '../options/rows.ts';
import { columnsOf, layoutOf } from './list-columns.ts';
import { toListOf } from './list-kinds.ts';
import { checkOutputOpen, type PurchaseOptions, toBuyer, toTerms } from './orders.ts';
import { printPreview } from './preview.ts';
import { openOutput, withHeldOutput } from './record-output.ts';
import { checkTemplate, checkUsable, namesIn, openRows } from './rows-input.ts';
import { createBrought, openErrors, toProgress, toSummary } from './rows-report.ts';

type Options = PurchaseOptions & RowsOptions;

/** Warnings that wait for the rows to be out. */
const mostHeld = 20;

/** The member of a record that a lead is known by. */
const entityColumns = ['name', 'website', 'linkedin_url'];

/**
 * Buys an answer for each row of `--input` and prints them, joined to the rows; of `operation`, where that is to be gone on with.
 * Returns what came, undefined after `--dry-run`. Throws as `runList`; `partial` when rows have no result, with every row in
 * place; UsageError.
 */
export async function buyList(
  context: Context,
  options: Options & { readonly input: string },
  asked: RowRequest,
  operation?: StoredOperation,
): Promise<{ readonly found: number; readonly operationId: string } | undefined> {
  checkTogether(options);
  checkOutputOpen(context, options);
  await checkFiles(options);
  const request = { ...asked, template: options.template };
  const list = toListOf(request);
  const template = options.template === undefined ? undefined : toTemplate(options.template, '--template');
  const toText = (record: JsonText): string => {
    if (template !== undefined) return template.fill(record);
    const text = textAt(new JsonView(record), list.field);
    return text === '' && list.takesEntities ? entityText(record) : text;
  };
  const shard = options.shard === undefined ? undefined : toShard(options.shard, context.env);
  const wanted = template?.paths ?? [list.field, ...(list.takesEntities ? entityColumns : [])];
  const input = await openRows(context, options, list.field, wanted, (head, columns) => {
    const last = head.at(-1)?.record;
    const text = last === undefined ? '' : toText(last);
    return columns !== undefined || (template === undefined ? text !== '' : template.unfound().length === 0);
  });
  const { head, source } = input;
  if (template !== undefined) checkTemplate(input, template);
  else checkUsable(input, list, toText);
  const first = head[0]?.record;
  const base = columnsOf(input, first);
  const into = options.into ?? list.into;
  const join = list.join(into, new Set(namesIn(input)));
  const layout = list.layout ?? layoutOf(base, join.columns, join.members);
  const notes = createNotes(context, options);
  return await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const buyer = toBuyer(context, options, connection);
    const work = {
      kind: list.kind,
      toBody: (record: JsonText) => list.toBody(toText(record)),
      shard,
      worst: toWorstCase(list.kind, list.sample, settings),
    };
    const tellUnfound = (): void => {
      const unfound = head.length === 0 ? [] : (template?.unfound() ?? []);
      for (const path of unfound) notes.warn(`--template: "${path}" is empty in every row`);
    };
    if (options.dryRun) {
      await previewList(context, options, buyer, work, source);
      tellUnfound();
      return undefined;
    }
    const format = toFormat(options, context.stdout.isTerminal, settings.format);
    const { inputFormat, run } = options;
    const terms = toTerms(options, format, {
      input: options.input === '-' ? '-' : resolve(options.input),
      inputFormat,
      into,
      run,
      shard: shard && `${shard.index}/${shard.of}`,
      // What the history calls it by.
      ...('contact_type' in request ? { contact_type: request.contact_type } : {}),
      ...('type' in request ? { type: request.type } : {}),
    });
    const errors = await openErrors(context, options.errors, base, namesIn(input));
    const isCounted = context.stderr.isTerminal && source.isRepeatable;
    const counted = isCounted ? await countLines(options.input) : undefined;
    // A header is no row.
    const lines = counted && counted - Number(input.format === 'csv');
    const total = lines && shard ? Math.ceil(lines / shard.of) : lines;
    const file = fileOf(options);
    const isOneTerminal = file === undefined && context.stdout.isTerminal && context.stderr.isTerminal;
    // On one terminal no warning stands between two rows.
    const held = isOneTerminal ? createWarnings(mostHeld) : undefined;
    const brought = createBrought(list);
    const usualMs = context.patience?.ms ?? 0;
    let progress = (_: number): string => `reading ${input.what}`;
    const show = async (event: ListEvent): Promise<void> => {
      if (event.is === 'resuming') {
        const credits = options.local ? undefined : event.credits;
        notes.say(toResumingLine(event.operation, credits, context.zone));
      } else if (event.is === 'earlier') tellEarlier(context, options, event.found);
      else if (event.is === 'rows') {
        progress = (seconds) => toProgress(event.counts, total, seconds, context.stderr.columns);
        statusLineOf(context)?.update();
      } else if (event.is === 'row_failed') {
        const failure = options.local ? { ...event.failure, charged: 'no' as const } : event.failure;
        await errors.write(event.row, failure, held?.add ?? notes.warn);
      } else {
        if (context.patience !== undefined) context.patience.ms = usualMs + 1000 * event.seconds;
        // A reader that went away is told nothing: there may be no one to tell.
        if (stoppedBy(context.signal) === 'reader_closed') return;
        notes.say(
          `waiting up to ${event.seconds} s for ${countOf(event.answers, 'answer')} that ${toThem(event.answers, 'is', 'are')} under way; press Ctrl-C again to leave at once`,
        );
      }
    };
    const order: Omit<ListOrder, 'replaces' | 'open'> = {
      ...work,
      request,
      operation,
      rows: source,
      toRecords(row, result) {
        const records = join.toRecords(row, result, toText(row.record ?? '{}'));
        brought.add(result, records);
        return records;
      },
      concurrency: options.concurrency ?? usualConcurrency,
      retryUnknown: options.retryUnknown === true,
      budgetMs: 1000 * (settings['retry.budget'] ?? defaults['retry.budget']),
      run,
      terms,
    };
    const go = (lock: FolderLock | undefined): Promise<FinishedList> =>
      withStatus(
        context,
        options,
        (seconds) => progress(seconds),
        async () => {
          const before = file === undefined || options.append ? undefined : await statOrNothing(file);
          const replaces = before?.isFile() === true && before.size > 0;
          const open = (opening: Opening) =>
            openOutput(context, options, { shape: 'list', layout, settings, opening, lock });
          return await runToEnd(runList(buyer, { ...order, replaces, open }), show);
        },
      );
    let finished: FinishedList;
    try {
      finished = await withHeldOutput(context, options, go).finally(errors.end);
      tellUnfound();
    } catch (error) {
      throw toLocalTime(error, context.zone);
    } finally {
      if (context.patience !== undefined) context.patience.ms = usualMs;
      for (const line of held?.all() ?? []) notes.warn(line);
    }
    close(context, options, toSummary(list.kind, finished, brought, work.worst.credits, options.errors));
    if (finished.missing !== undefined) throw finished.missing;
    if (finished.isIdle) notes.say(listAnew);
    return { found: brought.found, operationId: finished.operationId };
  });
}

function toResumingLine(
  { operationId, entries: [intent, ...rest] }: StoredOperation,
  credits: number | undefined,
  zone: Zone,
): string {
  const isOver = rest.some((entry) => entry.type === 'terminal' && entry.outcome === 'complete');
  const { command, output, time } = intent;
  const begun = `${command.replace(/ list$/, ' --input')}, started ${toMinutes(new Date(time), zone)}${isOver ? '' : ', unfinished'}`;
  const place = output === null ? '' : `, into ${output}`;
  const cost = credits === undefined ? '' : ` The rest can cost at most ${creditsOf(credits)}.`;
  return `Resuming ${operationId}: ${begun}${place}. Rows that are already bought are not bought again.${cost}`;
}

/** Pure: the same error, with its time as it is here. */
function toLocalTime(error: unknown, zone: Zone): unknown {
  const facts = error instanceof LeadpipeError ? error.details.facts : undefined;
  if (facts?.is !== 'list_left' || facts.until === undefined) return error;
  return (error as LeadpipeError).with({
    facts: { ...facts, until: toMinutes(new Date(facts.until), zone) },
  });
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

/** Prints the first request, and what all of them can cost; says what can't be sent. */
async function previewList(
  context: Context,
  options: PurchaseOptions,
  buyer: Buyer,
  work: Pick<ListWork, 'kind' | 'toBody' | 'shard' | 'worst'>,
  source: RowSource,
): Promise<void> {
  const notes = createNotes(context, options);
  const { kind, shard, worst } = work;
  const counted = new Set<bigint>();
  let first: BodyOf<AnswerKind> | undefined;
  let flawed = 0;
  for await (const row of source.take()) {
    if (!isIn(shard, row)) continue;
    const one = toSent(work, row);
    if ('flaw' in one) {
      if (flawed++ < 10) notes.warn(one.flaw);
    } else {
      counted.add(one.digest);
      first ??= one.request;
    }
  }
  const sent = counted.size;
  const all = worst.credits === null ? worst : { credits: exact(sent * worst.credits) };
  const available = await glanceAtBalance(buyer);
  if (first !== undefined) {
    const request = buyer.connection.preview(toRequest(kind, first, 'a different key for each row'));
    printPreview(context, options, { request, worst: all, available });
  }
  notes.say(
    `${countOf(sent, 'row')} would be sent${first === undefined ? '' : '; the first request is above'}${flawed === 0 ? '' : `; ${flawed} can't be sent`}. Nothing was sent.`,
  );
  await checkCovered(buyer, all, available);
}
