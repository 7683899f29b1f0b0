import type { Charged, ErrorDetails } from '../../errors.ts';
import { isStop, LeadpipeError } from '../../errors.ts';
import { isLocked } from '../../files/folder-lock.ts';
import type { Delivery, OpenDelivery, Opening } from '../delivery.ts';
import { folderOf, type Journal, type StoredOperation, toDamageLine } from '../journal/journal.ts';
import { readNewest } from '../journal/open-index.ts';
import { openStoredRows } from '../journal/rows.ts';
import { withNewJournal, withOperation } from '../journal/with-journal.ts';
import { type AnswerKind, listKinds } from '../kinds.ts';
import { checkSameBuyer, goOnWith, type OutputTerms, type Shop, toIntent, withIntent } from '../purchase.ts';
import { exact, toNotCovered, toOverLimit, toUnknownPrice } from '../spending.ts';
import {
  type ListCost,
  type ListCounts,
  type ListEnd,
  type ListListener,
  type ListWork,
  workThrough,
} from './run.ts';
import { isUnfinished } from './unfinished.ts';

export interface ListOrder<Kind extends AnswerKind>
  extends Omit<ListWork<Kind>, 'keyBase' | 'writtenBefore'> {
  /** The name of a run: rows that it has bought are not bought again, on whichever machine. */
  readonly run: string | undefined;
  /** How many rows there are to send; undefined where that is not known beforehand. */
  readonly rowsInAll: number | undefined;
  readonly terms: OutputTerms;
  open(opening: Opening): OpenDelivery;
}

export interface ListRunListener extends ListListener {
  /** An unfinished run of the same list is gone on with. */
  goingOn(operation: StoredOperation): void;
}

export interface FinishedList {
  readonly counts: ListCounts;
  readonly cost: ListCost;
  readonly operationId: string;
  /** Every row was answered before this run, or can't be sent. */
  readonly isIdle: boolean;
  /** What to throw when all is said: some rows have no result, though every row is in place. */
  readonly missing: LeadpipeError | undefined;
}

/**
 * Buys an answer for each row of a list. An unfinished run of the same list, into the same output, is gone on with: what it
 * has bought is not bought again. Throws whatever made it leave the list before its end; LocalIoError, ConfigurationError.
 */
export async function runList<Kind extends AnswerKind>(
  shop: Shop,
  order: ListOrder<Kind>,
  listener: ListRunListener,
): Promise<FinishedList> {
  const { context, spending } = shop;
  if (spending !== undefined && order.worst.credits === null) throw toUnknownPrice(order.worst.setting);
  const begun = await findUnfinished(shop, order, listener.warn);
  if (begun !== undefined) {
    listener.goingOn(begun);
    return await withOperation(context, begun.operationId, (journal, operation) => {
      checkSameBuyer(shop, operation);
      const go = (opening: Opening, written = 0) =>
        goOnWith(shop, journal, order.open(opening), {}, ({ delivery }) =>
          work(shop, order, journal, delivery, listener, written),
        );
      const { output, options } = order.terms;
      // Another output begins anew: its rows are bought already.
      const opening = isSameOutput(operation, order.terms) ? ({ anew: true } as const) : 'new';
      return go(opening, output !== null && options.append === true ? writtenBefore(operation) : 0);
    });
  }
  // A list that is refused was never begun: nothing resumes it.
  await checkLimit(shop, order, 0);
  return await withNewJournal(context, 'needed', (journal) => {
    const intent = {
      ...toIntent(shop, journal, listKinds[order.kind], order.terms),
      worst_case: order.worst.credits,
      ...(spending === undefined ? {} : { max_credits: spending.limit }),
    };
    return withIntent(shop, journal, intent, order.open('new'), async (delivery, sent) => {
      await sent();
      return await work(shop, order, journal, delivery, listener);
    });
  });
}

