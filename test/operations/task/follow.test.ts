import { describe, expect, it } from 'vitest';
import type { Client, Page } from '../../../src/client.ts';
import type { Clock } from '../../../src/context.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import type { TaskState } from '../../../src/contract/types.ts';
import { followTask, type TaskReader, type TaskToRead } from '../../../src/operations/task/follow.ts';
import { RequestError } from '../../../src/transport/errors.ts';

/** A clock on which a wait is over at once; it remembers what was waited for. */
function createLeapingClock(): Clock & { readonly waits: number[] } {
  let time = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => new Date(time),
    monotonic: () => time,
    after(ms, callback) {
      waits.push(ms);
      time += ms;
      queueMicrotask(callback);
      return () => {};
    },
  };
}

type Status = readonly [state: TaskState, ready: number];

/** A client that knows status and fetch alone. */
function createClient(status: () => Status, entities = 100): Client {
  let seen: Status = ['created', 0];
  const client: Pick<Client, 'status' | 'fetch'> = {
    async status() {
      seen = status();
      const [state, ready_count] = seen;
      const value = { status: { status: state, ready_count, verified_count: ready_count } };
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

const task: TaskToRead = { leadsSearchId: 'ls', from: 0, num: 500, poll: { firstMs: 5000, maxMs: 30_000 } };

function createReader(): TaskReader & {
  readonly taken: string[];
  readonly pages: number[];
  readonly faults: string[];
} {
  const taken: string[] = [];
  const pages: number[] = [];
  const faults: string[] = [];
  return {
    taken,
    pages,
    async deliver(entities) {
      taken.push(...entities);
    },
    async delivered({ next }) {
      pages.push(next);
    },
    progress() {},
    stumbled: ({ message }) => void faults.push(message),
    faults,
  };
}

const lost = (): RequestError => new RequestError('lost', endpoints.status, 'no answer');

function follow(status: () => Status, options: Partial<TaskToRead> = {}) {
  const clock = createLeapingClock();
  const reader = createReader();
  const waiting = { clock, random: () => 0.5, signal: new AbortController().signal };
  const summary = followTask(createClient(status), waiting, { ...task, ...options }, reader);
  return { clock, reader, summary };
}

function inTurn(...steps: (Status | Error)[]): () => Status {
  return () => {
    const step = steps.length > 1 ? steps.shift() : steps[0];
    if (step === undefined || step instanceof Error) throw step;
    return step;
  };
}

describe('following a task', () => {
  it('looks at once, backs off while nothing happens, and is quick again after progress', async () => {
    const idle: Status = ['running', 10];
    const { clock, reader, summary } = follow(
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
    );
    expect(await summary).toMatchObject({ failure: undefined, leads: 20, position: 20, state: 'done' });
    expect(clock.waits).toEqual([500, 1000, 2000, 5000, 7500, 11_250, 16_875, 25_312.5, 30_000, 5000]);
    expect(reader.taken).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
    expect(reader.pages).toEqual([10, 20]);
  });

  it('survives an outage of nearly ten minutes', async () => {
    let failing = 0;
    const { clock, summary } = follow(() => {
      // 5 + 7.5 + 11.25 + 16.875 + 25.3125 s, then half a minute each: the last try is after 9 min 36 s.
      if (failing++ < 22) throw lost();
      return ['done', 3];
    });
    expect(await summary).toMatchObject({ failure: undefined, leads: 3 });
    expect(clock.monotonic()).toBeGreaterThan(9 * 60_000);
    expect(clock.monotonic()).toBeLessThan(10 * 60_000);
  });

  it('gives up after more than that, with the position', async () => {
    let looks = 0;
    const { clock, summary } = follow(() => {
      if (looks++ > 0) throw lost();
      return ['running', 3];
    });
    expect(await summary).toMatchObject({ failure: { outcome: 'temporary', fault: 'lost' }, position: 3 });
    expect(clock.monotonic()).toBeGreaterThanOrEqual(10 * 60_000);
  });

  it('an outage that ends gives the next one its full ten minutes', async () => {
    let looks = 0;
    const { reader, summary } = follow(() => {
      looks++;
      if (looks === 61) return ['done', 1];
      if (looks % 20 === 0) return ['running', 1];
      throw lost();
    });
    expect(await summary).toMatchObject({ failure: undefined, leads: 1 });
    // Three outages, and each is told once.
    expect(reader.faults).toEqual(Array(3).fill('no answer'));
  });

  it('starts from the position it is told', async () => {
    const { reader, summary } = follow(inTurn(['done', 5]), { from: 3 });
    expect(await summary).toMatchObject({ leads: 2, position: 5 });
    expect(reader.taken).toEqual(['3', '4']);
  });

  it.each(['deliver', 'delivered'] as const)('stops where %s fails', async (part) => {
    const failure = new Error('disk full');
    const reader = { ...createReader(), [part]: () => Promise.reject(failure) };
    const waiting = { clock: createLeapingClock(), random: () => 0.5, signal: new AbortController().signal };
    const summary = await followTask(createClient(inTurn(['done', 5])), waiting, task, reader);
    // What was written is counted, also when it could not be written down.
    expect(summary).toMatchObject({ failure, position: part === 'deliver' ? 0 : 5 });
  });
});

describe('reading what is ready', () => {
  it('does not wait for a service that is away', async () => {
    const client = { ...createClient(inTurn(['done', 5])), fetch: () => Promise.reject(lost()) };
    const clock = createLeapingClock();
    const waiting = { clock, random: () => 0.5, signal: new AbortController().signal };
    const summary = await followTask(client, waiting, task, createReader(), 'ready');
    expect(summary).toMatchObject({ failure: { outcome: 'temporary' }, leads: 0 });
    expect(clock.waits).toEqual([]);
  });
});
