import { describe, expect, it } from 'vitest';
import type { PayingClient } from '../../../src/connection/paying-client.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import type { CreateTaskRequest } from '../../../src/contract/types.ts';
import { type Charged, LocalIoError } from '../../../src/errors.ts';
import type { JournalEntry } from '../../../src/operations/journal/entries.ts';
import { createTask } from '../../../src/operations/kinds/task.ts';
import type { Run } from '../../../src/operations/run-state.ts';
import type { Fault } from '../../../src/transport/policy.ts';
import { RequestError } from '../../../src/transport/request-error.ts';

const request: CreateTaskRequest = { entity_type: 'company', objective: 'x' };

/** A run that has written its intent. Its journal is in memory, or on a disk that is full. */
function createRun(isFull = false) {
  const entries: JournalEntry[] = [];
  const write = async (...some: readonly JournalEntry[]): Promise<void> => {
    if (isFull) throw new LocalIoError('disk full');
    entries.push(...some);
  };
  const context = { signal: new AbortController().signal };
  const run = { append: write, end: write, buyer: { context }, idempotencyKey: 'key' } as unknown as Run;
  return { run, entries };
}

async function create(run: Run, answer: PayingClient['createTask'], again = false) {
  return await createTask(run, { createTask: answer } as PayingClient, request, again);
}

const answered = async () => ({ value: { leads_search_id: 'ls_1' }, requestId: 'req_1' }) as never;

describe('creating a task', () => {
  it('sends the request with its key, and writes down the task before it is told', async () => {
    const { run, entries } = createRun();
    const sent: unknown[] = [];
    const answer = await create(run, async (...asked) => {
      sent.push(...asked);
      return await answered();
    });
    expect(sent).toEqual([request, 'key', run.buyer.context.signal]);
    expect(answer.value.leads_search_id).toBe('ls_1');
    expect(entries).toEqual([{ type: 'created', leads_search_id: 'ls_1', request_id: 'req_1' }]);
  });

  it('tells the id of a task that could not be written down', async () => {
    await expect(create(createRun(true).run, answered)).rejects.toMatchObject({
      outcome: 'local_io',
      message: 'disk full. The task ls_1 was created and is charged as usual',
      details: { charged: 'maybe', idempotencyKey: 'key', requestId: 'req_1' },
    });
  });

  it.each<[fault: Fault, isAgain: boolean, left: 'ended' | 'open', charged: Charged]>([
    ['no_credits', false, 'ended', 'no'],
    ['invalid', false, 'ended', 'no'],
    ['unsent', false, 'ended', 'no'],
    ['lost', false, 'open', 'maybe'],
    ['gateway', false, 'open', 'maybe'],
    ['internal_error', false, 'open', 'maybe'],
    ['garbled', false, 'open', 'yes'],
    // That it costs nothing this time does not mean that it cost nothing then.
    ['no_credits', true, 'open', 'maybe'],
    ['invalid', true, 'open', 'maybe'],
    ['unsent', true, 'open', 'maybe'],
    ['unauthenticated', true, 'open', 'maybe'],
    ['busy', true, 'open', 'maybe'],
    ['lost', true, 'open', 'maybe'],
  ])(
    'that fails with %s, and may have been sent before: %s, is %s, charged: %s',
    async (fault, isAgain, left, charged) => {
      const { run, entries } = createRun();
      const failure = new RequestError(fault, endpoints.createTask, 'no');
      const failed = create(run, () => Promise.reject(failure), isAgain);
      await expect(failed).rejects.toMatchObject({ fault, details: { charged } });
      const { outcome } = failure;
      const terminal = { type: 'terminal', outcome, charged: 'no', leads: 0, state: null, ready_count: null };
      expect(entries).toEqual(left === 'ended' ? [terminal] : []);
    },
  );

  it('tells the error of the service where the end can’t be written either', async () => {
    const failure = new RequestError('no_credits', endpoints.createTask, 'no');
    await expect(create(createRun(true).run, () => Promise.reject(failure))).rejects.toBe(failure);
  });
});
