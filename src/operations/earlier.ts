import { dayMs } from '../clock.ts';
import { rememberedMs } from '../contract/limits.ts';
import { digestOf } from '../digest.ts';
import { LeadpipeError, notResumable, UsageError } from '../errors.ts';
import { isLocked, lockedError } from '../files/folder-lock.ts';
import { type Buyer, isSameBuyer } from './buyer.ts';
import type { EarlierRun } from './events.ts';
import type { EntryOf, Intent } from './journal/entries.ts';
import { folderOf } from './journal/folders.ts';
import { lastWritten } from './journal/journal-file.ts';
import type { OperationIndex, Reader } from './journal/operation-index.ts';
import { readAnswer } from './journal/received.ts';
import { canCost, isAnswerKind, kindOf, type PaidKind, rowsOf, toRequest } from './kinds/kinds.ts';
import { readOperation } from './known-operations.ts';
import type { Operation } from './operation.ts';
import type { Order } from './order.ts';
import { digestsOf, type OrderDigests, type Ordered, toRowRequestText } from './order-digests.ts';

/** How a run of an order begins. */
export type Earlier =
  /** It is bought. `before`: an earlier run of the same order, if any. */
  | { readonly is: 'new'; readonly before?: EarlierRun | undefined; readonly answers: Answers }
  /** The order resumes an unfinished operation. */
  | {
      readonly is: 'resume';
      readonly operation: Operation;
      readonly answers: Answers;
      /** Whether to buy everything again if the operation can't be resumed. */
      readonly mayStartOver: boolean;
    };

/** An earlier run, and the reader that has found it. */
export interface Found {
  readonly earlier: Earlier;
  readonly reader: Reader;
}

/** As above for an agent's call. With `running`, `stored` and `lost`, nothing is sent. */
export type EarlierCall =
  | Earlier
  /** Another process is working on it. A command fails when it locks the operation. */
  | { readonly is: 'running' }
  /** It was bought, and what arrived is stored here. */
  | { readonly is: 'stored'; readonly operation: Operation }
  /** The answer was lost, and the service has refused to send it again. */
  | { readonly is: 'lost'; readonly operation: Operation; readonly failed: EntryOf<'failed'> };

/** For a named run of a list: operations that have bought rows of it, newest first. */
type Answers = readonly Operation[];

/** No earlier run matters for the order. */
export const noEarlierRun = { is: 'new', answers: [] } as const satisfies Earlier;
/** Maximum number of runs of the same order to read: naming one of them is not worth reading the whole history. */
const maxSame = 20;
/** How long an agent that repeats a call gets the stored answer. */
const storedMs = 10 * 60_000;
/** An earlier run can only matter if it has one of these in common with the order. */
const deciding = ['like', 'same', 'run', 'key'] as const;

interface Asking {
  readonly buyer: Buyer;
  readonly order: Order;
  readonly ordered: Ordered;
  readonly digests: OrderDigests & { readonly key: string | undefined };
  readonly index: OperationIndex;
  readonly reader: Reader;
}

/**
 * Finds an earlier run of this order, and what is to be done about it: an unfinished run with the same output is resumed, others are reported. Searches,
 * tasks, lists and previews all ask here. Writes nothing. Throws LocalIoError, and ConfigurationError for a journal of the same order that can't be read.
 */
export async function findEarlier(buyer: Buyer, order: Order, reader: Reader): Promise<Earlier> {
  const asking = await lookUp(buyer, order, reader);
  return asking === undefined ? noEarlierRun : await findForCommand(asking);
}

/** As `findEarlier`, for an agent's call. */
export async function findEarlierCall(buyer: Buyer, order: Order, reader: Reader): Promise<EarlierCall> {
  const asking = await lookUp(buyer, order, reader);
  return asking === undefined ? noEarlierRun : await findForTool(asking);
}

/** Undefined if there is certainly no earlier run. */
async function lookUp(buyer: Buyer, order: Order, reader: Reader): Promise<Asking | undefined> {
  if (!order.keep || !canCost(order.kind)) return undefined;
  const asking = await openAsking(buyer, order, reader);
  const { digests, index } = asking;
  const isKnown = deciding.some((name) => {
    const digest = digests[name];
    return digest !== undefined && !index.find(name, digest).next().done;
  });
  return isKnown ? asking : undefined;
}

