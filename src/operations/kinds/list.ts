import { LeadpipeError, notResumable, UsageError } from '../../errors.ts';
import { statOrNothing } from '../../files/target.ts';
import { dayOf, findRowLimit, leftToday } from '../day-limit.ts';
import type { Running } from '../events.ts';
import { type KnownRows, openRowsOfOther, openStoredRows, type StoredRows } from '../journal/stored-rows.ts';
import type { Operation, OutputTerms } from '../operation.ts';
import { toRowRequestText } from '../order-digests.ts';
import { creditsOf, times } from '../prices.ts';
import type { Costs } from '../reservation.ts';
import type { Plan, Run } from '../run-state.ts';
import type { RowRequest } from './layouts.ts';
import { type ListEnd, toLastEntry, toRowsFailedError, toStoppedListError } from './list-outcome.ts';
import {
  type CountedRows,
  findKnown,
  hasKnownRow,
  isCountedBefore,
  type ListRows,
  requestedRows,
} from './list-rows.ts';
import { workThrough } from './list-run.ts';

export interface FinishedList extends Pick<ListEnd, 'counts' | 'cost'> {
  readonly operationId: string;
  /** Every row was answered before this run, or can't be sent. */
  readonly isIdle: boolean;
  /** Whether the input has more rows than were requested so far: the list is not finished. */
  readonly hasMore: boolean;
  /** Whether its rows had been added to the file before. */
  readonly isThere: boolean;
  /** Stored answers of rows that the input no longer has. */
  readonly unseen: number;
  /** The error to throw at the end: some rows have no result, though every row is in place. */
  readonly missing: LeadpipeError | undefined;
}

/** Plans an answer for each row. What earlier runs of the list have bought is not bought again. */
export async function plan(run: Run): Promise<Plan<FinishedList>> {
  const { answers, buyer, operation, order } = run;
  const rows = order.rows as ListRows;
  const others = answers.filter(({ operationId }) => operationId !== operation?.operationId);
  const isLimited =
    buyer.spending !== undefined || buyer.connection.settings.max_credits_per_day !== undefined;
  // A question and a preview show the maximum cost of the whole list.
  const isToTell = (operation ?? run.before) !== undefined || order.isPreview === true;
  const known = await countBefore(run, rows, others, isLimited || isToTell);
  const { rest, sent } = known;
  const limit = await findRowLimit(buyer, { each: rows.worst, sent, rest }, run.reader);
  if (operation !== undefined && !run.mayStartOver && known.hasRow === false) throw toGone(operation);
  // Rows in doubt count too: it is unknown whether they were sent.
  const open = rest === undefined ? undefined : times(rows.worst, rest + known.inDoubt);
  const { clock, zone } = buyer.context;
  const isOfToday = operation && dayOf(new Date(operation.countedAt), zone) === dayOf(clock.now(), zone);
  const again = isOfToday === false ? known.inDoubt : 0;
  // Rows that may have been sent on an earlier day count today, wherever they are in the input.
  const fits = again > 0 ? undefined : known.fits;
  const costs = { is: 'rows', each: rows.worst, sent, rest, again, fits, limit } as const;
  return {
    costs,
    intent: { row_request: toRowRequestText(order.body as RowRequest) },
    ...(known.rows && {
      rows: known.rows,
      ...(order.isPreview && known.rows.first && { purchase: { body: known.rows.first } }),
    }),
    ...(operation === undefined
      ? {}
      : { resuming: { operation, credits: (open && creditsOf(open)) ?? undefined, rows: known.rows } }),
    perform: () => work(run, rows, costs, others),
  };
}

/** Maximum number of rows that can't be sent and that a preview names. */
const maxNamed = 10;

/** The facts about the rows before anything is sent. */
interface KnownBefore {
  /** Rows that this operation has sent. */
  readonly sent: number;
  /** Requests that are still to be paid for; undefined where the rows can't be counted. */
  readonly rest: number | undefined;
  /** Requests besides these that may have been sent and have no answer: they are sent again with their keys, and are counted already. */
  readonly inDoubt: number;
  /** How many rows of the input the limits of the run and the day cover, if not all; shown as a value for `--first`. */
  readonly fits?: number | undefined;
  /** Undefined where they can't be counted. */
  readonly rows?: CountedRows;
  /** Whether the input has a row that the operation has sent; undefined where it has sent none. */
  readonly hasRow: boolean | undefined;
}

