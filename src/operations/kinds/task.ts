import { toCreatedRecord } from '../../answers.ts';
import type { Answer } from '../../client.ts';
import type { PayingClient } from '../../connection/paying-client.ts';
import { rememberedMs } from '../../contract/limits.ts';
import type { CreatedTask, CreateTaskRequest } from '../../contract/types.ts';
import { LeadpipeError, LocalIoError, outputChanged } from '../../errors.ts';
import { hasPart, statOrNothing } from '../../files/target.ts';
import type { BoughtTask, Running } from '../events.ts';
import { entry } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { toWorstCase } from '../money.ts';
import { excludeKnown, type Listed, listOf, openFilter, type RunOfList } from '../only-new/filter.ts';
import { type Operation, type OutputTerms, type Progress, toRestarted } from '../operation.ts';
import { provesNothingBought, toDoubtful } from './failed.ts';
import type { Job, Plan, PlanRequest, ReadTerms } from './job.ts';
import { readInto, type TaskReading, type TaskStart } from './task-reading.ts';

export type FollowedTask = TaskReading & Listed;

const noCosts = { is: 'nothing' } as const;

/** Whatever is done with a task: it is created, created and read, or read. */
export async function plan(planRequest: PlanRequest): Promise<Plan<BoughtTask | FollowedTask>> {
  const { kind } = planRequest.order;
  if (kind === 'task create') return await planCreation(planRequest as PlanRequest<CreateTaskRequest>);
  if (kind === 'task run') return await planRun(planRequest as PlanRequest<CreateTaskRequest>);
  return planWait(planRequest as PlanRequest<{ readonly leads_search_id: string }>);
}

/** A task that is created, and not waited for. Where the answer to its creation was lost, that is sent again with its key. */
async function planCreation(planRequest: PlanRequest<CreateTaskRequest>): Promise<Plan<BoughtTask>> {
  const { buyer, operation, order, warn } = planRequest;
  const sent = operation?.parts.at(-1);
  const listed = sent === undefined ? await excludeKnown(buyer, order, planRequest.reader, warn) : undefined;
  const list = listed?.list ?? (operation && (await listOf(buyer, operation, warn)));
  const body: CreateTaskRequest = listed?.body ?? JSON.parse(sent?.body ?? '{}');
  return {
    purchase: { body, again: sent?.idempotencyKey },
    costs: { is: 'once', worst: toWorstCase('task create', body, buyer.connection) },
    ...(listed === undefined ? {} : { intent: listed.intent }),
    ...(operation === undefined ? {} : { resuming: { operation, credits: 0 } }),
    perform: (job) => create(job, body, list, sent !== undefined),
  };
}

async function* create(
  job: Job,
  body: CreateTaskRequest,
  list: RunOfList | undefined,
  isAgain: boolean,
): Running<BoughtTask> {
  const { buyer, idempotencyKey, journal, operationId } = job;
  const { signal } = buyer.context;
  const delivery = await job.open('new');
  const client = (yield* job.begin())();
  const answer = await createTask(client, body, idempotencyKey, journal, signal, isAgain).catch(
    (error: unknown) => {
      const isInDoubt = error instanceof LeadpipeError && error.details.charged === 'maybe';
      throw isInDoubt && operationId !== undefined
        ? error.with({ facts: { is: 'creation_in_doubt' } })
        : error;
    },
  );
  const { value, requestId } = answer;
  const leadsSearchId = value.leads_search_id;
  const task = { leadsSearchId, requestId, operationId };
  try {
    const filter = await openFilter(buyer, list, journal);
    // Its leads stay at the service. From now on they can be left out by its ID.
    filter.check([]).count(leadsSearchId);
    await filter.sync().finally(filter.close);
  } catch (error) {
    yield { is: 'warning', line: `${(error as Error).message}: later runs may bring its leads again` };
  }
  try {
    await journal.append(entry.terminal('complete'));
    await delivery.write([toCreatedRecord(answer, idempotencyKey)]);
    await job.place();
  } finally {
    // After the last byte of output, and also if the output fails, so that the ID is not lost.
    yield { is: 'created', task };
  }
  return task;
}

/**
 * Creates the task. The journal already has the intent, with the key and the exact body. If the request certainly cost nothing, the
 * operation ends in the journal; if its answer was lost, the operation stays open. `again`: an earlier run may have sent it. Throws
 * RequestError, StoppedError and LocalIoError.
 */