/** Resumes an operation that the user named. Throws UsageError if its output file now has rows of a later operation. */
export async function findNamed(
  buyer: Buyer,
  order: Order,
  { operation, reader }: { readonly operation: Operation; readonly reader: Reader },
): Promise<Found> {
  const later = await placedLater(order, operation, reader);
  if (later !== undefined) {
    throw new UsageError(`${order.terms.output} has rows of a later operation, ${later}`, {
      is: 'resume_elsewhere',
      operationId: operation.operationId,
    }).with({ type: notResumable });
  }
  const answers: Operation[] = [];
  if (order.terms.options.run !== undefined) {
    for await (const one of operationsBy(await openAsking(buyer, order, reader), 'run')) answers.push(one);
  }
  return { earlier: { is: 'resume', operation, answers, mayStartOver: false }, reader };
}

/** The ID of a later operation that replaced the output file; undefined if there is none, or if rows are appended. */
async function placedLater(
  { terms: { options, output } }: Order,
  { intent, operationId }: Operation,
  { openIndex }: Reader,
): Promise<string | undefined> {
  if (output === null || output !== intent.output || options.append === true) return undefined;
  for (const line of (await openIndex()).newest()) {
    if (line.op === operationId && line.is === 'begun') return undefined;
    if (line.is === 'placed' && line.op !== operationId && line.output === intent.index.output)
      return line.op;
  }
  return undefined;
}

/**
 * Returns a check that throws `temporary` if another process has begun the same order since `reader` read the index, so that it is bought only once.
 * `own` is the operation that checks. The check runs under the lock of the index, and again before the request is sent, because this process may
 * have been stopped and taken for dead. Undefined if the same order may begin any number of times.
 */
export function toBegunCheck(
  { journals, openIndex }: Reader,
  intent: Intent,
  own: string | undefined,
): ((index: OperationIndex) => Promise<void>) | undefined {
  const { like, same } = intent.index;
  const isTool = intent.options.tool === true;
  if (same === undefined && !isTool) return undefined;
  const find = (index: OperationIndex) =>
    same === undefined ? index.find('like', like) : index.find('same', same);
  return async (index) => {
    const known = await openIndex();
    const linesOf = (one: OperationIndex, op: string) => [...one.find('op', op)].length;
    for (const line of find(index)) {
      if (line.is !== 'begun' || line.op === own) continue;
      const folder = folderOf(journals.stateDir, line.op);
      // Nothing was added to it since, and no process works on it.
      if (linesOf(known, line.op) === linesOf(index, line.op) && !isLocked(folder)) continue;
      if (line.exact === intent.index.exact) throw toBegun(folder, line.op);
    }
  };
}

type Requested = Pick<Ordered, 'body' | 'requested'>;

/** Pure: whether the user has asked for the same, whatever was excluded from it. */
function isSameRequest(one: Requested, other: Requested): boolean {
  return (one.requested ?? one.body) === (other.requested ?? other.body);
}

function toBegun(folder: string, operationId: string): LeadpipeError {
  return (
    lockedError(folder, operationId) ??
    new LeadpipeError('temporary', `the same command was run at the same time (${operationId})`, {
      type: 'operation_locked',
      charged: 'no',
      hint: 'This run bought nothing. Run the command again: it resumes the other run, if anything is left.',
    })
  );
}

async function openAsking(buyer: Buyer, order: Order, reader: Reader): Promise<Asking> {
  const ordered = toOrdered(buyer, order);
  const { idempotencyKey } = order;
  const key = idempotencyKey === undefined ? undefined : digestOf(idempotencyKey);
  const [digests, index] = [{ ...(await digestsOf(ordered)), key }, await reader.openIndex()];
  return { buyer, order, ordered, digests, index, reader };
}

/** Pure: everything of an order that decides what is bought, and where it goes. */
function toOrdered({ connection }: Buyer, { kind, body, list, terms }: Order): Ordered {
  const common = { command: kind, origin: connection.origin, ...terms };
  if (rowsOf(kind) !== undefined) return { ...common, row_request: toRowRequestText(body as never) };
  const text = toRequest(kind as PaidKind, body as never, '').body ?? '{}';
  return {
    ...common,
    body: text,
    ...(list?.onlyNew ? { requested: text } : {}),
    ...(list?.name === undefined ? {} : { list: list.name }),
  };
}

async function findForCommand(asking: Asking): Promise<Earlier> {
  const { order, ordered } = asking;
  const answers: Operation[] = [];
  for await (const operation of operationsBy(asking, 'run')) answers.push(operation);
  const found =
    (await findUnanswered(asking)) ??
    (await (order.kind === 'search' ? findSearch(asking) : findUnfinished(asking)));
  if (found !== undefined) {
    return { is: 'resume', operation: found, answers, mayStartOver: true };
  }
  const { endpoint } = kindOf(order.kind) ?? {};
  // The newest run of the same request with the same output: the service does not send its answer again.
  const newest =
    (isAnswerKind(order.kind) || endpoint === 'createTask') && ordered.origin !== 'local'
      ? await firstOf(operationsBy(asking, 'like'), ({ intent, isRefused }) => {
          return !isRefused && intent.output === order.terms.output;
        })
      : undefined;
  const before = (newest && (await toUnresumable(newest))) ?? (await findBefore(asking));
  return { is: 'new', before, answers };
}

