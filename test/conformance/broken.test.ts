import nock from 'nock';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { startService } from '../helpers/local-service.ts';
import { check } from './check.ts';
import type { RowResult } from './interpreter.ts';
import { rows } from './rows/index.ts';
import { keysOfLocalService } from './service.ts';

/**
 * Each rule is broken once: a request to the local service, or its answer, is changed on the way, and the row for that rule must fail.
 * A service that keeps all rules is in conformance.test.ts.
 */

// biome-ignore lint/suspicious/noExplicitAny: requests and answers have any form
type Json = any;

interface Asked {
  readonly name: EndpointName;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string>;
  body: Buffer;
}

interface Answered {
  status: number;
  readonly headers: Headers;
  body: string;
}

/** What is changed on the way to the service, and on the way back. */
interface Break {
  readonly request?: (asked: Asked) => void;
  readonly answer?: (answered: Answered, asked: Asked) => void;
}

const request = (name: EndpointName, change: (asked: Asked) => void): Break => ({
  request: (asked) => asked.name === name && change(asked),
});
const answer = (name: EndpointName, change: (answered: Answered, asked: Asked) => void): Break => ({
  answer: (answered, asked) => asked.name === name && change(answered, asked),
});

/** Members with other values, or none where they are undefined; or another change. */
type Change = object | ((body: Json, asked: Asked) => void);
function changed(json: string, change: Change, asked = {} as Asked): string {
  const body = JSON.parse(json);
  if (typeof change === 'function') change(body, asked);
  else Object.assign(body, change);
  return JSON.stringify(body);
}

const sent = (name: EndpointName, change: Change): Break =>
  request(name, (asked) => {
    asked.body = Buffer.from(changed(asked.body.toString(), change, asked));
  });
const told = (name: EndpointName, change: Change): Break =>
  answer(name, (answered, asked) => {
    if (answered.status === 200) answered.body = changed(answered.body, change, asked);
  });
const header = (name: EndpointName, of: string, value = ''): Break =>
  answer(name, ({ headers }) => headers.set(of, value));
const status = (from: number, to: number): Break => ({
  answer(answered) {
    if (answered.status === from) answered.status = to;
  },
});
const stream = (change: (text: string) => string): Break =>
  answer('search', (answered) => (answered.body = change(answered.body)));