export async function createTask(
  client: PayingClient,
  request: CreateTaskRequest,
  idempotencyKey: string,
  journal: Journal,
  signal: AbortSignal,
  again = false,
): Promise<Answer<CreatedTask>> {
  let answer: Answer<CreatedTask>;
  try {
    answer = await client.createTask(request, idempotencyKey, signal);
  } catch (error) {
    if (
      error instanceof LeadpipeError &&
      (again ? provesNothingBought(error) : error.details.charged === 'no')
    ) {
      // The service's error matters more than a failure to write the journal.
      await journal.append(entry.terminal(error.outcome, { charged: 'no', leads: 0 })).catch(() => undefined);
    }
    throw again ? toDoubtful(error) : error;
  }
  const { leads_search_id } = answer.value;
  try {
    await journal.append(entry.created(leads_search_id, answer.requestId));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LocalIoError(`${why}. The task ${leads_search_id} was created and is charged as usual`, {
      charged: 'maybe',
      idempotencyKey,
      ...(answer.requestId === undefined ? {} : { requestId: answer.requestId }),
      facts: { is: 'task_created', leadsSearchId: leads_search_id },
      cause,
    });
  }
  return answer;
}

/**
 * A task that is created and read to its end. Where it was left, reading continues at the last position, into the same file, which is free.
 * If its rows are no longer there, the whole task is read again.
 */
async function planRun(planRequest: PlanRequest<CreateTaskRequest>): Promise<Plan<FollowedTask>> {
  const { buyer, operation, order, warn } = planRequest;
  if (operation === undefined) {
    const { body, list, intent } = await excludeKnown(buyer, order, planRequest.reader, warn);
    return {
      purchase: { body },
      costs: { is: 'once', worst: toWorstCase('task run', body, buyer.connection) },
      intent,
      perform: (job) => follow(job, planRequest, list),
    };
  }
  const { intent, parts, progress } = operation;
  const [sent] = parts;
  const list = await listOf(buyer, operation, warn);
  const perform = (job: Job): Running<FollowedTask> => follow(job, planRequest, list);
  const resuming = { operation, credits: 0 };
  if (progress.leadsSearchId !== undefined || sent === undefined)
    return { costs: noCosts, resuming, perform };
  const age = buyer.context.clock.now().getTime() - Date.parse(intent.time);
  // Of a negative age, the clock was set back: nothing is known.
  if (age < 0 || age >= rememberedMs) return { costs: noCosts, perform: (job) => giveUp(job) };
  // Exactly what was sent, with its key: the service never charges that twice.
  const body: CreateTaskRequest = JSON.parse(sent.body);
  return {
    purchase: { body, again: sent.idempotencyKey },
    costs: { is: 'once', worst: toWorstCase('task run', body, buyer.connection) },
    resuming,
    perform,
  };
}

/** A task that exists already, which is free to read. The journal says where reading continues. */
function planWait(planRequest: PlanRequest<{ readonly leads_search_id: string }>): Plan<FollowedTask> {
  const { operation, order } = planRequest;
  return {
    costs: noCosts,
    intent: { leads_search_id: order.body.leads_search_id },
    ...(operation === undefined ? {} : { resuming: { operation, credits: 0 } }),
    perform: (job) => follow(job, planRequest, undefined),
  };
}

async function* follow(
  job: Job,
  { isOurs, isSameOutput, operation, order }: PlanRequest,
  list: RunOfList | undefined,
): Running<FollowedTask> {
  const { buyer, idempotencyKey, journal, operationId } = job;
  const terms = toTerms(order.read, operation);
  const { signal } = buyer.context;

  async function* read(progress: Progress | undefined, inFile: boolean): Running<TaskReading> {
    const { leadsSearchId, requestId } = progress ?? {};
    const { lastPage, position, start } = progress ?? { lastPage: 0, position: 0, start: 0 };
    if (!inFile && position > start) yield { is: 'resuming_from', position: lastPage };
    const client = (yield* job.begin())();
    const filter = await openFilter(buyer, list, journal);
    // The reader of a pipe may not have got the last leads, so they are written again.
    const from = inFile ? position : lastPage;
    const [sent] = operation?.parts ?? [];
    const begin = async (): Promise<TaskStart> => {
      if (leadsSearchId !== undefined) {
        const created = sent && { requestId, idempotencyKey: sent.idempotencyKey };
        return { leadsSearchId, start, from, created };
      }
      const body: CreateTaskRequest = job.body as CreateTaskRequest;
      const answer = await createTask(client, body, idempotencyKey, journal, signal, sent !== undefined);
      const created = { requestId: answer.requestId, idempotencyKey };
      return { leadsSearchId: answer.value.leads_search_id, start, from, created };
    };
    const earlier =
      progress === undefined
        ? undefined
        : inFile
          ? { leads: progress.delivered, excluded: progress.excluded }
          : { leads: 0, excluded: 0 };
    const { delivery } = job;
    const run = { buyer, client, delivery, journal, operationId, filter, terms, place: job.place };
    try {
      const stage = leadsSearchId === undefined ? 'creating' : 'waiting';
      return yield* readInto({ ...run, ...(earlier && { earlier }) }, stage, begin);
    } finally {
      await filter.close();
    }
  }

  const progress = operation?.progress;
  if (operation === undefined || progress === undefined) {
    await job.open('new');
    return { ...(yield* read(toFirst(order), false)), list };
  }
  const finished = await finish(journal, operation, isSameOutput);
  if (finished !== undefined) return finished;
  if (order.terms.output === null) {
    await job.open('new', progress);
    return { ...(yield* read(progress, false)), list };
  }
  const { outputLength } = progress;
  if (outputLength !== undefined && isOurs && isSameOutput) {
    const changed = await openAt(job, outputLength, progress);
    if (changed === undefined) return { ...(yield* read(progress, true)), list };
    yield { is: 'reading_again', why: changed };
  }
  const again = toRestarted(operation);
  if (progress.position > progress.start) await journal.append(entry.restarted(operation.terms.options));
  await job.open('new', again);
  return { ...(yield* read(again, true)), list };
}

