import type { FreeClient } from '../../client.ts';
import { hasEnded } from '../../contract/types.ts';
import { isStop, LeadpipeError, LocalIoError, type Outcome } from '../../errors.ts';
import { type JsonText, withMembers } from '../../json/text.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import { type Received, type Running, type Stage, warningsOf } from '../events.ts';
import { entry } from '../journal/entries.ts';
import { noJournal } from '../journal/journal.ts';
import type { Entries } from '../journal/journal-file.ts';
import { openOperation, readOfTask } from '../known-operations.ts';
import { type LeadFilter, noFilter } from '../only-new/filter.ts';
import { costOf, fold, type Operation } from '../operation.ts';
import type { ReadTerms } from '../order.ts';
import type { Run } from '../run-state.ts';
import { countOf, plural, toStopReason } from '../wording.ts';
import { readTask, type TaskSummary, toUnread } from './task-follow.ts';

export interface TaskReading {
  readonly leadsSearchId: string;
  readonly summary: TaskSummary;
  /** Why there may be more; undefined when the task has ended and all of it was delivered. */
  readonly failure: unknown;
  /** Leads that were delivered, including those of earlier runs in the same file. */
  readonly leads: number;
  /** Leads that were dropped on this machine, because an earlier run of the list delivered them. */
  readonly excluded: number;
  /** Without an operation to resume: continue by waiting for the task, or by fetching again. */
  readonly resumeBy: 'wait' | 'fetch';
  /** The operation to resume; undefined without a journal. */
  readonly operationId: string | undefined;
  /** The key with which this run bought the task; undefined for a task that existed before. */
  readonly bought: string | undefined;
  /** The first position of the whole output. */
  readonly start: number;
  /** The ID of a request, for questions to support. */
  readonly requestId: string | undefined;
}

/** Everything that is needed to read a task. */
export interface TaskRun
  extends Pick<
    Run,
    'append' | 'buyer' | 'deliver' | 'delivery' | 'end' | 'operation' | 'operationId' | 'place' | 'received'
  > {
  readonly client: FreeClient;
  readonly terms: ReadTerms;
  readonly filter: LeadFilter;
}

/** A run that is not recorded, and belongs to no list. */
export function unrecordedRun(buyer: Buyer, delivery: Delivery): Omit<TaskRun, 'client' | 'terms'> {
  const { append, end } = noJournal;
  const place = async (isPartial?: boolean): Promise<void> => void (await delivery.finish(isPartial));
  const nothing = { operation: undefined, operationId: undefined, received: undefined };
  return { buyer, append, end, delivery, deliver: delivery.write, place, filter: noFilter, ...nothing };
}

export interface TaskStart {
  readonly leadsSearchId: string;
  /** The first position of the whole output. */
  readonly start: number;
  readonly from: number;
  /** Set if this operation created the task. */
  readonly created?: { readonly requestId: string | undefined; readonly idempotencyKey: string } | undefined;
}

/**
 * Delivers the leads of a task as they become ready, up to its end; when `fetching`, only those that are ready now. Throws `partial` after
 * a task that ended in error, with every row in place. Throws whatever ended the reading early, with what is needed to resume it.
 */
export async function* readInto(
  run: TaskRun,
  stage: Stage,
  begin: () => Promise<TaskStart>,
): Running<TaskReading> {
  const { append, buyer, client, deliver, filter, operation, operationId, received, terms } = run;
  const { delivered = 0, excluded: excludedBefore = 0 } = operation?.progress ?? {};
  let [leads, excluded] = [delivered, excludedBefore];
  yield { is: 'stage', stage };
  const task = await begin().catch((error: unknown) => {
    throw toNotStartedError(error, operationId);
  });
  const { created, leadsSearchId } = task;
  const summary = toUnread(task.from);
  const toRead = { ...task, ...terms, isOurs: created !== undefined };
  const to = stage === 'fetching' ? 'ready' : 'end';
  let failure: unknown;
  try {
    for await (const event of readTask(client, buyer.context, toRead, summary, to)) {
      if (event.is !== 'page') {
        yield event;
        continue;
      }
      const { entities, value } = event.page;
      const { position: pts, readyCount, state } = summary;
      const { isNew, count } = filter.check(entities);
      const next = pts + value.count;
      const fresh = isNew.filter(Boolean).length;
      const dropped = entities.length - fresh;
      // A page is on the disk, and counted, before it is printed, so that a run after a kill can print all of it again.
      if (received !== undefined) {
        received.append(entities, isNew);
        count(leadsSearchId);
        await received.sync();
        await filter.sync();
        const counted = { pts, count: value.count, next, ready_count: readyCount, state: state ?? null };
        await append(entry.page({ ...counted, excluded: dropped }));
      }
      summary.position = next;
      leads += fresh;
      excluded += dropped;
      const records = terms.positions ? withPositions(entities, leadsSearchId, pts) : entities;
      await deliver(records.filter((_, index) => isNew[index]));
      yield { is: 'delivered', records: fresh };
    }
  } catch (error) {
    failure = error;
  }
  return yield* end(run, {
    leadsSearchId,
    start: task.start,
    summary,
    failure,
    leads,
    excluded,
    resumeBy: stage === 'fetching' ? 'fetch' : 'wait',
    operationId,
    bought: created?.idempotencyKey,
    requestId: created?.requestId ?? summary.requestId,
  });
}

