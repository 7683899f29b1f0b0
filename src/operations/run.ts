import { createPayingClient, type PayingClient } from '../connection/paying-client.ts';
import { digestOf } from '../digest.ts';
import { LeadpipeError, LocalIoError, UsageError } from '../errors.ts';
import { type HeldLock, isLocked, lockOutput, noLock } from '../files/folder-lock.ts';
import { realPathOf } from '../files/target.ts';
import type { WaitListener } from '../transport/retry.ts';
import { type Buyer, checkSameBuyer } from './buyer.ts';
import type { Delivery, OpenDelivery } from './delivery.ts';
import { type Earlier, findEarlier } from './earlier.ts';
import { type BoughtTask, type EarlierRuns, type LeftBehind, type Running, warningsOf } from './events.ts';
import { entry, type JournalEntry } from './journal/entries.ts';
import { folderOf } from './journal/folders.ts';
import { costAlone, createJournal, type Journal, naming, noJournal } from './journal/journal.ts';
import type { Journals } from './journal/journal-file.ts';
import { type Admit, createReader, type Reader } from './journal/operation-index.ts';
import { asSettled, settleKilledRun } from './killed-list.ts';
import type { Bought } from './kinds/answer.ts';
import type { Job, Order, Plan, PlanRequest } from './kinds/job.ts';
import {
  type AnswerKind,
  isPaid,
  kindOf,
  type ListKind,
  type PaidKind,
  rowsOf,
  toRequest,
} from './kinds/kinds.ts';
import type { FinishedList } from './kinds/list.ts';
import type { BoughtSearch } from './kinds/search.ts';
import type { FollowedTask } from './kinds/task.ts';
import type { TaskReading } from './kinds/task-reading.ts';
import {
  checkCovered,
  readBalanceSoon,
  reserve,
  toAdmit,
  toCounted,
  withNumbers,
  worstOf,
  worstOfRows,
} from './money.ts';
import { type Operation, openOperation } from './operation.ts';
import { type NewIntent, withDigests } from './order-digests.ts';
import { completeAdditionTo } from './output-owner.ts';
import { pruneIfDue } from './prune-if-due.ts';

export type { Order };

/** What a run brings, by the kind of its order. */
export interface Results extends Record<AnswerKind, Bought>, Record<ListKind, FinishedList> {
  search: BoughtSearch;
  'task create': BoughtTask;
  'task run': FollowedTask;
  'task wait': TaskReading;
}

export type Runnable = keyof Results;

/** How long the end of a run may wait for the balance, in milliseconds. */
export const balanceMs = 300;

/**
 * The one way to buy. It locks the output, looks for an earlier run of the same order, reserves what it can cost, and writes down what will
 * be sent before its kind gets a client that can send it. A fresh run is a resumed one that has brought nothing yet. `find` looks for an
 * earlier run, unless the caller knows one, which is among the journals that it has `read`. Returns undefined after a preview. An error names an operation that has begun. Throws UsageError,
 * LocalIoError and `credits` before anything is sent that costs, and what the kind throws.
 */
export async function* run<Kind extends Runnable>(
  buyer: Buyer,
  order: Order<Kind>,
  open: OpenDelivery,
  find: (reader: Reader) => Promise<Earlier> = (reader) => findEarlier(buyer, order, reader),
  read?: Journals,
): Running<Results[Kind] | undefined> {
  if (order.isPreview) return void (yield* preview(buyer, order, find));
  const { context } = buyer;
  const { output } = order.terms;
  const lock =
    output === null
      ? undefined
      : await lockOutput(context, output).catch((error) => Promise.reject(toUnsent(error)));
  try {
    const reader = createReader(context, read);
    if (lock !== undefined && output !== null) await completeAdditionTo(context, reader, output);
    const earlier = await find(reader);
    const path = lock && output !== null ? digestOf(await realPathOf(output)) : undefined;
    const place: Place = { open, reader, output: path, lock: lock ?? noLock };
    if (earlier.is === 'resume') {
      const { operationId } = earlier.operation;
      const { journal, operation } = await openOperation(context, operationId, lock, reader.journals);
      const resumed = { ...earlier, operation };
      const result = yield* resume<Kind>(buyer, order, place, resumed, journal);
      if (!('left' in result)) return result.result;
      if (!earlier.mayStartOver) throw toLeftError(result.left);
      return yield* begin<Kind>(buyer, order, place, earlier.answers, { left: result.left });
    }
    if (earlier.is === 'new') return yield* begin<Kind>(buyer, order, place, earlier.answers, earlier);
    return yield* begin<Kind>(buyer, order, place, [], {});
  } catch (error) {
    throw buyer.connection.origin === 'local' ? toFree(error) : error;
  } finally {
    lock?.release();
    if (order.keep) await pruneIfDue(context);
  }
}

