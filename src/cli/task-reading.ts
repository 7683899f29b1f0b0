import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { LeadpipeError, type Outcome } from '../errors.ts';
import type { Journal, JournalEntry } from '../operations/journal/journal.ts';
import { followTask, readReady, type TaskReader, type TaskSummary } from '../operations/task/follow.ts';
import { toClosingLine } from './closing-line.ts';
import { createNotes, type Notes } from './notes.ts';
import type { ConnectionOptions, RecordOptions } from './options.ts';
import type { RecordOutput } from './record-output.ts';
import { withSpinner } from './spinner.ts';
import {
  isRefused,
  type TaskReading,
  toContinuation,
  toLeftError,
  toNothingFound,
  toTaskError,
  toUnbegunError,
} from './task-end.ts';
import {
  enrichFieldsOf,
  type FollowOptions,
  type TaskReadOptions,
  toPageSize,
  toPollTimes,
  withPositions,
} from './task-options.ts';

/** What a command that reads a task works with. */
export interface TaskRun {
  readonly context: Context;
  readonly options: ConnectionOptions & RecordOptions & TaskReadOptions;
  readonly connection: Connection;
  readonly output: RecordOutput;
  readonly journal: Journal;
  /** Leads that earlier runs of this operation put into the same file. */
  readonly earlier?: number;
}

/** The task to read, once it is known. */
export interface Begun {
  readonly leadsSearchId: string;
  /** The first position of the whole output. */
  readonly start: number;
  /** The first position of this run. */
  readonly from: number;
  /** Set when this operation created it. */
  readonly created?: {
    readonly requestId: string | undefined;
    readonly idempotencyKey: string;
    /** When this process did, on the monotonic clock. */
    readonly at?: number;
  };
}

/**
 * Follows a task to its end and writes its leads as they become ready. Throws `partial` after a task that ended in
 * error, with every row in place, and whatever made it leave the task earlier, with the command that goes on.
 */
export async function followInto(
  run: TaskRun & { readonly options: FollowOptions },
  label: string,
  begin: () => Promise<Begun>,
): Promise<void> {
  const { context, options, connection, output, journal } = run;
  const { length } = output;
  if (length !== undefined) await journal.append({ type: 'opened', output_length: length });
  const { task, summary } = await readUnderSpinner(run, label, begin, (begun, reader) =>
    followTask(
      connection.client,
      context,
      {
        ...begun,
        num: toPageSize(options),
        poll: toPollTimes(options, connection.settings),
        patienceMs: options.waitTimeout === undefined ? undefined : options.waitTimeout * 1000,
        createdAt: begun.created?.at,
      },
      reader,
    ),
  );
  await end(run, toReading(run, task, summary, 'wait'), async (reading, notes) => {
    const { leadsSearchId, requestId } = reading;
    const { state, stopReason } = summary;
    notes.say(
      toClosingLine({
        leads: reading.earlier + summary.leads,
        state,
        stopReason,
        leadsSearchId,
        requestId,
        operationId: run.journal.operationId,
      }),
    );
  });
}

/** Writes what is ready now. Throws as `followInto`. */
export async function readReadyInto(run: TaskRun, task: Begun): Promise<void> {
  const { context, options, connection } = run;
  const { summary } = await readUnderSpinner(
    run,
    'fetching',
    async () => task,
    (begun, reader) =>
      readReady(
        connection.client,
        context,
        { ...begun, num: toPageSize(options), poll: toPollTimes({}, connection.settings) },
        reader,
      ),
  );
  await end(run, toReading(run, task, summary, 'fetch'), async (reading, notes) => {
    const { leads, state, position } = summary;
    const { leadsSearchId, requestId } = reading;
    notes.say(toClosingLine({ leads, state, leadsSearchId, requestId }));
    if (state === 'created' || state === 'running') {
      notes.say(`There may be more later, from position ${position}: ${toContinuation(reading, options)}`);
    }
  });
}

