import { ConfigurationError, type LeadpipeError } from '../errors.ts';
import { isLocked } from '../files/folder-lock.ts';
import { type Buyer, isSameBuyer } from './buyer.ts';
import { readAnswer } from './journal/answers.ts';
import { readChainFrom, readChainTo } from './journal/chain.ts';
import { digestOf } from './journal/index-lines.ts';
import { lastWritten } from './journal/journal-file.ts';
import { countStoredLeads } from './journal/leads.ts';
import type { OperationIndex } from './journal/operation-index.ts';
import { isTask, kindOf, rowsOf } from './kinds/kinds.ts';
import { type Failed, type Operation, readOperation } from './operation.ts';
import type { OrderDigests, Ordered } from './order-digests.ts';
import { replacedBy } from './output-owner.ts';
import type { RestOfSearch } from './rest-of-search.ts';

/** The part of an order that decides whether an earlier run is the same. */
export interface Wanted extends Ordered {
  readonly idempotencyKey?: string | undefined;
  /** Whether a record is kept. Without one, nothing can be resumed. */
  readonly keep: boolean;
  /** For lists: whether the input has a row that the operation has sent; undefined where it has sent none. */
  readonly hasRow?: ((operation: Operation) => Promise<boolean | undefined>) | undefined;
}

export type Earlier =
  /** Nothing can be reused: it is bought. */
  | {
      readonly is: 'new';
      /** An unfinished operation that looks like it. It is only resumed when the user asks for it. */
      readonly alike?: Operation | undefined;
      /** The same was bought to its end within the last day. */
      readonly recent?: Operation | undefined;
      /** A run of the same order that can't be resumed, and why. It may have been charged. */
      readonly left?: Left | undefined;
      readonly answers: Answers;
    }
  /** An unfinished task or list: it is resumed, so that nothing is bought twice. */
  | (InFile & { readonly is: 'go_on'; readonly answers: Answers })
  /** A search of which only the rest is bought. */
  | (InFile & { readonly is: 'rest'; readonly rest: RestOfSearch })
  /** Its answer was lost: it is sent again with its key, which the service never charges twice. */
  | { readonly is: 'repeat'; readonly operation: Operation }
  /** Another process is working on it. Only agents get this; the command line finds the output locked. */
  | { readonly is: 'running' }
  /** It was bought, and what arrived is stored here. */
  | { readonly is: 'stored'; readonly operation: Operation; readonly first: Operation }
  /** Its answer was lost, and the service said that it does not send it again. */
  | { readonly is: 'lost'; readonly operation: Operation; readonly failed: Failed };

/** For a named run: operations that have bought rows of it, newest first. */
type Answers = readonly Operation[];

interface InFile {
  readonly operation: Operation;
  /** Whether the .part beside the output holds rows of this operation. */
  readonly isOurs: boolean;
}

interface Left {
  readonly operation: Operation;
  /** Nothing arrived; the answer was lost; what arrived is no longer stored; or it can't be read. */
  readonly why: 'in_doubt' | 'lost' | 'not_kept' | LeadpipeError;
}

const anew = { is: 'new', answers: [] } as const;
const dayMs = 24 * 3_600_000;
/** How many similar operations are read at most: naming one is a help, and not worth reading the whole history. */
const mostAlike = 20;
/** How long the stored answer is given to an agent that repeats a call. */
const storedMs = 10 * 60_000;

/** What `findEarlier` does where the index has something in common with the order. */
export async function findAmong(asking: Asking): Promise<Earlier> {
  const { command, options, origin, output } = asking.wanted;
  if (options.tool === true) return await findForTool(asking);
  const unanswered = await findUnanswered(asking);
  if (unanswered !== undefined) return { is: 'repeat', operation: unanswered };
  const answers: Operation[] = [];
  for await (const operation of operationsBy(asking, 'run')) answers.push(operation);
  const found = await (command === 'search' ? findRest(asking) : findUnfinished(asking));
  if (found !== undefined && 'is' in found) return found.is === 'rest' ? found : { ...found, answers };
  let left = found;
  if (kindOf(command)?.keeps === 'answer' && origin !== 'local') {
    // The newest run of the same request with the same output: the service does not send its answer again.
    const operation = await firstOf(operationsBy(asking, 'like'), ({ intent, isRefused }) => {
      return !isRefused && intent.output === output;
    });
    if (operation !== undefined && isLost(operation)) left = { operation, why: 'lost' };
  }
  // The rows of a named run are bought only once, whatever the output is.
  const isNamed = answers.length > 0;
  const alike = isNamed || found !== undefined ? undefined : await findAlike(asking);
  // The rows of a list are not compared here.
  const isOther = isNamed || left?.why === 'lost' || rowsOf(command) !== undefined;
  const recent = isOther ? undefined : await firstOf(sameOfDay(asking), ({ isComplete }) => isComplete);
  return { is: 'new', alike, recent, left, answers };
}