/** Pure: records with their positions, so that a consumer can drop repeated ones. */
export function withPositions(records: readonly JsonText[], leadsSearchId: string, pts: number): JsonText[] {
  const id = ['leads_search_id', JSON.stringify(leadsSearchId)] as const;
  return records.map((record, index) => withMembers([id, ['position', String(pts + index)]], record));
}

type Ending = Pick<TaskRun, 'buyer' | 'delivery' | 'end' | 'operation' | 'place'>;

/** Puts the output into place, or leaves it if the reading stopped early, and reports the result. */
async function* end(run: Ending, reading: TaskReading): Running<TaskReading> {
  const { delivery } = run;
  const { state, warnings } = reading.summary;
  const failure = reading.failure ?? (await place(run, reading).catch((error: unknown) => error));
  if (failure !== undefined && !(failure instanceof LeadpipeError)) throw failure;
  const isGone = failure !== undefined && isMissing(failure, reading);
  if (failure !== undefined && (isGone || (run.operation === undefined && isRefused(failure, reading)))) {
    // The service's error matters more than a failure to write the journal.
    await run.end(toTerminal(failure.outcome, reading)).catch(() => undefined);
  }
  const left =
    failure && (isGone ? toGoneError(failure, reading) : toLeftError(failure, reading, await delivery.cut()));
  if (left?.outcome === 'reader_closed') {
    // The reader of the output had what it wanted.
    await run.end(toTerminal('reader_closed', reading)).catch(() => undefined);
  }
  // If the reader of the output has gone, no message is needed.
  if (left?.outcome !== 'reader_closed') yield* warningsOf(warnings);
  if (left !== undefined) throw left;
  yield { is: 'ended', received: toReceived(reading) };
  if (state === 'error') throw toTaskError(reading);
  return reading;
}

/** Puts the output in place. The journal has `answered` before that, and `terminal` after all else, so that a run after a kill does the rest. */
async function place(
  { buyer, delivery, end, place: putInPlace }: Ending,
  reading: TaskReading,
): Promise<undefined> {
  const { readyCount, requestId, state, stopReason } = reading.summary;
  const isPartial = state === 'error';
  const known = { state: state ?? null, ready_count: readyCount, stop_reason: stopReason ?? null };
  if (delivery.file !== undefined) await end(entry.answered(requestId, known));
  // A task that still runs may have more: where nothing came, the file stays.
  await putInPlace(state !== 'done');
  if (reading.bought === undefined) await settleCreation(buyer, reading).catch(() => undefined);
  await end(toTerminal(isPartial ? 'partial' : 'complete', reading));
}

/**
 * Records what a task has cost in the operation that has created it, once it has ended, if that did not wait for its end. Without it, the
 * creation counts with all that the task could have cost.
 */
export async function settleCreation(
  { connection, context }: Buyer,
  { leadsSearchId, summary }: Pick<TaskReading, 'leadsSearchId' | 'summary'>,
): Promise<void> {
  if (!hasEnded(summary.state)) return;
  for (const { end, intent, operationId } of await readOfTask(context, leadsSearchId)) {
    if (intent.command !== 'task create' || intent.origin !== connection.origin || end?.leads !== undefined)
      continue;
    const { journal, operation } = await openOperation(context, operationId);
    try {
      const leads = Math.max(summary.position, summary.readyCount);
      const known = toTerminal('complete', { summary, leads, excluded: 0, bought: operationId });
      const entries: Entries = [...operation.entries, known];
      await journal.end({ ...known, spent: costOf(fold('', entries)) });
    } finally {
      await journal.close();
    }
  }
}

/** Prints a task that is stored completely, and puts its output in place. Throws `partial` if the task ended in error. */
export async function* toPlacedTask(run: Run, operation: Operation): Running<TaskReading> {
  const { parts, progress, operationId } = operation;
  const {
    delivered,
    excluded,
    leadsSearchId = '',
    position,
    readyCount,
    requestId,
    state,
    stopReason,
  } = progress;
  const summary = { ...toUnread(position), readyCount: readyCount ?? position, state, stopReason, requestId };
  const bought = parts[0]?.idempotencyKey;
  const reading: TaskReading = {
    ...{ leadsSearchId, start: 0, summary, failure: undefined, leads: delivered, excluded, resumeBy: 'wait' },
    ...{ operationId, bought, requestId },
  };
  return yield* end(run, reading);
}

function toReceived({ summary, ...reading }: TaskReading): Received {
  return { ...reading, stopReason: summary.stopReason };
}

