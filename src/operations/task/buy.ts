import { toCreatedRecord } from '../../answers.ts';
import type { Answer, Client } from '../../client.ts';
import type { CreatedTask, CreateTaskRequest } from '../../contract/types.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import type { Buyer } from '../buyer.ts';
import type { OpenDelivery } from '../delivery.ts';
import { type BoughtTask, type Running, warningsOf } from '../events.ts';
import { toTerminal } from '../journal/entries.ts';
import { provesNothingBought, toDoubtful } from '../kinds/failed.ts';
import { beginJournal, type Journal, naming } from '../journal/journal.ts';
import { type Listed, purchaseForList } from '../only-new/filter.ts';
import { type Order, type OutputTerms, openFor, purchase, putInPlace, toIntent } from '../purchase.ts';
import { type ReadTerms, readInto, type TaskReading } from './reading.ts';

/** Buys a task and does not wait for it; undefined after a preview. Throws as `createTask`. */
export async function* buyTask(
  buyer: Buyer,
  order: Order<'task create'>,
  open: OpenDelivery,
): Running<BoughtTask | undefined> {
  return yield* purchase(
    buyer,
    order,
    open,
    async function* ({ begin, idempotencyKey, isAgain, journal, delivery }) {
      const client = yield* begin();
      const { signal } = buyer.context;
      const answer = await createTask(client, order.body, idempotencyKey, journal, signal, isAgain).catch(
        (error: unknown) => {
          const isInDoubt = error instanceof LeadpipeError && error.details.charged === 'maybe';
          throw isInDoubt && journal.operationId !== undefined
            ? error.with({ facts: { is: 'creation_in_doubt' } })
            : error;
        },
      );
      const { value, requestId } = answer;
      const task = {
        leadsSearchId: value.leads_search_id,
        idempotencyKey,
        requestId,
        operationId: journal.operationId,
      };
      try {
        await journal.append(toTerminal('complete'));
        await delivery.write([toCreatedRecord(answer, idempotencyKey)]);
        await putInPlace(journal, delivery);
      } finally {
        // After the last byte of output, and also if the output fails, so that the ID is not lost.
        yield { is: 'created', task };
      }
      return task;
    },
  );
}

/**
 * Creates the task. The journal already has the intent, with the key and the exact body. If the request certainly cost nothing, the
 * operation ends in the journal; if its answer was lost, the operation stays open. `again`: an earlier run may have sent it. Throws
 * RequestError, StoppedError and LocalIoError.
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
      // The service's error matters more than a failure to write the journal.
      await journal.append(toTerminal(error.outcome, { charged: 'no', leads: 0 })).catch(() => undefined);
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

/** Buys a task and reads it to its end; undefined after a preview. Throws as `readInto`. */
export async function* runTask(
  buyer: Buyer,
  order: Order<'task run'>,
  open: OpenDelivery,
  terms: ReadTerms,
): Running<(TaskReading & Listed) | undefined> {
  const { clock, signal } = buyer.context;
  return yield* purchaseForList(buyer, order, open, {}, async function* (paid, filter, body) {
    const { begin, idempotencyKey, journal, delivery } = paid;
    const client = yield* begin();
    return yield* readInto({ buyer, client, terms, delivery, journal, filter }, 'creating', async () => {
      const { requestId, value } = await createTask(client, body, idempotencyKey, journal, signal);
      const created = { requestId, idempotencyKey, at: clock.monotonic() };
      return { leadsSearchId: value.leads_search_id, start: 0, from: 0, created };
    });
  });
}

/** Reads an existing task from position `pts`. This is free, and is recorded where possible. Throws as `readInto`. */
export async function* waitForTask(
  buyer: Buyer,
  { leadsSearchId, pts }: { readonly leadsSearchId: string; readonly pts: number },
  to: { readonly terms: OutputTerms; readonly open: OpenDelivery },
  terms: ReadTerms,
): Running<TaskReading> {
  const warnings: string[] = [];
  const journal = await beginJournal(buyer.context, undefined, (line) => warnings.push(line));
  try {
    yield* warningsOf(warnings);
    const intent = { ...toIntent(buyer, journal, 'task wait', to.terms), leads_search_id: leadsSearchId };
    const { delivery, sending } = await openFor(buyer, journal, intent, to.open);
    try {
      await sending();
      const client = buyer.connection.newClient(buyer.waits, journal);
      const begun = { leadsSearchId, start: pts, from: pts };
      return yield* readInto({ buyer, client, terms, delivery, journal }, 'waiting', async () => begun);
    } finally {
      await delivery.cut();
    }
  } catch (error) {
    throw naming(error, journal.operationId);
  } finally {
    await journal.close();
  }
}
