import type { EntitySearchRequest } from '../contract/types.ts';
import { ConfigurationError, type LeadpipeError } from '../errors.ts';
import { isLocked } from '../files/folder-lock.ts';
import { type Buyer, isSameBuyer } from './buyer.ts';
import { readAnswer } from './journal/answers.ts';
import { readChainFrom, readChainTo } from './journal/chain.ts';
import type { EntryOf } from './journal/entries.ts';
import { digestOf, type OrderDigests, type Ordered, toDigests } from './journal/index-lines.ts';
import { countStoredLeads } from './journal/leads.ts';
import { type IndexKey, type OperationIndex, openIndex, operationOf } from './journal/operation-index.ts';
import { folderOf, lastWritten, readOperation, type StoredOperation } from './journal/stored.ts';
import { isTask, kindOf, type PaidKind, rowsOf, toRequest } from './kinds.ts';
import { completeAdditionTo, replacedBy } from './output-owner.ts';
import type { Order } from './purchase.ts';
import { idsOf, type RestOfSearch, readRestOf } from './rest-of-search.ts';

/** What is ordered, as far as it decides whether an earlier run is the same. */
export interface Wanted extends Ordered {
  readonly idempotencyKey?: string | undefined;
  /** Whether a record is kept: without one, nothing is gone on with. */
  readonly keep: boolean;
  /** Of many rows: whether a row that the operation has sent is in the input now; undefined where it has sent none. */
  readonly hasRow?: ((operation: StoredOperation) => Promise<boolean | undefined>) | undefined;
}

export type Earlier =
  /** No: it is bought. */
  | ({
      readonly is: 'new';
      /** Something unfinished that looks like it, but is not gone on with unasked. */
      readonly alike?: StoredOperation | undefined;
      /** The same was bought to its end within the last day. */
      readonly recent?: StoredOperation | undefined;
      /** A run of the same was left, and there is nothing to go on with: why, and it may have been charged. */
      readonly left?: Left | undefined;
    } & Place)
  /** A task or a list that is finished: nothing is bought twice. */
  | ({ readonly is: 'go_on'; readonly operation: StoredOperation } & Place)
  /** A search of which only the rest is bought. */
  | ({ readonly is: 'rest'; readonly operation: StoredOperation; readonly rest: RestOfSearch } & Place)
  /** Its answer was lost: it is sent again with its key, which the service never charges twice. */
  | { readonly is: 'repeat'; readonly operation: StoredOperation; readonly first: StoredOperation }
  /** Another process is at work on it: it can be waited for. Told to agents alone; others find the output taken. */
  | { readonly is: 'running' }
  /** It was bought, and what it brought is here. */
  | { readonly is: 'stored'; readonly operation: StoredOperation; readonly first: StoredOperation }
  /** Its answer was lost, and the service has said that it does not give it again. */
  | { readonly is: 'lost'; readonly operation: StoredOperation; readonly failed: EntryOf<'failed'> };

interface Place {
  /** Whether the .part beside the output holds rows of this operation. */
  readonly isOurs: boolean;
  /** Of a named run: operations that have bought rows of it, the newest first. */
  readonly answers: readonly StoredOperation[];
}

interface Left {
  readonly operation: StoredOperation;
  /** Nothing has arrived; its one answer was lost; what arrived is not here any more; or it can't be read. */
  readonly why: 'in_doubt' | 'lost' | 'not_kept' | LeadpipeError;
}

const anew = { is: 'new', isOurs: false, answers: [] } as const;
const dayMs = 24 * 3_600_000;
/** What looks alike is named as a help, which is worth no look at all that was ever bought. */
const mostAlike = 20;
/** For how long an agent's call that is made again gives the stored answer. */
const storedMs = 10 * 60_000;

