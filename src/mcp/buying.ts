import { pause } from '../clock.ts';
import { endpoints } from '../contract/endpoints.ts';
import { leadLimitOf } from '../contract/limits.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { type Charged, LeadpipeError } from '../errors.ts';
import { LockLostError } from '../files/folder-lock.ts';
import type { JsonText } from '../json/text.ts';
import type { Buyer } from '../operations/buyer.ts';
import type { OpenDelivery } from '../operations/delivery.ts';
import { type EarlierCall, findEarlierCall, noEarlierRun } from '../operations/earlier.ts';
import type { OperationEvent, Received } from '../operations/events.ts';
import { folderOf } from '../operations/journal/folders.ts';
import type { Reader } from '../operations/journal/operation-index.ts';
import { createReader } from '../operations/journal/operation-index.ts';
import { countReceived, readAnswer } from '../operations/journal/received.ts';
import type { Bought } from '../operations/kinds/answer.ts';
import { isGone } from '../operations/kinds/failed.ts';
import { type AnswerKind, type BodyOf, failureOf, isAnswerKind, kinds } from '../operations/kinds/kinds.ts';
import type { Operation } from '../operations/operation.ts';
import type { Order } from '../operations/order.ts';
import { type Cost, toWorstCase } from '../operations/prices.ts';
import { run } from '../operations/run.ts';
import { createProgress, type Report } from './progress.ts';

export type ToolKind = 'search' | 'task create' | AnswerKind;

/** A checked request that can cost credits. */
export interface Wanted<Kind extends ToolKind = ToolKind> {
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
  /** True: leads that earlier searches on this machine delivered are excluded. */
  readonly onlyNew: boolean;
}

/** The result of a purchase, made now or before. Other facts are read from its journal. */
export interface Settled {
  /** The last of the operations that hold the records. */
  readonly operationId: string | undefined;
  readonly charged: Charged;
  /** True if it was bought before. */
  readonly stored?: true;
  readonly warnings?: readonly string[];
  /** The one answer, as the service sent it. */
  readonly answer?: JsonText | undefined;
  /** Leads that arrived and could not be stored: the call must return them. */
  readonly unrecorded?: readonly JsonText[] | undefined;
  /** Why the result is incomplete. `isEmpty`: this purchase delivered nothing. */
  readonly error?: LeadpipeError | undefined;
  readonly isEmpty?: true | undefined;
}

/** The cost of a purchase that has not been made. `isCounted`: the session's limit has counted it already. */
export interface PossibleCost {
  readonly worst: Cost;
  readonly isCounted: boolean;
}

/** `again`: buys even if there is a stored result. `mayBuy`: if false, only the cost is returned. */
export interface Terms {
  readonly again: boolean;
  readonly mayBuy: boolean;
  readonly report: Report;
}

const lookAgainMs = 500;

/**
 * Returns the stored result, resumes an unfinished purchase, or buys; if it may not buy, returns the possible cost. If several processes get
 * the same request at the same time, only one buys, and the others wait for its result.
 */
export async function settle(buyer: Buyer, wanted: Wanted, terms: Terms): Promise<Settled | PossibleCost> {
  if (terms.again) return await settleAs(buyer, wanted, terms, noEarlierRun, createReader(buyer.context));
  const { clock, signal } = buyer.context;
  for (;;) {
    const reader = createReader(buyer.context);
    const earlier = await findEarlierCall(buyer, toOrder(wanted), reader);
    try {
      if (earlier.is !== 'running') return await settleAs(buyer, wanted, terms, earlier, reader);
    } catch (error) {
      if (!isBegunElsewhere(error)) throw error;
    }
    terms.report('the same purchase is already running in another process');
    await pause(clock, lookAgainMs, signal);
  }
}

/** True if another run of the same purchase began first; this run has sent nothing. */
function isBegunElsewhere(error: unknown): boolean {
  return (
    error instanceof LeadpipeError &&
    error.details.type === 'operation_locked' &&
    !(error instanceof LockLostError)
  );
}

