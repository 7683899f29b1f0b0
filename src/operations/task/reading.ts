import type { Client } from '../../client.ts';
import { LeadpipeError, type Outcome } from '../../errors.ts';
import { type JsonText, objectMembers, withMembers } from '../../json/text.ts';
import type { Delivery, Listener, Stage } from '../delivery.ts';
import type { JournalEntry } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { noSieve, type Sieve } from '../only-new/sieve.ts';
import type { Shop } from '../purchase.ts';
import { isRefused, type TaskReading, toLeftError, toTaskError, toUnbegunError } from './end.ts';
import { followTask, readReady, type TaskReader, type TaskSummary } from './follow.ts';
import type { PollTimes } from './polling.ts';

/** How a task is read. */
export interface ReadTerms {
  /** The most leads of a page. */
  readonly num: number;
  readonly poll: PollTimes;
  /** Milliseconds after which to give up waiting. */
  readonly patienceMs?: number | undefined;
  /** Whether each record says where it stands. */
  readonly positions: boolean;
}

export interface TaskListener extends Listener {
  /** All of it is read, and its rows are where they belong. */
  ended(reading: TaskReading): void;
}

/** What reading a task takes. */
export interface TaskRun {
  readonly shop: Shop;
  readonly client: Client;
  readonly terms: ReadTerms;
  readonly delivery: Delivery;
  readonly journal: Journal;
  /** Undefined where the leads count for no list. */
  readonly sieve?: Sieve;
  readonly listener: TaskListener;
  /** Positions that earlier runs of this operation put into the same file; undefined for a first run. */
  readonly earlier?: number;
  /** How many of these, or of those in front, were dropped. */
  readonly earlierExcluded?: number;
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
 * Follows a task to its end and delivers its leads as they become ready. Throws `partial` after a task that ended in error,
 * with every row in place, and whatever made it leave the task earlier, with what is needed to go on.
 */
export async function followInto(
  run: TaskRun,
  stage: Stage,
  begin: () => Promise<Begun>,
): Promise<TaskReading> {
  const { shop, client, terms } = run;
  const read = await readWatched(run, stage, begin, (begun, reader) =>
    followTask(client, shop.context, { ...begun, ...terms, createdAt: begun.created?.at }, reader),
  );
  return await end(run, toReading(run, read, 'wait'));
}

/** Delivers what is ready now. Throws as `followInto`. */
export async function readReadyInto(run: TaskRun, task: Begun): Promise<TaskReading> {
  const { shop, client, terms } = run;
  const read = await readWatched(
    run,
    'fetching',
    async () => task,
    (begun, reader) => readReady(client, shop.context, { ...begun, ...terms }, reader),
  );
  return await end(run, toReading(run, read, 'fetch'));
}

async function readWatched(
  { delivery, journal, listener, sieve = noSieve, terms }: TaskRun,
  stage: Stage,
  begin: () => Promise<Begun>,
  read: (task: Begun, reader: TaskReader) => Promise<TaskSummary>,
): Promise<ReadTask> {
  return await listener.during(stage, delivery, async (watch) => {
    const task = await begin().catch((error: unknown) => {
      throw toUnbegunError(error, journal.operationId);
    });
    let found: string[] = [];
    let excluded = 0;
    let excludedOfPage = 0;
    const summary = await read(task, {
      async deliver(entities, pts) {
        if (pts === task.start) found = enrichFieldsOf(entities);
        const { isNew, count } = sieve.sift(entities);
        count(task.leadsSearchId);
        const records = terms.positions ? withPositions(entities, task.leadsSearchId, pts) : entities;
        const fresh = records.filter((_, index) => isNew[index]);
        excludedOfPage = records.length - fresh.length;
        excluded += excludedOfPage;
        if (fresh.length > 0) await watch.write(fresh);
      },
      async delivered({ pts, count, next, readyCount, state }) {
        if (journal.operationId === undefined) return;
        // What the journal counts as delivered is on the disk.
        const length = await delivery.sync();
        await sieve.sync();
        await journal.append({
          type: 'page',
          pts,
          count,
          next,
          ready_count: readyCount,
          state: state ?? null,
          output_length: length ?? null,
          ...(pts === task.start && found.length > 0 ? { enrich_fields: found } : {}),
          ...(excludedOfPage === 0 ? {} : { excluded: excludedOfPage }),
        });
      },
      progress: watch.progress,
      stumbled: watch.stumbled,
    });
    return { task, summary, excluded };
  });
}

interface ReadTask {
  readonly task: Begun;
  readonly summary: TaskSummary;
  readonly excluded: number;
}

/** Pure: the names of the enrich fields that these records have. */
export function enrichFieldsOf(records: readonly JsonText[]): string[] {
  const names = records.flatMap((record) => [
    ...objectMembers(objectMembers(record).get('enrich_fields') ?? '{}').keys(),
  ]);
  return [...new Set(names)];
}

/** Pure: records that say where they stand, so that a consumer can drop repeats. */
function withPositions(records: readonly JsonText[], leadsSearchId: string, pts: number): JsonText[] {
  const id = JSON.stringify(leadsSearchId);
  return records.map((record, index) =>
    withMembers(
      [
        ['leads_search_id', id],
        ['position', String(pts + index)],
      ],
      record,
    ),
  );
}

function toReading(
  { journal, earlier = 0, earlierExcluded = 0 }: TaskRun,
  { task, summary, ...read }: ReadTask,
  goOn: TaskReading['goOn'],
): TaskReading {
  const excluded = earlierExcluded + read.excluded;
  return {
    leadsSearchId: task.leadsSearchId,
    summary,
    leads: earlier + summary.leads - excluded,
    excluded,
    goOn,
    operationId: journal.operationId,
    bought: task.created?.idempotencyKey,
    requestId: task.created?.requestId ?? summary.requestId,
  };
}

/** Puts the output in place, or leaves it as it is where the task was left, and says what it came to. */
async function end(run: TaskRun, reading: TaskReading): Promise<TaskReading> {
  const { delivery, journal, listener } = run;
  const { failure: early, state, warnings } = reading.summary;
  const failure = early ?? (await putInPlace(run, reading).catch((error: unknown) => error));
  if (failure !== undefined && !(failure instanceof LeadpipeError)) throw failure;
  if (failure !== undefined && run.earlier === undefined && isRefused(failure, reading)) {
    // What the service said matters more than a journal that can't be written.
    await journal.append(toTerminal(failure.outcome, reading)).catch(() => undefined);
  }
  const left = failure === undefined ? undefined : toLeftError(failure, reading, await delivery.cut());
  if (left?.outcome === 'reader_closed') {
    // It has what it wanted.
    await journal.append(toTerminal('reader_closed', reading)).catch(() => undefined);
  }
  // A reader that went away is told nothing: there may be no one to tell.
  if (left?.outcome !== 'reader_closed') for (const warning of warnings) listener.warn(warning);
  if (left !== undefined) throw left;
  listener.ended(reading);
  if (state === 'error') throw toTaskError(reading);
  return reading;
}

/** The journal knows that everything is there before the file appears, and that it appeared after. */
async function putInPlace({ delivery, journal }: TaskRun, reading: TaskReading): Promise<undefined> {
  const { state = null, readyCount } = reading.summary;
  await delivery.finish({
    async written(length) {
      if (length === undefined) return;
      await journal.append({ type: 'written', state, ready_count: readyCount, output_length: length });
    },
  });
  await journal.append(toTerminal(state === 'error' ? 'partial' : 'complete', reading));
}

function toTerminal(outcome: Outcome, { summary, leads, excluded, bought }: TaskReading): JournalEntry {
  return {
    type: 'terminal',
    outcome,
    state: summary.state ?? null,
    ready_count: summary.readyCount,
    charged: bought !== undefined && leads + excluded > 0 ? 'yes' : 'no',
    leads,
  };
}