export function toWanted<Kind extends PaidKind>(
  { connection }: Buyer,
  { body, idempotencyKey, isPreview, keep, kind, list, terms }: Order<Kind>,
): Wanted {
  const text = toRequest(kind, body, '').body ?? '{}';
  const type =
    kind === 'search' || kind === 'task run' ? (body as EntitySearchRequest).entity_type : undefined;
  return {
    command: kind,
    body: text,
    ...(list?.onlyNew ? { asked: text } : {}),
    ...(type === undefined ? {} : { list: list?.name ?? type }),
    origin: connection.origin,
    options: terms.options,
    output: terms.output,
    idempotencyKey,
    keep: keep && !isPreview,
  };
}

/**
 * Is there an earlier run of this order, and how does it go on? The one place that is asked: by searches, tasks, lists and agents.
 * The output is held by whoever asks, so that nothing changes meanwhile. Throws ConfigurationError for a journal of the same order that
 * can't be read, LocalIoError.
 */
export async function findEarlier(buyer: Buyer, wanted: Wanted): Promise<Earlier> {
  if (!wanted.keep) return anew;
  const [digests, index] = [await toDigests(wanted), await openIndex(buyer.context)];
  const asking: Asking = { buyer, wanted, digests, index };
  if (wanted.output !== null) await completeAdditionTo(buyer.context, wanted.output);
  if (wanted.options.tool === true) return await findForTool(asking);
  const again = await findByKey(asking);
  if (again !== undefined) return { is: 'repeat', operation: again, first: again };
  if (wanted.output === null) {
    const unanswered = await findUnanswered(asking);
    if (unanswered !== undefined) return { is: 'repeat', operation: unanswered, first: unanswered };
  }
  const answers = await readAnswers(asking);
  const found = await findInFile(asking);
  if (found !== undefined && 'is' in found) return { answers, ...found };
  // The rows of a named run are bought once, wherever they go.
  const alike = found === undefined && answers.length === 0 ? await findAlike(asking) : undefined;
  const left = found ?? (await findLost(asking));
  const recent = answers.length === 0 && left?.why !== 'lost' ? await findRecent(asking) : undefined;
  return { is: 'new', alike, recent, left, isOurs: false, answers };
}

interface Asking {
  readonly buyer: Buyer;
  readonly wanted: Wanted;
  readonly digests: OrderDigests;
  readonly index: OperationIndex;
}