const event = (kind: 'batch' | 'done', change: Change): Break =>
  stream((text) =>
    text.replace(/(?<=^data: )\{.*$/gm, (payload) =>
      payload.includes(`"entity_search_${kind}"`) ? changed(payload, change) : payload,
    ),
  );
const forgetsKeys: Break = {
  request({ headers }) {
    if ('idempotency-key' in headers) headers['idempotency-key'] = crypto.randomUUID();
  },
};

/** The balance falls by what an answer costs besides. */
const costs = (credits: number, isCharged: (asked: Asked, answered: Answered) => boolean) => () => {
  let spent = 0;
  return {
    answer(answered: Answered, asked: Asked) {
      if (asked.name === 'balance')
        answered.body = changed(answered.body, (body: Json) => (body.available_credits -= spent));
      if (isCharged(asked, answered)) spent += credits;
    },
  };
};

/** By the row that must fail, and how its rule is broken. A function, where something is remembered. */
const breaks: Readonly<Record<string, Break | (() => Break)>> = {
  'settlement/search-unused: a search costs one credit more': costs(1, ({ name }) => name === 'search'),
  'settlement/search-per-lead: a search costs one credit more': costs(1, ({ name }) => name === 'search'),
  'settlement/task-unused: a task costs one credit more': costs(1, ({ name }) => name === 'createTask'),
  'settlement/invalid-costs-nothing: what is refused costs': costs(1, (_, { status }) => status === 422),
  'settlement/enrich-duplicate: a duplicate costs': costs(2, (_, { status }) => status === 409),
  'settlement/reads-cost-nothing: a page costs': costs(1, ({ name }) => name === 'fetch'),
  'settlement/contact-not-negative: a lookup adds credits': costs(-9, ({ name }) => name === 'contactSearch'),
  'settlement/contact: a lookup is charged behind its answer': () => {
    let reads = 0;
    return costs(1, ({ name }) => name === 'balance' && ++reads === 2)();
  },
  'settlement/search-at-once: both of two equal requests are answered': forgetsKeys,
  'balance/reserved: a running task has reserved nothing': () => {
    let before = '';
    let isRunning = false;
    return {
      answer(answered, { name }) {
        if (name === 'createTask') isRunning = true;
        if (name === 'status') isRunning = !/"(done|error)"/.test(answered.body);
        if (name !== 'balance') return;
        if (isRunning) answered.body = before;
        else before = answered.body;
      },
    };
  },
  'balance/body: the balance is a text': told('balance', { available_credits: '5' }),
  'balance/body: it is nested too deeply': answer('balance', (answered) => {
    answered.body = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  }),
  'balance/no-store: the balance can be cached': header('balance', 'Cache-Control', 'private'),
  'balance/account-of-the-key: every key has the balance of one account': told('balance', {
    available_credits: 7,
  }),
  'balance/foreign-user: an identifier decides the account': request('balance', ({ query, headers }) => {
    if (query.has('user_id')) headers['x-api-key'] = keysOfLocalService.other;
  }),
  'errors/search-busy: the limit of requests is a 503': status(429, 503),
  'errors/search-media-type: an error is HTML': header('search', 'Content-Type', 'text/html'),
  'authentication/balance-revoked: a revoked key is unknown': status(403, 401),
  'authentication/search-without-key: an error has the type of another': answer('search', (answered) => {
    answered.body = answered.body.replace('authentication_error', 'not_found');
  }),
  'authentication/fetch-unknown-key: an error has no message': answer('fetch', (answered) => {
    answered.body = '{"error":{}}';
  }),
  'common/contact-generated-key: no key is generated': header('contactSearch', 'Idempotency-Key'),
  'common/enrich-conflict: a conflict is a 422': status(409, 422),
  'common/extract-refused-key: a refused request uses up its key': () => {
    const refused = new Set<string | undefined>();
    return answer('extract', (answered, { headers }) => {
      if (refused.has(headers['idempotency-key'])) answered.status = 409;
      if (answered.status === 422) refused.add(headers['idempotency-key']);
    });
  },
  'search/enriched: no field is enriched': sent('search', { enrich_fields: undefined }),
  'search/not-enriched: a lead is enriched without being asked': event('batch', (batch: Json) => {
    batch.entities[0].enrich_fields = {};
  }),
  'search/excludes-earlier-searches: they are not excluded': sent('search', { dedup_service_leads: [] }),
  'create_task/excludes-custom-leads: they are not excluded': sent('createTask', { dedup_custom_leads: [] }),
  'events/media-type: a stream is text/plain': header('search', 'Content-Type', 'text/plain'),
  'events/request-id: a stream has no request ID': header('search', 'X-Request-Id'),
  'events/frames: frames have names': stream((text) => text.replace(/^data/, 'event: batch\ndata')),
  'events/known: there is another event': stream((text) => `data: {"object":"begin"}\n\n${text}`),
  'events/sentinel: [DONE] is missing': stream((text) => text.replace('data: [DONE]\n\n', '')),
  'events/one-done: done comes twice': stream((text) => text.replace(/^data: .*_done".*\n\n/m, '$&$&')),
  'events/done-after-batches: done comes first': stream((text) =>
    text.replace(/^(.*)(data: .*?_done".*?\n\n)/s, '$2$1'),
  ),
  'events/found-nothing: done is missing': stream(() => 'data: [DONE]\n\n'),
  'events/done-body: finish is a text': event('done', { finish: 'true' }),
  'events/done-cum-count: it is another number': event('done', { cum_count: 99 }),
  'events/done-leads-search-id: it is that of another search': event('done', { leads_search_id: 'other' }),
  'events/leads-search-id: batches have none': event('batch', { leads_search_id: undefined }),
  'events/batch-body: a batch has another name': event('batch', { cum_count: '2' }),
  'events/batch-index: it starts at 0': event('batch', (batch: Json) => (batch.batch_index -= 1)),
  'events/batch-count: it is one more': event('batch', (batch: Json) => (batch.count += 1)),
  'events/batch-cum-count: it is that of the batch': event('batch', (batch: Json) => {
    batch.cum_count = batch.count;
  }),
  'events/at-most-limit: a lead more than the limit comes': sent('search', (body: Json) => (body.limit += 1)),
  'events/unique: a lead comes twice': event('batch', ({ entities }: Json) => (entities[1] = entities[0])),
  'events/entity-body: a score is a number': event('batch', (batch: Json) => (batch.entities[0].score = 1)),
  'events/default-limit: the limit is 10 by default': sent('search', { limit: 10 }),
  'create_task/body: there is no ID': told('createTask', { leads_search_id: undefined }),
  'create_task/request-id: there is none': header('createTask', 'X-Request-Id'),
  'create_task/idempotency-key: it is another': header('createTask', 'Idempotency-Key', 'another'),
  'create_task/no-store: the answer can be cached': header('createTask', 'Cache-Control'),
  'create_task/replay: a second task is created': forgetsKeys,
  'create_task/new-key-new-task: there is one task': told('createTask', { leads_search_id: 'task' }),
  'create_task/default-limit: the limit is 10 by default': sent('createTask', { limit: 10 }),
  'status/body: there is no stop_reason': told('status', ({ status }: Json) => delete status.stop_reason),
  'status/verified-count: it is below ready_count': told('status', ({ status }: Json) => {
    status.verified_count = status.ready_count - 1;
  }),
  'status/at-most-limit: a task gives more than its limit': sent(
    'createTask',
    (body: Json) => (body.limit += 1),
  ),
  'status/without-polling: a task goes on when it is asked about': () => {
    const polls = new Map<string | null, number>();
    return told('status', ({ status }: Json, { query }) => {
      const id = query.get('leads_search_id');
      polls.set(id, (polls.get(id) ?? 0) + 1);
      if ((polls.get(id) ?? 0) < 6) status.status = 'running';
    });
  },
  'fetch/while-running: nothing can be read while a task runs': told('fetch', (page: Json) => {
    if (page.status === 'running') Object.assign(page, { entities: [], count: 0 });
  }),
  'fetch/body: a page has another object': told('fetch', { object: 'page' }),
  'fetch/task: a page has the ID of another task': told('fetch', { leads_search_id: 'another' }),
  'fetch/limit: a page has another limit': told('fetch', { limit: 100 }),
  'fetch/count: count is num': told('fetch', (page: Json) => (page.count = page.num)),
  'fetch/entity-body: links are a list': told('fetch', ({ entities }: Json) => (entities[0].links = [])),
  'fetch/defaults: num is 10 by default': request('fetch', ({ query }) => query.set('num', '10')),
  'fetch/echo: pts is repeated as 0': told('fetch', { pts: 0 }),
  'fetch/at-most-num: a page has more than num': request('fetch', ({ query }) => query.set('num', '3')),
  'fetch/beyond: a page beyond the end is a 404': answer('fetch', (answered) => (answered.status = 404)),
  'fetch/agrees-with-status: ready_count is another': told('fetch', (page: Json) => (page.ready_count += 1)),
  'fetch/all-ready: the last lead is in no page': told('fetch', (page: Json) => {
    if (page.pts + page.count === page.ready_count) page.count -= page.entities.splice(-1).length;
  }),
  'fetch/next-position: positions begin at 1': request('fetch', ({ query }) => {
    query.set('pts', `${Math.max(0, Number(query.get('pts')) - 1)}`);
  }),
  'fetch/positions: every position is the first': request('fetch', ({ query }) => query.set('pts', '0')),
  'fetch/again: a lead is given once': () => {
    const given = new Set<string>();
    return told('fetch', (page: Json) => {
      page.entities = page.entities.filter(({ name }: Json) => !given.has(name));
      for (const { name } of page.entities) given.add(name);
    });
  },
  'contact/body-email: there is a further field': told('contactSearch', { confidence: 1 }),
  'contact/body-phone: created_at is not UTC': told('contactSearch', {
    created_at: '2026-01-05T12:00:00+02:00',
  }),
  'contact/echo-email: the objective is another': told('contactSearch', (body: Json) => {
    body.request.objective += '.';
  }),
  'contact/not-found: there is no result': told('contactSearch', { result: null }),
  'contact/request-id: there is none': header('contactSearch', 'X-Request-Id'),
  'contact/no-store: the answer can be cached': header('contactSearch', 'Cache-Control', 'private'),
  'deep-search/body: the answer is null': told('deepSearch', { answer: null }),
  'deep-search/no-result: the text is another': told('deepSearch', { answer: { answer: 'nothing' } }),
  'enrich/body: the answer is a text': told('enrich', { answer: 'text' }),
  'enrich/follows-schema: the fields are others': told('enrich', { answer: { other: 1 } }),
  'enrich/no-result: success is a text': told('enrich', { success: 'false' }),
  'extract/body: there is a further field': told('extract', { page: 1 }),
  'extract/idempotency-key: it is another': header('extract', 'Idempotency-Key', 'another'),
  'extract/instruction-none: it is an empty text': told(
    'extract',
    (one: Json) => (one.metadata.instruction = ''),
  ),
  'extract/limit-in-effect: it is another': told('extract', ({ metadata }: Json) => (metadata.limit = 100)),
  'extract/at-most-limit: an item more than the limit comes': told('extract', ({ data }: Json) =>
    data.push({}),
  ),
  'extract/default-limit: the limit is 10 by default': sent('extract', { limit: 10 }),
  'extract/failure: there is no reason': told('extract', { data: [] }),
  'extract/echo: the target is another': told('extract', ({ metadata }: Json) => (metadata.target += '/')),
  'extract/web2list-limit: it is the one that was sent': told(
    'extract',
    (one: Json) => (one.metadata.limit = 1),
  ),
  'extract/web2list-ignores-limit: the limit holds': told('extract', (one: Json, { body }) => {
    if (body.includes('"limit":1')) one.data.splice(1);
  }),
  'extract/duplicate: a replay differs': () => {
    let limit = 0;
    return told('extract', ({ metadata }: Json) => (metadata.limit = ++limit));
  },
};

const refusal = '{"error":{"type":"invalid_request_error","message":"no"}}';
/** Rows of what must be refused. */
const refused = `
  errors/contact-without-credits errors/too-few-credits
  authentication/search-unknown-key authentication/fetch-expired authentication/extract-no-access authentication/basic
  common/search-text-plain common/enrich-no-media-type common/search-null common/contact-body-over-1-mib
  common/contact-unknown-field common/extract-key-of-129 common/create_task-without-key common/search-duplicate
  common/extract-conflict
  search/entity-type-unknown search/objective-4001-of-3-byte-letters search/limit-1001 search/enrich-fields-21
  search/dedup-service-leads-101 search/dedup-custom-leads-numbers search/unknown-field search/web-search
  create_task/entity-type-wechat-without-web-search create_task/web-search-a-string
  status/id-missing status/task-of-another-key fetch/id-empty fetch/pts-negative fetch/num-501 fetch/unknown-task
  contact/contact-type-unknown contact/objective-4001 deep-search/query-empty
  enrich/context-16385-of-2-byte-letters enrich/schema-without-type enrich/schema-201-properties enrich/schema-nested-too-deep
  extract/type-unknown extract/target-2049 extract/instruction-4001 extract/limit-10001 extract/unknown-field
  extract/web2list-without-instruction extract/web2list-private-4`;
/** And of what must be accepted. */
const accepted = `
  balance/any-active-key authentication/contact-bearer common/contact-charset common/contact-body-of-1-mib
  common/create_task-key-of-128 common/search-without-key search/entity-type-tiktok_creator search/objective-trimmed
  search/limit-1000 create_task/entity-type-wechat contact/objective-4000-of-4-byte-letters deep-search/query-4000
  enrich/schema-nested extract/limit-10000`;
const rowsIn = (text: string) => text.trim().split(/\s+/);

const accepts: Break = {
  answer(answered) {
    if (answered.status >= 400) answered.status = 200;
  },
};
const refuses: Break = {
  answer: (answered) => Object.assign(answered, { status: 422, body: refusal }),
};
const all: Readonly<Record<string, Break | (() => Break)>> = {
  ...breaks,
  ...Object.fromEntries(rowsIn(refused).map((row) => [`${row}: it is accepted`, accepts])),
  ...Object.fromEntries(rowsIn(accepted).map((row) => [`${row}: it is refused`, refuses])),
};

const origin = 'https://service.example';
let local: Awaited<ReturnType<typeof startService>>;

beforeAll(async () => {
  const quick = { batch_pause_ms: 0, batch_size: 2, task_start_ms: 10, task_step_ms: 20, task_step: 3 };
  local = await startService({ switches: { ...quick, opening_credits: 9000 } });
});
afterEach(() => nock.cleanAll());
afterAll(() => nock.restore());

/** The results of rows against the local service behind a wire that breaks something. */
async function against(one: Break, some: typeof rows): Promise<RowResult[]> {
  const service = nock(origin).persist();
  for (const method of ['GET', 'POST'] as const)
    service.intercept(/.*/, method).reply(async function (path) {
      const { pathname, searchParams } = new URL(path, origin);
      const [name] = Object.entries(endpoints).find(([, { path }]) => path === pathname) as [
        EndpointName,
        unknown,
      ];
      const { requestBodyBuffers = [] } = this.req as { requestBodyBuffers?: Buffer[] };
      const { host: _, 'content-length': __, connection: ___, ...headers } = this.req.headers;
      const asked: Asked = { name, query: searchParams, headers, body: Buffer.concat(requestBodyBuffers) };
      one.request?.(asked);
      const body = method === 'POST' ? { body: new Uint8Array(asked.body) } : {};
      const answer = await fetch(`${local.url}${pathname}?${asked.query}`, {
        method,
        headers: asked.headers,
        ...body,
      });
      const answered: Answered = {
        status: answer.status,
        headers: new Headers(answer.headers),
        body: await answer.text(),
      };
      one.answer?.(answered, asked);
      answered.headers.delete('content-length');
      answered.headers.delete('transfer-encoding');
      return [answered.status, answered.body, Object.fromEntries(answered.headers)];
    });
  return await check({ baseUrl: new URL(origin), keys: keysOfLocalService, pollMs: 4 }, some);
}

it('the rows pass where nothing is broken', async () => {
  const results = await against(
    {},
    rows.filter(({ id }) => /^(events|fetch|contact)\//.test(id)),
  );
  expect(results.filter(({ result }) => result !== 'passed')).toEqual([]);
});

it.each(Object.entries(all))('a row fails by %s', async (name, one) => {
  const some = rows.filter(({ id }) => name.startsWith(`${id}: `));
  const results = await against(typeof one === 'function' ? one() : one, some);
  expect(results).toMatchObject([{ result: 'failed' }]);
  expect(results[0]?.got).not.toContain('could not be tried');
});

it('no row passes both where everything is accepted and where everything is refused', async () => {
  const passed = async (status: number, body: string): Promise<string[]> => {
    let now = 0;
    const results = await check({
      baseUrl: new URL(origin),
      keys: keysOfLocalService,
      pollMs: 1000,
      clock: {
        monotonic: () => now,
        async pause(ms) {
          now += ms;
        },
      },
      fetch: async () => new Response(body, { status, headers: { 'X-Request-Id': 'any' } }),
    });
    return results.filter(({ result }) => result === 'passed').map(({ row }) => row);
  };
  const [accepting, refusing] = [await passed(200, '{}'), await passed(422, refusal)];
  expect(accepting.length).toBeGreaterThan(50);
  expect(refusing.length).toBeGreaterThan(150);
  expect(accepting.filter((row) => refusing.includes(row))).toEqual([]);
});
