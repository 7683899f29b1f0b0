import { describe, expect, it } from 'vitest';
import { expectToAddUp, type Running, running } from './running.ts';

const pace = { task_start_ms: 1000, task_step_ms: 1000, task_step: 2 };

const create = async (service: Running, changes: object = {}): Promise<string> =>
  (await service.json('createTask', { limit: 50, ...changes })).leads_search_id;
const statusOf = async (service: Running, leads_search_id: string) =>
  (await service.json('status', { leads_search_id })).status;

describe('a task', () => {
  it('goes from created over running to done', async () => {
    const service = await running({ switches: pace });
    const id = await create(service);
    const seen: string[] = [];
    for (let second = 0; second <= 4; second += 1) {
      const { status, ready_count, verified_count, stop_reason } = await statusOf(service, id);
      expect(verified_count).toBeGreaterThanOrEqual(ready_count);
      seen.push(`${status} ${ready_count} ${stop_reason}`);
      service.clock.forward(1000);
    }
    expect(seen).toEqual(['created 0 ', 'running 0 ', 'running 2 ', 'running 4 ', 'done 4 source_finished']);
  });

  it('stops with limit when it is reached', async () => {
    const service = await running({ switches: pace });
    const id = await create(service, { limit: 2 });
    service.clock.forward(60_000);
    const expected = { status: 'done', ready_count: 2, stop_reason: 'limit' };
    expect(await statusOf(service, id)).toMatchObject(expected);
  });

  it('never goes backwards with the clock', async () => {
    const service = await running({ switches: pace });
    const id = await create(service);
    for (const [seconds, ready_count, status] of [
      [3, 4, 'running'],
      [4, 4, 'done'],
    ] as const) {
      service.clock.forward(1000 * seconds);
      const before = await statusOf(service, id);
      expect(before).toMatchObject({ status, ready_count });
      // To a time when fewer leads were ready, to one when the task had not begun, and to one before it was created.
      for (const back of [1, 2, 10]) {
        service.clock.forward(-1000 * back);
        expect({ back, now: await statusOf(service, id) }).toEqual({ back, now: before });
        service.clock.forward(1000 * back);
      }
    }
  });

  it('goes on while nothing runs, and is settled by the next start', async () => {
    const first = await running({ switches: { ...pace, opening_credits: 100 } });
    const { clock, stateDir } = first;
    const leads_search_id = await create(first);
    await first.close();
    expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 50, settled: 0 }]);
    clock.forward(60_000);
    const second = await running({ clock, stateDir, switches: pace });
    expect(await second.balance()).toBe(96);
    expect(await second.json('fetch', { leads_search_id })).toMatchObject({ status: 'done', count: 4 });
  });

  it('settles without anybody asking for its status', async () => {
    const service = await running({ switches: { task_start_ms: 0, task_step_ms: 0, opening_credits: 100 } });
    await create(service);
    await expect.poll(() => service.balance()).toBe(96);
  });

  it('of web search types needs enable_web_search, and finds them', async () => {
    const service = await running({ switches: { task_start_ms: 0, task_step_ms: 0 } });
    const asked = { entity_type: 'xiaohongshu', objective: '上海的咖啡博主', enable_web_search: true };
    const { entities } = await service.json('fetch', { leads_search_id: await create(service, asked) });
    expect(entities).toMatchObject([{ name: '山月的咖啡日记' }]);
  });
});

describe('what is read', () => {
  it('a page has the position that was asked for, however large', async () => {
    const service = await running({ switches: pace });
    const pts = '123456789012345678901234567890';
    const answer = await service.ask('fetch', { leads_search_id: await create(service), pts });
    expect(await answer.text()).toContain(`"pts":${pts},`);
  });

  it('an ID that goes on after a NUL is another one', async () => {
    const service = await running();
    const id = await create(service);
    service.clock.forward(60_000);
    for (const name of ['status', 'fetch'] as const)
      expect((await service.ask(name, { leads_search_id: `${id}\0x` })).status).toBe(404);
    const { leads } = await service.search({ dedup_service_leads: [`${id}\0x`] });
    expect(leads).toHaveLength(4);
  });

  it.each([
    ['off', 404],
    ['on', 200],
  ] as const)('stream_fetch=%s: reading the id of a stream is %i', async (stream_fetch, status) => {
    const service = await running({ switches: { stream_fetch } });
    const { id } = await service.search();
    const answer = await service.ask('fetch', { leads_search_id: id, num: 500 });
    expect(answer.status).toBe(status);
    if (status === 200)
      expect(await answer.json()).toMatchObject({ status: 'done', count: 4, ready_count: 4 });
  });
});