/** Which of its stored rows an earlier run of a list has added to its file: those in front of this length; all of them when it is infinite. */
function writtenBefore({ entries }: StoredOperation): number {
  const opened = entries.findLast((entry) => entry.type === 'opened');
  if (opened === undefined) return Number.POSITIVE_INFINITY;
  const isWhole = entries
    .slice(entries.indexOf(opened))
    .some(({ type }) => type === 'terminal' || type === 'placed');
  return isWhole ? Number.POSITIVE_INFINITY : (opened.rows_length ?? 0);
}

/**
 * `written` is what of the stored rows stands in the file that rows are added to: those in front of this length, all that are
 * stored when it is infinite; undefined for a list that begins.
 */
async function work<Kind extends AnswerKind>(
  shop: Shop,
  order: ListOrder<Kind>,
  journal: Journal,
  delivery: Delivery,
  listener: ListListener,
  written?: number,
): Promise<FinishedList> {
  const operationId = journal.operationId ?? '';
  const stored = await openStoredRows(folderOf(shop.context.directories.state, operationId));
  let end: ListEnd;
  try {
    if (written !== undefined) await checkLimit(shop, order, stored.bought());
    const before = Math.min(written ?? 0, stored.length);
    if (written !== undefined && order.terms.options.append === true && delivery.length !== undefined) {
      await journal.append({ type: 'opened', output_length: delivery.length, rows_length: before });
    }
    end = await workThrough(
      shop,
      { ...order, keyBase: order.run ?? operationId, writtenBefore: before },
      stored,
      delivery,
      listener,
    );
  } finally {
    await stored.close();
  }
  const { counts, cost, stop } = end;
  const leads = counts.done - counts.failed;
  const terminal = { type: 'terminal', state: null, ready_count: null, leads } as const;
  if (stop !== undefined) {
    const kept = await delivery.cut();
    // Until its row is corrected, nothing can go on with it. A file that rows are added to may lack some that are bought.
    if (end.isAtFlaw && order.terms.options.append !== true)
      await journal.append({ ...terminal, outcome: 'partial', charged: chargedIn(counts) });
    throw toLeft(stop, end, kept, operationId);
  }
  await delivery.finish();
  // What the service answered without a result is answered: the next run of the list buys it again.
  const outcome = counts.failed > 0 ? 'partial' : 'complete';
  await journal.append({ ...terminal, outcome, charged: chargedIn(counts) });
  const isIdle = written !== undefined && cost.sent === 0;
  return { counts, cost, operationId, isIdle, missing: toMissing(end, isIdle, operationId) };
}

/** What all runs of the list have come to. */
function chargedIn({ done, failed, resultless, unknown }: ListCounts): Charged {
  if (done > failed + resultless) return 'yes';
  return resultless + unknown > 0 ? 'maybe' : 'no';
}

/** Pure: the error of a list in which rows have no result; undefined where all have one. */
function toMissing(
  { counts, cost, flawedLines }: ListEnd,
  isIdle: boolean,
  operationId: string,
): LeadpipeError | undefined {
  const { done, failed, flawed, resultless, unknown } = counts;
  if (failed + resultless === 0) return undefined;
  const words = [
    ...(failed === 0 ? [] : [toUnanswered(counts)]),
    ...(resultless === 0
      ? []
      : [`the service found no result for ${resultless} of ${done} rows, and may have charged them`]),
  ].join('; ');
  return new LeadpipeError('partial', words, {
    type: 'rows_failed',
    operationId,
    charged: cost.charged,
    retryable: false,
    facts: { is: 'rows_failed', failed: failed - unknown - flawed, unknown, flawed, flawedLines, isIdle },
  });
}