/** Where the rows go, the right to write there, and what was bought before. */
interface Place {
  readonly reader: Reader;
  /** The digest of its path, if it is a file. */
  readonly output: string | undefined;
  readonly open: OpenDelivery;
  readonly lock: HeldLock;
}

const nothingBefore = { operation: undefined, isOurs: false, isSameOutput: true, mayStartOver: true };

/** A run that nothing goes before. */
async function* begin<Kind extends Runnable>(
  buyer: Buyer,
  order: Order<Kind>,
  place: Place,
  answers: readonly Operation[],
  earlier: EarlierRuns,
): Running<Results[Kind] | undefined> {
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  const planRequest = { buyer, order, reader: place.reader, ...nothingBefore, answers, warn };
  const planned = (await planOf(planRequest)) as Plan<Results[Kind]>;
  yield* warningsOf(warnings);
  const { context } = buyer;
  const idempotencyKey = toKey(buyer, order, planned, undefined);
  const admit = isPaidOrder(order) ? toAdmit(buyer, worstOf(planned.costs)) : undefined;
  const reservation = await reserve(buyer, planned.costs, idempotencyKey);
  let journal: Journal;
  try {
    journal = await createJournal(context, context.ids.operationId(), place.lock);
    if (!order.keep) journal = costAlone(journal);
  } catch (error) {
    reservation.settle(toRefused(error));
    const isNeeded = admit !== undefined || (order.keep && isPaidOrder(order));
    if (isNeeded || !(error instanceof LocalIoError)) throw toRefused(error);
    if (order.keep) yield { is: 'warning', line: error.message };
    journal = { ...noJournal, confirm: place.lock.confirm };
  }
  const intent = toIntent(buyer, order, journal, planned, idempotencyKey, reservation.available);
  const beginning = [await withDigests(order.keep ? intent : toCostAlone(intent))];
  const begun = { journal, reservation, operation: undefined, idempotencyKey, beginning, admit, earlier };
  return yield* work(buyer, order, planned, place, begun);
}

/** A run that resumes an operation; or why it can't. Closes the journal. */
async function* resume<Kind extends Runnable>(
  buyer: Buyer,
  order: Order<Kind>,
  place: Place,
  earlier: Extract<Earlier, { is: 'resume' }>,
  journal: Journal,
): Running<{ readonly result: Results[Kind] | undefined } | { readonly left: LeftBehind }> {
  const { operation } = earlier;
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  let isOpen = true;
  try {
    checkSameBuyer(buyer, operation);
    const isSettled = await settleKilledRun(journal, operation);
    // The day has more room now.
    const reader = isSettled ? createReader(buyer.context, place.reader.journals) : place.reader;
    // The .part holds what was written last, if that was not into another file.
    const isOurs = earlier.isOurs && operation.progress.output === place.output;
    const planned = await planOf({ buyer, order, reader, ...earlier, isOurs, warn });
    if ('why' in planned) return { left: planned };
    // What is sent again with its key has been counted for its day.
    const isAgain = planned.purchase?.again !== undefined;
    const admit = isAgain ? undefined : toAdmit(buyer, worstOf(planned.costs));
    yield* warningsOf(warnings);
    if (planned.resuming !== undefined) yield { is: 'resuming', resuming: planned.resuming };
    const idempotencyKey = toKey(buyer, order, planned, operation);
    const reservation = await reserve(buyer, planned.costs, idempotencyKey);
    const beginning = toBeginning(buyer, planned, idempotencyKey, reservation.available);
    isOpen = false;
    const begun = { journal, reservation, operation, idempotencyKey, beginning, admit, earlier: {} };
    return {
      result: (yield* work(buyer, order, planned as Plan<Results[Kind]>, place, begun)) as Results[Kind],
    };
  } catch (error) {
    throw naming(error, operation.operationId);
  } finally {
    if (isOpen) await journal.close();
  }
}

