import { isDeepStrictEqual } from 'node:util';
import { LeadpipeError, UsageError } from '../../errors.ts';
import { statOrNothing } from '../../files/target.ts';
import type { Delivery } from '../delivery.ts';
import type { Running } from '../events.ts';
import { entry } from '../journal/entries.ts';
import { type KnownRows, openRowsOfOther, openStoredRows, type StoredRows } from '../journal/stored-rows.ts';
import { extendRowLimit, findRowLimit, times } from '../money.ts';
import type { Operation, OutputTerms } from '../operation.ts';
import { exact, type Spending } from '../spending.ts';
import { readAddedRows } from './added-rows.ts';
import type { Job, Plan, PlanRequest } from './job.ts';
import { type ListEnd, toLastEntry, toLeft, toMissing } from './list-outcome.ts';
import { type CountedRows, findKnown, hasAny, type ListRows, requestedRows } from './list-rows.ts';
import { workThrough } from './list-run.ts';
import { type RowRequest, toRowRequestText } from './row-request.ts';

export interface FinishedList extends Pick<ListEnd, 'counts' | 'cost'> {
  readonly operationId: string;
  /** Every row was answered before this run, or can't be sent. */
  readonly isIdle: boolean;
  /** Whether there are rows that were not wanted yet: the list is not finished. */
  readonly hasMore: boolean;
  /** Stored answers of rows that the input no longer has. */
  readonly unseen: number;
  /** The error to throw at the end: some rows have no result, though every row is in place. */
  readonly missing: LeadpipeError | undefined;
}

/** An answer for each row. Where the list was left, what it has bought is not bought again. */
export async function plan(planRequest: PlanRequest): Promise<Plan<FinishedList>> {
  const { buyer, operation, order } = planRequest;
  const rows = order.rows as ListRows;
  const others = planRequest.answers.filter(({ operationId }) => operationId !== operation?.operationId);
  const { credits } = rows.worst;
  const isLimited =
    buyer.spending !== undefined || buyer.connection.settings.max_credits_per_day !== undefined;
  const isCounted = isLimited || operation !== undefined || order.isPreview === true;
  const known = await countBefore(planRequest, rows, others, isCounted);
  const { rest, sent } = known;
  const limit = await findRowLimit(buyer, { each: rows.worst, sent, rest }, planRequest.reader);
  if (operation !== undefined && !planRequest.mayStartOver && known.hasRow === false) throw toGone(operation);
  // What may have been sent can cost from now on, too: no one knows whether it was.
  const open = rest === undefined || credits === null ? undefined : exact((rest + known.inDoubt) * credits);
  return {
    costs: { is: 'rows', each: rows.worst, sent, rest, limit },
    intent: {
      row_request: toRowRequestText(order.body as RowRequest),
      ...(credits === null && { row_price: { setting: rows.worst.setting, units: rows.worst.units } }),
    },
    ...(known.rows && {
      rows: known.rows,
      ...(order.isPreview && known.rows.first && { purchase: { body: known.rows.first } }),
    }),
    ...(operation === undefined ? {} : { resuming: { operation, credits: open, rows: known.rows } }),
    perform: (job) => work(job, planRequest, rows, limit, others),
  };
}

/** How many rows a preview names that can't be sent. */
const maxNamed = 10;

/** What is known of the rows before anything is sent. */
interface KnownBefore {
  /** Rows that this operation has sent. */
  readonly sent: number;
  /** Requests that are still to be paid for; undefined where the rows can't be counted. */
  readonly rest: number | undefined;
  /** Requests besides these that may have been sent and have no answer: they are sent again with their keys, and are counted already. */
  readonly inDoubt: number;
  /** Undefined where they can't be counted. */
  readonly rows?: CountedRows;
  /** Whether the input has a row that the operation has sent; undefined where it has sent none. */
  readonly hasRow: boolean | undefined;
}

async function countBefore(
  { operation, order: { isPreview = false }, warn }: PlanRequest,
  rows: ListRows,
  others: readonly Operation[],
  isCounted: boolean,
): Promise<KnownBefore> {
  const own = operation && (await openRowsOfOther(operation.folder));
  const opened: KnownRows[] = [];
  try {
    const hasRow = own === undefined || own.isEmpty() ? undefined : await hasAny(rows, own);
    const sent = own?.sent() ?? 0;
    const isReadable = isPreview || rows.source.isRepeatable;
    if (!isCounted || !isReadable) return { sent, rest: undefined, inDoubt: 0, hasRow };
    await openOthers(others, opened);
    const all = [own, ...opened];
    const counted = new Set<bigint>();
    let [rest, inDoubt, flawed, kept] = [0, 0, 0, 0];
    let first: CountedRows['first'];
    // After a preview, no one takes the rows.
    for await (const row of requestedRows(rows, isPreview ? rows.source.take() : rows.source.look())) {
      if (row.is === 'kept') kept++;
      if (row.is === 'flawed' && flawed++ < maxNamed && isPreview) warn(row.flaw);
      if (row.is !== 'sendable' || counted.has(row.digest)) continue;
      counted.add(row.digest);
      const known = findKnown(row.digest, all, rows);
      if (known?.isFinal) continue;
      first ??= row.request;
      if (known?.isOwn && known.state === 'sent') inDoubt++;
      else rest++;
    }
    const done = counted.size - rest - inDoubt;
    return { sent, rest, inDoubt, rows: { done, all: counted.size, flawed, kept, first }, hasRow };
  } finally {
    await Promise.all([own, ...opened].map((one) => one?.close()));
  }
}