function toTerminal(
  outcome: Outcome,
  { summary, leads, excluded, bought }: Pick<TaskReading, 'summary' | 'leads' | 'excluded' | 'bought'>,
) {
  const hasLeads = leads + excluded > 0;
  // A task that has not ended continues at the service, and is charged for what it finds.
  const isSettled = outcome === 'complete' || outcome === 'partial';
  return entry.terminal(outcome, {
    state: summary.state ?? null,
    ready_count: summary.readyCount,
    stop_reason: summary.stopReason ?? null,
    charged: bought === undefined ? 'no' : hasLeads ? 'yes' : isSettled ? 'no' : 'maybe',
    leads,
    excluded,
  });
}

/** Pure: whether the service has said, several times, that it does not know the task that this operation created. */
function isMissing(failure: LeadpipeError, { bought }: TaskReading): boolean {
  return bought !== undefined && failure instanceof RequestError && failure.fault === 'missing';
}

/** Pure: the IDs for questions to support. */
function idsOf({ details }: LeadpipeError, { bought, ...reading }: TaskReading) {
  const requestId = details.requestId ?? reading.requestId;
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...(bought === undefined ? {} : { idempotencyKey: bought }),
  };
}

/** Pure: the error of a task that is gone. The operation has ended. */
function toGoneError(failure: LeadpipeError, reading: TaskReading): LeadpipeError {
  const { leadsSearchId, leads } = reading;
  const had = leads === 0 ? '' : ` ${countOf(leads)} of it had been read.`;
  return failure.with(
    {
      ...idsOf(failure, reading),
      charged: 'maybe',
      hint: 'The task may have been charged. To search again, run the same command; it is a new purchase.',
    },
    `the service no longer knows the task ${leadsSearchId}.${had} Nothing was bought in its place`,
  );
}

/** Pure: the error of a reading that stopped early. `kept` is the file with its rows. */
function toLeftError(failure: LeadpipeError, reading: TaskReading, kept: string | undefined): LeadpipeError {
  const { summary, leads, excluded, leadsSearchId, bought, resumeBy, operationId } = reading;
  const ids = idsOf(failure, reading);
  if (isRefused(failure, reading)) return failure.with(ids);
  const { position, state } = summary;
  // Leads in the temporary file are not in the output. Reading them again is free.
  const pts = kept === undefined ? position : reading.start;
  const place =
    kept === undefined || failure.words.includes(kept)
      ? ''
      : `, and ${plural(leads, 'is', 'are')} in ${kept}`;
  const dropped = excluded === 0 ? '' : `; ${excluded} left out (delivered before)`;
  const written =
    leads + excluded === 0
      ? ''
      : `. ${countOf(leads)} ${plural(leads, 'was', 'were')} written${leads === 0 ? '' : place}${dropped}`;
  const why = isStop(failure) ? '' : `: ${failure.words}`;
  // Without a state, nothing is known about the task.
  const isKnown = state !== undefined || bought !== undefined;
  const runs = hasEnded(state) ? 'has ended' : 'keeps running at the service';
  const goes = isKnown ? `${why === '' ? 'it' : 'the task'} ${runs}, and ` : '';
  const { hint: _, ...details } = failure.details;
  return new LeadpipeError(
    failure.outcome,
    `stopped following task ${leadsSearchId}${why}; ${goes}reading its leads is free${written}`,
    {
      ...details,
      type: failure.details.type ?? failure.outcome,
      charged: bought === undefined ? 'no' : 'maybe',
      retryable: bought === undefined && failure.outcome === 'temporary',
      facts: { is: 'task_left', leadsSearchId, pts, resumeBy, operationId },
      cause: failure,
      ...ids,
    },
  );
}

/** Pure: whether there is nothing to resume: no task, or no access. */
function isRefused(failure: LeadpipeError, { bought, leads }: TaskReading): boolean {
  const refused = failure instanceof RequestError && !['temporary', 'interface'].includes(failure.outcome);
  return refused && bought === undefined && leads === 0;
}

/** Pure: the error of a task that ended in `error`, when all its leads have been written. */
function toTaskError({ summary, leadsSearchId, bought, requestId }: TaskReading): LeadpipeError {
  const { position, stopReason } = summary;
  const why = stopReason === undefined ? '' : ` (${toStopReason(stopReason)})`;
  const has = position > 0;
  const rest = has
    ? `Its ${countOf(position)} ${plural(position, 'was', 'were')} read, and there will be no more`
    : 'It has no leads';
  return new LeadpipeError('partial', `task ${leadsSearchId} ended in error${why}. ${rest}`, {
    type: 'task_error',
    charged: bought !== undefined && has ? 'yes' : 'no',
    hint: `${has ? 'You pay for the leads that it found. ' : ''}A new search is a new purchase.`,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

/** Pure: the error of a task whose creation may have succeeded. The operation has its key and its bytes. */
function toNotStartedError(error: unknown, operationId: string | undefined): unknown {
  if (!(error instanceof LeadpipeError) || operationId === undefined) return error;
  const { charged } = error.details;
  if (error instanceof LocalIoError || charged === undefined || charged === 'no') return error;
  return error.with({ facts: { is: 'task_unbegun', operationId } });
}
