import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError } from '../errors.ts';
import {
  type Intent,
  type Journal,
  openJournal,
  readOperations,
  type StoredOperation,
} from '../operations/journal/journal.ts';
import { createTask } from '../operations/task/create.ts';
import {
  laterOn,
  mayReplay,
  purchaseOf,
  type TaskProgress,
  toTaskProgress,
} from '../operations/task/progress.ts';
import { entityLayout, type Layout, type LayoutOf } from '../output/columns.ts';
import { createNotes } from './notes.ts';
import type { ConnectionOptions, RecordOptions } from './options.ts';
import type { RecordOutput } from './record-output.ts';
import { routeWords, toCommand, toElsewhere, toResumption } from './task-end.ts';
import { type FollowOptions, foundLayout, type TaskReadOptions } from './task-options.ts';
import { withOutputOr } from './task-output.ts';
import { type Begun, followInto } from './task-reading.ts';

/** Options of a command that goes on with an operation. */
export interface ResumeOptions
  extends ConnectionOptions,
    Pick<FollowOptions, 'pollInterval' | 'waitTimeout'> {
  readonly replayCreate?: true;
}

/** How the output was begun, by the intent. */
type OutputOptions = RecordOptions & Pick<TaskReadOptions, 'num' | 'positions'>;

/** Runs `work` with the journal of an operation open, locked, and as it is then. Throws as `openJournal`. */
export async function withOperation<T>(
  context: Context,
  operationId: string,
  work: (journal: Journal, operation: StoredOperation) => Promise<T>,
): Promise<T> {
  try {
    const { journal, operation } = await openJournal(context.directories.state, operationId, context.pid);
    try {
      return await work(journal, operation);
    } finally {
      await journal.close();
    }
  } catch (error) {
    throw error instanceof LeadpipeError ? error.with({ operationId }) : error;
  }
}

/** Ends an operation of which only the name of the file, or the last line of the journal, may be missing; returns whether it is one. */
export async function finishWritten(
  context: Context,
  options: ResumeOptions,
  journal: Journal,
  operation: StoredOperation,
): Promise<boolean> {
  const { intent, terminal, written, position, start } = toTaskProgress(operation);
  const notes = createNotes(context, options);
  const place = intent.output === null ? '' : `; its leads are in ${intent.output}`;
  const bought = intent.idempotency_key !== undefined;
  const leads = position - start;
  if (terminal === undefined && written === undefined) return false;
  if (terminal === undefined && written !== undefined) {
    if (intent.output !== null && intent.options.append !== true) {
      await checkLast(context, operation, toElsewhereHint(toTaskProgress(operation), options));
      const { placeWritten } = await import('../output/file-sink.ts');
      await placeWritten(intent.output, written.output_length ?? 0, notes.warn);
    }
    await journal.append({
      type: 'terminal',
      outcome: written.state === 'error' ? 'partial' : 'complete',
      state: written.state,
      ready_count: written.ready_count,
      charged: bought && leads > 0 ? 'yes' : 'no',
      leads,
    });
  }
  const outcome = terminal?.outcome ?? (written?.state === 'error' ? 'partial' : 'complete');
  const { operationId } = operation;
  if (outcome === 'partial') {
    throw new LeadpipeError(
      'partial',
      `the operation ${operationId} is finished: its task ended in error${place}`,
      {
        type: 'task_error',
        charged: bought && leads > 0 ? 'yes' : 'no',
        retryable: false,
      },
    );
  }
  if (outcome !== 'complete') {
    throw new LeadpipeError(outcome, `the operation ${operationId} was refused, and bought nothing`, {
      charged: 'no',
    });
  }
  notes.say(`The operation ${operationId} is finished${place}.`);
  return true;
}

/** Goes on from the last position that the journal counts, into the same file. */
export async function goOn(
  context: Context,
  options: ResumeOptions,
  connection: Connection,
  journal: Journal,
  operation: StoredOperation,
): Promise<void> {
  const progress = toTaskProgress(operation);
  const { intent, position, start, outputLength } = progress;
  checkSame(intent, connection, connection.fingerprint(operation.operationId));
  if (
    progress.leadsSearchId === undefined &&
    !options.replayCreate &&
    !mayReplay(intent, context.clock.now())
  ) {
    throw tooOld(operation.operationId, options);
  }
  const output = outputOf(intent);
  if (outputLength !== undefined) await checkLast(context, operation, toElsewhereHint(progress, options));
  const read = { ...options, ...output };
  const kind = {
    shape: 'list',
    layout: layoutOf(progress, read),
    settings: connection.settings,
    resumed: { at: outputLength, warn: createNotes(context, options).warn },
  } as const;
  const goOnInto = async (opened: RecordOutput): Promise<void> => {
    const earlier = opened.file === undefined ? 0 : position - start;
    // What was put into a pipe may never have been taken out: there, each lead comes at least once.
    const from = opened.file === undefined ? progress.lastPage : position;
    if (opened.file === undefined && position > start) {
      createNotes(context, options).say(
        `Going on from position ${from}: the last page is printed again, since it may not have been read.`,
      );
    }
    await followInto(
      { context, options: read, connection, output: opened, journal, earlier },
      progress.leadsSearchId === undefined ? 'creating the task' : 'waiting',
      () => begin(context, connection, journal, progress, from),
    );
  };
  await withOutputOr(context, read, kind, goOnInto, async (error) => toUnopened(error, progress, options));
}