/** What a run has, before its kind performs it. */
interface Prepared {
  readonly journal: Journal;
  readonly reservation: Awaited<ReturnType<typeof reserve>>;
  readonly operation: Operation | undefined;
  readonly idempotencyKey: string;
  /** What the journal says before anything is sent, and what refuses that where the limit of the day does not cover it. */
  readonly beginning: readonly JournalEntry[];
  readonly admit: Admit | undefined;
  /** What is told of earlier runs once nothing refuses this one. */
  readonly earlier: EarlierRuns;
}

/** Performs the plan: from the open journal to the output in its place. Closes the journal. */
async function* work<Result>(
  buyer: Buyer,
  order: Order,
  planned: Plan<Result>,
  place: Place,
  { journal, reservation, operation, idempotencyKey, beginning, admit, earlier }: Prepared,
): Running<Result> {
  const { connection, context } = buyer;
  const isNew = operation === undefined;
  const { operationId } = journal;
  const folder = operationId === undefined ? undefined : folderOf(context.directories.state, operationId);
  const late = [...beginning];
  let delivery: Delivery | undefined;
  let isBegun = false;
  const { available: before } = reservation;
  /** Whether there is a second balance to ask for, and to tell. */
  const isBalanceWanted = before !== undefined && operationId !== undefined;
  let isBalanceAsked = !isBalanceWanted;
  let after: number | undefined;

  const append = (...entries: JournalEntry[]): Promise<void> =>
    journal.begin(admit, ...entries).catch((error: unknown) => {
      throw isNew ? toRefused(error) : error;
    });

  /** Asks for the balance before the last entry, so that nothing is waited for once everything is in its place. */
  async function writeBalance(): Promise<void> {
    if (isBalanceAsked) return;
    isBalanceAsked = true;
    after = await readBalanceSoon(buyer, balanceMs);
    // A balance that can't be read or written down is never a reason to fail.
    if (after !== undefined) await journal.append(entry.balance(after)).catch(() => undefined);
  }

  const job: Job = {
    buyer,
    body: planned.purchase?.body ?? {},
    idempotencyKey,
    operation,
    operationId,
    folder,
    journal,
    async open(opening, progress) {
      // The journal says whose a file is before it is touched: by the intent, or by this where it may hold rows of another operation.
      if (isNew && order.terms.output !== null) await append(...late.splice(0));
      if (!isNew && opening === 'new' && place.output !== undefined)
        await journal.append(...entry.opened(0, place.output));
      delivery = await place.open(opening, progress, place.lock, operationId);
      return delivery;
    },
    get delivery() {
      if (delivery === undefined) throw new Error('the output is not open');
      return delivery;
    },
    async *begin() {
      const isSent = planned.purchase !== undefined || planned.costs.is === 'rows' || isNew;
      const sent = isSent ? [entry.sent(context.clock.now())] : [];
      // Where it is opened again, the index says so.
      const output = isNew ? undefined : place.output;
      await append(...late.splice(0), ...entry.opened(delivery?.length, output), ...sent);
      isBegun = true;
      yield { is: 'earlier', runs: earlier };
      const { costs } = planned;
      yield {
        is: 'begun',
        operationId,
        isResumable: operationId !== undefined && kindOf(order.kind)?.isResumable === true,
        isPaid: costs.is !== 'nothing',
        credits: costs.is === 'rows' ? null : worstOf(costs).credits,
      };
      return (waits?: WaitListener): PayingClient =>
        createPayingClient(connection, journal, waits ?? buyer.waits);
    },
    async place({ rows, ...placing } = {}) {
      await writeBalance();
      let isAdded = false;
      await delivery?.finish({
        ...placing,
        async adding(addition) {
          await journal.append(entry.adding(addition, await rows?.()));
          isAdded = true;
        },
      });
      if (isAdded) journal.note(entry.placed());
    },
  };
  try {
    const result = yield* planned.perform(job);
    reservation.settle();
    return result;
  } catch (thrown) {
    const known = isPaid(order.kind)
      ? await withNumbers(buyer, order.kind, worstOf(planned.costs), thrown)
      : thrown;
    const error = isNew && !isBegun ? toUnsent(known) : naming(known, operationId);
    reservation.settle(error);
    throw error;
  } finally {
    await delivery?.cut();
    // An operation that has sent nothing leaves nothing.
    if (isNew && !isBegun) await journal.discard();
    else await writeBalance();
    await journal.close();
    if (isBegun && isBalanceWanted) yield { is: 'balance', before, after };
  }
}

