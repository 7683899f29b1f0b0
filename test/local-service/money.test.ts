import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { forgetOld } from '../../src/local-service/ledger.ts';
import { admitForTest } from './ledger-steps.ts';
import { errorOf, expectToAddUp, type Running, running, withRows } from './running.ts';

const search = { entity_type: 'company', objective: 'fintech', limit: 3 };
const task = { entity_type: 'company', objective: 'fintech' };
const email = { contact_type: 'email', objective: 'Lena Weber' };
const schema = { type: 'object', properties: { city: { type: 'string' } } };
const page = { type: 'web2list', target: 'https://example.com/list', instruction: 'fintech in Berlin' };
const calls = {
  search: ['/v1/entity-search', search],
  createTask: ['/v1/entity-search/create_task', task],
  contact: ['/v1/contact-search', email],
  research: ['/v1/deep-search', { query: 'What is Kontora?' }],
  enrich: ['/v1/enrich', { entity_context: 'Kontora', enrich_fields: schema }],
  extract: ['/v1/extract', page],
} as const;

function call(
  service: Running,
  name: keyof typeof calls,
  headers: Record<string, string> = {},
): Promise<Response> {
  const [path, body] = calls[name];
  return service.post(path, body, headers);
}

async function spent(service: Running, name: keyof typeof calls, body: object): Promise<number> {
  const before = await service.balance();
  const answer = await service.post(calls[name][0], body);
  expect(answer.status).toBe(200);
  await answer.text();
  return before - (await service.balance());
}

describe('what is charged', () => {
  it.each([
    ['leads delivered, not the limit', 'search', { ...search, limit: 100 }, 4],
    ['up to the limit', 'search', search, 3],
    ['nothing found', 'search', { ...search, objective: 'plumbing' }, 0],
    ['more for enrich_fields', 'search', { ...search, enrich_fields: ['city'] }, 6],
    ['an e-mail address', 'contact', email, 5],
    ['a phone number', 'contact', { ...email, contact_type: 'phone' }, 10],
    ['no contact', 'contact', { ...email, objective: 'Somebody Else' }, 0],
    ['an answer', 'research', { query: 'What is Kontora?' }, 20],
    ['no answer', 'research', { query: 'Why?' }, 0],
    ['an enrichment', 'enrich', { entity_context: 'Kontora', enrich_fields: schema }, 2],
    ['no enrichment', 'enrich', { entity_context: 'Nobody', enrich_fields: schema }, 0],
    ['extracted items', 'extract', page, 3],
    ['no items', 'extract', { ...page, instruction: 'plumbing' }, 0],
  ] as const)('%s', async (_, name, body, credits) => {
    expect(await spent(await running(), name, body)).toBe(credits);
  });

  it.each([
    ['contact_billing', 'per_request', 'contact', { ...email, objective: 'Somebody Else' }, 5],
    ['no_result_bills', 'yes', 'research', { query: 'Why?' }, 20],
    ['no_result_bills', 'yes', 'enrich', { entity_context: 'Nobody', enrich_fields: schema }, 2],
    ['price_search', 7, 'search', search, 21],
  ] as const)('%s=%s: %s', async (name, value, operation, body, credits) => {
    expect(await spent(await running({ switches: { [name]: value } }), operation, body)).toBe(credits);
  });

  it('a task: reserved up to the limit, settled against ready_count at its end', async () => {
    const service = await running({ switches: { opening_credits: 1000 } });
    const answer = await call(service, 'createTask', { 'idempotency-key': 'a' });
    expect(await service.balance()).toBe(900);
    service.clock.forward(60_000);
    const { leads_search_id } = (await answer.json()) as { leads_search_id: string };
    await service.get(`/v1/entity-search/status?leads_search_id=${leads_search_id}`);
    expect(await service.balance()).toBe(996);
  });

  it.each([
    [3, 200],
    [2, 402],
  ])('the balance must cover the worst case: %i credits for 3 leads', async (opening_credits, status) => {
    const service = await running({ switches: { opening_credits } });
    const answer = await call(service, 'search', { 'idempotency-key': 'a' });
    expect(answer.status).toBe(status);
    if (status === 402) expect(await errorOf(answer)).toBe('402 insufficient_credits');
    else await answer.text();
  });
});

