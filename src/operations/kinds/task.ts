import { toCreatedRecord } from '../../answers.ts';
import type { Answer } from '../../client.ts';
import type { PayingClient } from '../../connection/paying-client.ts';
import { rememberedMs } from '../../contract/limits.ts';
import type { CreatedTask, CreateTaskRequest } from '../../contract/types.ts';
import { isUncharged, LeadpipeError, LocalIoError, toMaybeCharged, toMessage } from '../../errors.ts';
import type { BoughtTask, Running } from '../events.ts';
import { entry } from '../journal/entries.ts';
import { excludeKnown, type Listed, listOf, openFilter, type RunOfList } from '../only-new/filter.ts';
import type { Operation } from '../operation.ts';
import type { ReadTerms } from '../order.ts';
import { toWorstCase } from '../prices.ts';
import type { Plan, Run } from '../run-state.ts';
import { readInto, type TaskReading, type TaskStart, toPlacedTask, withPositions } from './task-reading.ts';

export type FollowedTask = TaskReading & Listed;

const noCosts = { is: 'nothing' } as const;

/** Plans what to do with a task: create it, create and read it, or read it. */
export async function plan(run: Run): Promise<Plan<BoughtTask | FollowedTask>> {
  const { kind } = run.order;
  if (kind === 'task create') return await planCreation(run as Run<CreateTaskRequest>);
  if (kind === 'task run') return await planRun(run as Run<CreateTaskRequest>);
  return planWait(run as Run<{ readonly leads_search_id: string }>);
}

/** Plans to create a task without waiting for it. A creation whose answer was lost is sent again with its key. */
async function planCreation(run: Run<CreateTaskRequest>): Promise<Plan<BoughtTask>> {
  const { buyer, operation, order, warn } = run;
  const sent = operation?.parts.at(-1);
  const listed = sent === undefined ? await excludeKnown(buyer, order, run.reader, warn) : undefined;
  const list = listed?.list ?? (operation && (await listOf(buyer, operation, warn)));
  const body: CreateTaskRequest = listed?.body ?? JSON.parse(sent?.body ?? '{}');
  return {
    purchase: { body, again: sent?.idempotencyKey },
    costs: { is: 'once', worst: toWorstCase('task create', body, buyer.connection) },
    ...(listed === undefined ? {} : { intent: listed.intent }),
    ...(operation === undefined ? {} : { resuming: { operation, credits: 0 } }),
    perform: () => create(run, body, list, sent !== undefined),
  };
}

async function* create(
  run: Run,
  body: CreateTaskRequest,
  list: RunOfList | undefined,
  isAgain: boolean,
): Running<BoughtTask> {
  const { buyer, idempotencyKey, journal, operationId } = run;
  const client = (yield* run.begin())();
  const answer = await createTask(run, client, body, isAgain).catch((error: unknown) => {
    const isInDoubt = error instanceof LeadpipeError && error.details.charged === 'maybe';
    throw isInDoubt && operationId !== undefined ? error.with({ facts: { is: 'creation_in_doubt' } }) : error;
  });
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
    await run.end(entry.terminal('complete'));
    await run.deliver([toCreatedRecord(answer, idempotencyKey)]);
    await run.place();
  } finally {
    // After the last byte of output, and also if the output fails, so that the ID is not lost.
    yield { is: 'created', task };
  }
  return task;
}

/**
 * Creates the task. The journal already has the intent, with the key and the exact body. If the request certainly cost nothing, the
 * operation ends in the journal; if its answer was lost, the operation stays open. `isAgain`: an earlier run may have sent it. Throws
 * RequestError, StoppedError and LocalIoError.
 */
export async function createTask(
  { append, buyer, end, idempotencyKey }: Run,
  client: PayingClient,
  request: CreateTaskRequest,
  isAgain: boolean,
): Promise<Answer<CreatedTask>> {
  let answer: Answer<CreatedTask>;
  try {
    answer = await client.createTask(request, idempotencyKey, buyer.context.signal);
  } catch (error) {
    if (!isAgain && isUncharged(error)) {
      // The service's error matters more than a failure to write the journal.
      await end(entry.terminal(error.outcome, { charged: 'no', leads: 0 })).catch(() => undefined);
    }
    throw isAgain ? toMaybeCharged(error) : error;
  }
  const { leads_search_id } = answer.value;
  try {
    await append(entry.created(leads_search_id, answer.requestId));
  } catch (cause) {
    const words = `${toMessage(cause)}. The task ${leads_search_id} was created and is charged as usual`;
    throw new LocalIoError(words, {
      charged: 'maybe',
      idempotencyKey,
      ...(answer.requestId === undefined ? {} : { requestId: answer.requestId }),
      facts: { is: 'task_created', leadsSearchId: leads_search_id },
      cause,
    });
  }
  return answer;
}