/** Operations of this buyer, the newest first, among the `most` that are read at the most. Throws ConfigurationError for one that can't be read and was not complete. */
async function* operationsBy(
  { index, buyer, wanted }: Asking,
  key: IndexKey,
  value: string | undefined,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredOperation> {
  if (value === undefined) return;
  let read = 0;
  const complete = new Set<string>();
  for (const line of index.find(key, value)) {
    // A search that is complete says that nothing of the same is left; another order may be the same in all but its rows.
    if ('ended' in line && line.ended.outcome === 'complete') complete.add(line.ended.op);
    if (!('begun' in line) || line.begun.kind !== wanted.command) continue;
    if (complete.has(line.begun.op) && wanted.command !== 'search') continue;
    if (read++ === most) return;
    const { op } = line.begun;
    const operation = await readOperation(buyer.context.directories.state, op).catch((error: unknown) => {
      const isComplete = [...index.find('op', op)].some(
        (one) => 'ended' in one && one.ended.outcome === 'complete',
      );
      if (!isComplete) throw error;
    });
    if (operation && isSameBuyer(buyer, operation)) yield operation;
  }
}

/** The request that this key was given for before, and of which nobody knows what came. */
async function findByKey(asking: Asking): Promise<StoredOperation | undefined> {
  const { wanted } = asking;
  const { idempotencyKey, output, command, body } = wanted;
  if (idempotencyKey === undefined || kindOf(command)?.keeps !== 'answer') return undefined;
  for await (const operation of operationsBy(asking, 'key', digestOf(idempotencyKey))) {
    const [intent] = operation.entries;
    if (intent.body === body && intent.output === output && isLost(asking, operation)) return operation;
  }
  return undefined;
}

/** Creations whose answer was lost are sent again with their key: the service gives the task that it made then. */
async function findUnanswered(asking: Asking): Promise<StoredOperation | undefined> {
  const { digests, index, buyer, wanted } = asking;
  if (!isTask(wanted.command) || wanted.idempotencyKey !== undefined) return undefined;
  for await (const operation of operationsBy(asking, 'like', digests.like)) {
    const [intent] = operation.entries;
    if (intent.output !== null || !isLost(asking, operation)) continue;
    if (!mayReplay(intent.time, buyer.context.clock.now())) continue;
    const others = [...index.find('key', digestOf(intent.idempotency_key ?? ''))].map(operationOf);
    const isAnswered = others.some((op) => [...index.find('op', op)].some((line) => 'created' in line));
    if (!isAnswered) return operation;
  }
  return undefined;
}

/** The newest run of the same order into the same file decides. Those that were refused, or never sent, say nothing. */
async function findInFile(asking: Asking): Promise<InFile | Left | undefined> {
  const { buyer, digests, wanted } = asking;
  let found: StoredOperation | undefined;
  for await (const operation of operationsBy(asking, 'same', digests.same)) {
    const { idempotency_key } = operation.entries[0];
    const isOther = wanted.idempotencyKey !== undefined && wanted.idempotencyKey !== idempotency_key;
    if (wanted.command !== 'search' && isOther) continue;
    if (wanted.command === 'search' && operation.isBegun) return await findRest(asking, operation);
    if (wanted.command === 'search' || !operation.isUnfinished) continue;
    const hasRow = rowsOf(wanted.command) === undefined || (await wanted.hasRow?.(operation));
    // One that has sent no row may be of any list: one that has sent rows of this one comes first, however old it is.
    if (hasRow !== false) found = hasRow ? operation : (found ?? operation);
    if (hasRow) break;
  }
  if (found === undefined) return undefined;
  const later = await replacedBy(buyer.context, found, [found.operationId]);
  return { is: 'go_on', operation: found, isOurs: later === undefined };
}

type InFile = { readonly operation: StoredOperation; readonly isOurs: boolean } & (
  | { readonly is: 'go_on' }
  | { readonly is: 'rest'; readonly rest: RestOfSearch }
);

async function findRest(asking: Asking, operation: StoredOperation): Promise<InFile | Left | undefined> {
  const { buyer, wanted } = asking;
  const { context } = buyer;
  if (operation.isComplete || operation.isDropped) return undefined;
  const chain = await readChainTo(context, operation);
  const rest = await readRestOf(context.directories.state, chain, JSON.parse(wanted.body ?? '{}')).catch(
    (error: unknown) => {
      if (error instanceof ConfigurationError) return error;
      throw error;
    },
  );
  if (rest instanceof ConfigurationError) return { operation, why: rest };
  if (!rest.isKept) return { operation, why: 'not_kept' };
  if (rest.arrived === 0) return operation.isInDoubt ? { operation, why: 'in_doubt' } : undefined;
  const later = await replacedBy(context, operation, idsOf(rest));
  return { is: 'rest', operation, rest, isOurs: later === undefined };
}

/** The operations that have bought rows of the run of this name, whatever their output, shard or input. */
async function readAnswers(asking: Asking): Promise<StoredOperation[]> {
  const answers: StoredOperation[] = [];
  for await (const operation of operationsBy(asking, 'run', asking.digests.run)) answers.push(operation);
  return answers;
}

async function findAlike(asking: Asking): Promise<StoredOperation | undefined> {
  const { command, options } = asking.wanted;
  const isList = rowsOf(command) !== undefined;
  // Its rows could not be had again.
  if (isList && options.input === '-') return undefined;
  for await (const operation of operationsBy(asking, 'like', asking.digests.like, mostAlike)) {
    if (!operation.isUnfinished || operation.isReaderGone || isAtWork(asking, operation)) continue;
    if (isList && operation.entries[0].options.input !== options.input) continue;
    const chain = await readChainFrom(asking.buyer.context.directories.state, operation);
    if (chain.length === 1) return operation;
  }
  return undefined;
}

/** The newest run of the same single request, into the same place, where its answer was lost: the service does not give it again. */
async function findLost(asking: Asking): Promise<Left | undefined> {
  const { wanted } = asking;
  if (kindOf(wanted.command)?.keeps !== 'answer' || wanted.origin === 'local') return undefined;
  for await (const operation of operationsBy(asking, 'like', asking.digests.like)) {
    if (operation.isRefused || operation.entries[0].output !== wanted.output) continue;
    return isLost(asking, operation) ? { operation, why: 'lost' } : undefined;
  }
  return undefined;
}

/** What asked for the same in the last day, the newest first: what is older is no surprise. */
async function* sameOfDay(asking: Asking): AsyncGenerator<StoredOperation> {
  const { buyer, wanted } = asking;
  const now = buyer.context.clock.now().getTime();
  for await (const operation of operationsBy(asking, 'like', asking.digests.like)) {
    const [intent] = operation.entries;
    if (now - Date.parse(intent.time) > dayMs) return;
    if ((intent.asked ?? intent.body) === (wanted.asked ?? wanted.body)) yield operation;
  }
}

/** Of lists nobody knows here whether their rows are the same. */
async function findRecent(asking: Asking): Promise<StoredOperation | undefined> {
  if (rowsOf(asking.wanted.command) !== undefined) return undefined;
  for await (const operation of sameOfDay(asking)) if (operation.isComplete) return operation;
  return undefined;
}

/** The rules for an agent's call: what it bought within ten minutes is given again, what was left is gone on with. */
async function findForTool(asking: Asking): Promise<Earlier> {
  for await (const operation of sameOfDay(asking)) {
    const [{ continues, options }] = operation.entries;
    const isCall = options.tool === true && continues === undefined && !operation.isRefused;
    if (isCall) return await decideForTool(asking, operation);
  }
  return anew;
}

async function decideForTool(asking: Asking, first: StoredOperation): Promise<Earlier> {
  const { context } = asking.buyer;
  const { state } = context.directories;
  const chain = await readChainFrom(state, first);
  const operation = chain.at(-1) ?? first;
  if (isAtWork(asking, operation)) return { is: 'running' };
  const age = context.clock.now().getTime() - (await lastWritten(state, operation.operationId)).getTime();
  const isFresh = age < storedMs;
  if (!first.isBegun || operation.isDropped) return anew;
  const stored = { is: 'stored', operation, first } as const;
  const [{ command }] = first.entries;
  if (command === 'search') {
    if (operation.isComplete) return isFresh ? stored : anew;
    const counts = await countStoredLeads(folderOf(state, operation.operationId));
    const isEmpty = counts.delivered + counts.excluded === 0;
    if (isEmpty && operation.isInDoubt) return toRepeated(operation, first);
    const rest = await readRestOf(state, chain);
    if (rest.request !== undefined) return { is: 'rest', operation, rest, isOurs: false, answers: [] };
    return isFresh ? stored : anew;
  }
  const isAnswered =
    command === 'task create'
      ? first.entries.some(({ type }) => type === 'created')
      : (await readAnswer(folderOf(state, first.operationId))) !== undefined;
  if (!isAnswered) return first.isInDoubt ? toRepeated(first, first) : anew;
  return first.last.terminal && !isFresh ? anew : stored;
}

/** Nothing came: what may have been charged is never bought again with another key. */
function toRepeated(operation: StoredOperation, first: StoredOperation): Earlier {
  const { failed } = operation.last;
  return failed?.gone ? { is: 'lost', operation, failed } : { is: 'repeat', operation, first };
}

function isAtWork({ buyer }: Asking, { operationId }: StoredOperation): boolean {
  return isLocked(folderOf(buyer.context.directories.state, operationId));
}

/** Whether it was sent, nobody knows what came of it, and nobody is at work on it. */
function isLost(asking: Asking, operation: StoredOperation): boolean {
  return operation.isInDoubt && !isAtWork(asking, operation);
}

/** Pure: whether the service can be trusted to know the key still: after a day, sending it again may buy again. */
export function mayReplay(time: string, now: Date): boolean {
  const age = now.getTime() - Date.parse(time);
  // A clock that was set back says nothing.
  return age >= 0 && age < dayMs;
}