export interface Asking {
  readonly buyer: Buyer;
  readonly wanted: Wanted;
  readonly digests: OrderDigests & { readonly key: string | undefined };
  readonly index: OperationIndex;
}

/**
 * This buyer's operations, newest first; at most `most` are read. Throws ConfigurationError for one that can't be read and was not
 * complete.
 */
async function* operationsBy(
  { digests, index, buyer, wanted }: Asking,
  key: keyof Asking['digests'],
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Operation> {
  let read = 0;
  const complete = new Set<string>();
  for (const line of digests[key] === undefined ? [] : index.find(key, digests[key])) {
    // A complete search is yielded: it means that nothing of the same is left. Other complete orders are skipped: an older one may differ
    // only in its rows.
    const { op } = line;
    if (line.is === 'ended' && line.outcome === 'complete') complete.add(op);
    if (line.is !== 'begun' || line.kind !== wanted.command) continue;
    if (complete.has(op) && wanted.command !== 'search') continue;
    if (read++ === most) return;
    const operation = await readOperation(buyer.context.directories.state, op).catch((error: unknown) => {
      const all = [...index.find('op', op)];
      const isComplete = all.some((one) => one.is === 'ended' && one.outcome === 'complete');
      if (!isComplete) throw error;
    });
    if (operation && isSameBuyer(buyer, operation)) yield operation;
  }
}

/** Operations that asked for the same in the last day, newest first. An older one is no surprise to the user. */
async function* sameOfDay(asking: Asking): AsyncGenerator<Operation> {
  const { buyer, wanted } = asking;
  const now = buyer.context.clock.now().getTime();
  for await (const operation of operationsBy(asking, 'like')) {
    const { intent } = operation;
    if (now - Date.parse(intent.time) > dayMs) return;
    if ((intent.asked ?? intent.body) === (wanted.asked ?? wanted.body)) yield operation;
  }
}

async function firstOf(
  operations: AsyncIterable<Operation>,
  isMeant: (operation: Operation) => boolean | Promise<boolean>,
): Promise<Operation | undefined> {
  for await (const operation of operations) if (await isMeant(operation)) return operation;
  return undefined;
}

/** A request that was sent, and whose answer never came. Sent again with its key, it is not charged twice. */
async function findUnanswered(asking: Asking): Promise<Operation | undefined> {
  const { index, buyer, wanted } = asking;
  const { body, command, idempotencyKey, output } = wanted;
  if (idempotencyKey !== undefined) {
    if (kindOf(command)?.keeps !== 'answer') return undefined;
    // The request that this key was given for before.
    return await firstOf(operationsBy(asking, 'key'), (one) => {
      return one.intent.body === body && one.intent.output === output && isLost(one);
    });
  }
  if (!isTask(command) || output !== null) return undefined;
  // When a creation is sent again, the service returns the task that it made the first time.
  return await firstOf(operationsBy(asking, 'like'), (operation) => {
    const { intent } = operation;
    if (intent.output !== null || !isLost(operation)) return false;
    if (!mayReplay(intent.time, buyer.context.clock.now())) return false;
    const others = [...index.find('key', digestOf(intent.idempotency_key ?? ''))];
    return !others.some(({ op }) => [...index.find('op', op)].some(({ is }) => is === 'created'));
  });
}

/** The newest unfinished run of the same task or list into the same file. */
async function findUnfinished(asking: Asking): Promise<(InFile & { readonly is: 'go_on' }) | undefined> {
  const { buyer, wanted } = asking;
  const { command, hasRow, idempotencyKey } = wanted;
  let found: Operation | undefined;
  for await (const operation of operationsBy(asking, 'same')) {
    const isOther = idempotencyKey !== undefined && idempotencyKey !== operation.intent.idempotency_key;
    if (isOther || operation.resumes === 'no') continue;
    const isAsked = rowsOf(command) === undefined || (await hasRow?.(operation));
    // An operation that has sent no row may belong to any list, so one that has sent rows of this list comes first.
    if (isAsked !== false) found = isAsked ? operation : (found ?? operation);
    if (isAsked) break;
  }
  if (found === undefined) return undefined;
  const later = await replacedBy(buyer.context, found, [found.operationId]);
  return { is: 'go_on', operation: found, isOurs: later === undefined };
}

/** The newest run of the same search into the same file decides. Runs that were refused or never sent don't count. */
async function findRest(
  asking: Asking,
): Promise<(InFile & { readonly is: 'rest'; readonly rest: RestOfSearch }) | Left | undefined> {
  const { context } = asking.buyer;
  const operation = await firstOf(operationsBy(asking, 'same'), ({ isBegun }) => isBegun);
  if (operation === undefined || operation.isComplete || operation.isDropped) return undefined;
  const { idsOf, readRestOf } = await import('./rest-of-search.ts');
  const chain = await readChainTo(context, operation);
  const asked = JSON.parse(asking.wanted.body ?? '{}');
  let rest: RestOfSearch;
  try {
    rest = await readRestOf(chain, asked);
  } catch (error) {
    if (error instanceof ConfigurationError) return { operation, why: error };
    throw error;
  }
  if (!rest.isKept) return { operation, why: 'not_kept' };
  if (rest.arrived === 0) return operation.phase === 'sent' ? { operation, why: 'in_doubt' } : undefined;
  const later = await replacedBy(context, operation, idsOf(rest));
  return { is: 'rest', operation, rest, isOurs: later === undefined };
}

/** An unfinished operation that asks for the same, and that nothing has continued. */
async function findAlike(asking: Asking): Promise<Operation | undefined> {
  const { command, options } = asking.wanted;
  const isList = rowsOf(command) !== undefined;
  // Standard input can't be read a second time.
  if (isList && options.input === '-') return undefined;
  return await firstOf(operationsBy(asking, 'like', mostAlike), async (operation) => {
    if (operation.resumes === 'no' || operation.isReaderGone || isLocked(operation.folder)) return false;
    if (isList && operation.intent.options.input !== options.input) return false;
    return (await readChainFrom(asking.buyer.context.directories.state, operation)).length === 1;
  });
}

/** The rules for an agent's call: what it bought within ten minutes is returned again, and what was left is continued. */
async function findForTool(asking: Asking): Promise<Earlier> {
  const { context } = asking.buyer;
  const { state } = context.directories;
  const first = await firstOf(sameOfDay(asking), ({ intent: { continues, options }, isRefused }) => {
    return options.tool === true && continues === undefined && !isRefused;
  });
  if (first === undefined) return anew;
  const chain = await readChainFrom(state, first);
  const operation = chain.at(-1) ?? first;
  if (isLocked(operation.folder)) return { is: 'running' };
  const age = context.clock.now().getTime() - (await lastWritten(operation.folder)).getTime();
  const isFresh = age < storedMs;
  if (!first.isBegun || operation.isDropped) return anew;
  const stored = { is: 'stored', operation, first } as const;
  const { command } = first.intent;
  if (command === 'search') {
    if (operation.isComplete) return isFresh ? stored : anew;
    const counts = await countStoredLeads(operation.folder);
    const isEmpty = counts.delivered + counts.excluded === 0;
    if (isEmpty && operation.phase === 'sent') return toRepeated(operation);
    const { readRestOf } = await import('./rest-of-search.ts');
    const rest = await readRestOf(chain);
    if (rest.request !== undefined) return { is: 'rest', operation, rest, isOurs: false };
    return isFresh ? stored : anew;
  }
  const isAnswered =
    command === 'task create' ? first.progress.isNamed : (await readAnswer(first.folder)) !== undefined;
  if (!isAnswered) return first.phase === 'sent' ? toRepeated(first) : anew;
  return first.phase === 'ended' && !isFresh ? anew : stored;
}

/** Nothing arrived, and it may have been charged: it is never bought with another key. */
function toRepeated(operation: Operation): Earlier {
  const { failed } = operation;
  return failed?.isGone ? { is: 'lost', operation, failed } : { is: 'repeat', operation };
}

/** Whether it was sent, no answer is known, and no process is working on it. */
function isLost({ folder, phase }: Operation): boolean {
  return phase === 'sent' && !isLocked(folder);
}

/** Pure: whether the service still knows the key. After a day, sending it again may buy again. */
export function mayReplay(time: string, now: Date): boolean {
  const age = now.getTime() - Date.parse(time);
  // A negative age means that the clock was set back.
  return age >= 0 && age < dayMs;
}
