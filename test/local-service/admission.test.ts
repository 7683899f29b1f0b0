import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { errorOf, type Running, type RunningOptions, running } from './running.ts';

const search = { entity_type: 'company', objective: 'fintech in Berlin', limit: 3 };
const task = { entity_type: 'company', objective: 'fintech in Berlin' };
const contact = { contact_type: 'email', objective: 'Lena Weber' };
const schema = { type: 'object', properties: { city: { type: 'string' } } };
const enrich = { entity_context: 'Kontora', enrich_fields: schema };
const extract = { type: 'x_followers', target: '@ada' };

const paths = {
  search: '/v1/entity-search',
  createTask: '/v1/entity-search/create_task',
  status: '/v1/entity-search/status?leads_search_id=x',
  fetch: '/v1/entity-search/fetch?leads_search_id=x',
  contact: '/v1/contact-search',
  research: '/v1/deep-search',
  enrich: '/v1/enrich',
  extract: '/v1/extract',
  balance: '/v1/credit/balance',
};

const bodies = { search, createTask: task, contact, research: { query: 'Kontora' }, enrich, extract };

async function outcome(answer: Response): Promise<string> {
  if (answer.status >= 400) return errorOf(answer);
  await answer.text();
  return String(answer.status);
}

function send(
  service: Running,
  name: keyof typeof paths,
  headers: Record<string, string>,
): Promise<Response> {
  const body = (bodies as Record<string, object>)[name];
  const all = name === 'createTask' ? { 'idempotency-key': crypto.randomUUID(), ...headers } : headers;
  return body === undefined ? service.get(paths[name], all) : service.post(paths[name], body, all);
}

describe('API keys', () => {
  const every = Object.keys(paths) as (keyof typeof paths)[];

  it.each([
    ['missing', { 'x-api-key': '' }, '401 authentication_error'],
    ['unknown', { 'x-api-key': 'lp_local_nobody' }, '401 authentication_error'],
    ['malformed', { 'x-api-key': 'a b' }, '401 authentication_error'],
    ['not a bearer', { authorization: 'Basic lp_local_demo' }, '401 authentication_error'],
    [
      'two different',
      { 'x-api-key': 'lp_local_demo', authorization: 'Bearer lp_local_other' },
      '401 authentication_error',
    ],
    ['revoked', { 'x-api-key': 'lp_local_revoked' }, '403 authentication_error'],
    ['expired', { authorization: 'Bearer lp_local_expired' }, '403 authentication_error'],
  ])('%s: the same on every endpoint', async (_, headers, expected) => {
    const service = await running();
    for (const name of every) expect(await outcome(await send(service, name, headers)), name).toBe(expected);
  });

  it.each([
    ['x-api-key', { 'x-api-key': 'lp_local_demo' }],
    ['bearer', { authorization: 'Bearer lp_local_demo' }],
    ['bearer in lower case', { authorization: 'bearer lp_local_demo' }],
    ['both', { 'x-api-key': 'lp_local_demo', authorization: 'Bearer lp_local_demo' }],
  ])('%s is accepted on every endpoint', async (_, headers) => {
    const service = await running();
    for (const name of every)
      expect(await outcome(await send(service, name, headers)), name).toMatch(/^200|404 not_found/);
  });

  it('auth_header=documented accepts only what the document shows', async () => {
    const service = await running({ switches: { auth_header: 'documented' } });
    const plain: string[] = [];
    const bearer: string[] = [];
    for (const name of every) {
      if ((await send(service, name, { 'x-api-key': 'lp_local_demo' })).status !== 401) plain.push(name);
      if ((await send(service, name, { authorization: 'Bearer lp_local_demo' })).status !== 401)
        bearer.push(name);
    }
    expect(plain).toEqual(['search', 'createTask', 'status', 'fetch', 'contact', 'balance']);
    expect(bearer).toEqual(['fetch', 'contact', 'research', 'enrich', 'extract']);
  });

  it.each([
    ['lp_local_entity_only', ['contact', 'extract']],
    ['lp_local_contact_only', ['search', 'createTask', 'status', 'fetch', 'extract']],
    ['lp_local_extract_only', ['search', 'createTask', 'status', 'fetch', 'contact']],
    ['lp_local_no_access', ['search', 'createTask', 'status', 'fetch', 'contact', 'extract']],
    ['lp_local_other', []],
  ])('%s has no access to %j', async (apiKey, refused) => {
    const service = await running();
    const seen: string[] = [];
    for (const name of every)
      if ((await outcome(await send(service, name, { 'x-api-key': apiKey }))) === '403 authentication_error')
        seen.push(name);
    expect(seen).toEqual(refused);
  });

  it('key_lifetime_s lets a key expire, counted from its first use', async () => {
    const service = await running({ switches: { key_lifetime_s: 60 } });
    expect((await service.get(paths.balance)).status).toBe(200);
    service.clock.forward(59_000);
    expect((await service.get(paths.balance)).status).toBe(200);
    service.clock.forward(2_000);
    expect(await errorOf(await service.get(paths.balance))).toBe('403 authentication_error');
  });
});

