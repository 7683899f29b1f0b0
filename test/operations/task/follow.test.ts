import { describe, expect, it } from 'vitest';
import type { Client, Page } from '../../../src/client.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import type { TaskState } from '../../../src/contract/types.ts';
import { readTask, type TaskToRead, toUnread } from '../../../src/operations/kinds/task-follow.ts';
import { RequestError } from '../../../src/transport/request-error.ts';
import { createLeapingClock } from '../../helpers/clock.ts';

type Status = readonly [state: TaskState, ready: number];

/** A client that knows status and fetch alone. */
function createClient(status: () => Status, entities = 100): Client {
  let seen: Status = ['created', 0];
  const client: Pick<Client, 'status' | 'fetch'> = {
    async status() {
      seen = status();
      const [state, ready_count] = seen;
      const value = { status: { status: state, ready_count, stop_reason: undefined } };
      return { text: '', value, requestId: 'req', idempotencyKey: undefined, serverTime: undefined };
    },
    async fetch(id, pts, num): Promise<Page> {
      const [state, ready_count] = seen;
      const count = Math.max(0, Math.min(num, ready_count, entities) - pts);
      const value = {
        object: 'entity_search_items',
        leads_search_id: id,
        status: state,
        pts,
        num,
        count,
        ready_count,
        limit: 100,
      } as const;
      return {
        text: '',
        value,
        requestId: 'req',
        idempotencyKey: undefined,
        serverTime: undefined,
        entities: Array.from({ length: count }, (_, i) => String(pts + i)),
      };
    },
  };
  return client as Client;
}

const task: TaskToRead = { leadsSearchId: 'ls', num: 500, poll: { firstMs: 5000, maxMs: 30_000 } };

const lost = (): RequestError => new RequestError('lost', endpoints.status, 'no answer');

function follow(
  client: Client,
  { from = 0, to = 'end', take = () => {} }: { from?: number; to?: 'end' | 'ready'; take?: () => void } = {},
) {
  const clock = createLeapingClock();
  const waiting = { clock, random: () => 0.5, signal: new AbortController().signal };
  const taken: string[] = [];
  const pages: number[] = [];
  const faults: string[] = [];
  const read = async () => {
    const seen = toUnread(from);
    let failure: unknown;
    try {
      for await (const event of readTask(client, waiting, task, seen, to)) {
        if (event.is === 'stumbled') faults.push(event.fault.message);
        if (event.is !== 'page') continue;
        take();
        taken.push(...event.page.entities);
        pages.push(seen.position + event.page.value.count);
      }
    } catch (error) {
      failure = error;
    }
    return { ...seen, failure };
  };
  return { clock, taken, pages, faults, summary: read() };
}

function inTurn(...steps: (Status | Error)[]): () => Status {
  return () => {
    const step = steps.length > 1 ? steps.shift() : steps[0];
    if (step === undefined || step instanceof Error) throw step;
    return step;
  };
}

describe('following a task', () => {
  it('polls at once, backs off without progress, and is quick again after progress', async () => {
    const idle: Status = ['running', 10];
    const { clock, taken, pages, summary } = follow(
      createClient(
        inTurn(
          ['created', 0],
          ['created', 0],
          idle,
          idle,
          idle,
          idle,
          idle,
          idle,
          idle,
          ['running', 20],
          ['done', 20],
        ),
      ),
    );
    expect(await summary).toMatchObject({ failure: undefined, position: 20, state: 'done' });
    expect(clock.waits).toEqual([500, 1000, 2000, 5000, 7500, 11_250, 16_875, 25_312.5, 30_000, 5000]);
    expect(taken).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
    expect(pages).toEqual([10, 20]);
  });

  it('survives an outage of nearly ten minutes', async () => {
    let failing = 0;
    const { clock, summary } = follow(
      createClient(() => {
        // 5 + 7.5 + 11.25 + 16.875 + 25.3125 s, then half a minute each: the last try is after 9 min 36 s.
        if (failing++ < 22) throw lost();
        return ['done', 3];
      }),
    );
    expect(await summary).toMatchObject({ failure: undefined, position: 3 });
    expect(clock.monotonic()).toBeGreaterThan(9 * 60_000);
    expect(clock.monotonic()).toBeLessThan(10 * 60_000);
  });

  it('gives up after more than that, with the position', async () => {
    let looks = 0;
    const { clock, summary } = follow(
      createClient(() => {
        if (looks++ > 0) throw lost();
        return ['running', 3];
      }),
    );
    expect(await summary).toMatchObject({ failure: { outcome: 'temporary', fault: 'lost' }, position: 3 });
    expect(clock.monotonic()).toBeGreaterThanOrEqual(10 * 60_000);
  });

  it('an outage that ends gives the next one its full ten minutes', async () => {
    let looks = 0;
    const { faults, summary } = follow(
      createClient(() => {
        looks++;
        if (looks === 61) return ['done', 1];
        if (looks % 20 === 0) return ['running', 1];
        throw lost();
      }),
    );
    expect(await summary).toMatchObject({ failure: undefined, position: 1 });
    // Three outages, and each is told once.
    expect(faults).toEqual(Array(3).fill('no answer'));
  });

  it('starts from the position it is told', async () => {
    const { taken, summary } = follow(createClient(inTurn(['done', 5])), { from: 3 });
    expect(await summary).toMatchObject({ position: 5 });
    expect(taken).toEqual(['3', '4']);
  });

  it('stops where what takes its pages fails', async () => {
    const failure = new Error('disk full');
    const { summary } = follow(createClient(inTurn(['done', 5])), {
      take() {
        throw failure;
      },
    });
    expect(await summary).toMatchObject({ failure, position: 0 });
  });
});

it('reading what is ready does not wait for a service that is away', async () => {
  const client = { ...createClient(inTurn(['done', 5])), fetch: () => Promise.reject(lost()) };
  const { clock, summary } = follow(client, { to: 'ready' });
  expect(await summary).toMatchObject({ failure: { outcome: 'temporary' }, position: 0 });
  expect(clock.waits).toEqual([]);
});
