import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { errorOf, operations, outcomeOf, paid, type Running, running, usual } from './running.ts';

type Operation = (typeof operations)[number];

/** Asks for something that may be refused: reads are of a task that is not there. */
const outcome = async (service: Running, name: Operation, headers: Record<string, string> = {}) => {
  const isRead = name === 'status' || name === 'fetch';
  return outcomeOf(await service.ask(name, isRead ? { leads_search_id: 'x' } : {}, headers));
};

describe('API keys', () => {
  it.each<[string, Record<string, string>]>([
    ['malformed', { 'x-api-key': 'a b' }],
    ['not a bearer', { authorization: 'Basic lp_local_demo' }],
    ['two different', { 'x-api-key': 'lp_local_demo', authorization: 'Bearer lp_local_other' }],
  ])('%s: the same on every endpoint', async (_, headers) => {
    const service = await running();
    for (const name of operations)
      expect(await outcome(service, name, headers), name).toBe('401 authentication_error');
  });

  it('auth_header=documented accepts only what the document shows', async () => {
    const service = await running({ switches: { auth_header: 'documented' } });
    const accepted = async (headers: Record<string, string>) => {
      const names: string[] = [];
      for (const name of operations)
        if (!(await outcome(service, name, headers)).startsWith('401')) names.push(name);
      return names.sort().join();
    };
    expect(await accepted({ 'x-api-key': 'lp_local_demo' })).toBe(
      'balance,contactSearch,createTask,fetch,search,status',
    );
    expect(await accepted({ authorization: 'Bearer lp_local_demo' })).toBe(
      'contactSearch,deepSearch,enrich,extract,fetch',
    );
  });

  it.each([
    ['lp_local_entity_only', 'contactSearch,extract'],
    ['lp_local_contact_only', 'createTask,extract,fetch,search,status'],
    ['lp_local_extract_only', 'contactSearch,createTask,fetch,search,status'],
    ['lp_local_no_access', 'contactSearch,createTask,extract,fetch,search,status'],
    ['lp_local_other', ''],
  ])('%s has no access to %s', async (apiKey, refused) => {
    const service = await running();
    const seen: string[] = [];
    for (const name of operations)
      if ((await outcome(service, name, { 'x-api-key': apiKey })) === '403 authentication_error')
        seen.push(name);
    expect(seen.sort().join()).toBe(refused);
  });

  it('key_lifetime_s lets a key expire, counted from its first use', async () => {
    const service = await running({ switches: { key_lifetime_s: 60 } });
    expect(await outcome(service, 'balance')).toBe('200');
    service.clock.forward(59_000);
    expect(await outcome(service, 'balance')).toBe('200');
    service.clock.forward(2_000);
    expect(await outcome(service, 'balance')).toBe('403 authentication_error');
  });
});

it.each(paid)(
  '%s: an Idempotency-Key that is not ASCII comes back as the bytes that it was',
  async (name) => {
    const service = await running();
    // Headers are written as latin1: these are the bytes of "clé" in UTF-8, and a lone one.
    const key = 'cl\xc3\xa9\xff';
    const headers = { 'content-type': 'application/json', 'x-api-key': 'lp_local_demo' };
    const sent = request(`${service.url}${endpoints[name].path}`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': key },
    });
    // In front of a text, Node would write the head as UTF-8.
    sent.end(Buffer.from(JSON.stringify(usual[name])));
    const [answer] = await once(sent, 'response');
    answer.resume();
    expect([answer.statusCode, answer.headers['idempotency-key']]).toEqual([200, key]);
  },
);

describe('media type and body', () => {
  it.each([
    ['a field twice', '{"query":"a","query":"b"}'],
    ['a byte order mark', '\ufeff{"query":"a"}'],
  ])('%s is refused', async (_, body) => {
    const service = await running();
    expect(await errorOf(await service.post('/v1/deep-search', body))).toBe('422 invalid_request_error');
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
    expect((await fetch(`${service.url}/v1/entity-search`, init)).status).toBe(422);
  });
});

/** Beyond the rows of the conformance suite, which are all run against this service. */
describe('fields', () => {
  const pages = (targets: string, status: string): [Operation, object, string][] =>
    targets.split(' ').map((target) => ['extract', { target }, status]);

  it.each<[Operation, object, string]>([
    ['search', { enable_web_search: true }, '422 invalid_request_error'],
    ['fetch', { leads_search_id: 'x', num: '0' }, '422 invalid_request_error'],
    ['fetch', { leads_search_id: 'x', num: '1' }, '404 not_found'],
    ['fetch', { leads_search_id: 'x', num: '500' }, '404 not_found'],
    ['fetch', { leads_search_id: 'x', num: '501' }, '422 invalid_request_error'],
    ['deepSearch', { page: 1 }, '200'],
    ['enrich', { page: 1 }, '200'],
    ...pages('https://example.com/list http://[2a00:1450::1]/x http://198.20.0.1/x http://8.8.8.8/x', '200'),
    ...pages('http://[2001:db8::1]/x http://192.0.0.1/x', '422 invalid_request_error'),
    ...pages('http://wiki.corp/x http://user:secret@example.com', '422 invalid_request_error'),
  ])('%s %j: %s', async (name, changed, expected) => {
    expect(await outcomeOf(await (await running()).ask(name, changed))).toBe(expected);
  });
});

it.each<[string, Operation, string]>([
  ['search', 'search', '503'],
  ['company', 'search', '503'],
  ['company', 'createTask', '503'],
  ['person', 'search', '200'],
  ['email', 'contactSearch', '503'],
  ['phone', 'contactSearch', '200'],
  ['deepSearch', 'deepSearch', '503'],
  ['enrich', 'enrich', '503'],
  ['extract,enrich', 'extract', '503'],
  ['balance', 'balance', '503'],
])('rollout, disabled=%s: %s answers %s', async (disabled, name, status) => {
  const service = await running({ switches: { disabled } });
  expect(await outcome(service, name)).toBe(status === '503' ? '503 service_unavailable' : status);
});

describe('the envelope', () => {
  const message = expect.any(String);
  it.each([
    ['error.type', { error: { message, type: 'not_found' } }],
    ['error.code', { error: { message, code: 'not_found' } }],
    ['type', { error: { message }, type: 'not_found' }],
    ['none', { error: { message } }],
  ] as const)('error_type_at=%s', async (error_type_at, expected) => {
    const service = await running({ switches: { error_type_at } });
    expect(await (await service.post('/v1/nothing', {})).json()).toEqual(expected);
  });

  it('a wrong method is 405 and names the right one', async () => {
    const answer = await (await running()).post('/v1/credit/balance', {});
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
    // Of the types of the document none is about it.
    expect(await answer.json()).toEqual({ error: { message: 'this endpoint accepts GET only' } });
  });
});
