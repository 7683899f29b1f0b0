import { describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import type { CreateTaskRequest } from '../../../src/contract/types.ts';
import { LocalIoError } from '../../../src/errors.ts';
import type { Intent, JournalEntry } from '../../../src/operations/journal/entries.ts';
import type { Journal } from '../../../src/operations/journal/journal.ts';
import { createTask } from '../../../src/operations/task/buy.ts';
import { RequestError } from '../../../src/transport/errors.ts';
import type { Fault } from '../../../src/transport/policy.ts';

const request: CreateTaskRequest = { entity_type: 'company', objective: 'x' };
const intent: Intent = {
  type: 'intent',
  time: '2026-01-05T12:00:00.000Z',
  command: 'task run',
  profile: null,
  origin: 'https://a.example',
  key_fingerprint: 'abc',
  output: null,
  options: {},
};

/** A journal in memory whose disk is full from the nth line (from 0) on. */
function createMemory(fullAt = Number.POSITIVE_INFINITY): Journal & { readonly types: string[] } {
  const types: string[] = [];
  return {
    types,
    operationId: 'op_1',
    async append(entry: JournalEntry) {
      if (types.length >= fullAt) throw new LocalIoError('disk full');
      types.push(entry.type);
    },
    note() {},
    close: async () => {},
    discard: async () => {},
  };
}

async function create(journal: Journal, answer: () => Promise<unknown>, again = false) {
  const client = { createTask: answer } as unknown as Client;
  await journal.append({ ...intent, idempotency_key: 'key', body: JSON.stringify(request) });
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

  const faults: readonly [fault: Fault, types: string[]][] = [
    ['no_credits', ['intent', 'terminal']],
    ['invalid', ['intent', 'terminal']],
    ['unsent', ['intent', 'terminal']],
    ['lost', ['intent']],
    ['gateway', ['intent']],
    ['internal_error', ['intent']],
    ['garbled', ['intent']],
  ];
  it.each(faults)('that fails with %s leaves %j', async (fault, types) => {
    const journal = createMemory();
    const failed = create(journal, () => Promise.reject(new RequestError(fault, endpoints.createTask, 'no')));
    await expect(failed).rejects.toMatchObject({ fault });
    expect(journal.types).toEqual(types);
  });

  const faultsAgain: readonly [fault: Fault, types: string[]][] = [
    ['no_credits', ['intent', 'terminal']],
    ['invalid', ['intent', 'terminal']],
    ['unsent', ['intent']],
    ['unauthenticated', ['intent']],
    ['busy', ['intent']],
    ['lost', ['intent']],
  ];
  it.each(faultsAgain)('that may have been sent before and fails with %s leaves %j', async (fault, types) => {
    const journal = createMemory();
    const failure = new RequestError(fault, endpoints.createTask, 'no');
    await expect(create(journal, () => Promise.reject(failure), true)).rejects.toMatchObject({ fault });
    expect(journal.types).toEqual(types);
  });
});