async function readUnderSpinner(
  run: TaskRun,
  label: string,
  begin: () => Promise<Begun>,
  read: (task: Begun, reader: TaskReader) => Promise<TaskSummary>,
): Promise<{ task: Begun; summary: TaskSummary }> {
  const { context, options, output, journal } = run;
  return await withSpinner(context, options, output, label, async (write, relabel) => {
    const task = await begin().catch((error: unknown) => {
      throw toUnbegunError(error, journal.operationId, options);
    });
    let found: string[] = [];
    const summary = await read(task, {
      async deliver(entities, pts) {
        if (pts === task.start) found = enrichFieldsOf(entities);
        await write(options.positions ? withPositions(entities, task.leadsSearchId, pts) : entities);
      },
      async delivered({ pts, count, next, readyCount, state }) {
        if (journal.operationId === undefined) return;
        // What the journal counts as delivered is on the disk.
        const length = await output.sync();
        await journal.append({
          type: 'page',
          pts,
          count,
          next,
          ready_count: readyCount,
          state: state ?? null,
          output_length: length ?? null,
          ...(pts === task.start && found.length > 0 ? { enrich_fields: found } : {}),
        });
      },
      progress: (state, readyCount) => relabel(`task ${state}, ${readyCount} ready`),
      stumbled({ message }) {
        // The spinner's line is not to be torn by another.
        if (context.stderr.isTerminal) relabel(`trying again: ${message}`);
        else createNotes(context, options).warn(`trying again: ${message}`);
      },
    });
    return { task, summary };
  });
}

function toReading(
  { journal, earlier = 0 }: TaskRun,
  task: Begun,
  summary: TaskSummary,
  goOn: TaskReading['goOn'],
): TaskReading {
  return {
    leadsSearchId: task.leadsSearchId,
    summary,
    earlier,
    goOn,
    operationId: journal.operationId,
    bought: task.created?.idempotencyKey,
    requestId: task.created?.requestId ?? summary.requestId,
  };
}

/** Puts the output in place, or leaves it as .part, and says what it came to. */
async function end(
  run: TaskRun,
  reading: TaskReading,
  close: (reading: TaskReading, notes: Notes) => Promise<void>,
): Promise<void> {
  const { context, options, output, journal } = run;
  const { failure: early, state, warnings } = reading.summary;
  const failure = early ?? (await putInPlace(run, reading).catch((error: unknown) => error));
  if (failure !== undefined && !(failure instanceof LeadpipeError)) throw failure;
  if (failure !== undefined && run.earlier === undefined && isRefused(failure, reading)) {
    // What the service said matters more than a journal that can't be written.
    await journal.append(toTerminal(failure.outcome, reading)).catch(() => undefined);
  }
  const left = failure === undefined ? undefined : toLeftError(failure, reading, await output.cut(), options);
  if (left?.outcome !== 'reader_closed') {
    const notes = createNotes(context, options);
    for (const warning of warnings) notes.warn(warning);
    if (left === undefined) await close(reading, notes);
  }
  if (left !== undefined) throw left;
  if (state === 'error') throw toTaskError(reading);
  if (options.exitStatus && reading.earlier + reading.summary.leads === 0) throw toNothingFound(reading);
}

/** The journal knows that everything is there before the file appears, and that it appeared after. */
async function putInPlace({ output, journal }: TaskRun, reading: TaskReading): Promise<undefined> {
  const { state = null, readyCount } = reading.summary;
  await output.finish(async (length) => {
    if (length === undefined) return;
    await journal.append({ type: 'written', state, ready_count: readyCount, output_length: length });
  });
  await journal.append(toTerminal(state === 'error' ? 'partial' : 'complete', reading));
}

function toTerminal(outcome: Outcome, { summary, earlier, bought }: TaskReading): JournalEntry {
  const leads = earlier + summary.leads;
  return {
    type: 'terminal',
    outcome,
    state: summary.state ?? null,
    ready_count: summary.readyCount,
    charged: bought !== undefined && leads > 0 ? 'yes' : 'no',
    leads,
  };
}