/** Opens the output where an earlier run stopped. Returns why that can't be done: it was changed since. */
async function openAt(job: Job, at: number, progress: Progress): Promise<LeadpipeError | undefined> {
  try {
    await job.open({ at }, progress);
    return undefined;
  } catch (error) {
    if (error instanceof LeadpipeError && error.details.type === outputChanged) return error;
    throw error;
  }
}

/** Pure: where a task is read from that another operation has created; undefined for one that is still to be created. */
function toFirst({ body, terms }: PlanRequest['order']): Progress | undefined {
  const { leads_search_id } = body as { readonly leads_search_id?: string };
  if (leads_search_id === undefined) return undefined;
  const start = Number(terms.options.pts ?? 0);
  return { leadsSearchId: leads_search_id, start, position: start, lastPage: start } as Progress;
}

/** Pure: what a resumed run reads as it was begun: the form of its records, and the size of a page. */
function toTerms(read: ReadTerms | undefined, operation: Operation | undefined): ReadTerms {
  const known = read ?? { num: 500, positions: false, poll: { firstMs: 5000, maxMs: 30_000 } };
  if (operation === undefined) return known;
  const { num = known.num, positions = false } = operation.terms.options as Partial<ReadTerms>;
  return { ...known, num, positions };
}

/**
 * Ends an operation that is complete except for the last line of its journal; undefined where there is more to do. Throws the error that
 * it ended with.
 */
async function finish(
  journal: Journal,
  operation: Operation,
  isSameOutput: boolean,
): Promise<FollowedTask | undefined> {
  const { intent, operationId, progress, terms } = operation;
  const { delivered: leads, excluded, leadsSearchId = '', position, requestId, start, written } = progress;
  if (written === undefined || !isSameOutput) return undefined;
  if (!progress.isAdded && !(await isInPlace(terms, written))) return undefined;
  const { state, readyCount = position } = written;
  const outcome = state === 'error' ? 'partial' : 'complete';
  const charged = intent.idempotency_key !== undefined && position > start ? 'yes' : 'no';
  await journal.append(
    entry.terminal(outcome, { state: state ?? null, ready_count: readyCount, charged, leads }),
  );
  if (outcome === 'partial') {
    const at = terms.output === null ? '' : `; its leads are in ${terms.output}`;
    throw new LeadpipeError(outcome, `${operationId} is finished: its task ended in error${at}`, {
      type: 'task_error',
      charged,
    });
  }
  const summary = { position, readyCount, state, stopReason: undefined, requestId, warnings: [] };
  const bought = intent.idempotency_key;
  return {
    ...{ leadsSearchId, summary, failure: undefined, leads, excluded, resumeBy: 'wait' as const },
    ...{ operationId, bought, requestId },
  };
}

/** Whether the file is in place already, and only the journal does not say so. Workbooks and databases are made from their rows. */
async function isInPlace(
  { options, output }: OutputTerms,
  { outputLength }: NonNullable<Progress['written']>,
): Promise<boolean> {
  if (output === null || options.append === true || (await hasPart(output))) return false;
  const placed = await statOrNothing(output);
  const isMade = options.format === 'xlsx' || options.format === 'sqlite';
  return placed !== undefined && (isMade || placed.size === outputLength);
}

/** The service may have forgotten the key, so that sending it again could buy a second task. The operation ends. */
// biome-ignore lint/correctness/useYield: it is one of the ways to perform a task, which are generators
async function* giveUp(job: Job): Running<FollowedTask> {
  await job.journal.append(entry.terminal('unknown', { charged: 'maybe' }));
  throw new LeadpipeError(
    'unknown',
    'leadpipe never got the ID of this task, more than 24 hours ago, and the service may have forgotten the request. Nothing was sent',
    { type: 'replay_too_old', charged: 'maybe', facts: { is: 'replay_too_old' } },
  );
}