/** Buys the rows, and puts the output into its place. */
async function* work(
  job: Job,
  planRequest: PlanRequest,
  rows: ListRows,
  limit: Spending | undefined,
  otherOperations: readonly Operation[],
): Running<FinishedList> {
  const { buyer, journal, operationId = '', folder = '' } = job;
  const { operation, order } = planRequest;
  const isFree = buyer.connection.origin === 'local';
  const others: KnownRows[] = [];
  let stored: StoredRows | undefined;
  let end: ListEnd | undefined;
  try {
    const replaces = await isFilled(order.terms);
    const delivery = await openOutput(job, planRequest);
    const toClient = yield* job.begin();
    stored = await openStoredRows(folder, journal);
    await openOthers(otherOperations, others);
    const added = await readAddedRows(operation, otherOperations, order.terms);
    const extend = async (): Promise<boolean> =>
      limit !== undefined && limit !== buyer.spending && !rows.source.isRepeatable
        ? await extendRowLimit(buyer, limit, rows.worst, journal)
        : false;
    const known = { keyBase: rows.run ?? operationId, stored, all: [stored, ...others], added, extend };
    end = yield* workThrough({ ...buyer, spending: limit }, rows, known, delivery, toClient);
    const { counts, cost, stop, hasMore } = end;
    const { credits, unknown } = times(rows.worst, cost.bought);
    yield { is: 'rows_ended', counts, credits: unknown ? null : credits, charged: cost.charged };
    const last = toLastEntry(rows, stored, end, isFree);
    if (stop !== undefined) {
      const kept = await delivery.cut();
      // If this can't be written, more counts for the day than was spent.
      await journal.append(last).catch(() => undefined);
      throw toLeft(stop, end, kept, operationId);
    }
    const { done, failed, withoutResult } = counts;
    let kept: string | undefined;
    if (replaces && done > 0 && done === failed + withoutResult) kept = await delivery.cut();
    // An empty input is an oversight, and no answer.
    else await job.place({ isPartial: done === 0, rows: () => added.keep(folder, journal) });
    await journal.append(last);
    const isIdle = (operation !== undefined || others.length > 0) && cost.sent === 0;
    const missing = toMissing(end, isIdle, operationId, kept, isFree);
    return { counts, cost, operationId, isIdle, hasMore, unseen: hasMore ? 0 : stored.unseen(), missing };
  } catch (error) {
    // What was bought before it is bought.
    throw end !== undefined && error instanceof LeadpipeError
      ? error.with({ charged: end.cost.charged, ...error.details })
      : error;
  } finally {
    await stored?.close();
    await Promise.all(others.map((known) => known.close()));
  }
}

/** Opens the output, which is written from its start; a journal that has begun says where its form has changed. */
async function openOutput(
  { journal, open }: Job,
  { isOurs, isSameOutput, operation, order: { terms } }: PlanRequest,
): Promise<Delivery> {
  const isPart = operation !== undefined && isSameOutput && isOurs;
  const delivery = await open(isPart ? { at: 0 } : 'new');
  if (operation !== undefined && !isSame(operation.terms.options, terms.options)) {
    await journal.append(entry.restarted(terms.options));
  }
  return delivery;
}

/** Opens the rows of operations that have some. Those in `opened` must be closed, even when this throws. */
async function openOthers(operations: readonly Operation[], opened: KnownRows[]): Promise<void> {
  for (const { folder } of operations) {
    const found = await openRowsOfOther(folder);
    if (found !== undefined) opened.push(found);
  }
}

/** Whether there is an earlier output: it is not replaced by one without any answer. */
async function isFilled({ output, options }: OutputTerms): Promise<boolean> {
  if (output === null || options.append === true) return false;
  const found = await statOrNothing(output);
  return found?.isFile() === true && found.size > 0;
}

function toGone({ operationId }: Operation): UsageError {
  return new UsageError(
    `none of the rows that ${operationId} has sent is in its input any more: there is nothing to resume, and nothing was bought`,
  );
}

function isSame(one: OutputTerms['options'], other: OutputTerms['options']): boolean {
  const [a, b] = [one, other].map((options) => Object.entries(options).filter(([, value]) => value != null));
  return isDeepStrictEqual(a?.sort(), b?.sort());
}
