import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  chunk,
  errorAnswer,
  type FaultServer,
  frame,
  jsonAnswer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { root } from './installed.ts';

/** As it is built. */
const leadpipe = (await import(join(root, 'dist/index.js'))) as typeof import('../../src/index.ts');
const { createClient, LeadpipeError, RequestError, ServiceError, StoppedError, UsageError } = leadpipe;
type Client = ReturnType<typeof createClient>;
type Options = Parameters<typeof createClient>[0];

const apiKey = 'test-key-0123456789';
let server: FaultServer | undefined;

async function clientOf(answer: Answer, options: Partial<Options> = {}): Promise<Client> {
  server = await startFaultServer(answer);
  return createClient({ baseUrl: server.url, apiKey, ...options });
}

/** A service that answers the first request with the first of these, and so on; the last one again and again. */
const inTurn =
  (...answers: readonly string[]): Answer =>
  (socket) => {
    socket.write(answers[Math.min(server?.requests.length ?? 1, answers.length) - 1] ?? '');
  };

const stream = (...frames: readonly string[]): string =>
  streamHead + frames.map((one) => chunk(one)).join('');
const odd = '{"name":"a","id":12345678901234567890,"x":1.10}';
const whole = stream(...searchFrames([[odd, '{"name":"b"}'], ['{"name":"c"}']])) + lastChunk;
const contact = jsonAnswer('{"result":{"content":null}}', ['X-Request-Id: req_1']);
const balance = jsonAnswer('{"object":"credit_balance","available_credits":7,"id":12345678901234567890}');
const search = { entity_type: 'company', objective: 'fintech', limit: 5 } as const;
const lookUp = { contact_type: 'email', objective: 'Nordlicht Pay' } as const;

async function thrownBy(work: Promise<unknown>): Promise<InstanceType<typeof LeadpipeError>> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (error instanceof LeadpipeError) return error;
  throw new Error('no LeadpipeError was thrown', { cause: error });
}

async function readAll(
  leads: AsyncIterable<{ readonly text: string }>,
  into: string[] = [],
): Promise<string[]> {
  for await (const { text } of leads) into.push(text);
  return into;
}

