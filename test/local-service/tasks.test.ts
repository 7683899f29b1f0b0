import { describe, expect, it } from 'vitest';
import type { EntitySearchItems, EntitySearchStatus } from '../../src/contract/types.ts';
import { expectToAddUp, payloads, type Running, running, SteppedClock } from './running.ts';

const body = { entity_type: 'company', objective: 'fintech', limit: 50 };
const pace = { task_start_ms: 1000, task_step_ms: 1000, task_step: 2 };

async function create(service: Running, more: object = {}): Promise<string> {
  const answer = await service.post(
    '/v1/entity-search/create_task',
    { ...body, ...more },
    { 'idempotency-key': 'a' },
  );
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { leads_search_id: string }).leads_search_id;
}

async function statusOf(service: Running, id: string): Promise<EntitySearchStatus> {
  const answer = await service.get(`/v1/entity-search/status?leads_search_id=${id}`);
  return ((await answer.json()) as { status: EntitySearchStatus }).status;
}

async function pageOf(service: Running, id: string, query = ''): Promise<EntitySearchItems> {
  const answer = await service.get(`/v1/entity-search/fetch?leads_search_id=${id}${query}`);
  return (await answer.json()) as EntitySearchItems;
}

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
    expect(await statusOf(service, id)).toMatchObject({
      status: 'done',
      ready_count: 2,
      stop_reason: 'limit',
    });
  });

  it('never goes backwards with the clock', async () => {
    const service = await running({ switches: pace });
    const id = await create(service);
    service.clock.forward(2000);
    expect((await statusOf(service, id)).ready_count).toBe(2);
    service.clock.forward(-10_000);
    expect(await statusOf(service, id)).toMatchObject({ status: 'running', ready_count: 2 });
  });

  it('goes on while nothing runs, and is settled by the next start', async () => {
    const clock = new SteppedClock();
    const first = await running({ clock, switches: { ...pace, opening_credits: 100 } });
    const id = await create(first);
    await first.close();
    expect(expectToAddUp(first.stateDir)).toMatchObject([{ reserved: 50, settled: 0 }]);
    clock.forward(60_000);
    const second = await running({ clock, stateDir: first.stateDir, switches: pace });
    expect(await second.balance()).toBe(96);
    expect(await pageOf(second, id)).toMatchObject({ status: 'done', count: 4 });
  });

  it('settles in the background, without anybody asking for it', async () => {
    const service = await running({ switches: { task_start_ms: 0, task_step_ms: 0, opening_credits: 100 } });
    await create(service);
    await expect.poll(() => service.balance()).toBe(96);
  });

  it('of web search types needs enable_web_search, and finds them', async () => {
    const service = await running({ switches: { task_start_ms: 0, task_step_ms: 0 } });
    const id = await create(service, {
      entity_type: 'xiaohongshu',
      objective: '上海的咖啡博主',
      enable_web_search: true,
    });
    expect((await pageOf(service, id)).entities).toMatchObject([{ name: '山月的咖啡日记' }]);
  });
});

describe('a page', () => {
  it('has the position that was asked for, however large', async () => {
    const service = await running({ switches: pace });
    const id = await create(service);
    const pts = '123456789012345678901234567890';
    const answer = await service.get(`/v1/entity-search/fetch?leads_search_id=${id}&pts=${pts}`);
    expect(await answer.text()).toContain(`"pts":${pts},`);
  });
});

describe('ownership', () => {
  it('an ID that goes on after a NUL is another one', async () => {
    const service = await running();
    const id = await create(service);
    service.clock.forward(60_000);
    for (const name of ['status', 'fetch'])
      expect((await service.get(`/v1/entity-search/${name}?leads_search_id=${id}%00x`)).status).toBe(404);
    const again = await service.post('/v1/entity-search', { ...body, dedup_service_leads: [`${id}\0x`] });
    expect(payloads(await again.text()).at(-2)).toMatchObject({ cum_count: 4 });
  });

  it.each([
    ['off', 404],
    ['on', 200],
  ] as const)('stream_fetch=%s: reading the id of a stream is %i', async (stream_fetch, status) => {
    const service = await running({ switches: { stream_fetch } });
    const text = await (await service.post('/v1/entity-search', body)).text();
    const [{ leads_search_id: id } = { leads_search_id: '' }] = payloads(text) as {
      leads_search_id: string;
    }[];
    const answer = await service.get(`/v1/entity-search/fetch?leads_search_id=${id}&num=500`);
    expect(answer.status).toBe(status);
    if (status === 200)
      expect(await answer.json()).toMatchObject({ status: 'done', count: 4, ready_count: 4 });
  });
});
