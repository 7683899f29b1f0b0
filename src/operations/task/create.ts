import { type Answer, type Client, requests } from '../../client.ts';
import type { CreatedTask, CreateTaskRequest } from '../../contract/types.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import { RequestError } from '../../transport/errors.ts';
import type { Intent, Journal } from '../journal/journal.ts';

/** Pure: what the intent says of a purchase, and every repetition sends. */
export function toPurchase(
  request: CreateTaskRequest,
  idempotencyKey: string,
): Required<Pick<Intent, 'idempotency_key' | 'body'>> {
  const { body = '' } = requests.createTask(request, idempotencyKey);
  return { idempotency_key: idempotencyKey, body };
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
    throw error;
  }
  const { leads_search_id } = answer.value;
  try {
    await journal.append({ type: 'created', leads_search_id, request_id: answer.requestId ?? null });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LocalIoError(`${why}; the task ${leads_search_id} was created`, {
      charged: 'maybe',
      idempotencyKey,
      ...(answer.requestId === undefined ? {} : { requestId: answer.requestId }),
      hint: `It goes on at the service; read it with: leadpipe task wait ${leads_search_id}`,
      cause,
    });
  }
  return answer;
}

/** A task that exists is given back before its price or its body is looked at. */
function provesNothingBought(error: LeadpipeError): boolean {
  return error instanceof RequestError && (error.fault === 'no_credits' || error.fault === 'invalid');
}