describe('requests', () => {
  it('are those of the interface, with the key that the interface lists and a new Idempotency-Key for each purchase', async () => {
    const client = await clientOf(inTurn(contact, contact, balance));
    await client.contactSearch({ ...lookUp, objective: '  Nordlicht Pay ' });
    await client.contactSearch(lookUp, { idempotencyKey: 'mine' });
    const { text, value } = await client.balance();
    expect(text).toContain('12345678901234567890');
    expect(value).toMatchObject({ object: 'credit_balance', available_credits: 7 });
    const [first, second, third] = server?.requests ?? [];
    expect(first).toMatchObject({ method: 'POST', path: '/v1/contact-search', body: JSON.stringify(lookUp) });
    expect(first?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'idempotency-key': expect.stringMatching(/^lp-[0-9a-f-]{36}$/),
      'user-agent': expect.stringMatching(/^leadpipe\/\d/),
    });
    expect(second?.headers['idempotency-key']).toBe('mine');
    expect(third).toMatchObject({ method: 'GET', path: '/v1/credit/balance' });
    expect(third?.headers).toMatchObject({ 'x-api-key': apiKey });
    expect(third?.headers).not.toHaveProperty('idempotency-key');
  });

  it('carry the key in the header that was chosen', async () => {
    const bearer = await clientOf(inTurn(balance), { keyHeader: 'bearer' });
    await bearer.balance();
    expect(server?.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${apiKey}` });
    expect(server?.requests[0]?.headers).not.toHaveProperty('x-api-key');
    const other = await clientOf(inTurn(contact), { keyHeader: 'x-api-key' });
    await other.contactSearch(lookUp);
    expect(server?.requests[0]?.headers).toMatchObject({ 'x-api-key': apiKey });
    expect(server?.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const cyclic: Record<string, unknown> = { ...schema };
  cyclic.self = cyclic;
  const task = { entity_type: 'wechat', objective: 'x' };
  const page = { type: 'web2list', target: 'https://a.example' };
  const unfounded = { entity_context: 'x', enrich_fields: { ...schema, required: 'a' } };
  it.each<[method: keyof Client, request: unknown, says: string, options?: object]>([
    ['search', { ...search, limits: 3 }, 'unknown input "limits": did you mean limit?'],
    ['search', undefined, 'the inputs must be an object'],
    ['search', search, 'unknown option "key"', { key: 'x' }],
    ['search', { objective: 'x' }, 'unknown entity type "undefined"'],
    ['search', { ...search, objective: 7 }, 'objective must be a text'],
    ['search', { ...search, objective: '  ' }, 'objective is empty'],
    ['search', { ...search, limit: 1001 }, 'limit is 1001: it must be from 1 to 1000'],
    ['search', { ...search, limit: {} }, 'limit must be a number'],
    ['search', { ...search, limit: '5' }, 'limit must be a number'],
    ['search', { ...search, limit: 1.5 }, 'limit must be from 1 to 1000 leads, not "1.5"'],
    ['search', { ...search, enrich_fields: 'a' }, 'enrich_fields must be a list of texts'],
    ['search', { ...search, enrich_fields: Array(21).fill('a') }, 'enrich_fields has 21'],
    ['createTask', task, 'open web'],
    ['balance', { signal: 'soon' }, 'signal must be an AbortSignal'],
    ['contactSearch', lookUp, 'signal must be an AbortSignal', { signal: null }],
    ['contactSearch', lookUp, 'idempotencyKey must have visible ASCII', { idempotencyKey: 'ü' }],
    ['deepSearch', { query: null }, 'query must be a text'],
    ['fetch', { leads_search_id: 'ls_1', num: 0 }, 'num is 0: it must be from 1 to 500'],
    ['status', { leads_search_id: '' }, 'leads_search_id is empty'],
    ['extract', { type: 'x_followers', target: 'acme', limit: null }, 'limit must be a number'],
    ['extract', { ...page, target: 'http://10.0.0.1', instruction: 'x' }, 'not public'],
    ['extract', page, 'web2list needs instruction'],
    ['enrich', { entity_context: 'x' }, 'the root of the schema must have'],
    ['enrich', { entity_context: 'x', enrich_fields: cyclic }, "can't be written as JSON"],
    ['enrich', unfounded, 'not valid JSON Schema'],
  ])('%s is refused before anything is sent: %j', async (method, request, says, options) => {
    const client = await clientOf(inTurn(contact));
    const error = await thrownBy(client[method](request as never, options));
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toContain(says);
    expect(error.details).toMatchObject({ type: 'usage', charged: 'no' });
    expect(`${error.message} ${error.details.hint}`).not.toMatch(/(?:^|\s)--\w|leadpipe /);
    expect(server?.connections()).toBe(0);
  });

  it.each<[string, object, string]>([
    ['plain http elsewhere', { baseUrl: 'http://leads.example' }, "the address from baseUrl can't be used"],
    ['user-info', { baseUrl: 'https://me:secret@leads.example' }, 'user name or password'],
    ['no key', { apiKey: undefined }, 'the API key from apiKey is empty'],
    ['a short key', { apiKey: 'brief' }, 'it has 5 characters'],
    ['an unknown option', { timeout: 3 }, 'unknown option "timeout": did you mean timeouts?'],
    ['an unknown time limit', { timeouts: { header: 1 } }, 'unknown timeout "header": did you mean headers?'],
    ['no time at all', { timeouts: { idle: 0 } }, 'timeouts.idle must be a number from'],
    ['too many attempts', { retry: { attempts: 21 } }, 'retry.attempts must be a number from 0 to 20'],
    ['a signal that is none', { signal: {} }, 'signal must be an AbortSignal'],
    ['a key header of its own', { keyHeader: 'cookie' }, 'unknown keyHeader "cookie"'],
  ])('%s: no client', (_, options, says) => {
    const make = () => createClient({ baseUrl: 'https://leads.example', apiKey, ...options } as Options);
    expect(make).toThrow(LeadpipeError);
    expect(make).toThrow(says);
    expect(make).not.toThrow(/secret|brief/);
  });
});

describe('answers that do not come', () => {
  it('a refusal is a ServiceError, with what it cost, and without the key that it repeats', async () => {
    const client = await clientOf(
      inTurn(
        errorAnswer('402 x', 'insufficient_credits', `no credit for ${apiKey}`, ['X-Request-Id: req_9']),
      ),
    );
    const error = await thrownBy(client.contactSearch(lookUp, { idempotencyKey: 'mine' }));
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      name: 'ServiceError',
      fault: 'no_credits',
      outcome: 'credits',
      details: {
        type: 'insufficient_credits',
        status: 402,
        charged: 'no',
        requestId: 'req_9',
        idempotencyKey: 'mine',
        facts: { is: 'no_credits' },
      },
    });
    expect(error.message).toContain('no credit for [API key]');
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(apiKey);
  });

  it('no status leads to a word of the command line', async () => {
    const statuses = [401, 402, 403, 404, 409, 422, 429, 500, 502, 503];
    const refusals = statuses.map((status) =>
      errorAnswer(`${status} x`, status === 404 ? 'not_found' : 'some_type', 'no'),
    );
    const client = await clientOf(inTurn(...refusals), { retry: { attempts: 0 } });
    for (const status of statuses) {
      const { message, details } = await thrownBy(client.contactSearch(lookUp));
      expect(`${message} ${details.hint}`).not.toMatch(/(?:^|\s)--\w|leadpipe /);
      expect(details.status).toBe(status);
    }
  });

  it('each request has a budget of its own for its waits, and attempts can be fewer', async () => {
    const busy = errorAnswer('429 x', 'concurrency_limit', 'busy', ['Retry-After: 1']);
    const client = await clientOf(inTurn(busy, contact, busy, contact, busy), {
      retry: { budget: 1, attempts: 1 },
    });
    await client.contactSearch(lookUp);
    await client.contactSearch(lookUp);
    expect(await thrownBy(client.contactSearch(lookUp))).toMatchObject({
      fault: 'busy',
      outcome: 'temporary',
    });
    expect(server?.requests).toHaveLength(6);
    expect(new Set(server?.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(3);
  });

  it('an invalid HTTP answer does not leak the key, in any part of the error', async () => {
    const client = await clientOf(
      inTurn(`HTTP/1.1 200 OK\r\nContent-Type application/json\r\n\r\n${apiKey}`),
      {
        retry: { attempts: 0 },
      },
    );
    const error = await thrownBy(client.contactSearch(lookUp));
    expect(error).toMatchObject({ fault: 'lost', outcome: 'unknown', details: { charged: 'maybe' } });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(apiKey);
  });

  it.each<[string, string, string]>([
    [
      'a redirect',
      wholeAnswer('302 x', 'text/html', '', ['Location: https://evil.example']),
      'redirects to another address: https://evil.example (POST /v1/contact-search: 302)',
    ],
    ['no result', jsonAnswer('{}'), 'without `result`'],
  ])('%s is a RequestError', async (_, answer, says) => {
    const client = await clientOf(inTurn(answer), { retry: { attempts: 0 } });
    const error = await thrownBy(client.contactSearch(lookUp));
    expect(error).toBeInstanceOf(RequestError);
    expect(error.message).toContain(says);
    expect(server?.requests).toHaveLength(1);
  });

  it('a silent service is a timeout', async () => {
    const client = await clientOf(() => {}, { timeouts: { headers: 0.05 }, retry: { attempts: 0 } });
    expect((await thrownBy(client.balance())).message).toContain('no answer for 0.05 s');
  });

  it('a page that was not asked for is refused', async () => {
    const counts = { pts: 5, num: 2, count: 1, ready_count: 9, limit: 9 };
    const page = { leads_search_id: 'ls_1', status: 'done', ...counts, entities: [{}] };
    const client = await clientOf(inTurn(jsonAnswer(page)));
    const error = await thrownBy(client.fetch({ leads_search_id: 'ls_1', num: 2 }));
    expect(error).toMatchObject({
      outcome: 'interface',
      details: { type: 'page_impossible', charged: 'no' },
    });
    expect(server?.requests[0]?.path).toBe('/v1/entity-search/fetch?leads_search_id=ls_1&pts=0&num=2');
  });
});

describe('a search', () => {
  it('drops a batch that comes again, wherever the network split those before it', async () => {
    const batches = ['a', 'b', 'c', 'd', 'e'].map((name) => [`{"name":"${name}"}`, `{"name":"${name}2"}`]);
    const frames = searchFrames(batches);
    const sent = [...frames.slice(0, batches.length), ...frames].flatMap((one) => {
      return [one.slice(0, one.length / 2), one.slice(one.length / 2)];
    });
    const client = await clientOf(inTurn(stream(...sent) + lastChunk));
    const leads = await client.search(search);
    expect(await readAll(leads)).toEqual(batches.flat());
    expect(leads.summary().warnings).toEqual([]);
  });

  it('brings each lead as the service wrote it, and then says why it stopped', async () => {
    const client = await clientOf(inTurn(whole));
    const leads = await client.search(search, { idempotencyKey: 'mine' });
    expect(leads).toMatchObject({ requestId: 'req_test', idempotencyKey: 'mine' });
    expect(await readAll(leads)).toEqual([odd, '{"name":"b"}', '{"name":"c"}']);
    expect(leads.summary()).toEqual({ leadsSearchId: 'ls_test', stopReason: 'limit', warnings: [] });
    expect(await readAll(leads)).toEqual([]);
  });

  const [first = ''] = searchFrames([['{"name":"a"}']]);
  it.each<[string, string, number]>([
    ['ends without being done', stream(first) + lastChunk, 1],
    ['brings an error', stream(first, frame({ error: { message: `broken ${apiKey}` } })) + lastChunk, 1],
    ['brings nothing', stream() + lastChunk, 0],
  ])('that %s is never taken for whole', async (_, answer, arrived) => {
    const client = await clientOf(inTurn(answer));
    const leads: string[] = [];
    const error = await thrownBy(readAll(await client.search(search), leads));
    expect(leads).toHaveLength(arrived);
    expect(error).toMatchObject({
      outcome: arrived > 0 ? 'partial' : 'unknown',
      details: {
        type: 'cut',
        charged: arrived > 0 ? 'yes' : 'maybe',
        requestId: 'req_test',
        facts: arrived > 0 ? { is: 'search_cut', rest: 4, leadsSearchId: 'ls_test' } : { is: 'in_doubt' },
      },
    });
    expect(error.message).toContain('the search stopped before its end');
    expect(error.message).not.toContain(apiKey);
    expect(server?.requests).toHaveLength(1);
  });

  it('that is left early is left at once', async () => {
    let gone = false;
    const client = await clientOf((socket) => {
      socket.on('close', () => {
        gone = true;
      });
      socket.write(stream(first));
    });
    for await (const lead of await client.search(search)) {
      expect(lead).toEqual({ value: { name: 'a' }, text: '{"name":"a"}' });
      break;
    }
    await expect.poll(() => gone).toBe(true);
  });

  it('stops when its signal says so, with what it may have cost', async () => {
    const stop = new AbortController();
    const client = await clientOf((socket) => {
      socket.write(stream(first));
    });
    const leads: string[] = [];
    const reading = thrownBy(readAll(await client.search(search, { signal: stop.signal }), leads));
    await expect.poll(() => leads).toHaveLength(1);
    stop.abort();
    const error = await reading;
    expect(error).toBeInstanceOf(StoppedError);
    expect(error).toMatchObject({
      outcome: 'interrupted',
      details: { charged: 'yes', requestId: 'req_test' },
    });
  });
});

describe('signals', () => {
  it('the one of the client stops whatever runs, also a wait before another attempt', async () => {
    const stop = new AbortController();
    const busy = errorAnswer('429 x', 'concurrency_limit', 'busy', ['Retry-After: 50']);
    const client = await clientOf(inTurn(busy), { signal: stop.signal });
    const waiting = thrownBy(client.contactSearch(lookUp));
    await expect.poll(() => server?.requests.length).toBe(1);
    stop.abort(new Error('enough'));
    expect(await waiting).toMatchObject({ name: 'StoppedError', outcome: 'interrupted' });
  });

  it('a signal that is already aborted sends nothing', async () => {
    const client = await clientOf(inTurn(contact));
    const error = await thrownBy(client.contactSearch(lookUp, { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ name: 'StoppedError', details: { charged: 'no' } });
    expect(server?.requests).toHaveLength(0);
  });
});
