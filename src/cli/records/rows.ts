import { extname, resolve } from 'node:path';
import { requests } from '../../client.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { bytesOf, countLines, decoded } from '../../input/decoded.ts';
import { type Input, type InputRow, openInput } from '../../input/rows.ts';
import { entityText, textAt, toTemplate } from '../../input/template.ts';
import { type JsonText, JsonView, objectMembers } from '../../json/text.ts';
import { checkCovered, glanceAtBalance } from '../../operations/covered.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { createDigests, digestOf } from '../../operations/journal/digests.ts';
import { type AnswerKind, type BodyOf, kinds } from '../../operations/kinds.ts';
import { type FinishedList, runList } from '../../operations/list/list.ts';
import type { ListCounts, RowResult } from '../../operations/list/run.ts';
import type { Shop } from '../../operations/purchase.ts';
import { exact, toWorstCase, type WorstCase } from '../../operations/spending.ts';
import type { LayoutOf } from '../../output/columns.ts';
import { openRecords } from '../../output/records.ts';
import type { Request } from '../../transport/request.ts';
import { withConnection } from '../connect.ts';
import { createNotes } from '../messages/notes.ts';
import { printPreview } from '../messages/preview.ts';
import { type RowsOptions, toShard } from '../options/rows.ts';
import { columnsOf, type Join, layoutOf, withLast } from './joined.ts';
import { openOutput, type PurchaseOptions, toShop, toTerms } from './orders.ts';
import { toFormat } from './record-output.ts';
import { waitedFor, withProgress } from './spinner.ts';

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
type Shard = ReturnType<typeof toShard>;

/** Pure: whether the rows of a list are meant, or the one argument. Throws UsageError for both, or none. */
export function sourceOf(
  { input }: RowsOptions,
  argument: string | undefined,
  name: string,
): { readonly input: string } | { readonly argument: string } {
  if (input === undefined) {
    if (argument !== undefined) return { argument };
    throw new UsageError(`missing required argument '${name}'`, 'Give it, or a list of them with --input.');
  }
  if (argument === undefined) return { input };
  throw new UsageError(`--input brings the ${name} of each row: it is not given beside it`);
}

/** The member of a record that a lead is known by. */
const entityColumns = ['name', 'website', 'linkedin_url'];

/** Buys an answer for each row of `--input` and prints them, joined to the rows. Throws as `runList`, and UsageError. */
export async function buyList<Kind extends AnswerKind>(
  context: Context,
  options: Options & { readonly input: string },
  list: ListOf<Kind>,
): Promise<void> {
  checkTogether(options);
  const template = options.template === undefined ? undefined : toTemplate(options.template, '--template');
  const wanted = template?.paths ?? [list.field, ...(list.takesEntities ? entityColumns : [])];
  const { input, first } = await readInput(context, options, list.field, wanted);
  const toText = (record: JsonText): string => {
    if (template !== undefined) return template.fill(record);
    const text = textAt(new JsonView(record), list.field);
    return text === '' && list.takesEntities ? entityText(record) : text;
  };
  checkUsable(options.input, input, first, list, toText);
  const toBody = (record: JsonText): BodyOf<Kind> => list.toBody(toText(record));
  const shard = options.shard === undefined ? undefined : toShard(options.shard, context.env);
  const into = options.into ?? list.into;
  const own = input.columns ?? [...objectMembers(first.record ?? '{}').keys()];
  if (list.keepsRecord && own.includes(into)) {
    throw new UsageError(
      `the rows have "${into}" already, which the answers would replace`,
      'Name another place for them: --into <name>.',
    );
  }
  const base = list.keepsRecord ? columnsOf(input.columns, first.record) : [];
  const join = list.join(into);
  const layout = list.layout ?? layoutOf(base, join.columns, list.kind);
  const notes = createNotes(context, options);
  await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const shop = toShop(context, options, connection);
    const worst = toWorstCase(list.kind, list.sample, settings);
    if (options.dryRun) return await preview(context, options, shop, list, worst, input.rows, toBody, shard);
    const rowsInAll =
      shop.spending === undefined || options.input === '-'
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
    const errors = await openErrors(
      context,
      options.errors,
      base.length === 0 ? columnsOf(input.columns, first.record) : base,
    );
    const counted =
      context.stderr.isTerminal && options.input !== '-' ? await countLines(options.input) : undefined;
    // A header is no row.
    const lines = counted && counted - Number(input.format === 'csv');
    const total = lines && shard ? Math.ceil(lines / shard.of) : lines;
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
            toRecords: (row, result) => join.toRecords(row, result, toText(row.record ?? '{}')),
            shard,
            concurrency: options.concurrency,
            order: unordered ? 'arrival' : 'input',
            onError: options.onError,
            retryUnknown: options.retryUnknown === true,
            run,
            terms: toTerms(options, format, more),
            open: (resumed) =>
              openOutput(context, options, {
                shape: 'list',
                layout,
                settings,
                resumed: resumed && { ...resumed, warn: notes.warn },
              }),
          },
          {
            warn: notes.warn,
            goingOn: ({ operationId, entries: [intent] }) =>
              notes.say(
                `Going on with the operation ${operationId} of ${intent.time.slice(0, 16).replace('T', ' ')}; what it has bought is not bought again.`,
              ),
            progress: (counts, slots) => show((seconds) => toProgress(counts, slots, total, seconds)),
            failed: (row, result) => tellFailed(row, result, notes.warn, errors),
          },
        ),
      );
    } finally {
      await errors?.finish();
    }
    notes.say(toSummary(finished));
  });
}

