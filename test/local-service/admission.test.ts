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
    ['malformed', { 'x-api-key': 'a b' }, '401 authentication_error'],
    ['not a bearer', { authorization: 'Basic lp_local_demo' }, '401 authentication_error'],
    [
      'two different',
      { 'x-api-key': 'lp_local_demo', authorization: 'Bearer lp_local_other' },
      '401 authentication_error',
    ],
  ])('%s: the same on every endpoint', async (_, headers, expected) => {
    const service = await running();
    for (const name of every) expect(await outcome(await send(service, name, headers)), name).toBe(expected);
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
    ['a field twice', '{"query":"a","query":"b"}'],
    ['a byte order mark', '\ufeff{"query":"a"}'],
  ])('%s is refused', async (_, body) => {
    const service = await running();
    expect(await errorOf(await service.post(paths.research, body))).toBe('422 invalid_request_error');
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

/** Beyond the rows of the conformance suite, which are all run against this service. */
describe('fields', () => {
  type Row = readonly [name: keyof typeof bodies, changed: object, status: number];
  const rows: readonly Row[] = [
    ['search', { enable_web_search: true }, 422],
    ['research', { page: 1 }, 200],
    ['enrich', { page: 1 }, 200],
    ...pages('https://example.com/list http://[2a00:1450::1]/x http://198.20.0.1/x http://8.8.8.8/x', 200),
    ...pages(
      'http://[2001:db8::1]/x http://192.0.0.1/x http://wiki.corp/x http://user:secret@example.com',
      422,
    ),
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