describe('a stream left by its client', () => {
  it.each([
    ['bills_sent', 2],
    ['bills_all', 4],
    ['bills_nothing', 0],
  ] as const)('dropped_stream=%s charges %i', async (dropped_stream, credits) => {
    const service = await running({
      switches: { dropped_stream, opening_credits: 100, batch_pause_ms: 3_600_000 },
    });
    const sent = request(`${service.url}/v1/entity-search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'lp_local_demo' },
    });
    sent.end(JSON.stringify({ ...search, limit: 50 }));
    const [answer] = await once(sent, 'response');
    await once(answer, 'data');
    expect(await service.balance()).toBe(50);
    sent.destroy();
    await service.close();
    expect(expectToAddUp(service.stateDir)).toMatchObject([
      { settled: credits, reserved: 0, available: 100 - credits },
    ]);
  });
});

describe('a stream whose client does not read', () => {
  it('ends after unread_ms, is charged for what was taken, and leaves its place to others', async () => {
    // More than the buffers between the two take; what is nested is not indexed.
    const more = ['x'.repeat(1_000_000)];
    const leads = Array.from({ length: 16 }, (_, index) => ({ name: `Fintech ${index}`, more }));
    const switches = { unread_ms: 200, user_concurrency: 1, batch_size: 1 };
    const service = await running({ leads, switches });
    const body = JSON.stringify({ ...search, limit: 16 });
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.pause();
    socket.write(
      `POST /v1/entity-search HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: lp_local_demo\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => service.balance(), { timeout: 10_000 }).not.toBe(100_000);
    await expect.poll(async () => (await call(service, 'contact')).status, { timeout: 10_000 }).toBe(200);
    socket.destroy();
    await service.close();
    const [account] = expectToAddUp(service.stateDir);
    expect(account?.reserved).toBe(0);
    expect(account?.settled).toBeLessThan(16);
  });
});

describe('what is left open', () => {
  it('by a settlement that failed is ended by whoever looks next', async () => {
    const service = await running({ switches: { opening_credits: 100, batch_pause_ms: 3_600_000 } });
    const stream = await call(service, 'search');
    expect(await service.balance()).toBe(97);
    withRows(service.stateDir, (rows) => {
      const owner = rows.get<{ owner: string }>('SELECT owner FROM requests')?.owner ?? '';
      for (const operation of ['contactSearch', 'createTask']) {
        rows.run("UPDATE accounts SET reserved = reserved + 5 WHERE account = 'demo'");
        rows.run(
          `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, state, price, reserved, owner, created_at)
           VALUES (?1, 'demo', ?1, ?1, '', 'open', 5, 5, ?2, ?3)`,
          [operation, owner, service.clock.time],
        );
      }
    });
    expect(await service.balance()).toBe(97);
    // A task that was not made can be asked for again; a look-up may have been made.
    const headers = { 'idempotency-key': 'createTask' };
    const task = await service.post('/v1/entity-search/create_task', { ...search, limit: 1 }, headers);
    expect(task.status).toBe(200);
    expect((await call(service, 'contact', { 'idempotency-key': 'contactSearch' })).status).toBe(409);
    await stream.body?.cancel();
  });
});