async function planOf(planRequest: PlanRequest): Promise<Plan<unknown> | LeftBehind> {
  const { kind } = planRequest.order;
  switch (kindOf(kind)?.keeps) {
    case 'leads':
      return await (await import('./kinds/search.ts')).plan(
        planRequest as Parameters<typeof import('./kinds/search.ts').plan>[0],
      );
    case 'answer':
      return await (await import('./kinds/answer.ts')).plan(planRequest);
    case 'rows':
      return await (await import('./kinds/list.ts')).plan(planRequest);
    default:
      return await (await import('./kinds/task.ts')).plan(planRequest);
  }
}

/**
 * Shows what the same order would send now, and what that can cost. It looks for an earlier run and plans as buying does; it locks nothing and
 * writes nothing, and asks for the balance alone. Throws as buying would.
 */
async function* preview(
  buyer: Buyer,
  order: Order,
  find: (reader: Reader) => Promise<Earlier>,
): Running<void> {
  const found = createReader(buyer.context, undefined, false);
  const earlier = await find(found);
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  const { answers = [] } = 'answers' in earlier ? earlier : {};
  let operation = earlier.is === 'resume' ? earlier.operation : undefined;
  const reader = operation === undefined ? found : await asSettled(found, operation);
  const fresh = { buyer, order, reader, ...nothingBefore, answers, warn };
  let planned = await planOf({ ...fresh, operation });
  if ('why' in planned) {
    operation = undefined;
    planned = (await planOf(fresh)) as Plan<unknown>;
  }
  yield* warningsOf(warnings);
  const { costs, purchase, rows } = planned;
  const key = toKey(buyer, order, planned, operation);
  const kind = rowsOf(order.kind) ?? (order.kind as PaidKind);
  const shownKey = costs.is === 'rows' ? 'a different key for each row' : key;
  const request = purchase && buyer.connection.preview(toRequest(kind, purchase.body as never, shownKey));
  const worst =
    costs.is === 'rows' ? worstOfRows(costs.each, rows ? rows.all - rows.done : 0) : worstOf(costs);
  const available = await readBalanceSoon(buyer);
  const isAgain = purchase?.again !== undefined;
  const resumes = operation && { operation, isAgain, isRunning: isLocked(operation.folder) };
  yield { is: 'preview', request, worst, available, rows, resumes };
  // What is sent again with its key has been counted for its day.
  await checkCovered(buyer, costs, available, isAgain ? undefined : reader);
}

function isPaidOrder({ kind }: Order): boolean {
  return isPaid(kind) || kindOf(kind)?.keeps === 'rows';
}