async function countBefore(
  { buyer, operation, order: { isPreview = false }, reader, warn }: Run,
  rows: ListRows,
  others: readonly Operation[],
  isCounted: boolean,
): Promise<KnownBefore> {
  const own = operation && (await openRowsOfOther(operation.folder));
  const opened: KnownRows[] = [];
  try {
    const hasRow = own === undefined || own.isEmpty() ? undefined : await hasKnownRow(rows, own);
    const sent = own?.sent() ?? 0;
    const isReadable = isPreview || rows.source.isRepeatable;
    if (!isCounted || !isReadable) return { sent, rest: undefined, inDoubt: 0, hasRow };
    await openOthers(others, opened);
    const all = [own, ...opened];
    const counted = new Set<bigint>();
    let [rest, inDoubt, flawed, kept, wanted] = [0, 0, 0, 0, 0];
    const price = rows.worst.credits;
    const { limit = Number.POSITIVE_INFINITY } = buyer.spending ?? {};
    const room = Math.min(limit / price - sent, (await leftToday(buyer, rows.worst, reader)) / price);
    let fits: number | undefined;
    let first: CountedRows['first'];
    // A preview may consume the rows: they are not bought afterwards.
    for await (const row of requestedRows(rows, isPreview ? rows.source.take() : rows.source.look())) {
      if (row.is === 'kept') kept++;
      else if (row.is === 'sendable' || rows.isKept === undefined) wanted++;
      if (row.is === 'flawed' && flawed++ < maxNamed && isPreview) warn(row.flaw);
      if (row.is !== 'sendable' || counted.has(row.digest)) continue;
      counted.add(row.digest);
      const known = findKnown(row.digest, all, rows);
      if (known?.isFinal) continue;
      first ??= row.request;
      if (isCountedBefore(known)) inDoubt++;
      else if (++rest > room) fits ??= rest === 1 ? 0 : wanted - 1;
    }
    const done = counted.size - rest - inDoubt;
    return { sent, rest, inDoubt, fits, rows: { done, all: counted.size, flawed, kept, first }, hasRow };
  } finally {
    await Promise.all([own, ...opened].map((one) => one?.close()));
  }
}

/** Buys the rows, and puts the output into its place. */
async function* work(
  run: Run,
  rows: ListRows,
  costs: Extract<Costs, { is: 'rows' }>,
  otherOperations: readonly Operation[],
): Running<FinishedList> {
  const { buyer, folder = '', journal, operation, operationId = '', order } = run;
  const { terms } = order;
  const isFree = buyer.connection.origin === 'local';
  const others: KnownRows[] = [];
  let stored: StoredRows | undefined;
  let end: ListEnd | undefined;
  try {
    const replaces = await isFilled(terms);
    const toClient = yield* run.begin();
    stored = await openStoredRows(folder, journal);
    await openOthers(otherOperations, others);
    end = yield* workThrough(run, rows, costs, { stored, all: [stored, ...others] }, toClient);
    const { counts, cost, hasMore, stop } = end;
    run.countNow(times(rows.worst, cost.recorded));
    yield { is: 'rows_ended', counts, charged: cost.charged, isStopped: stop !== undefined };
    const last = await toLastEntry(rows, folder, stored, end, isFree);
    if (stop !== undefined) {
      const kept = await run.keep();
      // If this can't be written, the day's limit counts more than was spent.
      await run.end(last).catch(() => undefined);
      throw toStoppedListError(stop, end, kept, operationId);
    }
    const isAdded = await run.isAddedBefore();
    const kept = await place(run, end, replaces, isAdded).catch((error: unknown) => {
      const hasRest = hasMore || counts.failed > counts.flawed + counts.unknown;
      const facts = { is: 'unplaced', operationId, isStored: true, list: { hasRest } } as const;
      throw error instanceof LeadpipeError && error.outcome === 'local_io' ? error.with({ facts }) : error;
    });
    await run.end(last);
    const isIdle = (operation !== undefined || others.length > 0) && cost.sent === 0;
    const missing = toRowsFailedError(end, isIdle, operationId, kept, terms, isFree);
    return {
      ...{ counts, cost, operationId, isIdle, hasMore, missing },
      isThere: isAdded,
      unseen: hasMore ? 0 : stored.unseen(),
    };
  } catch (error) {
    // Rows that were bought before the error stay charged.
    throw end !== undefined && error instanceof LeadpipeError
      ? error.with({ charged: end.cost.charged, ...error.details })
      : error;
  } finally {
    await stored?.close();
    await Promise.all(others.map((known) => known.close()));
  }
}

/**
 * Puts the output in place. Leaves it unchanged, and returns the file with the rows, if it would lose its answers, or if rows to be appended (which
 * happens only once) could still get an answer.
 */
async function place(
  run: Run,
  { cost, counts, hasMore }: ListEnd,
  replaces: boolean,
  isAdded: boolean,
): Promise<string | undefined> {
  const { done, failed, flawed, withoutResult } = counts;
  const hasNoAnswer = replaces && done > 0 && done === failed + withoutResult;
  const isAddedLater =
    run.order.terms.options.append === true && (hasMore || failed > flawed || (isAdded && cost.sent > 0));
  if (hasNoAnswer || isAddedLater) return await run.keep();
  // An empty input is probably a mistake: an existing output then stays.
  await run.place(done === 0);
  return undefined;
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
    `the input no longer has any of the rows that ${operationId} has sent: there is nothing to resume, and nothing was bought`,
  ).with({ type: notResumable });
}