describe('what comes with every answer', () => {
  it('a request ID, errors included, never the same', async () => {
    const service = await running();
    const answers = [
      await service.post(paths.search, search),
      await service.post(paths.search, {}),
      await service.get('/v1/nothing'),
      await service.get(paths.balance, { 'x-api-key': 'nobody' }),
    ];
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^req_/);
  });

  it.each([
    ['search', null],
    ['createTask', 'no-store'],
    ['contact', 'no-store'],
    ['balance', 'no-store'],
    ['research', null],
  ] as const)('%s: Cache-Control %s', async (name, expected) => {
    const service = await running();
    expect((await send(service, name, {})).headers.get('cache-control')).toBe(expected);
  });

  it.each(Object.keys(bodies) as (keyof typeof bodies)[])(
    '%s: the Idempotency-Key, supplied or generated',
    async (name) => {
      const service = await running();
      const supplied = await send(service, name, { 'idempotency-key': 'mine' });
      expect(supplied.headers.get('idempotency-key')).toBe('mine');
      if (name === 'createTask') return;
      const generated = await send(service, name, {});
      expect(generated.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});

describe('an Idempotency-Key that is not ASCII', () => {
  it.each(Object.keys(bodies) as (keyof typeof bodies)[])(
    '%s: comes back as the bytes that it was',
    async (name) => {
      const service = await running();
      const sent = request(`${service.url}${paths[name]}`, {
        method: 'POST',
        // Headers are written as latin1: these are the bytes of "clé" in UTF-8, and a lone one.
        headers: {
          'content-type': 'application/json',
          'x-api-key': 'lp_local_demo',
          'idempotency-key': 'cl\xc3\xa9\xff',
        },
      });
      // In front of a text, Node would write the head as UTF-8.
      sent.end(Buffer.from(JSON.stringify(bodies[name])));
      const [answer] = await once(sent, 'response');
      answer.resume();
      expect([answer.statusCode, answer.headers['idempotency-key']]).toEqual([200, 'cl\xc3\xa9\xff']);
    },
  );
});

describe('media type and body', () => {
  it.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;charset="UTF-8"', 200],
    ['application/json; charset=latin1', 422],
    ['text/plain', 422],
    ['application/x-ndjson', 422],
    ['', 422],
  ])('Content-Type %j: %i', async (type, status) => {
    const service = await running();
    for (const name of Object.keys(bodies) as (keyof typeof bodies)[])
      expect((await send(service, name, { 'content-type': type })).status, name).toBe(status);
  });

  it.each([
    ['malformed', '{"query":'],
    ['empty', ''],
    ['two objects', '{"query":"a"}{"query":"b"}'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a field twice', '{"query":"a","query":"b"}'],
    ['a byte order mark', '\ufeff{"query":"a"}'],
  ])('%s is refused', async (_, body) => {
    const service = await running();
    expect(await errorOf(await service.post(paths.research, body))).toBe('422 invalid_request_error');
  });

  it('text that is not UTF-8 is refused', async () => {
    const service = await running();
    const body = Buffer.concat([Buffer.from('{"query":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const answer = await fetch(`${service.url}${paths.research}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-api-key': 'lp_local_demo' },
    });
    expect(await errorOf(answer)).toBe('422 invalid_request_error');
  });

  it.each([
    ['search', JSON.stringify(search)],
    ['createTask', JSON.stringify(task)],
    ['contact', JSON.stringify(contact)],
  ] as const)('%s: exactly 1 MiB is accepted, a byte more is not', async (name, body) => {
    const service = await running();
    const headers = { 'idempotency-key': 'large' };
    const padded = (size: number) => body + ' '.repeat(size - Buffer.byteLength(body));
    expect((await service.post(paths[name], padded(1_048_577), headers)).status).toBe(422);
    expect((await service.post(paths[name], padded(1_048_576), headers)).status).toBe(200);
  });

  it('a body of unknown length is cut off at the limit', async () => {
    const service = await running();
    const body = new ReadableStream({
      start(controller) {
        for (let index = 0; index < 20; index += 1) controller.enqueue(new Uint8Array(100_000).fill(32));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json', 'x-api-key': 'lp_local_demo' };
    const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit;
    expect((await fetch(`${service.url}${paths.search}`, init)).status).toBe(422);
  });
});

describe('fields', () => {
  const nested = (levels: number): object =>
    levels === 1 ? schema : { type: 'object', properties: { inner: nested(levels - 1) } };
  const wide = (count: number) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}])),
  });
  type Row = readonly [name: keyof typeof bodies, changed: object, status: number];
  const rows: readonly Row[] = [
    ['search', { entity_type: undefined }, 422],
    ['search', { entity_type: 'wechat' }, 422],
    ['search', { objective: undefined }, 422],
    ['search', { objective: ' \n\t ' }, 422],
    ['search', { objective: 5 }, 422],
    ['search', { objective: ` ${'é'.repeat(2000)} ` }, 200],
    ['search', { objective: `${'é'.repeat(2000)}x` }, 422],
    ['search', { limit: '5' }, 422],
    ['search', { limit: 5.5 }, 422],
    ['search', { limit: null }, 422],
    ['search', { limit: true }, 422],
    ['search', { limit: 0 }, 422],
    ['search', { limit: 1 }, 200],
    ['search', { limit: 1000 }, 200],
    ['search', { limit: 1001 }, 422],
    ['search', { enrich_fields: Array(20).fill('city') }, 200],
    ['search', { enrich_fields: Array(21).fill('city') }, 422],
    ['search', { enrich_fields: 'city' }, 422],
    ['search', { enrich_fields: [1] }, 422],
    ['search', { dedup_service_leads: Array(100).fill('x') }, 200],
    ['search', { dedup_service_leads: Array(101).fill('x') }, 422],
    ['search', { dedup_custom_leads: Array(1000).fill('x') }, 200],
    ['search', { dedup_custom_leads: Array(1001).fill('x') }, 422],
    ['search', { page: 1 }, 422],
    ['search', { enable_web_search: true }, 422],
    ['createTask', { enable_web_search: 'true' }, 422],
    ['createTask', { enable_web_search: null }, 422],
    ['createTask', { entity_type: 'wechat' }, 422],
    ['createTask', { entity_type: 'wechat', enable_web_search: false }, 422],
    ['createTask', { entity_type: 'wechat', enable_web_search: true }, 200],
    ['createTask', { page: 1 }, 422],
    ['contact', { contact_type: 'fax' }, 422],
    ['contact', { objective: '𝒳'.repeat(4000) }, 200],
    ['contact', { objective: 'x'.repeat(4001) }, 422],
    ['contact', { page: 1 }, 422],
    ['research', { query: '' }, 422],
    ['research', { query: '𝒳'.repeat(4000) }, 200],
    ['research', { query: 'x'.repeat(4001) }, 422],
    ['research', { page: 1 }, 200],
    ['enrich', { entity_context: '' }, 422],
    ['enrich', { entity_context: '  ' }, 422],
    ['enrich', { entity_context: ` ${'x'.repeat(16_384)} ` }, 200],
    ['enrich', { entity_context: 'x'.repeat(16_385) }, 422],
    ['enrich', { enrich_fields: undefined }, 422],
    ['enrich', { enrich_fields: ['city'] }, 422],
    ['enrich', { enrich_fields: { type: 'array' } }, 422],
    ['enrich', { enrich_fields: { type: 'object', properties: {} } }, 422],
    ['enrich', { enrich_fields: nested(12) }, 200],
    ['enrich', { enrich_fields: nested(13) }, 422],
    ['enrich', { enrich_fields: wide(200) }, 200],
    ['enrich', { enrich_fields: wide(201) }, 422],
    ['enrich', { enrich_fields: { ...schema, title: 'x'.repeat(262_144) } }, 422],
    ['enrich', { page: 1 }, 200],
    ['extract', { type: 'facebook' }, 422],
    ['extract', { target: '' }, 422],
    ['extract', { target: 'x'.repeat(2049) }, 422],
    ['extract', { limit: 10_000 }, 200],
    ['extract', { limit: 10_001 }, 422],
    ['extract', { instruction: null }, 200],
    ['extract', { instruction: 'x'.repeat(4001) }, 422],
    ['extract', { page: 1 }, 422],
    ['extract', { type: 'web2list', target: 'https://example.com' }, 422],
    ['extract', { type: 'web2list', target: 'https://example.com', instruction: null }, 422],
    ...pages('https://example.com/list http://[2a00:1450::1]/x http://198.20.0.1/x http://8.8.8.8/x', 200),
    ...pages('example.com ftp://example.com http://localhost/x http://127.0.0.1/x http://10.1.2.3/x', 422),
    ...pages('http://[::1]/x http://[2001:db8::1]/x http://192.0.0.1/x http://192.0.2.7/x', 422),
    ...pages('http://198.18.0.1/x http://198.19.255.1/x http://198.51.100.1/x http://203.0.113.1/x', 422),
    ...pages('http://intern.test/x http://intern.invalid/x http://wiki.corp/x http://wiki.intranet./x', 422),
    ...pages('http://user:secret@example.com', 422),
  ];
  function pages(targets: string, status: number): Row[] {
    const page = { type: 'web2list', instruction: 'teams' };
    return targets.split(' ').map((target) => ['extract', { ...page, target }, status]);
  }

  it.each(rows.map((row) => [JSON.stringify(row).slice(0, 80), ...row] as const))(
    '%s',
    async (_, name, changed, status) => {
      const service = await running();
      const body = { ...bodies[name], ...changed };
      const answer = await service.post(paths[name], body, { 'idempotency-key': 'a' });
      expect(answer.status).toBe(status);
      if (status === 422) expect(await errorOf(answer)).toBe('422 invalid_request_error');
      else await answer.text();
    },
  );

  it.each([
    ['Idempotency-Key of 128 characters', 'x'.repeat(128), 200],
    ['Idempotency-Key of 129 characters', 'x'.repeat(129), 422],
    ['no Idempotency-Key for create_task', undefined, 422],
  ])('%s', async (_, idempotencyKey, status) => {
    const service = await running();
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    expect((await service.post(paths.createTask, task, headers as Record<string, string>)).status).toBe(
      status,
    );
  });

  it.each([
    ['status', '?', 422],
    ['status', '?leads_search_id=', 422],
    ['status', '?leads_search_id=none', 404],
    ['fetch', '?pts=0', 422],
    ['fetch', '?leads_search_id=none', 404],
    ['fetch', '?leads_search_id=none&pts=-1', 422],
    ['fetch', '?leads_search_id=none&pts=1.5', 422],
    ['fetch', '?leads_search_id=none&num=0', 422],
    ['fetch', '?leads_search_id=none&num=501', 422],
    ['fetch', '?leads_search_id=none&num=x', 422],
  ])('%s%s: %i', async (name, query, status) => {
    const service = await running();
    expect((await service.get(`/v1/entity-search/${name}${query}`)).status).toBe(status);
  });
});