/**
 * This buyer's operations, newest first; at most `max` are read. Throws ConfigurationError for one that can't be read and was not complete.
 */
async function* operationsBy(
  { digests, index, buyer, order, reader }: Asking,
  key: keyof Asking['digests'],
  max = Number.POSITIVE_INFINITY,
): AsyncGenerator<Operation> {
  let read = 0;
  const complete = new Set<string>();
  for (const line of digests[key] === undefined ? [] : index.find(key, digests[key])) {
    // A complete search is yielded: it means that nothing of the same is left. Other complete orders are skipped: an older one may differ
    // only in its rows.
    const { op } = line;
    if (line.is === 'ended' && line.outcome === 'complete') complete.add(op);
    if (line.is !== 'begun' || line.kind !== order.kind) continue;
    if (complete.has(op) && order.kind !== 'search') continue;
    if (read++ === max) return;
    const operation = await readOperation(reader.journals, op).catch((error: unknown) => {
      const all = [...index.find('op', op)];
      const isComplete = all.some((one) => one.is === 'ended' && one.outcome === 'complete');
      if (!isComplete) throw error;
    });
    if (operation && isSameBuyer(buyer, operation)) yield operation;
  }
}

/** Operations with the same request in the last day, newest first. */
async function* sameOfDay(asking: Asking): AsyncGenerator<Operation> {
  const { buyer, ordered } = asking;
  const now = buyer.context.clock.now().getTime();
  for await (const operation of operationsBy(asking, 'like')) {
    const { intent } = operation;
    if (now - Date.parse(intent.time) > dayMs) return;
    if (isSameRequest(intent, ordered)) yield operation;
  }
}

async function firstOf(
  operations: AsyncIterable<Operation>,
  matches: (operation: Operation) => boolean | Promise<boolean>,
): Promise<Operation | undefined> {
  for await (const operation of operations) if (await matches(operation)) return operation;
  return undefined;
}

/** Finds a sent request without an answer. If it is sent again with its key, it is not charged twice. */
async function findUnanswered(asking: Asking): Promise<Operation | undefined> {
  const { index, order, ordered } = asking;
  const { idempotencyKey, kind, terms } = order;
  if (idempotencyKey !== undefined) {
    if (!isAnswerKind(kind)) return undefined;
    // The earlier request with this key.
    return await firstOf(operationsBy(asking, 'key'), (one) => {
      return one.intent.body === ordered.body && one.intent.output === terms.output && isLost(one);
    });
  }
  const { endpoint, isResumable } = kindOf(kind) ?? {};
  // A resumable operation with an output file is found by that file.
  if (endpoint !== 'createTask' || (isResumable && terms.output !== null)) return undefined;
  // When a creation is sent again, the service returns the task that it made the first time.
  return await firstOf(operationsBy(asking, 'like'), (operation) => {
    const { intent } = operation;
    if (intent.output !== terms.output || !isLost(operation)) return false;
    if (asking.buyer.context.clock.now().getTime() - Date.parse(intent.time) >= rememberedMs) return false;
    const others = [...index.find('key', digestOf(intent.idempotency_key ?? ''))];
    return !others.some(({ op }) => [...index.find('op', op)].some(({ is }) => is === 'created'));
  });
}

/** The newest unfinished run of the same task or list into the same file. */
async function findUnfinished(asking: Asking): Promise<Operation | undefined> {
  const { idempotencyKey, kind, rows, terms } = asking.order;
  let found: Operation | undefined;
  for await (const operation of operationsBy(asking, 'same')) {
    const isOther = idempotencyKey !== undefined && idempotencyKey !== operation.intent.idempotency_key;
    if (isOther || operation.resumes === 'no') continue;
    const { hasSentRow } = await import('./kinds/list-rows.ts');
    const hasRows = rowsOf(kind) === undefined || (rows && (await hasSentRow(rows, operation)));
    if (hasRows) return operation;
    // One that has sent no row is of this list if its file is the same; one that has sent rows of it comes first.
    const isSameFile = operation.intent.options.input === terms.options.input;
    if (hasRows === undefined && isSameFile) found ??= operation;
  }
  return found;
}

