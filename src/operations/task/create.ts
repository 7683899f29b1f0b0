import { toCreatedRecord } from '../../answers.ts';
import type { Answer, Client } from '../../client.ts';
import type { CreatedTask, CreateTaskRequest } from '../../contract/types.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import { provesNothingBought, toDoubtful } from '../journal/failed.ts';
import type { Journal } from '../journal/journal.ts';
import { type Order, purchase, type Shop } from '../purchase.ts';

/** A task that was bought, and runs at the service. */
export interface BoughtTask {
  readonly leadsSearchId: string;
  readonly idempotencyKey: string;
  readonly requestId: string | undefined;
  readonly operationId: string | undefined;
}

/**
 * Buys a task and leaves it to run; undefined after a preview. `created` is told of it behind the last byte, and all the same
 * where the output fails: it does not take the ID with it. Throws as `createTask`.
 */
export async function buyTask(
  shop: Shop,
  order: Order<'task create'>,
  created: (task: BoughtTask) => void,
): Promise<BoughtTask | undefined> {
  return await purchase(shop, order, {}, async ({ begin, idempotencyKey, isAgain, journal, delivery }) => {
    const client = await begin();
    const { signal } = shop.context;
    const answer = await createTask(client, order.body, idempotencyKey, journal, signal, isAgain).catch(
      (error: unknown) => {
        const isInDoubt = error instanceof LeadpipeError && error.details.charged === 'maybe';
        throw isInDoubt && journal.operationId !== undefined
          ? error.with({ facts: { is: 'creation_in_doubt' } })
          : error;
      },
    );
    const { value, requestId } = answer;
    const leadsSearchId = value.leads_search_id;
    const task = { leadsSearchId, idempotencyKey, requestId, operationId: journal.operationId };
    try {
      await journal.append({ type: 'terminal', outcome: 'complete', state: null, ready_count: null });
      await delivery.write([toCreatedRecord(answer, idempotencyKey)]);
      await delivery.finish();
    } finally {
      created(task);
    }
    return task;
  });
}

/**
 * Creates the task whose intent, with key and exact body, is in the journal. A request that surely cost nothing is
 * closed there; one whose answer was lost stays open. `again` is for one that may have been sent by an earlier run.
 * Throws RequestError, StoppedError and LocalIoError.
 */
export async function createTask(
  client: Client,
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
      // What the service said matters more than a journal that can't be written.
      await journal
        .append({
          type: 'terminal',
          outcome: error.outcome,
          state: null,
          ready_count: null,
          charged: 'no',
          leads: 0,
        })
        .catch(() => undefined);
    }
    throw again ? toDoubtful(error) : error;
  }
  const { leads_search_id } = answer.value;
  try {
    await journal.append({ type: 'created', leads_search_id, request_id: answer.requestId ?? null });
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