/** Throws UsageError for options that a list has no use for. */
function checkTogether({ idempotencyKey, history }: Options): void {
  if (idempotencyKey !== undefined) {
    throw new UsageError(
      '--idempotency-key is the key of one purchase: a list has one for each row',
      'Name the run instead: --run <name>.',
    );
  }
  if (!history) {
    throw new UsageError(
      '--no-history does not go with --input: a list that is not recorded could be paid for twice',
    );
  }
}

async function readInput(
  context: Context,
  { input: name, inputFormat }: Options & { readonly input: string },
  field: string,
  wanted: readonly string[],
): Promise<{ readonly input: Input; readonly first: InputRow }> {
  const what = name === '-' ? 'standard input' : name;
  const bytes = name === '-' ? context.stdin.stream : bytesOf(name, '--input');
  const input = await openInput(decoded(bytes, what), {
    format: inputFormat ?? formatOf(name),
    field,
    wanted,
    what,
  });
  const rows = input.rows[Symbol.asyncIterator]();
  const first = await rows.next();
  if (first.done) throw new UsageError(`${what} has no rows`);
  const all = (async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => rows };
  })();
  return { input: { ...input, rows: all }, first: first.value };
}

function formatOf(name: string): Input['format'] | undefined {
  const extension = extname(name).toLowerCase();
  if (['.csv', '.tsv'].includes(extension)) return 'csv';
  if (['.jsonl', '.ndjson'].includes(extension)) return 'jsonl';
  return extension === '.txt' ? 'text' : undefined;
}

/** Throws UsageError, before anything is sent, where no row can say what to send. */
function checkUsable<Kind extends AnswerKind>(
  name: string,
  { columns, format }: Input,
  { record }: InputRow,
  { field, takesEntities }: ListOf<Kind>,
  toText: (record: JsonText) => string,
): void {
  const what = name === '-' ? 'standard input' : name;
  if (
    format === 'csv'
      ? toText(record ?? '{}') !== '' || columns?.includes(field)
      : record === undefined || toText(record) !== ''
  )
    return;
  const entities = takesEntities ? ', and its rows do not look like leads' : '';
  throw new UsageError(
    `${what} has no ${format === 'csv' ? 'column' : 'field'} "${field}"${entities}: what to send for a row is not known`,
    'Say it with --template, such as --template "{name}, {website}".',
  );
}

/** Prints the first request, and what all of them can cost; says what can't be sent. */
async function preview<Kind extends AnswerKind>(
  context: Context,
  options: Options,
  shop: Shop,
  { kind }: ListOf<Kind>,
  worst: WorstCase,
  rows: AsyncIterable<InputRow>,
  toBody: (record: JsonText) => BodyOf<Kind>,
  shard: Shard | undefined,
): Promise<void> {
  const notes = createNotes(context, options);
  let first: BodyOf<Kind> | undefined;
  let flawed = 0;
  const sent = await countRows(
    rows,
    (record) => {
      const body = toBody(record);
      first ??= body;
      return body;
    },
    shard,
    (line, why) => {
      if (flawed++ < 10) notes.warn(`line ${line}: ${why}`);
    },
  );
  const all = worst.credits === null ? worst : { credits: exact(sent * worst.credits) };
  const available = await glanceAtBalance(shop);
  if (first !== undefined) {
    const toRequest = requests[kinds[kind].endpoint] as (body: object, key: string) => Request;
    const request = shop.connection.preview(toRequest(first, 'another one for each row'));
    printPreview(context, request, { worst: all, available });
  }
  notes.say(
    `${sent} ${sent === 1 ? 'row' : 'rows'} would be sent, the first as above; ${flawed} can not be. Nothing was sent.`,
  );
  checkCovered(shop, all, available);
}