/** Throws `credits` where the limit, or the balance, does not cover what the list can cost. What it has cost already counts. */
async function checkLimit<Kind extends AnswerKind>(
  { connection, context, spending }: Shop,
  { rowsInAll, worst: { credits } }: ListOrder<Kind>,
  bought: number,
): Promise<void> {
  if (spending === undefined || credits === null) return;
  const spent = exact(bought * credits);
  const all = rowsInAll === undefined ? spent : exact(Math.max(rowsInAll, bought) * credits);
  if (!spending.reserve(all)) throw toOverLimit(all, spending);
  spending.settle(all, spent);
  const { value } = await connection.client.balance(context.signal);
  if (all - spent > value.available_credits) throw toNotCovered(all - spent, value.available_credits);
}

/** Pure: how many rows have no answer, and what that may have cost. */
function toUnanswered({ done, failed, unknown }: ListCounts): string {
  const rows = `${failed} of ${done} ${done === 1 ? 'row' : 'rows'} ${failed === 1 ? 'has' : 'have'} no answer`;
  if (unknown === 0) return rows;
  return failed === 1
    ? `${rows}; it may have been charged`
    : `${rows}; ${unknown} of them may have been charged`;
}

/** What is written stays, and what is bought is here. */
function toLeft(
  stop: LeadpipeError,
  { counts: { done }, cost, flawedLines, isAtFlaw }: ListEnd,
  kept: string | undefined,
  operationId: string,
): LeadpipeError {
  const place = kept === undefined ? '' : `; they are in ${kept}`;
  const { hint: _, facts: __, ...details } = stop.details;
  const isOverLimit = stop.details.facts?.is === 'over_limit';
  const known: ErrorDetails = {
    ...details,
    charged: cost.charged,
    facts: { is: 'list_left', operationId, isOverLimit, toCorrect: isAtFlaw ? flawedLines : [] },
    cause: stop,
  };
  const rows = `${done} ${done === 1 ? 'row was' : 'rows were'} written${place}`;
  const words = isStop(stop) ? `${stop.words}. ${rows}` : `the list is not finished: ${stop.words}. ${rows}`;
  return new LeadpipeError(stop.outcome, words, known);
}

/** The latest run of the same list that has not come to its end, or whose rows did not all have an answer. */
async function findUnfinished<Kind extends AnswerKind>(
  { connection, context }: Shop,
  { kind, run, terms }: ListOrder<Kind>,
  warn: (line: string) => void,
): Promise<StoredOperation | undefined> {
  const { state } = context.directories;
  const operations: StoredOperation[] = [];
  const all = readNewest(
    context,
    (name) => name === listKinds[kind],
    (damage) => warn(toDamageLine(damage)),
  );
  for await (const operation of all) operations.unshift(operation);
  const same = operations.findLast((operation) => {
    const [intent] = operation.entries;
    if (intent.command !== listKinds[kind] || intent.origin !== connection.origin) return false;
    // Rows that are added to a file stand where this run has put them.
    const isElsewhere = !isSameOutput(operation, terms) && (terms.options.append || intent.options.append);
    if (isElsewhere || comparable(intent.options) !== comparable(terms.options)) return false;
    // The rows of a named run are bought once, also when it has come to its end.
    return run !== undefined || isUnfinished(operation);
  });
  if (same === undefined) return undefined;
  // What goes through a pipe can be another list: it does not wait for this one.
  const isFree = terms.output !== null || !(await isLocked(folderOf(state, same.operationId)));
  return isFree ? same : undefined;
}

/** Options that shape the output alone: the rows that are bought are the same. */
const looks = ['format', 'columns', 'csv_raw', 'append', 'into', 'unordered'];

function comparable(options: OutputTerms['options']): string {
  const known = Object.entries(JSON.parse(JSON.stringify(options)) as object);
  return JSON.stringify(known.filter(([name]) => !looks.includes(name)).sort());
}

function isSameOutput({ entries: [intent] }: StoredOperation, { output, options }: OutputTerms): boolean {
  const shape = (of: OutputTerms['options']): string => JSON.stringify(looks.map((name) => of[name] ?? null));
  return intent.output === output && shape(intent.options) === shape(options);
}
