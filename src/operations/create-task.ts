import { type Answer, type Client, requests } from '../client.ts';
import type { CreatedTask, CreateTaskRequest } from '../contract/types.ts';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import type { Intent, Journal } from './journal.ts';

/**
 * Creates a task: first the intent is on the disk, with the key and the exact body, then the request is sent. A
 * request that surely cost nothing is closed in the journal; one whose answer was lost stays open. Throws
 * RequestError, StoppedError and LocalIoError.
 */
export async function createTask(
  client: Client,
  request: CreateTaskRequest,
  idempotencyKey: string,
  journal: Journal,
  intent: Omit<Intent, 'idempotency_key' | 'body'>,
  signal: AbortSignal,
): Promise<Answer<CreatedTask>> {
  const { body = '' } = requests.createTask(request, idempotencyKey);
  await journal.append({ ...intent, idempotency_key: idempotencyKey, body });
  let answer: Answer<CreatedTask>;
  try {
    answer = await client.createTask(request, idempotencyKey, signal);
  } catch (error) {
    if (error instanceof LeadpipeError && error.details.charged === 'no') {
      // What the service said matters more than a journal that can't be written.
      await journal
        .append({ type: 'terminal', outcome: error.outcome, state: null, ready_count: null })
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
