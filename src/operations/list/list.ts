import { isDeepStrictEqual } from 'node:util';
import { type LeadpipeError, type Outcome, UsageError } from '../../errors.ts';
import { type Buyer, checkSameBuyer } from '../buyer.ts';
import { toAdmit, toNotCovered, toOverLimit, toUnknownPrice, withinDay } from '../money.ts';
import type { Delivery } from '../delivery.ts';
import type { Wanted } from '../earlier.ts';
import type { Running } from '../events.ts';
import { anew, findEarlier } from '../find-earlier.ts';
import { toTerminal } from '../journal/entries.ts';
import { folderOf } from '../journal/folders.ts';
import { beginJournal, type Journal, naming, openJournal } from '../journal/journal.ts';
import { pruneIfDue } from '../journal/prune-if-due.ts';
import { type KnownRows, openRowsOfOther, openStoredRows, type StoredRows } from '../journal/rows.ts';
import type { Operation } from '../operation.ts';
import { replacedBy } from '../output-owner.ts';
import { type OutputTerms, openFor, putInPlace, toIntent } from '../purchase.ts';
import { toRowRequestText } from '../row-request.ts';
import { exact } from '../money.ts';
import { readAddedRows } from './added-rows.ts';
import { askedRows, findKnown, type ListOrder } from './order.ts';
import { chargedIn, type ListEnd, toLeft, toMissing } from './outcome.ts';
import { type ListEvent, workThrough } from './run.ts';

export interface FinishedList extends Pick<ListEnd, 'counts' | 'cost'> {
  readonly operationId: string;
  /** Every row was answered before this run, or can't be sent. */
  readonly isIdle: boolean;
  /** Stored answers of rows that the input no longer has. */
  readonly unseen: number;
  /** The error to throw at the end: some rows have no result, though every row is in place. */
  readonly missing: LeadpipeError | undefined;
}

/** A list that is being worked through, and what is known of it. */
interface List {
  readonly buyer: Buyer;
  readonly order: ListOrder;
  /** The unfinished run that is resumed. */
  readonly own: Operation | undefined;
  /** Other operations of the same run, which have bought rows of it, and what they know. */
  readonly otherOperations: readonly Operation[];
  readonly others: readonly KnownRows[];
  /** The limit that was given for this list. The limit of the settings may change. */
  readonly limit: number | undefined;
}

/**
 * Buys an answer for each row of a list. An unfinished run of the same list into the same output is resumed: what it has bought is not
 * bought again. Throws the error that ended the list early; LocalIoError, ConfigurationError.
 */
export async function* runList(given: Buyer, order: ListOrder): Running<FinishedList, ListEvent> {
  const { kind, operation, run, terms, worst } = order;
  // If the rows can be counted, the limit is checked before the first is sent. Otherwise the run buys what is left of the day.
  const buyer = order.rows.isRepeatable ? given : await withinDay(given, worst);
  if (buyer.spending !== undefined && worst.credits === null) throw toUnknownPrice(worst.setting);
  const wanted: Wanted = {
    command: `${kind} list`,
    origin: buyer.connection.origin,
    ...terms,
    row_request: toRowRequestText(order.request),
    keep: true,
    hasRow: (one) => hasSentRow(order, one),
  };
  const found = operation === undefined || run !== undefined ? await findEarlier(buyer, wanted) : undefined;
  const own = operation ?? (found?.is === 'go_on' ? found.operation : undefined);
  const answers = found !== undefined && 'answers' in found ? found.answers : [];
  const otherOperations = answers.filter(({ operationId }) => operationId !== own?.operationId);
  const others: KnownRows[] = [];
  const limit = given.spending?.setting === undefined ? given.spending?.limit : undefined;
  try {
    for (const { folder } of otherOperations) {
      const rows = await openRowsOfOther(folder);
      if (rows !== undefined) others.push(rows);
    }
    if (own === undefined && found !== anew && found?.is === 'new' && run === undefined)
      yield { is: 'earlier', found };
    return yield* buyRows({ buyer, order, own, otherOperations, others, limit });
  } finally {
    await Promise.all(others.map((rows) => rows.close()));
  }
}

