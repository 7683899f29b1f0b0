import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { forgetOld } from '../../src/local-service/ledger.ts';
import { admitForTest } from './ledger-steps.ts';
import { errorOf, expectToAddUp, outcomeOf, type Running, running, withRows } from './running.ts';

type Paid = Parameters<Running['ask']>[0];

async function spent(service: Running, name: Paid, changes: object): Promise<number> {
  const before = await service.balance();
  const answer = await service.ask(name, changes);
  expect(answer.status).toBe(200);
  await answer.text();
  return before - (await service.balance());
}

/** A task ends as soon as it is looked at. */
const atOnce = { task_start_ms: 0, task_step_ms: 0 };

describe('what is charged', () => {
  it.each<[string, Paid, object, number, object?]>([
    ['leads delivered, not the limit', 'search', {}, 4],
    ['up to the limit', 'search', { limit: 3 }, 3],
    ['nothing found', 'search', { objective: 'plumbing' }, 0],
    ['more for enrich_fields', 'search', { limit: 3, enrich_fields: ['city'] }, 6],
    ['a task', 'createTask', { limit: 3 }, 3, atOnce],
    ['more for web search', 'createTask', { limit: 3, enable_web_search: true }, 6, atOnce],
    [
      'another price of web search',
      'createTask',
      { limit: 3, enable_web_search: true },
      15,
      { ...atOnce, price_web_search: 4 },
    ],
    ['an e-mail address', 'contactSearch', {}, 5],
    ['a phone number', 'contactSearch', { contact_type: 'phone' }, 10],
    ['no contact', 'contactSearch', { objective: 'Somebody Else' }, 0],
    ['an answer', 'deepSearch', {}, 20],
    ['no answer', 'deepSearch', { query: 'Why?' }, 0],
    ['an enrichment', 'enrich', {}, 2],
    ['no enrichment', 'enrich', { entity_context: 'Nobody' }, 0],
    ['extracted items', 'extract', {}, 3],
    ['no items', 'extract', { instruction: 'plumbing' }, 0],
    ['every lookup', 'contactSearch', { objective: 'Somebody Else' }, 5, { contact_billing: 'per_request' }],
    ['every research', 'deepSearch', { query: 'Why?' }, 20, { no_result_bills: 'yes' }],
    ['every enrichment', 'enrich', { entity_context: 'Nobody' }, 2, { no_result_bills: 'yes' }],
    ['another price', 'search', { limit: 3 }, 21, { price_search: 7 }],
  ])('%s', async (_, name, changes, credits, switches = {}) => {
    expect(await spent(await running({ switches }), name, changes)).toBe(credits);
  });

  it.each([
    [3, '200'],
    [2, '402 insufficient_credits'],
  ])('the balance must cover the worst case: %i credits for 3 leads', async (opening_credits, outcome) => {
    const service = await running({ switches: { opening_credits } });
    expect(await outcomeOf(await service.ask('search', { limit: 3 }))).toBe(outcome);
  });
});