/** Pure: what the journal says about an operation before it begins. */
function toIntent(
  { connection, context, spending }: Buyer,
  { kind, terms }: Order,
  { operationId = '' }: Journal,
  { costs, intent, purchase }: Plan<unknown>,
  idempotencyKey: string,
  available: number | undefined,
): NewIntent {
  const request = purchase && toRequest(kind as PaidKind, purchase.body as never, idempotencyKey);
  const counted = toCounted(costs);
  return entry.intent({
    version: 1,
    time: context.clock.now().toISOString(),
    command: kind,
    profile: connection.profile,
    origin: connection.origin,
    key_fingerprint: connection.fingerprint(operationId),
    ...terms,
    ...intent,
    ...(request === undefined ? {} : { idempotency_key: idempotencyKey, body: request.body ?? '' }),
    ...(costs.is === 'nothing' ? {} : { worst_case: worstOf(costs).credits }),
    ...(costs.is === 'rows' ? { reserved: counted.credits } : {}),
    ...(counted.unknown === undefined ? {} : { unknown: counted.unknown }),
    ...(spending === undefined || spending.setting !== undefined ? {} : { max_credits: spending.limit }),
    ...(available === undefined ? {} : { credits_before: available }),
  });
}

/** Pure: the intent of a purchase that shall not be recorded: only its cost stays, because the limit of the day adds it up. */
function toCostAlone(intent: NewIntent): NewIntent {
  const { type, version, time, command, origin, worst_case, unknown } = intent;
  return {
    ...{
      type,
      version,
      time,
      command,
      origin,
      profile: null,
      key_fingerprint: '',
      output: null,
      options: {},
    },
    ...(worst_case === undefined ? {} : { worst_case }),
    ...(unknown === undefined ? {} : { unknown }),
    unrecorded: true,
  };
}

/** Pure: what the journal of a resumed operation says before anything more is sent. */
function toBeginning(
  { context: { clock } }: Buyer,
  { costs, purchase, rest }: Plan<unknown>,
  idempotencyKey: string,
  available: number | undefined,
): JournalEntry[] {
  const time = clock.now();
  const counted = toCounted(costs);
  if (costs.is === 'rows') return [entry.reserved(time, counted)];
  if (purchase === undefined || rest === undefined) return [];
  return [
    entry.rest({
      time: time.toISOString(),
      idempotency_key: idempotencyKey,
      body: JSON.stringify(purchase.body),
      worst_case: worstOf(costs).credits,
      ...(counted.unknown === undefined ? {} : { unknown: counted.unknown }),
      ...(available === undefined ? {} : { credits_before: available }),
      ...rest,
    }),
  ];
}

/**
 * The key of what is sent: that of the same request, if it was sent before; else the one that the user chose, unless the operation has used
 * it: another request under a used key would not be bought.
 */
function toKey(
  { context: { ids } }: Buyer,
  { idempotencyKey }: Order,
  { purchase }: Plan<unknown>,
  operation: Operation | undefined,
): string {
  const isUsed = operation?.parts.some((part) => part.idempotencyKey === idempotencyKey);
  return purchase?.again ?? (isUsed ? undefined : idempotencyKey) ?? ids.idempotencyKey();
}

/** Pure: why an operation that the user named can't be resumed. */
function toLeftError({ operation: { operationId }, why }: LeftBehind): unknown {
  if (typeof why !== 'string') return why;
  const reason = why === 'not_kept' ? 'its leads are no longer stored' : 'nothing of it has arrived';
  return new UsageError(`${operationId} can't be resumed: ${reason}. Nothing was bought`);
}

/** Pure: the same error, of a purchase of the local service: it charges nothing, whatever happened. */
function toFree(error: unknown): unknown {
  const isPaid = error instanceof LeadpipeError && error.details.charged !== undefined;
  return isPaid ? error.with({ charged: 'no' }) : error;
}

/** Pure: the error of a run that has sent nothing, and leaves no operation. */
function toUnsent(error: unknown): unknown {
  return error instanceof LeadpipeError ? error.with({ charged: 'no', ...error.details }) : error;
}

/** Pure: the error of something that could not be written down, before anything was sent. */
function toRefused(error: unknown): unknown {
  return error instanceof LocalIoError ? error.with({ charged: 'no', facts: { is: 'no_journal' } }) : error;
}