/** Opens the stored rows and the output, new or where an earlier run stopped, and buys the rows. */
async function* buyRows(list: List): Running<FinishedList, ListEvent> {
  const { buyer, order, others, limit } = list;
  const { context, spending } = buyer;
  const { terms, worst } = order;
  const admit = toAdmit(buyer, worst);
  const id = list.own?.operationId;
  // The credits to reserve for the day: what the rest can cost or, if the rows can't be counted, the whole limit.
  const toReserved = (rest: number | undefined): number =>
    rest === undefined ? (spending?.limit ?? 0) : exact(rest * (worst.credits ?? 0));
  let rest: number | undefined;
  if (id === undefined) {
    // A list that is refused has not begun, so nothing can resume it.
    if (spending !== undefined || admit !== undefined) rest = await countRest(order, others);
    await checkLimit(buyer, order, 0, rest);
  }
  const { journal, operation: own } =
    id === undefined
      ? { journal: await beginJournal(context, admit), operation: undefined }
      : await openJournal(context, id, admit);
  const folder = folderOf(context.directories.state, journal.operationId ?? '');
  let stored: StoredRows | undefined;
  let delivery: Delivery | undefined;
  try {
    if (own === undefined) {
      const intent = {
        ...toIntent(buyer, journal, `${order.kind} list`, terms),
        row_request: toRowRequestText(order.request),
        worst_case: worst.credits,
        ...(admit === undefined ? {} : { reserved: toReserved(rest) }),
        ...(limit === undefined ? {} : { max_credits: limit }),
      };
      const opened = await openFor(buyer, journal, intent, () => order.open('new'));
      delivery = opened.delivery;
      await opened.sending();
      stored = await openStoredRows(folder, journal);
    } else {
      checkSameBuyer(buyer, own);
      if (order.operation !== undefined && (await hasSentRow(order, own)) === false) throw toGone(own);
      stored = await openStoredRows(folder, journal);
      const isPriced = spending !== undefined || worst.credits !== null;
      if (isPriced) rest = await countRest(order, others, stored);
      const isKnown = rest !== undefined && worst.credits !== null && buyer.connection.origin !== 'local';
      yield { is: 'resuming', operation: own, credits: isKnown ? toReserved(rest) : undefined };
      await checkLimit(buyer, order, stored.sent(), rest);
      if (admit !== undefined) {
        const time = context.clock.now().toISOString();
        await journal.append({ type: 'reserved', time, credits: toReserved(rest) });
      }
      const later = terms.output === null ? undefined : await replacedBy(context, own, [own.operationId]);
      delivery = await order.open(later === undefined && !own.progress.isPlaced ? { at: 0 } : 'new');
      const { options } = terms;
      if (!isSame(own.terms.options, options)) await journal.append({ type: 'restarted', options });
      await journal.append({ type: 'opened', output_length: 0 });
    }
    return yield* work({ ...list, own }, journal, stored, delivery);
  } catch (error) {
    throw naming(error, journal.operationId);
  } finally {
    try {
      await stored?.close();
      await delivery?.cut();
    } finally {
      await journal.close();
      await pruneIfDue(context);
    }
  }
}