/** The newest run of the same search into the same file decides. Runs that were refused or never sent don't count. */
async function findSearch(asking: Asking): Promise<Operation | undefined> {
  const operation = await firstOf(operationsBy(asking, 'same'), ({ isBegun }) => isBegun);
  return operation?.resumes === 'rest' || operation?.isInDoubt ? operation : undefined;
}

/**
 * The most useful run to name before everything is bought again: one with the same output first, then a complete one. Undefined if buying again is
 * intended: only new leads are wanted, the run has a name, or the service is free. Standard input is different each time.
 */
async function findBefore(asking: Asking): Promise<EarlierRun | undefined> {
  const { list, terms } = asking.order;
  const { input, run } = terms.options;
  if (list?.onlyNew || run !== undefined || asking.ordered.origin === 'local' || input === '-')
    return undefined;
  let best: (EarlierRun & { readonly rank: number }) | undefined;
  for await (const operation of operationsBy(asking, 'like', maxSame)) {
    const { output, options } = operation.intent;
    const why = whyAgain(operation, asking);
    // The rows of a list are not compared: it is the same if its file is.
    if (why === undefined || options.input !== input) continue;
    const rank = 2 * Number(output === terms.output) + Number(why === 'complete');
    if (best === undefined || rank > best.rank) best = { operation, why, rank };
  }
  return best;
}

/** Why to ask before the same order is bought again: it was bought in the last day, or is unfinished. Undefined if neither. */
function whyAgain(
  { countedAt, folder, intent, isComplete, isReaderGone, parts, resumes }: Operation,
  { buyer, order, ordered }: Asking,
): 'complete' | 'unfinished' | undefined {
  // The service does not charge a key twice.
  const isSameKey = parts.some(({ idempotencyKey }) => idempotencyKey === order.idempotencyKey);
  if (isSameKey || isReaderGone || isLocked(folder)) return undefined;
  if (resumes !== 'no') return 'unfinished';
  const age = buyer.context.clock.now().getTime() - Date.parse(countedAt);
  return isComplete && isSameRequest(intent, ordered) && age <= dayMs ? 'complete' : undefined;
}

/** The rules for an agent's call: what it bought within ten minutes is returned again, and what was left is resumed. */
async function findForTool(asking: Asking): Promise<EarlierCall> {
  const { context } = asking.buyer;
  const operation = await firstOf(sameOfDay(asking), ({ intent: { options }, isRefused }) => {
    return options.tool === true && !isRefused;
  });
  if (operation === undefined) return noEarlierRun;
  const { failed, folder, isBegun, isComplete, isDropped, isInDoubt, progress, resumes } = operation;
  if (isLocked(folder)) return { is: 'running' };
  const age = context.clock.now().getTime() - (await lastWritten(folder)).getTime();
  const isFresh = age < storedMs;
  if (!isBegun || isDropped) return noEarlierRun;
  const stored = { is: 'stored', operation } as const;
  const resume = { is: 'resume', operation, answers: [], mayStartOver: true } as const;
  // A killed run may have stored the answer without writing down that it arrived.
  const isStored = isAnswerKind(asking.order.kind) && (await readAnswer(folder)) !== undefined;
  // Nothing arrived, and it may have been charged: it is never bought with another key.
  if (isInDoubt && !isStored) return failed?.gone ? { is: 'lost', operation, failed } : resume;
  if (asking.order.kind === 'search') {
    if (!isComplete && resumes === 'rest' && !progress.isAnswered) return resume;
    return isFresh ? stored : noEarlierRun;
  }
  if (!isStored && !progress.isNamed) return noEarlierRun;
  return operation.end !== undefined && !isFresh ? noEarlierRun : stored;
}

/** Why an operation that may have been charged can't be resumed; undefined otherwise. A task in doubt can be resumed. */
async function toUnresumable(operation: Operation): Promise<EarlierRun | undefined> {
  const { end, folder, intent } = operation;
  if (end?.outcome === 'not_found') return { operation, why: 'gone' };
  const isAnswerLost = isAnswerKind(intent.command) && isLost(operation);
  if (end?.outcome !== 'unknown' && !isAnswerLost) return undefined;
  // It was killed before it wrote down that the answer arrived.
  const isStored = isAnswerLost && (await readAnswer(folder)) !== undefined;
  return { operation, why: isStored ? 'complete' : 'lost' };
}

/** Whether it was sent, no answer is known, and no process is working on it. */
function isLost({ folder, isInDoubt }: Operation): boolean {
  return isInDoubt && !isLocked(folder);
}