describe('a stream left by its client', () => {
  it.each([
    ['bills_sent', 2],
    ['bills_all', 4],
    ['bills_nothing', 0],
  ] as const)('dropped_stream=%s charges %i', async (dropped_stream, credits) => {
    const switches = { dropped_stream, opening_credits: 100, batch_pause_ms: 3_600_000 };
    const service = await running({ switches });
    const answer = await service.ask('search', { limit: 50 });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    expect(await service.balance()).toBe(50);
    await reader.cancel();
    await service.close();
    const left = { settled: credits, reserved: 0, available: 100 - credits };
    expect(expectToAddUp(service.stateDir)).toMatchObject([left]);
  });

  it('ends after unread_ms where it does not read, is charged for what was taken, and leaves its place', async () => {
    // More than the buffers between the two take; what is nested is not indexed.
    const more = ['x'.repeat(1_000_000)];
    const leads = Array.from({ length: 16 }, (_, index) => ({ name: `Fintech ${index}`, more }));
    const switches = { unread_ms: 200, user_concurrency: 1, batch_size: 1 };
    const service = await running({ leads, switches });
    const body = '{"entity_type":"company","objective":"fintech","limit":16}';
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.pause();
    socket.write(
      `POST /v1/entity-search HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: lp_local_demo\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => service.balance()).not.toBe(100_000);
    await expect.poll(async () => (await service.ask('contactSearch')).status).toBe(200);
    socket.destroy();
    await service.close();
    const [account] = expectToAddUp(service.stateDir);
    expect(account?.reserved).toBe(0);
    expect(account?.settled).toBeLessThan(16);
  });
});

describe('what is left open', () => {
  const insert = `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, state, price, reserved, owner, search_id, created_at)
    VALUES (?1, 'demo', ?2, ?1, '', 'open', 1, 3, ?3, ?4, ?5)`;
  const reserve = "UPDATE accounts SET reserved = reserved + 3 WHERE account = 'demo'";

  it('by a settlement that failed is ended by the next transaction', async () => {
    const service = await running({ switches: { opening_credits: 100, batch_pause_ms: 3_600_000 } });
    const stream = await service.ask('search', { limit: 3 });
    expect(await service.balance()).toBe(97);
    withRows(service.stateDir, (rows) => {
      const owner = rows.get<{ owner: string }>('SELECT owner FROM requests')?.owner ?? '';
      for (const operation of ['contactSearch', 'createTask']) {
        rows.run(reserve);
        rows.run(insert, [operation, operation, owner, null, service.clock.time]);
      }
    });
    expect(await service.balance()).toBe(97);
    // A task that was not made can be asked for again; a look-up may have been made.
    await service.json('createTask', { limit: 1 }, { 'idempotency-key': 'createTask' });
    expect((await service.ask('contactSearch', {}, { 'idempotency-key': 'contactSearch' })).status).toBe(409);
    await stream.body?.cancel();
  });

  it('by a killed process is settled as dropped or released by the next start', async () => {
    const { stateDir, close } = await running();
    await close();
    withRows(stateDir, (rows) => {
      admitForTest(rows, 'ended');
      for (const [id = '', searchId = null] of [['stream', 's'], ['lookup']]) {
        rows.run(reserve);
        rows.run(insert, [id, 'search', '999999999..gone', searchId, 0]);
      }
      rows.exec(
        `INSERT INTO searches VALUES ('s', 'stream', 'demo', 'k', 'stream', 3, 'running', 'limit', 3, 3, 2, 2, NULL, 0)`,
      );
    });
    await (await running({ stateDir })).close();
    expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 0, settled: 1 + 2 }]);
  });
});

describe('Idempotency-Key', () => {
  const again = { 'idempotency-key': 'same' };

  it.each([
    ['on', 200],
    ['off', 409],
  ] as const)('extract_replay=%s: a repetition is %i, and free', async (extract_replay, status) => {
    const service = await running({ switches: { extract_replay } });
    const first = await (await service.ask('extract', {}, again)).text();
    const before = await service.balance();
    const second = await service.ask('extract', {}, again);
    expect(second.status).toBe(status);
    if (status === 200) expect(await second.text()).toBe(first);
    else expect(await errorOf(second)).toBe('409 request_already_exists');
    expect(await service.balance()).toBe(before);
  });

  it("another account's key is another key", async () => {
    const service = await running();
    await service.search({}, again);
    await service.search({}, { ...again, 'x-api-key': 'lp_local_other' });
  });

  it('another API key of the account does not get a task that it can not read', async () => {
    const service = await running();
    await service.json('createTask', {}, again);
    const before = await service.balance();
    const other = await service.ask('createTask', {}, { ...again, 'x-api-key': 'lp_local_entity_only' });
    const text = await other.text();
    expect(text).toContain('"idempotency_error"');
    expect(text).not.toContain('ls_');
    expect(await service.balance()).toBe(before);
  });

  it('is remembered by the state, not by the process', async () => {
    const first = await running();
    await first.search({}, again);
    await first.close();
    const second = await running({ stateDir: first.stateDir });
    expect(await errorOf(await second.ask('search', {}, again))).toBe('409 request_already_exists');
  });
});

describe('requests that ended long ago', () => {
  const days = 24 * 3_600_000;

  it('are forgotten after 30 days, with their keys and tasks; the ledger still adds up', async () => {
    const service = await running({ switches: { task_start_ms: 0, task_step_ms: 0 } });
    const { leads_search_id } = await service.json('createTask');
    for (let index = 0; index < 8; index += 1) {
      await service.search({}, { 'idempotency-key': `old-${index}` });
      await service.json('contactSearch');
    }
    const status = async () => (await service.ask('status', { leads_search_id })).status;
    const old = { 'idempotency-key': 'old-0' };
    service.clock.forward(29 * days);
    expect(await status()).toBe(200);
    // A few are forgotten each time, in any order.
    for (let index = 0; index < 8; index += 1)
      expect((await service.ask('search', {}, { 'idempotency-key': `old-${index}` })).status).toBe(409);
    const before = await service.balance();
    service.clock.forward(2 * days);
    for (let index = 0; index < 10; index += 1) await service.json('deepSearch');
    expect(await status()).toBe(404);
    expect(await service.balance()).toBe(before - 10 * 20);
    await service.search({}, old);
    await service.close();
    const left = withRows(service.stateDir, (rows) => [
      rows.get('SELECT count(*) AS requests FROM requests'),
      rows.get('SELECT count(DISTINCT search_id) AS searches FROM entities'),
    ]);
    expect(left).toEqual([{ requests: 11 }, { searches: 1 }]);
    const settled = 4 + 9 * 4 + 8 * 5 + 10 * 20;
    expect(expectToAddUp(service.stateDir)).toMatchObject([{ reserved: 0, settled }]);
  });

  it('but not while they are open', async () => {
    const switches = { task_start_ms: 2_000_000_000, task_step_ms: 1, opening_credits: 1000 };
    const service = await running({ switches });
    await service.json('createTask');
    // As if every process had been away.
    service.clock.forward(31 * days);
    withRows(service.stateDir, (rows) => {
      forgetOld(rows, service.clock.time);
      expect(rows.get('SELECT reserved FROM accounts')).toEqual({ reserved: 100 });
    });
  });

  it('a state of an older version is taken over', async () => {
    const first = await running();
    await first.search();
    await first.close();
    const older =
      'DROP INDEX requests_ended; ALTER TABLE accounts DROP COLUMN forgotten; PRAGMA user_version = 1';
    withRows(first.stateDir, (rows) => rows.exec(older));
    expect(await (await running({ stateDir: first.stateDir })).balance()).toBe(100_000 - 4);
  });
});

it.each([
  ['user_concurrency', 'lp_local_demo', '429 concurrency_limit'],
  ['user_concurrency', 'lp_local_other', '200'],
  ['service_concurrency', 'lp_local_other', '429 concurrency_limit'],
] as const)('concurrency, %s=1: a second request of %s is %s', async (name, apiKey, outcome) => {
  const service = await running({ switches: { [name]: 1, batch_pause_ms: 3_600_000 } });
  const first = await service.ask('search');
  expect(first.status).toBe(200);
  const second = await service.ask('contactSearch', {}, { 'x-api-key': apiKey });
  expect(await outcomeOf(second)).toBe(outcome);
  await first.body?.cancel();
  // The place is free once the service has seen its client go.
  await expect.poll(async () => outcomeOf(await service.ask('contactSearch'))).toBe('200');
});