async function begin(
  context: Context,
  { client }: Connection,
  journal: Journal,
  { intent, leadsSearchId, requestId, start }: TaskProgress,
  from: number,
): Promise<Begun> {
  const purchase = purchaseOf(intent);
  if (leadsSearchId !== undefined) {
    const created = purchase && { requestId, idempotencyKey: purchase.idempotencyKey };
    return { leadsSearchId, start, from, ...(created === undefined ? {} : { created }) };
  }
  if (purchase === undefined) throw new ConfigurationError('the journal of this operation names no task');
  const { request, idempotencyKey } = purchase;
  const created = await createTask(client, request, idempotencyKey, journal, context.signal, true);
  return {
    leadsSearchId: created.value.leads_search_id,
    start,
    from,
    created: { requestId: created.requestId, idempotencyKey, at: context.clock.monotonic() },
  };
}

/** The options of the output that an operation began. */
export function outputOf({ output, options }: Intent): OutputOptions {
  const { csv_raw, pts: _, ...rest } = options;
  const given = { ...rest, csvRaw: csv_raw, output };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as OutputOptions;
}

/** The columns that the rows before have. */
function layoutOf(
  { intent, start, position, enrichFields }: TaskProgress,
  options: RecordOptions,
): Layout | LayoutOf {
  const purchase = purchaseOf(intent);
  if (purchase !== undefined) return entityLayout(purchase.request.enrich_fields);
  return position === start || options.append ? foundLayout(options) : entityLayout(enrichFields);
}

/** Throws ConfigurationError: what an operation bought is known only to the key and at the address that bought it. */
export function checkSame(
  { origin, key_fingerprint, profile }: Intent,
  connection: Connection,
  fingerprint: string,
): void {
  const made = profile === null ? '' : ` (profile ${profile})`;
  if (origin !== connection.origin) {
    throw new ConfigurationError(
      `this operation was begun at ${origin}${made}, not at ${connection.origin}`,
      origin === 'local' ? 'Give --local.' : `Give --base-url ${origin}, and its key in LEADPIPE_API_KEY.`,
    );
  }
  if (key_fingerprint !== fingerprint) {
    throw new ConfigurationError(
      `this operation was begun with another API key${made}, and no other key can go on with it`,
      'Set LEADPIPE_API_KEY to that key.',
    );
  }
}

/** Throws LocalIoError: to go on would change or replace rows of another operation. */
export async function checkLast(context: Context, operation: StoredOperation, hint: string): Promise<void> {
  const { operations } = await readOperations(context.directories.state);
  const later = laterOn(operations, operation);
  if (later === undefined) return;
  const { output } = operation.entries[0];
  throw new LocalIoError(`${output} has rows of the later operation ${later.operationId}`, {
    charged: 'no',
    hint,
  });
}

/** Pure: what to do where the file can't be gone on with; a file that rows are added to keeps those it has. */
function toElsewhereHint(
  { leadsSearchId, intent, start, position }: TaskProgress,
  options: ResumeOptions,
): string {
  if (leadsSearchId === undefined) return `Move ${intent.output} away first.`;
  return toElsewhere(leadsSearchId, intent.options.append === true ? position : start, options);
}

/** An output that can't be gone on with: what is lost of it can be read again. */
function toUnopened(error: unknown, progress: TaskProgress, options: ResumeOptions): unknown {
  const { intent, leadsSearchId } = progress;
  if (!(error instanceof LocalIoError) || intent.output === null || leadsSearchId === undefined) return error;
  if (intent.options.append === true) {
    return error.with({ charged: 'no', hint: toElsewhereHint(progress, options) });
  }
  const again = toCommand(['task', 'wait', leadsSearchId, '-o', intent.output, ...routeWords(options)]);
  return error.with({
    charged: 'no',
    hint: `To read all of it again, for nothing, once ${intent.output}.part is out of the way: ${again}`,
  });
}

function tooOld(operationId: string, options: ResumeOptions): LeadpipeError {
  return new LeadpipeError(
    'unknown',
    'the answer to the creation of this task was lost more than 24 hours ago, and the service may have forgotten its key',
    {
      type: 'replay_too_old',
      charged: 'maybe',
      retryable: false,
      hint: `Sending it again may buy it again. To do so: ${toResumption(operationId, options)} --replay-create`,
    },
  );
}