/** Buys and writes the rows, puts the output into place, and writes down how it ended. */
async function* work(
  { order, otherOperations, others, own, buyer }: List,
  journal: Journal,
  stored: StoredRows,
  delivery: Delivery,
): Running<FinishedList, ListEvent> {
  const { operationId = '' } = journal;
  const { state } = buyer.context.directories;
  const added = await readAddedRows(own, otherOperations, order.terms);
  const known = { keyBase: order.run ?? operationId, stored, others, added, lock: journal };
  const end = yield* workThrough(buyer, order, known, delivery);
  const { counts, cost, stop } = end;
  const { done, failed, resultless } = counts;
  const spent = exact(cost.bought * (order.worst.credits ?? 0));
  const isFree = buyer.connection.origin === 'local';
  const terminal = (outcome: Outcome) => {
    const charged = isFree ? 'no' : chargedIn(stored, counts);
    return toTerminal(outcome, { leads: done - failed, charged, sent_rows: stored.sent(), spent });
  };
  if (stop !== undefined) {
    const kept = await delivery.cut();
    // The reader of the output had what it wanted, so the list has ended.
    const isOver = stop.outcome === 'reader_closed';
    const left = isOver ? terminal(stop.outcome) : ({ type: 'spent', credits: spent } as const);
    // If this can't be written, more counts for the day than was spent.
    await journal.append(left).catch(() => undefined);
    throw toLeft(stop, end, kept, operationId);
  }
  let kept: string | undefined;
  if (order.replaces && done > 0 && done === failed + resultless) kept = await delivery.cut();
  else {
    await putInPlace(journal, delivery, { rows: () => added.keep(folderOf(state, operationId), journal) });
    if (order.terms.output !== null) await journal.append({ type: 'placed' });
  }
  // A row that the service answered without a result has an answer. The next run of the list buys it again.
  await journal.append(terminal(failed > 0 ? 'partial' : 'complete'));
  const isIdle = (own !== undefined || others.length > 0) && cost.sent === 0;
  return {
    counts,
    cost,
    operationId,
    isIdle,
    unseen: stored.unseen(),
    missing: toMissing(end, isIdle, operationId, kept, isFree),
  };
}

/** Whether the rows ask for something that the operation has sent; undefined where it has sent nothing. */
async function hasSentRow(order: ListOrder, { folder }: Operation): Promise<boolean | undefined> {
  const known = await openRowsOfOther(folder);
  if (known === undefined) return undefined;
  try {
    if (known.isEmpty()) return undefined;
    for await (const { digest } of askedRows(order, order.rows.look())) {
      if (digest !== undefined && known.stateOf(digest) !== undefined) return true;
    }
    return false;
  } finally {
    await known.close();
  }
}

/** How many requests are still to be paid for; undefined where the rows can't be counted beforehand. */
async function countRest(
  order: ListOrder,
  others: readonly KnownRows[],
  stored?: StoredRows,
): Promise<number | undefined> {
  if (!order.rows.isRepeatable) return undefined;
  const all = stored === undefined ? others : [stored, ...others];
  const counted = new Set<bigint>();
  let rest = 0;
  for await (const { digest } of askedRows(order, order.rows.look())) {
    if (digest === undefined || counted.has(digest)) continue;
    counted.add(digest);
    const known = findKnown(digest, all);
    const isPaid = known?.state === 'answered' || (known?.state === 'unknown' && !order.retryUnknown);
    // What may have been sent has been counted.
    if (!isPaid && !(known?.state === 'sent' && known.rows === stored)) rest++;
  }
  return rest;
}

/** Throws `credits` where the limit or the balance does not cover what the list can cost, including what it has cost. */
async function checkLimit(
  { connection, context, spending }: Buyer,
  { worst: { credits } }: ListOrder,
  sent: number,
  rest: number | undefined,
): Promise<void> {
  if (spending === undefined || credits === null) return;
  const spent = exact(sent * credits);
  const all = exact((sent + (rest ?? 0)) * credits);
  if (!spending.reserve(all)) throw toOverLimit(all, spending);
  spending.settle(all, spent);
  const { value } = await connection.client.balance(context.signal);
  if (all - spent > value.available_credits) throw toNotCovered(all - spent, value.available_credits);
}

function toGone({ operationId }: Operation): UsageError {
  return new UsageError(
    `none of the rows that ${operationId} has sent is in its input any more: there is nothing to go on with, and nothing was bought`,
  );
}

function isSame(one: OutputTerms['options'], other: OutputTerms['options']): boolean {
  const [a, b] = [one, other].map((options) => Object.entries(options).filter(([, value]) => value != null));
  return isDeepStrictEqual(a?.sort(), b?.sort());
}