/** How many different requests the rows make; `flawed` is told of those that make none. */
async function countRows<Body extends object>(
  rows: AsyncIterable<InputRow>,
  toBody: (record: JsonText) => Body,
  shard: Shard | undefined,
  flawed: (line: number, why: string) => void = () => {},
): Promise<number> {
  const seen = createDigests();
  let count = 0;
  for await (const { record, number, line, flaw } of rows) {
    if (shard !== undefined && number % shard.of !== shard.index % shard.of) continue;
    try {
      if (record === undefined) throw new UsageError(flaw ?? 'can not be read');
      const digest = digestOf(JSON.stringify(toBody(record)));
      if (seen.get(digest) !== undefined) continue;
      seen.set(digest, { state: 'sent', offset: 0, length: 0 });
      count++;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      flawed(line, error.message);
    }
  }
  return count;
}

async function openErrors(
  context: Context,
  file: string | undefined,
  base: ReturnType<typeof columnsOf>,
): Promise<Delivery | undefined> {
  if (file === undefined) return undefined;
  const { hasPart } = await import('../../output/file-sink.ts');
  const added = ['line', 'error', 'request_id', 'charged'].map((name) => ({
    header: name,
    value: (record: JsonView) => record.member(name),
  }));
  return await openRecords(context, {
    format: extname(file).toLowerCase() === '.csv' ? 'csv' : 'jsonl',
    shape: 'list',
    layout: layoutOf(base, added, 'row'),
    file,
    append: false,
    // What a killed run had begun is written anew.
    resumed: (await hasPart(file)) ? { at: 0, warn: () => {} } : undefined,
    csvRaw: false,
    width: undefined,
    color: false,
  });
}

async function tellFailed(
  { number, line, record = '{}' }: InputRow,
  result: Exclude<RowResult, { state: 'answered' }>,
  warn: (line: string) => void,
  errors: Delivery | undefined,
): Promise<void> {
  const charged = result.state === 'flawed' ? 'no' : result.charged;
  const requestId = result.state === 'flawed' ? undefined : result.requestId;
  if (errors === undefined) warn(`row ${number} (line ${line}): ${result.message} · charged: ${charged}`);
  const members = Object.entries({ line, error: result.message, request_id: requestId ?? null, charged });
  await errors?.write([
    withLast(
      record,
      members.map(([name, value]) => [name, JSON.stringify(value)] as const),
    ),
  ]);
}

function nameOf(input: string): string {
  return input === '-' ? input : resolve(input);
}

/** Pure: a bar where it is known how many rows there are; how fast they go, and how long it will take. */
export function toProgress(
  { done, failed }: ListCounts,
  { used }: { used: number },
  total: number | undefined,
  seconds: number,
): string {
  const rate = done / Math.max(seconds, 0.001);
  const whole = total === undefined ? undefined : Math.max(total, done);
  const filled = whole === undefined ? 0 : Math.round((barWidth * done) / Math.max(whole, 1));
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}]`;
  return [
    whole === undefined ? `${done} ${done === 1 ? 'row' : 'rows'} done` : `${bar} ${done} of ${whole}`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(seconds < 1 ? [] : [`${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`]),
    `${used} at once`,
    ...(whole === undefined || rate === 0 || seconds < 1
      ? []
      : [`${waitedFor(Math.ceil((whole - done) / rate))} left`]),
  ].join(', ');
}

const barWidth = 20;

function toSummary({ counts, operationId }: FinishedList): string {
  const { done, reused } = counts;
  const again = reused === 0 ? [] : [`${reused} not bought again`];
  return [`${done} ${done === 1 ? 'row' : 'rows'}`, ...again, `operation ${operationId}`].join(' · ');
}