describe('rollout', () => {
  it.each([
    ['search', 'search', 503],
    ['company', 'search', 503],
    ['company', 'createTask', 503],
    ['person', 'search', 200],
    ['email', 'contact', 503],
    ['phone', 'contact', 200],
    ['deepSearch', 'research', 503],
    ['enrich', 'enrich', 503],
    ['extract,enrich', 'extract', 503],
    ['balance', 'balance', 503],
  ] as const)('disabled=%s: %s answers %i', async (disabled, name, status) => {
    const service = await running({ switches: { disabled } });
    const answer = await send(service, name, {});
    expect(answer.status).toBe(status);
    if (status === 503) expect(await errorOf(answer)).toBe('503 service_unavailable');
  });
});

describe('well-known keys', () => {
  it.each([
    ['lp_local_broke', '402 insufficient_credits'],
    ['lp_local_busy', '429 concurrency_limit'],
  ])('%s: %s for whatever is paid', async (apiKey, expected) => {
    const service = await running();
    for (const name of Object.keys(bodies) as (keyof typeof bodies)[])
      expect(await outcome(await send(service, name, { 'x-api-key': apiKey })), name).toBe(expected);
    expect((await send(service, 'balance', { 'x-api-key': apiKey })).status).toBe(200);
  });
});

describe('the envelope', () => {
  it.each([
    ['error.type', { error: { message: expect.any(String), type: 'not_found' } }],
    ['error.code', { error: { message: expect.any(String), code: 'not_found' } }],
    ['type', { error: { message: expect.any(String) }, type: 'not_found' }],
    ['none', { error: { message: expect.any(String) } }],
  ] as const)('error_type_at=%s', async (error_type_at, expected) => {
    const options: RunningOptions = { switches: { error_type_at } };
    const service = await running(options);
    expect(await (await service.get('/v1/nothing')).json()).toEqual(expected);
  });

  it('a wrong method is 405 and names the right one', async () => {
    const service = await running();
    const answer = await service.post(paths.balance, {});
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
    // Of the types of the document none is about it.
    expect(await answer.json()).toEqual({ error: { message: 'this endpoint accepts GET only' } });
  });

  it('a foreign Host is refused', async () => {
    const service = await running();
    const status = await new Promise((resolve, reject) => {
      const options = { headers: { host: 'evil.example', 'x-api-key': 'lp_local_demo' } };
      request(`${service.url}${paths.balance}`, options, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });
});
