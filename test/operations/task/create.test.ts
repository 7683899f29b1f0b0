import { describe, expect, it } from 'vitest';
import type { PayingClient } from '../../../src/connection/paying-client.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import type { CreateTaskRequest } from '../../../src/contract/types.ts';
import { LocalIoError } from '../../../src/errors.ts';
import type { JournalEntry } from '../../../src/operations/journal/entries.ts';
import type { Journal } from '../../../src/operations/journal/journal.ts';
import { createTask } from '../../../src/operations/kinds/task.ts';
import type { Fault } from '../../../src/transport/policy.ts';
import { RequestError } from '../../../src/transport/request-error.ts';
import { intentOf } from '../../helpers/journals.ts';

const request: CreateTaskRequest = { entity_type: 'company', objective: 'x' };

/** A journal in memory whose disk is full from the nth line (from 0) on. */
function createMemory(fullAt = Number.POSITIVE_INFINITY): Journal & { readonly types: string[] } {
  const types: string[] = [];
  const journal = {
    types,
    operationId: 'op_1',
    confirm() {},
    async append(entry: JournalEntry) {
      if (types.length >= fullAt) throw new LocalIoError('disk full');
      types.push(entry.type);
    },
    note() {},
    close: async () => {},
    discard: async () => {},
  };
  return { ...journal, begin: (_, ...some) => journal.append(some[0] as JournalEntry) };
}

async function create(journal: Journal, answer: () => Promise<unknown>, again = false) {
  const client = { createTask: answer } as unknown as PayingClient;
  await journal.append(intentOf({ idempotency_key: 'key', body: JSON.stringify(request) }));
  return await createTask(client, request, 'key', journal, new AbortController().signal, again);
}

const answered = async () => ({ value: { leads_search_id: 'ls_1' }, requestId: 'req_1' });

describe('creating a task', () => {
  it('sends nothing when the intent can not be written', async () => {
    let sent = false;
    const created = create(createMemory(0), async () => {
      sent = true;
    });
    await expect(created).rejects.toMatchObject({ outcome: 'local_io' });
    expect(sent).toBe(false);
  });

  it('tells the id of a task that could not be written down', async () => {
    await expect(create(createMemory(1), answered)).rejects.toMatchObject({
      outcome: 'local_io',
      message: 'disk full. The task ls_1 was created and is charged as usual',
      details: { charged: 'maybe', idempotencyKey: 'key', requestId: 'req_1' },
    });
  });

  it.each<[fault: Fault, isAgain: boolean, left: string]>([
    ['no_credits', false, 'intent, terminal'],
    ['invalid', false, 'intent, terminal'],
    ['unsent', false, 'intent, terminal'],
    ['lost', false, 'intent'],
    ['gateway', false, 'intent'],
    ['internal_error', false, 'intent'],
    ['garbled', false, 'intent'],
    ['no_credits', true, 'intent, terminal'],
    ['invalid', true, 'intent, terminal'],
    ['unsent', true, 'intent'],
    ['unauthenticated', true, 'intent'],
    ['busy', true, 'intent'],
    ['lost', true, 'intent'],
  ])('that fails with %s, and may have been sent before: %s, leaves %s', async (fault, isAgain, left) => {
    const journal = createMemory();
    const failure = new RequestError(fault, endpoints.createTask, 'no');
    await expect(create(journal, () => Promise.reject(failure), isAgain)).rejects.toMatchObject({ fault });
    expect(journal.types.join(', ')).toBe(left);
  });
});