describe('what a killed process left open', () => {
  it('is settled as dropped or released by the next start', async () => {
    const { stateDir, close } = await running();
    await close();
    withRows(stateDir, (rows) => {
      admitForTest(rows, 'ended');
      for (const [id, searchId] of [
        ['stream', 's'],
        ['lookup', null],
      ]) {
        rows.run("UPDATE accounts SET reserved = reserved + 3 WHERE account = 'demo'");
        rows.run(
          `INSERT INTO requests (request_id, account, operation, idempotency_key, body_hash, state, price, reserved, owner, search_id, created_at)
           VALUES (?, 'demo', 'search', ?, '', 'open', 1, 3, '999999999..gone', ?, 0)`,
          [id ?? '', id ?? '', searchId ?? null],
        );
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
  ] as const)(
    'extract_replay=%s: a repetition of extract is %i, and free',
    async (extract_replay, status) => {
      const service = await running({ switches: { extract_replay } });
      const first = await (await call(service, 'extract', again)).text();
      const before = await service.balance();
      const second = await call(service, 'extract', again);
      expect(second.status).toBe(status);
      if (status === 200) expect(await second.text()).toBe(first);
      else expect(await errorOf(second)).toBe('409 request_already_exists');
      expect(await service.balance()).toBe(before);
    },
  );

  it("another account's key is another key", async () => {
    const service = await running();
    await (await call(service, 'search', again)).text();
    const other = await call(service, 'search', { ...again, 'x-api-key': 'lp_local_other' });
    expect(other.status).toBe(200);
    await other.text();
  });

  it('another API key of the account does not get a task that it can not read', async () => {
    const service = await running();
    const first = await call(service, 'createTask', again);
    expect(first.status).toBe(200);
    const before = await service.balance();
    const other = { ...again, 'x-api-key': 'lp_local_entity_only' };
    const text = await (await call(service, 'createTask', other)).text();
    expect(text).toContain('"idempotency_error"');
    expect(text).not.toContain('ls_');
    expect(await service.balance()).toBe(before);
  });

  it('is remembered by the state, not by the process', async () => {
    const first = await running();
    await (await call(first, 'search', again)).text();
    await first.close();
    const second = await running({ stateDir: first.stateDir });
    expect(await errorOf(await call(second, 'search', again))).toBe('409 request_already_exists');
  });
});

describe('requests that ended long ago', () => {
  const days = 24 * 3_600_000;

  it('are forgotten after 30 days, with their keys and tasks; the ledger still adds up', async () => {
    const service = await running({ switches: { task_start_ms: 0, task_step_ms: 0 } });
    const created = await call(service, 'createTask', { 'idempotency-key': 'task' });
    const { leads_search_id: id } = (await created.json()) as { leads_search_id: string };
    for (let index = 0; index < 8; index += 1) {
      await (await call(service, 'search', { 'idempotency-key': `old-${index}` })).text();
      await (await call(service, 'contact', { 'idempotency-key': `look-up-${index}` })).text();
    }
    const status = async () => (await service.get(`/v1/entity-search/status?leads_search_id=${id}`)).status;
    service.clock.forward(29 * days);
    expect(await status()).toBe(200);
    expect((await call(service, 'search', { 'idempotency-key': 'old-0' })).status).toBe(409);
    const before = await service.balance();
    service.clock.forward(2 * days);
    for (let index = 0; index < 10; index += 1) await (await call(service, 'research')).text();
    expect(await status()).toBe(404);
    expect(await service.balance()).toBe(before - 10 * 20);
    const answer = await call(service, 'search', { 'idempotency-key': 'old-0' });
    expect(answer.status).toBe(200);
    await answer.text();
    await service.close();
    const left = withRows(service.stateDir, (rows) => [
      rows.get('SELECT count(*) AS requests FROM requests'),
      rows.get('SELECT count(DISTINCT search_id) AS searches FROM entities'),
    ]);
    expect(left).toEqual([{ requests: 11 }, { searches: 1 }]);
    expect(expectToAddUp(service.stateDir)).toMatchObject([
      { reserved: 0, settled: 4 + 9 * 3 + 8 * 5 + 10 * 20 },
    ]);
  });

  it('but not while they are open', async () => {
    const service = await running({
      switches: { task_start_ms: 2_000_000_000, task_step_ms: 1, opening_credits: 1000 },
    });
    await (await call(service, 'createTask', { 'idempotency-key': 'task' })).text();
    // As if every process had been away.
    service.clock.forward(31 * days);
    withRows(service.stateDir, (rows) => {
      forgetOld(rows, service.clock.time);
      expect(rows.get('SELECT reserved FROM accounts')).toEqual({ reserved: 100 });
    });
  });

  it('a state of an older version is taken over', async () => {
    const first = await running();
    await (await call(first, 'search')).text();
    await first.close();
    const older =
      'DROP INDEX requests_ended; ALTER TABLE accounts DROP COLUMN forgotten; PRAGMA user_version = 1';
    withRows(first.stateDir, (rows) => rows.exec(older));
    const second = await running({ stateDir: first.stateDir });
    expect(await second.balance()).toBe(100_000 - 3);
  });
});

describe('concurrency', () => {
  it.each([
    ['user_concurrency', 'lp_local_demo', 429],
    ['user_concurrency', 'lp_local_other', 200],
    ['service_concurrency', 'lp_local_other', 429],
  ] as const)('%s=1: a second request of %s is %i', async (name, apiKey, status) => {
    const service = await running({ switches: { [name]: 1, batch_pause_ms: 3_600_000 } });
    const first = await service.post('/v1/entity-search', search);
    expect(first.status).toBe(200);
    const second = await service.post('/v1/contact-search', email, { 'x-api-key': apiKey });
    expect(second.status).toBe(status);
    if (status === 429) expect(await errorOf(second)).toBe('429 concurrency_limit');
    await first.body?.cancel();
  });
});
