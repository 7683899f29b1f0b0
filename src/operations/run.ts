import { createPayingClient, type PayingClient } from '../connection/paying-client.ts';
import { LeadpipeError, LocalIoError, notResumable, UsageError } from '../errors.ts';
import { isLocked, LockLostError } from '../files/folder-lock.ts';
import type { WaitListener } from '../transport/retry.ts';
import { type Buyer, checkSameBuyer } from './buyer.ts';
import type { Delivery, OpenDelivery } from './delivery.ts';
import { type Found, findEarlier, toBegunCheck } from './earlier.ts';
import { type BoughtTask, balanceMs, type Running, type UnresumableRun, warningsOf } from './events.ts';
import { entry, type JournalEntry } from './journal/entries.ts';
import { folderOf } from './journal/folders.ts';
import type { IndexLine } from './journal/index-lines.ts';
import { costOnly, createJournal, type Journal, naming, noJournal } from './journal/journal.ts';
import type { Entries } from './journal/journal-file.ts';
import { type Admit, createReader, openIndex } from './journal/operation-index.ts';
import type { Bought } from './kinds/answer.ts';
import {
  type AnswerKind,
  canCost,
  isAnswerKind,
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
import { openOperation } from './known-operations.ts';
import { costOf, fold, type Operation, toReceived } from './operation.ts';
import type { Order } from './order.ts';
import { withDigests } from './order-digests.ts';
import { type Cost, creditsOf, nothing, sumOf, times } from './prices.ts';
import {
  checkCovered,
  checkOfDay,
  type Reservation,
  readBalanceSoon,
  reserve,
  toCounted,
  withNumbers,
  worstOf,
} from './reservation.ts';
import { toBeginning, toCostOnly, toCountedAgain, toIntent, toKey, toSpent } from './run-entries.ts';
import { createOutput, type Output, removeFiles } from './run-output.ts';
import type { Plan, Run } from './run-state.ts';

/** The result of a run, by the kind of its order. */
export interface Results extends Record<AnswerKind, Bought>, Record<ListKind, FinishedList> {
  search: BoughtSearch;
  'task create': BoughtTask;
  'task run': FollowedTask;
  'task wait': TaskReading;
}

export type Runnable = keyof Results;

/**
 * The only way to buy. It finds an earlier run of the same order, reserves the maximum cost, and records the request before its kind gets a client
 * that can send it. `found`: the earlier run, if the caller knows it. Returns undefined after a preview. An error has the ID of an operation that
 * has begun. Throws UsageError, LocalIoError and `credits` before anything paid is sent, and what the kind throws.
 */
export async function* run<Kind extends Runnable>(
  buyer: Buyer,
  order: Order<Kind>,
  open: OpenDelivery,
  found?: Found,
): Running<Results[Kind] | undefined> {
  if (order.isPreview) return void (yield* preview(buyer, order));
  const { context } = buyer;
  try {
    const reader = found?.reader ?? createReader(context);
    const earlier = found?.earlier ?? (await findEarlier(buyer, order, reader));
    const { answers } = earlier;
    const start = { buyer, order, open, reader, answers };
    if (earlier.is === 'new') return yield* begin<Kind>({ ...start, before: earlier.before });
    const { mayStartOver, operation: chosen } = earlier;
    const { journal, operation } = await openOperation(context, chosen.operationId, reader.journals);
    const resumed = yield* resume<Kind>({ ...start, mayStartOver, operation }, journal);
    if ('result' in resumed) return resumed.result;
    if (!mayStartOver) throw toLeftError(resumed.left);
    return yield* begin<Kind>({ ...start, reader: resumed.reader, before: resumed.left });
  } catch (error) {
    throw buyer.connection.origin === 'local' ? toFree(error) : error;
  } finally {
    if (order.keep) await (await import('./prune-if-due.ts')).pruneIfDue(context);
  }
}

/** What is known when a run starts. */
type Start = Pick<Run, 'buyer' | 'order' | 'reader' | 'answers'> &
  Partial<Pick<Run, 'operation' | 'mayStartOver' | 'before'>> & { readonly open: OpenDelivery };

/** A run while it is built. */
type Building = { -readonly [Name in keyof Run]: Run[Name] } & {
  readonly warnings: string[];
  readonly output: Output;
  /** All entries, including those that the journal does not store. */
  entries: JournalEntry[];
  /** What earlier runs of the operation have cost at most. */
  costBefore: Cost;
  /** The entries to write before anything is sent, and the check that can refuse them, under the lock of the index. */
  beginning: readonly JournalEntry[];
  admit: Admit | undefined;
  /** Throws where the same order was begun by another run meanwhile. */
  checkBegun: ReturnType<typeof toBegunCheck>;
  isBegun: boolean;
};

function createRun({
  buyer,
  order,
  open,
  reader,
  answers,
  operation,
  mayStartOver = true,
  before,
}: Start): Building {
  const warnings: string[] = [];
  const early = (): never => {
    throw new Error('not available yet at this step of the run');
  };
  const run: Building = {
    buyer,
    order,
    reader,
    operation,
    answers,
    mayStartOver,
    before,
    warnings,
    warn: (line) => void warnings.push(line),
    idempotencyKey: '',
    journal: noJournal,
    operationId: undefined,
    folder: undefined,
    received: undefined,
    get delivery(): Delivery {
      return run.output.opened();
    },
    // What these do depends on what is planned.
    begin: early,
    place: early,
    deliver: (records) => run.output.deliver(records),
    keep: () => run.output.keep(),
    isAddedBefore: () => run.output.isAddedBefore(),
    async append(...entries) {
      await run.journal.append(...entries);
      run.entries.push(...entries);
    },
    async reserve(cost, moved) {
      const reserved = entry.reserved(buyer.context.clock.now(), cost, moved);
      await run.journal.begin(run.admit, reserved);
      run.entries.push(reserved);
    },
    countNow(cost) {
      run.costBefore = sumOf([run.costBefore, times(cost, -1)]);
    },
    end: (...entries) => writeEnd(run, [...run.output.takeEntries(), ...entries]),
    get output(): Output {
      return output;
    },
    entries: [],
    costBefore: nothing,
    beginning: [],
    admit: undefined,
    checkBegun: undefined,
    isBegun: false,
  };
  const output = createOutput(run, open, (one) => {
    run.journal.note(one);
    run.entries.push(one);
  });
  return run;
}

/** A new run. */
async function* begin<Kind extends Runnable>(start: Start): Running<Results[Kind] | undefined> {
  const { before, buyer, order, reader } = start;
  const { context } = buyer;
  const run = createRun(start);
  const planned = (await planOf(run)) as Plan<Results[Kind]>;
  yield* warningsOf(run.warnings);
  run.idempotencyKey = toKey(run, planned);
  const day = canCost(order.kind) ? checkOfDay(buyer, planned.costs) : undefined;
  const reservation = await reserve(buyer, planned.costs, run.idempotencyKey);
  try {
    if (before !== undefined) {
      const most = toCounted(planned.costs);
      // Refuse first: a refused order needs no question.
      await day?.(await reader.openIndex(), most);
      const credits = creditsOf(most);
      if (credits !== 0) yield { is: 'again', before, credits };
    }
    run.journal = await createJournal(context, context.ids.operationId());
  } catch (error) {
    reservation.settle(toRefused(error));
    const isNeeded = day !== undefined || (order.keep && canCost(order.kind));
    if (isNeeded || !(error instanceof LocalIoError)) throw toRefused(error);
    if (order.keep) yield { is: 'warning', line: error.message };
  }
  const intent = await withDigests(toIntent(run, planned, reservation.available));
  run.entries = [intent];
  if (!order.keep) run.journal = costOnly(run.journal);
  run.beginning = [order.keep ? intent : await withDigests(toCostOnly(intent))];
  run.checkBegun = toBegunCheck(reader, intent, run.journal.operationId);
  run.admit = async (index, line) => {
    if (line.is === 'begun') await run.checkBegun?.(index);
    await day?.(index, worstIn(line));
  };
  return yield* perform(run, planned, reservation);
}

/** A run that resumes an operation; or why it can't. Closes the journal. */
async function* resume<Kind extends Runnable>(
  start: Start & { readonly operation: Operation },
  journal: Journal,
): Running<
  { readonly result: Results[Kind] } | { readonly left: UnresumableRun; readonly reader: Run['reader'] }
> {
  const { buyer, operation, reader } = start;
  const run = createRun(start);
  run.journal = journal;
  run.entries = [...operation.entries];
  let isOpen = true;
  try {
    checkSameBuyer(buyer, operation);
    const spent = await toSpent(operation);
    if (spent !== undefined) {
      await journal.append(spent);
      run.entries.push(spent);
      // The day's limit may have more room now. A new reader also sees later changes of other processes.
      run.reader = createReader(buyer.context, reader.journals);
      await run.reader.openIndex();
    }
    // If the last run was killed, only `spent` says how many rows it has sent.
    run.costBefore = costOf(fold('', run.entries as unknown as Entries));
    const planned = await planOf(run);
    if ('why' in planned) {
      // Nothing has arrived, so they are empty.
      if (planned.why === 'in_doubt') await removeFiles(operation.files);
      return { left: planned, reader: run.reader };
    }
    const counted = toCountedAgain(run, planned);
    const day = counted === undefined ? undefined : checkOfDay(buyer, planned.costs);
    run.admit = day && ((index, line) => day(index, worstIn(line)));
    yield* warningsOf(run.warnings);
    run.idempotencyKey = toKey(run, planned);
    const reservation = await reserve(buyer, planned.costs, run.idempotencyKey);
    if (planned.resuming !== undefined) yield { is: 'resuming', resuming: planned.resuming };
    run.beginning = toBeginning(run, planned, counted, reservation.available);
    isOpen = false;
    const plan = planned as Plan<Results[Kind]>;
    return { result: yield* perform(run, plan, reservation) };
  } catch (error) {
    throw naming(error, operation.operationId);
  } finally {
    if (isOpen) await journal.close();
  }
}

/** Performs the plan with the open journal, and puts the output file in place. Closes the journal. */
async function* perform<Result>(
  run: Building,
  planned: Plan<Result>,
  reservation: Reservation,
): Running<Result> {
  const { buyer, order, output } = run;
  const isNew = run.operation === undefined;
  run.operationId = run.journal.operationId;
  run.folder =
    run.operationId === undefined ? undefined : folderOf(buyer.context.directories.state, run.operationId);
  const balance = createBalance(run, reservation.available);
  run.begin = () => beginSending(run, planned);
  run.place = async (isPartial) => {
    await balance.ask();
    await output.place(isPartial);
  };
  try {
    const result = yield* planned.perform();
    reservation.settle();
    return result;
  } catch (failed) {
    const thrown = (failed instanceof LocalIoError && lockLossOf(run.journal)) || failed;
    const known = isPaid(order.kind)
      ? await withNumbers(buyer, order.kind, worstOf(planned.costs), !isNew, thrown)
      : thrown;
    const error = isNew && !run.isBegun ? toUnsent(known) : naming(known, run.operationId);
    reservation.settle(error);
    throw error;
  } finally {
    await output.close();
    // An operation that has sent nothing leaves nothing.
    if (isNew && !run.isBegun) await run.journal.discard();
    else await balance.ask();
    await run.received?.close();
    await run.journal.close();
    if (run.isBegun && canCost(order.kind))
      yield { is: 'settled', ...toSettled(run), balance: balance.values() };
  }
}

/** Records the request and opens the output before anything is sent. Returns a function that makes the client that can send it. */
async function* beginSending(
  run: Building,
  planned: Plan<unknown>,
): Running<(waits?: WaitListener) => PayingClient> {
  const { buyer, operation, order, output } = run;
  const isNew = operation === undefined;
  const begin = (...entries: JournalEntry[]): Promise<void> =>
    run.journal.begin(run.admit, ...entries).catch((error: unknown) => {
      throw isNew ? toRefused(error) : error;
    });
  // The intent is in `entries` already, because the cost is computed from it.
  if (!isNew) run.entries.push(...run.beginning);
  // The journal has the operation before its output file is created.
  const isEarly = order.terms.output !== null;
  if (isEarly && run.beginning.length > 0) await begin(...run.beginning);
  await output.open();
  await output.printStored(planned);
  const { costs, purchase } = planned;
  const isSent = purchase !== undefined || costs.is === 'rows' || isNew;
  const sent = isSent ? [entry.sent(buyer.context.clock.now())] : [];
  if (isEarly) await run.checkBegun?.(await openIndex(buyer.context));
  const late = [...(isEarly ? [] : run.beginning), ...sent];
  if (late.length > 0) await begin(...late);
  run.entries.push(...sent);
  run.isBegun = true;
  yield {
    is: 'begun',
    operationId: run.operationId,
    isResumable: run.operationId !== undefined && kindOf(order.kind)?.isResumable === true,
    isPaid: costs.is !== 'nothing',
    credits: costs.is === 'rows' ? null : creditsOf(worstOf(costs)),
  };
  return (waits) => createPayingClient(buyer.connection, run.journal, waits ?? buyer.waits);
}

/** Asks for the balance before the last entry, so that the run ends as soon as the output is in place. */
function createBalance(run: Building, before: number | undefined) {
  let isAsked = before === undefined;
  let after: number | undefined;
  return {
    async ask(): Promise<void> {
      // A run that was refused has spent nothing: the balance belongs to other purchases.
      if (isAsked || run.operationId === undefined || !run.isBegun) return;
      isAsked = true;
      after = await readBalanceSoon(run.buyer, balanceMs);
      // A balance that can't be read or written down is never a reason to fail.
      if (after !== undefined) await run.append(entry.balance(after)).catch(() => undefined);
    },
    values: () => (before === undefined ? undefined : { before, after }),
  };
}

/** Writes the last entries, each with the cost of the operation so far. */
async function writeEnd(run: Building, entries: readonly JournalEntry[]): Promise<void> {
  const whole: JournalEntry[] = [];
  for (const one of entries) {
    const known = [...run.entries, ...whole, one] as unknown as Entries;
    const isLast = one.type === 'terminal' || one.type === 'spent';
    whole.push(isLast ? { ...one, spent: costOf(fold('', known)) } : one);
  }
  // The cost is reported even if it can't be written.
  run.entries.push(...whole);
  await run.journal.end(...whole);
}

/** What the operation has received, its maximum cost, and the part of the cost from before this run. */
function toSettled({ costBefore, entries }: Building) {
  const settled = fold('', entries as unknown as Entries);
  return {
    received: toReceived(settled),
    cost: costOf(settled),
    earlier: costBefore,
  };
}

async function planOf(run: Run): Promise<Plan<unknown> | UnresumableRun> {
  const { kind } = run.order;
  if (rowsOf(kind) !== undefined) return await (await import('./kinds/list.ts')).plan(run);
  if (kind === 'search')
    return await (await import('./kinds/search.ts')).plan(
      run as Parameters<typeof import('./kinds/search.ts').plan>[0],
    );
  if (isAnswerKind(kind)) return await (await import('./kinds/answer.ts')).plan(run);
  return await (await import('./kinds/task.ts')).plan(run);
}

/**
 * Shows the request that the order would send now, and its maximum cost. Locks nothing, writes nothing, and requests only the balance. Throws as
 * buying would.
 */
async function* preview(buyer: Buyer, order: Order): Running<void> {
  const reader = createReader(buyer.context, undefined, false);
  const earlier = await findEarlier(buyer, order, reader);
  const start = { buyer, order, reader, open: undefined as never, answers: earlier.answers };
  let run = createRun(earlier.is === 'resume' ? { ...start, operation: earlier.operation } : start);
  let planned = await planOf(run);
  if ('why' in planned) {
    run = createRun(start);
    planned = (await planOf(run)) as Plan<unknown>;
  }
  yield* warningsOf(run.warnings);
  const { operation } = run;
  const { costs, purchase, rows } = planned;
  const kind = rowsOf(order.kind) ?? (order.kind as PaidKind);
  const shownKey = costs.is === 'rows' ? 'a different key for each row' : toKey(run, planned);
  const request = purchase && buyer.connection.preview(toRequest(kind, purchase.body as never, shownKey));
  const worst = costs.is === 'rows' ? times(costs.each, rows ? rows.all - rows.done : 0) : worstOf(costs);
  const available = await readBalanceSoon(buyer);
  const isAgain = purchase?.again !== undefined;
  const resumes = operation && { operation, isAgain, isRunning: isLocked(operation.folder) };
  yield { is: 'preview', request, worst, available, rows, resumes };
  const isCounted = operation !== undefined && toCountedAgain(run, planned) === undefined;
  await checkCovered(buyer, costs, available, isCounted ? undefined : reader);
}

function worstIn(line: IndexLine): Cost {
  return ('worst' in line ? line.worst : undefined) ?? nothing;
}

/** Pure: why an operation that the user named can't be resumed. */
function toLeftError({ operation: { operationId }, why }: UnresumableRun): unknown {
  if (typeof why !== 'string') return why;
  const reason = why === 'not_kept' ? 'its leads are no longer stored' : 'none of its leads have arrived';
  return new UsageError(`${operationId} can't be resumed: ${reason}. Nothing was bought`).with({
    type: notResumable,
  });
}

/** The error of a run that has lost its lock: the other run has removed its files. Undefined where it has not. */
function lockLossOf({ confirm }: Journal): LockLostError | undefined {
  try {
    confirm();
  } catch (error) {
    if (error instanceof LockLostError) return error;
  }
  return undefined;
}

/** Pure: the error of a purchase from the local service, which never charges. */
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