/** Plans to create a task and read it to its end. A resumed run prints the stored leads again, and reads on after them for free. */
async function planRun(run: Run<CreateTaskRequest>): Promise<Plan<FollowedTask>> {
  const { buyer, operation, order, warn } = run;
  if (operation === undefined) {
    const { body, list, intent } = await excludeKnown(buyer, order, run.reader, warn);
    return {
      purchase: { body },
      costs: { is: 'once', worst: toWorstCase('task run', body, buyer.connection) },
      intent,
      perform: () => follow(run, list, { request: body }),
    };
  }
  const { parts, progress } = operation;
  const [sent] = parts;
  const list = await listOf(buyer, operation, warn);
  const resumed = toStored(run, operation);
  const { leadsSearchId } = progress;
  if (leadsSearchId !== undefined)
    return { ...resumed, costs: noCosts, perform: () => follow(run, list, { leadsSearchId }) };
  const age = buyer.context.clock.now().getTime() - Date.parse(sent?.sentAt ?? operation.intent.time);
  // If the age is negative, the clock was set back. Sending is safe then: the service does not charge a known key twice.
  if (age >= rememberedMs) return { costs: noCosts, perform: () => giveUp(run) };
  // Exactly what was sent, with its key: the service never charges that twice.
  const body: CreateTaskRequest = JSON.parse(sent?.body ?? '{}');
  return {
    ...resumed,
    purchase: { body, again: sent?.idempotencyKey },
    costs: { is: 'once', worst: toWorstCase('task run', body, buyer.connection) },
    perform: () => follow(run, list, { request: body }),
  };
}

/** A task that exists already, which is free to read. */
function planWait(run: Run<{ readonly leads_search_id: string }>): Plan<FollowedTask> {
  const { operation, order } = run;
  const { leads_search_id: leadsSearchId } = order.body;
  return {
    costs: noCosts,
    intent: { leads_search_id: leadsSearchId },
    ...(operation === undefined ? {} : toStored(run, operation)),
    perform: () => follow(run, undefined, { leadsSearchId }),
  };
}

/** Pure: what is resumed, which of the stored records are of whole pages, and how they are printed. */
function toStored(
  { order }: Run,
  operation: Operation,
): Required<Pick<Plan<FollowedTask>, 'resuming' | 'stored' | 'toPrinted'>> {
  const { delivered, excluded, leadsSearchId = '', start } = operation.progress;
  const { positions } = toTerms(order.read, operation);
  return {
    resuming: { operation, credits: 0, stored: delivered },
    stored: delivered + excluded,
    toPrinted(records, from) {
      const texts = records.map(({ text }) => text);
      const printed = positions ? withPositions(texts, leadsSearchId, start + from) : texts;
      return printed.filter((_, at) => records[at]?.isNew);
    },
  };
}

/** Reads a task to its end; one that does not exist yet is created by `request`. */
async function* follow(
  run: Run,
  list: RunOfList | undefined,
  task: { readonly leadsSearchId: string } | { readonly request: CreateTaskRequest },
): Running<FollowedTask> {
  const { buyer, idempotencyKey, journal, operation, order } = run;
  const { options } = order.terms;
  const [sent] = operation?.parts ?? [];
  const { progress } = operation ?? {};
  const start = progress?.start ?? Number(options.pts ?? 0);
  const client = (yield* run.begin())();
  if (operation?.progress.isAnswered) return { ...(yield* toPlacedTask(run, operation)), list };
  const filter = await openFilter(buyer, list, journal);
  const begin = async (): Promise<TaskStart> => {
    const from = progress?.position ?? start;
    if ('leadsSearchId' in task) {
      const created = sent && { requestId: progress?.requestId, idempotencyKey: sent.idempotencyKey };
      return { ...task, start, from, created };
    }
    const answer = await createTask(run, client, task.request, sent !== undefined);
    const created = { requestId: answer.requestId, idempotencyKey };
    return { leadsSearchId: answer.value.leads_search_id, start, from, created };
  };
  try {
    const stage = 'request' in task ? 'creating' : 'waiting';
    const reading = yield* readInto(
      {
        ...run,
        delivery: run.delivery,
        received: run.received,
        client,
        filter,
        terms: toTerms(order.read, operation),
      },
      stage,
      begin,
    );
    return { ...reading, list };
  } finally {
    await filter.close();
  }
}

/** Pure: how to read a task. A resumed run keeps the form of its records and the size of a page. */
function toTerms(read: ReadTerms | undefined, operation: Operation | undefined): ReadTerms {
  const known = read ?? { num: 500, positions: false, poll: { firstMs: 5000, maxMs: 30_000 } };
  if (operation === undefined) return known;
  const { num = known.num, positions = false } = operation.terms.options as Partial<ReadTerms>;
  return { ...known, num, positions };
}

/** The service may have forgotten the key, so that sending it again could buy a second task. The operation ends. */
// biome-ignore lint/correctness/useYield: it is one of the ways to perform a task, which are generators
async function* giveUp(run: Run): Running<FollowedTask> {
  await run.end(entry.terminal('unknown', { charged: 'maybe' }));
  throw new LeadpipeError(
    'unknown',
    'leadpipe never got the ID of this task. It was sent more than 24 hours ago, so the service may have forgotten it. Nothing was sent now',
    { type: 'replay_too_old', charged: 'maybe', facts: { is: 'replay_too_old' } },
  );
}
