import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { followTask, readReady, type TaskReader, type TaskSummary } from '../operations/follow-task.ts';
import type { Journal } from '../operations/journal.ts';
import { toClosingLine } from './closing-line.ts';
import type { Connection } from './connection.ts';
import { createNotes, type Notes } from './notes.ts';
import type { ConnectionOptions, RecordOptions } from './options.ts';
import type { RecordOutput } from './record-output.ts';
import { withSpinner } from './spinner.ts';
import { type TaskReading, toContinuation, toLeftError, toNothingFound, toTaskError } from './task-end.ts';
import {
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
}

/** The task to read, once it is known. */
export interface Begun {
  readonly leadsSearchId: string;
  readonly from: number;
  /** Set when this run created it. */
  readonly created?: {
    readonly requestId: string | undefined;
    readonly idempotencyKey: string;
    /** On the monotonic clock. */
    readonly at: number;
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
  const { context, options, connection } = run;
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
  await end(run, toReading(task, summary, 'wait'), async (reading, notes) => {
    const { leadsSearchId, requestId } = reading;
    const { leads, state, stopReason } = summary;
    notes.say(
      toClosingLine({
        leads,
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
  await end(run, toReading(task, summary, 'fetch'), async (reading, notes) => {
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
    const task = await begin();
    const summary = await read(task, {
      deliver: (entities, pts) =>
        write(options.positions ? withPositions(entities, task.leadsSearchId, pts) : entities),
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

function toReading(task: Begun, summary: TaskSummary, goOn: TaskReading['goOn']): TaskReading {
  const requestId = task.created?.requestId ?? summary.requestId;
  return {
    leadsSearchId: task.leadsSearchId,
    summary,
    goOn,
    bought: task.created?.idempotencyKey,
    requestId,
  };
}

/** Puts the output in place, or leaves it as .part, and says what it came to. */
async function end(
  run: TaskRun,
  reading: TaskReading,
  close: (reading: TaskReading, notes: Notes) => Promise<void>,
): Promise<void> {
  const { context, options, output, journal } = run;
  const { failure: early, state, readyCount, leads, warnings } = reading.summary;
  const isError = state === 'error';
  const failure =
    early ??
    (await output
      .finish()
      .then(() =>
        journal.append({
          type: 'terminal',
          outcome: isError ? 'partial' : 'complete',
          state: state ?? null,
          ready_count: readyCount,
        }),
      )
      .catch((error: unknown) => error));
  if (failure !== undefined && !(failure instanceof LeadpipeError)) throw failure;
  const left = failure === undefined ? undefined : toLeftError(failure, reading, await output.cut(), options);
  if (left?.outcome !== 'reader_closed') {
    const notes = createNotes(context, options);
    for (const warning of warnings) notes.warn(warning);
    if (left === undefined) await close(reading, notes);
  }
  if (left !== undefined) throw left;
  if (isError) throw toTaskError(reading);
  if (options.exitStatus && leads === 0) throw toNothingFound(reading);
}