/** `reader` has found the earlier run. */
async function settleAs(
  buyer: Buyer,
  wanted: Wanted,
  { again, mayBuy, report }: Terms,
  earlier: Exclude<EarlierCall, { is: 'running' }>,
  reader: Reader,
): Promise<Settled | PossibleCost> {
  if (earlier.is === 'stored') return await readBoughtBefore(earlier.operation);
  const isFree = buyer.connection.origin === 'local';
  if (earlier.is === 'lost') throw toLost(earlier, isFree);
  const { kind, body } = wanted;
  const resumed = earlier.is === 'resume' ? earlier.operation : undefined;
  const received = resumed === undefined ? 0 : await countAll(resumed);
  if (!mayBuy) {
    const isRest = kind === 'search' && received > 0 && resumed?.isInDoubt === false;
    const left = isRest ? { ...body, limit: leadLimitOf(body as EntitySearchRequest) - received } : body;
    const worst = toWorstCase(kind, left as BodyOf<ToolKind>, buyer.connection);
    const key = resumed?.isInDoubt ? resumed.parts.at(-1)?.idempotencyKey : undefined;
    return { worst, isCounted: buyer.spending?.inDoubt.has(key ?? '') === true };
  }
  const warnings: string[] = [];
  const { follow, waits } = createProgress(buyer.context.clock, report, received || undefined);
  const delivered: JsonText[] = [];
  let end: Received | undefined;
  let task: string | undefined;
  const show = (event: OperationEvent): void => {
    if (event.is === 'warning') warnings.push(event.line);
    if (event.is === 'ended') end = event.received;
    if (event.is === 'created') task = event.task.operationId;
  };
  const operation = run({ ...buyer, waits }, toOrder(wanted, again), openInto(delivered), {
    earlier,
    reader,
  });
  let result: unknown;
  let error: LeadpipeError | undefined;
  try {
    result = await follow(kind === 'search' ? 'searching' : 'working', operation, show);
  } catch (thrown) {
    const hasSome = (end?.leads ?? 0) > 0 || (resumed !== undefined && received > 0);
    error = toPartial(kind, thrown, hasSome);
  }
  if (kind === 'task create') return { operationId: task, charged: isFree ? 'no' : 'maybe', warnings };
  if (kind !== 'search') {
    const { text = 'null', ids } = result as Bought;
    return { operationId: ids.operationId, charged: isFree ? 'no' : 'yes', answer: text, warnings };
  }
  // The leads are read from where they are stored.
  const { leads = 0, excluded = 0 } = end ?? {};
  const operationId = end?.operationId ?? error?.details.operationId ?? resumed?.operationId;
  const folder = folderOf(buyer.context.directories.state, operationId ?? '');
  const kept = await countReceived(folder).catch(() => undefined);
  return {
    operationId,
    charged: error?.details.charged ?? (leads > 0 && !isFree ? 'yes' : 'no'),
    unrecorded: (kept?.delivered ?? 0) < leads - excluded + received ? delivered : undefined,
    error,
    isEmpty: leads === 0 || undefined,
    warnings,
  };
}

/** Returns the error of a search with leads, as a part of the result. Throws any other error. */
function toPartial(kind: ToolKind, thrown: unknown, hasSome: boolean): LeadpipeError {
  if (!(thrown instanceof LeadpipeError)) throw thrown;
  const { charged, operationId } = thrown.details;
  // If the rest fails, what arrived before stays valid.
  if (kind === 'search' && operationId !== undefined && hasSome) return thrown;
  const { repetition } = endpoints[kinds[kind].endpoint];
  const isAnswerLost = isGone(thrown, repetition) && charged === 'maybe';
  throw isAnswerLost ? thrown.with({ facts: { is: 'key_used' } }) : thrown;
}

/** Keeps the records in memory during the call. They are only used if they could not be stored. */
function openInto(delivered: JsonText[]): OpenDelivery {
  return async () => ({
    file: undefined,
    isPipe: false,
    async write(records) {
      for (const record of records) delivered.push(record);
    },
    finish: async () => undefined,
    cut: async () => undefined,
  });
}

/** The number of leads that an operation has received. */
async function countAll({ folder, progress }: Operation): Promise<number> {
  const stored = await countReceived(folder).catch(() => progress);
  return Math.max(stored.delivered + stored.excluded, progress.delivered + progress.excluded);
}

function toOrder({ kind, body, onlyNew }: Wanted, again = false): Order<ToolKind, BodyOf<ToolKind>> {
  return {
    kind,
    body,
    list: { onlyNew },
    keep: true,
    // Marks an operation of a tool. Others are only resumed by the commands that began them.
    terms: { output: null, options: { tool: true, ...(again && { again }) } },
  };
}

/** The stored result of an earlier purchase. Throws `no_result` if the service had finished without a result. */
async function readBoughtBefore(operation: Operation): Promise<Settled> {
  const { folder, intent, operationId, progress } = operation;
  const { command } = intent;
  const answer = isAnswerKind(command) ? await readAnswer(folder) : undefined;
  const failure = answer && isAnswerKind(command) ? failureOf(command, answer) : undefined;
  if (failure !== undefined) {
    throw new LeadpipeError('no_result', failure || 'finished without a result', {
      charged: 'no',
      hint: 'This is the stored answer of an earlier call, and cost nothing now. If the person wants to buy it again anyway, repeat the call with again: true.',
      operationId,
      requestId: progress.requestId,
    });
  }
  return { operationId, charged: 'no', stored: true, answer };
}

function toLost({ failed, operation }: Extract<EarlierCall, { is: 'lost' }>, isFree: boolean): LeadpipeError {
  const { outcome, message, error_type: type, request_id: requestId, charged } = failed;
  const { idempotency_key: idempotencyKey = '' } = operation.intent;
  return new LeadpipeError(outcome, message, {
    charged: isFree ? 'no' : (charged ?? 'maybe'),
    retryable: false,
    operationId: operation.operationId,
    idempotencyKey,
    type,
    requestId: requestId ?? undefined,
    facts: { is: 'key_used' },
  });
}
