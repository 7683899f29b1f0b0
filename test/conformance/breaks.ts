// biome-ignore-all lint/suspicious/noAssignInExpressions: a fault is told in a line
import { names } from '../../src/conformance/samples.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { Alteration, Answered, Asked, Json, Policy } from './double.ts';

/** How a service differs in one place: in itself, or on the way. */
export type Difference = ((policy: Policy) => void) | Alteration;
type Differences = Readonly<Record<string, Difference>>;

const posts = (Object.keys(endpoints) as EndpointName[]).filter((name) => endpoints[name].method === 'POST');
type Of = EndpointName | readonly EndpointName[];
const isOf = (of: Of, { name }: Asked): boolean => [of].flat().includes(name);

/** Changes requests before the service sees them. */
function request(of: Of, change: (asked: Asked) => void): Alteration {
  return { request: (asked) => void (isOf(of, asked) && change(asked)) };
}

/** Changes bodies that are JSON objects; the bytes of others may be what a row is about. */
function body(of: Of, change: (body: Json) => void): Alteration {
  return request(of, (asked) => {
    const parsed = parse(asked.body.toString());
    if (parsed === undefined) return;
    const before = JSON.stringify(parsed);
    change(parsed);
    if (JSON.stringify(parsed) !== before) asked.body = Buffer.from(JSON.stringify(parsed));
  });
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function answer(of: Of, change: (answered: Answered, asked: Asked) => void, status = 200): Alteration {
  return {
    answer: (answered, asked) =>
      void (isOf(of, asked) && answered.status === status && change(answered, asked)),
  };
}

function json(of: Of, change: (body: Json, asked: Asked) => void, status = 200): Alteration {
  return answer(
    of,
    (answered, asked) => {
      const value = parse(answered.body) as Json;
      change(value, asked);
      answered.body = JSON.stringify(value);
    },
    status,
  );
}

/** Changes the frames of streams; undefined drops one. */
function frames(change: (payload: string, at: number) => string | undefined): Alteration {
  return answer('search', (answered) => {
    const payloads = answered.body.split('\n\n').filter((frame) => frame !== '');
    answered.body = payloads
      .map((frame, at) => change(frame.slice('data: '.length), at))
      .filter((one) => one !== undefined)
      .map((one) => `data: ${one}\n\n`)
      .join('');
  });
}

function event(kind: 'batch' | 'done', change: (event: Json) => void): Alteration {
  return frames((payload) => {
    const value = parse(payload);
    if (value?.object !== `entity_search_${kind}`) return payload;
    change(value);
    return JSON.stringify(value);
  });
}

const header = (of: Of, name: string, value?: string, status = 200): Alteration =>
  answer(
    of,
    ({ headers }) => (value === undefined ? headers.delete(name) : headers.set(name, value)),
    status,
  );
const member = (name: string, value: unknown) => (one: Json) => void (one[name] = value);
/** Refuses what is right, as invalid. */
const refuses = (of: Of, when: (body: Json, asked: Asked) => boolean): Alteration =>
  answer(of, (answered, asked) => {
    if (!when(parse(asked.body.toString()) ?? {}, asked)) return;
    answered.status = 422;
    answered.body = '{"error":{"message":"no"}}';
  });
const longer = (field: string, length: (text: string) => number, most: number) => (one: Json) =>
  typeof one[field] === 'string' && length(one[field]) > most;
const bytes = (text: string) => Buffer.byteLength(text.trim());
const characters = (text: string) => [...text.trim()].length;
const units = (text: string) => text.trim().length;
/** Takes what is wrong, as if something right had come. */
const takes = (of: Of, field: string, when: (value: unknown) => boolean, right: unknown): Alteration =>
  body(of, (one) => {
    if (field in one && when(one[field])) one[field] = right;
  });
const asks = (field: string, value: unknown) => (one: Json) => one[field] === value;
const first = <T>(list: unknown): T[] => ((list ?? []) as T[]).slice(0, 1);

const each = <T>(all: readonly T[], toSome: (one: T) => Differences): Differences =>
  Object.assign({}, ...all.map(toSome));

const unaskedFields: Alteration = {
  answer(answered) {
    answered.body = answered.body.replaceAll('"description":', '"enrich_fields":{},"description":');
  },
};

/** What breaks a rule of the document, behind the row that must fail because of it. */
export const breaks: Differences = {
  // Money
  'settlement/task-unused: a task keeps what it reserved beyond its leads': (p) =>
    (p.charge = (c, kind, most) => (kind === 'createTask' ? most : c)),
  'settlement/search-unused: a stream keeps what it reserved beyond its leads': (p) =>
    (p.charge = (c, kind, most) => (kind === 'search' ? most : c)),
  'settlement/search-unused: a search costs at least one credit': (p) => (p.charge = (c) => Math.max(1, c)),
  'settlement/search-per-lead: a stream has one price for all its leads': (p) =>
    (p.charge = (c, kind) => (kind === 'search' && c > 0 ? 5 : c)),
  'settlement/task-per-lead: a task has one price for all its leads': (p) =>
    (p.charge = (c, kind) => (kind === 'createTask' && c > 0 ? 5 : c)),
  'settlement/search-fewer-than-limit: a stream is charged for its limit where it finds some': (p) =>
    (p.charge = (c, kind, most) => (kind === 'search' && c > 0 ? most : c)),
  'settlement/task-fewer-than-limit: a task is charged for its limit where it finds some': (p) =>
    (p.charge = (c, kind, most) => (kind === 'createTask' && c > 0 ? most : c)),
  'balance/reserved: nothing is reserved': (p) => (p.reserve = () => 0),
  'balance/reserved: half is reserved': (p) => (p.reserve = (most) => Math.floor(most / 2)),
  'settlement/invalid-costs-nothing: invalid requests are charged': (p) => (p.refusedCost = () => 1),
  ...each(posts, (name) => ({
    [`settlement/${names[name]}-duplicate: a duplicate of ${name} is charged`]: (p) =>
      (p.repeatedCost = (one) => (one === name ? 2 : 0)),
  })),
  'settlement/search-at-once: requests in the same moment are both admitted': (p) => (p.keysKnownLate = true),
  'settlement/reads-cost-nothing: reads cost': (p) => (p.readCost = 1),
  'settlement/contact: contact is settled after its answer': (p) =>
    Object.assign(p, {
      slow: { contactSearch: 1500 },
      charge: (c: number, kind: string) => (kind === 'contactSearch' ? 3 : c),
    }),
  'settlement/contact-not-negative: contact gives credits back': (p) =>
    (p.charge = (c, kind) => (kind === 'contactSearch' ? -1 : c)),
  'balance/foreign-user: a user_id decides the account': (p) =>
    (p.balanceOf = (account, query) => query.get('user_id') ?? account),
  'balance/account-of-the-key: the balance is that of the first account': (p) => (p.balanceOf = () => 'main'),
  'errors/search-without-credits: 402 is sent as 403': answer('search', (a) => (a.status = 403), 402),
  'errors/extract-without-credits: 402 has no message': json(
    'extract',
    member('error', { type: 'insufficient_credits' }),
    402,
  ),
  'errors/too-few-credits: an account with some credits can overdraw': request(
    'extract',
    ({ headers }) => (headers.authorization = (headers.authorization ?? '').replace('few_credits', 'other')),
  ),
  // Keys and authentication
  'authentication/search-unknown-key: an unknown key is a 403': answer(
    'search',
    (a, { headers }) => void (/unknown/.test(headers['x-api-key'] ?? '') && (a.status = 403)),
    401,
  ),
  'authentication/balance-revoked: a revoked key gives 401': answer(
    'balance',
    (a, { headers }) => void (/revoked/.test(headers['x-api-key'] ?? '') && (a.status = 401)),
    403,
  ),
  'authentication/fetch-expired: an expired key works': request(
    'fetch',
    ({ headers }) => headers['x-api-key'] === 'key-expired' && (headers['x-api-key'] = 'key-main'),
  ),
  'authentication/contact-no-access: no access is needed for contacts': request(
    'contactSearch',
    ({ headers }) =>
      headers.authorization === 'Bearer key-no_access' && (headers.authorization = 'Bearer key-main'),
  ),
  'authentication/basic: Basic is taken for a key': request(
    'balance',
    ({ headers }) =>
      /^Basic/.test(headers.authorization ?? '') && (headers.authorization = 'Bearer key-main'),
  ),
  'authentication/fetch-bearer: fetch takes no Bearer key': answer(
    'fetch',
    (a, { headers }) =>
      void (
        'authorization' in headers && Object.assign(a, { status: 401, body: '{"error":{"message":"no"}}' })
      ),
  ),
  'authentication/search-without-key: the error has another type': json(
    'search',
    member('error', { message: 'no', type: 'not_found' }),
    401,
  ),
  'errors/search-media-type: errors are HTML': header('search', 'Content-Type', 'text/html', 401),
  'errors/enrich-busy: the limit of requests is a 503': answer(
    'enrich',
    (a) => Object.assign(a, { status: 503, body: '{"error":{"message":"busy"}}' }),
    429,
  ),
  // Requests of all kinds
  ...each(['text-plain', 'no-media-type'] as const, (kind) => ({
    [`common/enrich-${kind}: enrich takes any media type: ${kind}`]: request(
      'enrich',
      ({ headers }) =>
        (kind === 'no-media-type') === !('content-type' in headers) &&
        (headers['content-type'] = 'application/json'),
    ),
  })),
  'common/contact-charset: a charset is refused': refuses('contactSearch', (_, { headers }) =>
    /charset/.test(headers['content-type'] ?? ''),
  ),
  'common/search-two-objects: two objects are one': request(
    'search',
    (asked) => (asked.body = Buffer.from(asked.body.toString().replace(/\}\{.*/s, '}'))),
  ),
  'common/contact-trailing-text: what follows the object is ignored': request(
    'contactSearch',
    (asked) => (asked.body = Buffer.from(asked.body.toString().replace(/ x$/, ''))),
  ),
  'common/search-invalid-utf-8: bytes that are no UTF-8 are taken': request(
    'search',
    (asked) => (asked.body = Buffer.from(asked.body.toString())),
  ),
  'common/deep-search-array: an array of one is an object': request(
    'deepSearch',
    (asked) => (asked.body = Buffer.from(asked.body.toString().replace(/^\[(.*)\]$/s, '$1'))),
  ),
  'common/search-body-over-1-mib: bodies may have 2 MiB': request(
    'search',
    (asked) =>
      asked.body.length > 1024 * 1024 &&
      (asked.body = Buffer.from(asked.body.toString().replace(/ +\}$/, '}'))),
  ),
  'common/contact-body-of-1-mib: bodies may have 1,000,000 bytes': refuses(
    'contactSearch',
    (_, { body: sent }) => sent.length > 1_000_000,
  ),
  'common/extract-key-of-129: keys of 129 characters are cut': request(
    'extract',
    ({ headers }) => (headers['idempotency-key'] = (headers['idempotency-key'] ?? '').slice(0, 128)),
  ),
  'common/create_task-key-of-128: keys have at most 64 characters': refuses(
    'createTask',
    (_, { headers }) => (headers['idempotency-key'] ?? '').length > 64,
  ),
  'common/create_task-without-key: create_task needs no key': request(
    'createTask',
    ({ headers }) => (headers['idempotency-key'] ??= `own-${Math.random()}`),
  ),
  'common/search-without-key: a stream needs a key': refuses(
    'search',
    (_, { headers }) => !('idempotency-key' in headers),
  ),
  'common/enrich-generated-key: no key is generated': header('enrich', 'Idempotency-Key'),
  ...each(posts, (name) => ({
    [`common/${names[name]}-conflict: ${name} forgets its keys`]: request(
      name,
      ({ headers }) =>
        'idempotency-key' in headers && (headers['idempotency-key'] += String(Math.random()).slice(2, 8)),
    ),
  })),
  'common/search-refused-key: the key of a refused request is used up': (p) => (p.keysOfRefused = true),
  'common/contact-conflict: a conflict is a 422': answer('contactSearch', (a) => (a.status = 422), 409),
  'common/enrich-media-type: a JSON answer is text': header('enrich', 'Content-Type', 'text/plain'),
  // Fields of a search
  ...each(['search', 'createTask'] as const, (of) => {
    const name = names[of];
    return {
      [`${name}/limit-null: ${of} takes limit null`]: takes(of, 'limit', (value) => value === null, 1),
      [`${name}/limit-1001: ${of} takes 1001 as 1000`]: takes(of, 'limit', (value) => value === 1001, 1000),
      [`${name}/objective-4001-of-3-byte-letters: ${of} counts objectives in characters`]: takes(
        of,
        'objective',
        (value) => bytes(String(value)) > 4000 && characters(String(value)) <= 4000,
        'x',
      ),
      [`${name}/objective-trimmed: ${of} counts objectives before trimming`]: refuses(
        of,
        (one) => String(one.objective).length > 4000,
      ),
      [`${name}/unknown-field: ${of} ignores unknown fields`]: body(of, (one) => delete one.entity_kind),
      [`${name}/dedup-custom-leads-numbers: ${of} takes numbers as names`]: takes(
        of,
        'dedup_custom_leads',
        (value) => Array.isArray(value) && value[0] === 1,
        [],
      ),
      [`${name}/excludes-custom-leads: ${of} excludes no names`]: takes(
        of,
        'dedup_custom_leads',
        (value) => Array.isArray(value) && value.length < 4 && value.every((one) => typeof one === 'string'),
        [],
      ),
      [`${name}/excludes-earlier-searches: ${of} excludes no earlier searches`]: takes(
        of,
        'dedup_service_leads',
        (value) => Array.isArray(value) && /^(task|search)-/.test(value[0]),
        [],
      ),
      [`${name}/not-enriched: ${of} adds enrich_fields unasked`]: unaskedFields,
    };
  }),
  'search/excludes-across-forms: streams exclude no tasks': takes(
    'search',
    'dedup_service_leads',
    (value) => Array.isArray(value) && /^task-/.test(value[0]),
    [],
  ),
  'create_task/excludes-across-forms: tasks exclude no streams': takes(
    'createTask',
    'dedup_service_leads',
    (value) => Array.isArray(value) && /^search-/.test(value[0]),
    [],
  ),
  'search/excludes-custom-leads: exclusions use up the limit': (p) => (p.exclusionsUseLimit = true),
  'create_task/enriched: asked enrichment is left out': body(
    'createTask',
    (one) =>
      one.enrich_fields !== undefined &&
      (one.enrich_fields as unknown[]).length === 1 &&
      delete one.enrich_fields,
  ),
  'create_task/entity-type-wechat-without-web-search: wechat needs no web search': body(
    'createTask',
    (one) => asks('entity_type', 'wechat')(one) && (one.enable_web_search = true),
  ),
  'search/entity-type-xiaohongshu-without-web-search: streams take xiaohongshu': takes(
    'search',
    'entity_type',
    (value) => value === 'xiaohongshu',
    'person',
  ),
  'search/web-search: streams take enable_web_search': body(
    'search',
    (one) => asks('entity_type', 'company')(one) && delete one.enable_web_search,
  ),
  'search/entity-type-tiktok_creator: there is no type tiktok_creator': refuses(
    'search',
    asks('entity_type', 'tiktok_creator'),
  ),
  'events/default-limit: 50 leads are the default of a stream': body(
    'search',
    (one) => (one.limit ??= one.limit === undefined ? 50 : one.limit),
  ),
  'events/default-limit: 1000 leads are the default of a stream': request(
    'search',
    (asked) =>
      (asked.body = Buffer.from(
        asked.body.toString().replace(/"objective":"companies"\}$/, '"objective":"companies","limit":200}'),
      )),
  ),
  'create_task/default-limit: 50 leads are the default of a task': body(
    'createTask',
    (one) => !('limit' in one) && (one.limit = 50),
  ),
  // Streams
  'events/media-type: a stream is sent as text/plain': header('search', 'Content-Type', 'text/plain'),
  'events/request-id: a stream has no X-Request-Id': header('search', 'X-Request-Id'),
  'events/sentinel: a stream ends without [DONE]': frames((payload) =>
    payload === '[DONE]' ? undefined : payload,
  ),
  'events/frames: a stream ends without a blank line': answer(
    'search',
    (a) => (a.body = a.body.slice(0, -1)),
  ),
  'events/one-done: a stream has no done event': frames((payload) =>
    payload.includes('_done"') ? undefined : payload,
  ),
  'events/known: a stream has an event before the batches': frames((payload, at) =>
    at === 0 ? `{"object":"entity_search_begin"}\n\ndata: ${payload}` : payload,
  ),
  'events/frames: frames have an event line': answer(
    'search',
    (a) => (a.body = a.body.replace(/^data: /, 'event: batch\ndata: ')),
  ),
  'events/batch-index: batch_index starts at 0': event(
    'batch',
    (one) => (one.batch_index = Number(one.batch_index) - 1),
  ),
  'events/batch-count: count of a batch is one more': event(
    'batch',
    (one) => (one.count = Number(one.count) + 1),
  ),
  'events/batch-cum-count: cum_count is the count': event('batch', (one) => (one.cum_count = one.count)),
  'events/done-cum-count: cum_count of done is one more': event(
    'done',
    (one) => (one.cum_count = Number(one.cum_count) + 1),
  ),
  'events/done-body: finish is a text': event('done', member('finish', 'true')),
  'events/done-body: done has no stop_reason': event('done', (one) => delete one.stop_reason),
  'events/leads-search-id: batches have no leads_search_id': event(
    'batch',
    (one) => delete one.leads_search_id,
  ),
  'events/done-leads-search-id: done has no leads_search_id': event(
    'done',
    (one) => delete one.leads_search_id,
  ),
  'events/done-leads-search-id: done has another leads_search_id': event(
    'done',
    member('leads_search_id', 'other'),
  ),
  'events/at-most-limit: a search gives one more than its limit': body(
    'search',
    (one) => one.limit === 12 && (one.limit = 13),
  ),
  'events/unique: a lead comes twice': event(
    'batch',
    (one) =>
      one.count === 5 &&
      (one.entities = [...first(one.entities), ...(one.entities as unknown[]).slice(0, 4)]),
  ),
  'events/entity-body: score is a number': event('batch', (one) => {
    for (const lead of one.entities as Json[]) lead.score = 0.9;
  }),
  // Tasks
  'create_task/request-id: create_task has no X-Request-Id': header('createTask', 'X-Request-Id'),
  'create_task/no-store: create_task can be cached': header('createTask', 'Cache-Control'),
  'create_task/replay-idempotency-key: a replay has no Idempotency-Key': (() => {
    const sent = new Set<string>();
    return answer('createTask', ({ headers }, asked) => {
      const key = asked.headers['idempotency-key'] ?? '';
      if (sent.has(key)) headers.delete('Idempotency-Key');
      sent.add(key);
    });
  })(),
  'create_task/new-key-new-task: every create_task has the same ID': json(
    'createTask',
    member('leads_search_id', 'task-1'),
  ),
  'status/without-polling: a task goes on when it is asked about': (p) =>
    (p.progress = (task) => task.polls / 6),
  'status/verified-count: verified_count is below ready_count': json(
    'status',
    ({ status }) => ((status as Json).verified_count = Number((status as Json).ready_count) - 1),
  ),
  'status/body: the status has no stop_reason': json(
    'status',
    ({ status }) => delete (status as Json).stop_reason,
  ),
  'status/ends: the status is called finished': json(
    'status',
    ({ status }) => (status as Json).status === 'done' && ((status as Json).status = 'finished'),
  ),
  'status/at-most-limit: a task gives more than its limit': body(
    'createTask',
    (one) => one.limit === 7 && (one.limit = 9),
  ),
  'fetch/task-of-another-key: every key of the account reads a task': (p) =>
    (p.ownsTask = (task, key) => task.key === key || key === 'key-sibling'),
  'status/task-of-another-account: every key reads a task': (p) => (p.ownsTask = () => true),
  'fetch/unknown-task: a missing task is a 422': answer('fetch', (a) => (a.status = 422), 404),
  'status/longer-id: an ID is read to its first letter too many': request('status', ({ query }) =>
    query.set('leads_search_id', (query.get('leads_search_id') ?? '').replace(/^(task-\d+)x$/, '$1')),
  ),
  'fetch/id-empty: fetch needs no ID': request(
    'fetch',
    ({ query }) => query.get('leads_search_id') === '' && query.set('leads_search_id', 'x'),
  ),
  // Pages
  'fetch/defaults: num is 10 by default': request(
    'fetch',
    ({ query }) => query.get('num') ?? query.set('num', '10'),
  ),
  'fetch/num-501: num 501 is 500': request(
    'fetch',
    ({ query }) => query.get('num') === '501' && query.set('num', '500'),
  ),
  'fetch/num-0: num 0 is 1': request(
    'fetch',
    ({ query }) => query.get('num') === '0' && query.set('num', '1'),
  ),
  'fetch/pts-negative: a negative position is the first': request(
    'fetch',
    ({ query }) => query.get('pts') === '-1' && query.set('pts', '0'),
  ),
  'fetch/echo: pts is echoed as 0': json('fetch', member('pts', 0)),
  'fetch/count: count is num': json('fetch', (one) => (one.count = one.num)),
  'fetch/at-most-num: a page has more than num': request(
    'fetch',
    ({ query }) => query.get('num') === '2' && query.set('num', '3'),
  ),
  'fetch/limit: a page has no limit': json('fetch', (one) => delete one.limit),
  'fetch/agrees-with-status: ready_count of a page is one more': json(
    'fetch',
    (one) => (one.ready_count = Number(one.ready_count) + 1),
  ),
  'fetch/next-position: positions begin at 1': (p) => (p.position = (pts) => Math.max(0, pts - 1)),
  'fetch/positions: every position is the first': (p) => (p.position = () => 0),
  'fetch/while-running: nothing can be read while a task runs': json(
    'fetch',
    (one) => one.status === 'running' && Object.assign(one, { entities: [], count: 0 }),
  ),
  'fetch/beyond: a page beyond the end is a 404': answer(
    'fetch',
    (a, { query }) => void (Number(query.get('pts')) > 1000 && (a.status = 404)),
  ),
  // Contacts, research, enrichment
  'contact/body-email: contact has a further field': json('contactSearch', member('confidence', 1)),
  'contact/echo-email: contact echoes the objective untrimmed': json(
    'contactSearch',
    (one, asked) => ((one.request as Json).objective = parse(asked.body.toString())?.objective),
  ),
  'contact/echo-phone: contact echoes another type': json(
    'contactSearch',
    (one) => ((one.request as Json).contact_type = 'email'),
  ),
  'contact/body-phone: created_at is not UTC': json(
    'contactSearch',
    member('created_at', '2026-01-05T12:00:00+02:00'),
  ),
  'contact/body-phone: a phone number is a number': json(
    'contactSearch',
    ({ request: sent, result }) =>
      (sent as Json).contact_type === 'phone' &&
      (result as Json).content !== null &&
      ((result as Json).content = 49),
  ),
  'contact/no-store: contact can be cached': header('contactSearch', 'Cache-Control', 'private'),
  'contact/objective-4000-of-4-byte-letters: contact counts UTF-16 units': refuses(
    'contactSearch',
    longer('objective', units, 4000),
  ),
  'contact/objective-4000-of-2-byte-letters: contact counts bytes': refuses(
    'contactSearch',
    longer('objective', bytes, 4000),
  ),
  'contact/contact-type-unknown: contact knows fax': takes(
    'contactSearch',
    'contact_type',
    (value) => value === 'planet',
    'email',
  ),
  'deep-search/no-result: research without a result says it otherwise': json(
    'deepSearch',
    (one) => one.success === false && (one.answer = { answer: 'nothing' }),
  ),
  'deep-search/body: research is answered with null': json(
    'deepSearch',
    (one) => one.success === true && (one.answer = null),
  ),
  'deep-search/query-4000: queries have at most 2000 characters': refuses(
    'deepSearch',
    longer('query', characters, 2000),
  ),
  'enrich/body: an enriched answer is a text': json(
    'enrich',
    (one) => one.success === true && (one.answer = 'text'),
  ),
  'enrich/follows-schema: an enriched answer has other fields': json(
    'enrich',
    (one) => one.success === true && (one.answer = { other: 1 }),
  ),
  'enrich/context-16385-of-2-byte-letters: enrich counts characters': takes(
    'enrich',
    'entity_context',
    (value) => bytes(String(value)) > 16_384 && characters(String(value)) <= 16_384,
    'x',
  ),
  'enrich/schema-properties-cumulative: properties are counted at the root alone': body(
    'enrich',
    (one) => delete ((one.enrich_fields as Json | undefined)?.properties as Json | undefined)?.more,
  ),
  'enrich/schema-nested-too-deep: schemas may be deep': takes(
    'enrich',
    'enrich_fields',
    (value) => /(inner.*){13}/.test(JSON.stringify(value)),
    {
      type: 'object',
      properties: { a: {} },
    },
  ),
  'enrich/schema-without-type: a schema needs no type': body(
    'enrich',
    (one) =>
      typeof one.enrich_fields === 'object' &&
      one.enrich_fields !== null &&
      !Array.isArray(one.enrich_fields) &&
      ((one.enrich_fields as Json).type ??= 'object'),
  ),
  // Extraction
  'extract/body: extract has a further field': json('extract', member('page', 1)),
  'extract/at-most-limit: extract gives one item more': json(
    'extract',
    (one) => Array.isArray(one.data) && one.data.push({}),
  ),
  'extract/body: items are texts': json(
    'extract',
    (one) => Array.isArray(one.data) && (one.data = one.data.map(String)),
  ),
  'extract/echo-handle: handles are echoed without @': json(
    'extract',
    ({ metadata }) => ((metadata as Json).target = String((metadata as Json).target).replace('@', '')),
  ),
  'extract/echo-address: targets are echoed in small letters': json(
    'extract',
    ({ metadata }) => ((metadata as Json).target = String((metadata as Json).target).toLowerCase()),
  ),
  'extract/instruction-none: an absent instruction is an empty one': json(
    'extract',
    ({ metadata }) => ((metadata as Json).instruction ??= ''),
  ),
  'extract/web2list-limit: web2list has the limit that was sent': json(
    'extract',
    ({ metadata }, asked) =>
      asks('type', 'web2list')(metadata as Json) &&
      ((metadata as Json).limit = parse(asked.body.toString())?.limit ?? 100),
  ),
  'extract/web2list-at-most-100: web2list gives 101 items': json(
    'extract',
    (one) => Array.isArray(one.data) && one.data.length === 100 && one.data.push({}),
  ),
  'extract/web2list-ignores-limit: web2list keeps to the limit': json(
    'extract',
    (one, asked) => parse(asked.body.toString())?.limit === 1 && (one.data = first(one.data)),
  ),
  'extract/web2list-without-instruction: web2list needs no instruction': body(
    'extract',
    (one) => asks('type', 'web2list')(one) && (one.instruction ??= 'x'),
  ),
  'extract/limit-10000: the limit of extract is 1000': answer(
    'extract',
    (a, asked) => void (parse(asked.body.toString())?.limit === 10_000 && (a.status = 422)),
    402,
  ),
  ...each(
    [
      'http://127.9.9.9/list',
      'http://[::1]/list',
      'http://169.254.169.254/list',
      'http://192.168.0.1/list',
      'http://printer/list',
      'http://2130706433/list',
      'http://[::ffff:127.0.0.1]/list',
    ],
    (host) => ({
      [`extract/web2list-: web2list reads ${host}`]: takes(
        'extract',
        'target',
        (value) => value === host,
        'https://example.com/',
      ),
    }),
  ),
  'extract/duplicate: a replay of extract differs': (() => {
    let count = 0;
    return json('extract', ({ metadata }) => ((metadata as Json).limit = ++count));
  })(),
  'extract/failure: failures of extract have no reason': json(
    'extract',
    (one) => one.success === false && (one.data = []),
  ),
  // What is not enabled
  'deep-search/query-empty: invalid requests are not available': answer(
    'deepSearch',
    (a) => Object.assign(a, { status: 503, body: '{"error":{"message":"no"}}' }),
    422,
  ),
  'contact/objective-4000: long objectives are not available': answer('contactSearch', (a, asked) => {
    if (asked.body.length < 4000) return;
    a.status = 503;
    a.body = '{"error":{"message":"no"}}';
  }),
  'balance/body: the balance is a text': json(
    'balance',
    (one) => (one.available_credits = String(one.available_credits)),
  ),
  'balance/body: the balance has a date of another form': json(
    'balance',
    member('updated_at', '2026-01-05T12:00:00Z'),
  ),
  'balance/no-store: the balance can be cached': header('balance', 'Cache-Control'),
};

const sse = (change: (body: string) => string): Alteration =>
  answer('search', (a) => (a.body = change(a.body)));
const errorsLike = (change: (error: Json) => Json): Alteration => ({
  answer(answered) {
    const value = answered.status < 400 ? undefined : parse(answered.body);
    if (value !== undefined) answered.body = JSON.stringify(change(value.error as Json));
  },
});
const leadsLike = (change: (lead: Json) => void): Alteration => ({
  answer(answered, asked) {
    if (answered.status !== 200 || (asked.name !== 'search' && asked.name !== 'fetch')) return;
    const changed = (text: string) => {
      const value = parse(text);
      if (value === undefined || !Array.isArray(value.entities)) return text;
      for (const lead of value.entities as Json[]) change(lead);
      return JSON.stringify(value);
    };
    answered.body =
      asked.name === 'fetch' ? changed(answered.body) : answered.body.replace(/(?<=^data: ).*$/gm, changed);
  },
});
/** What the document leaves open: nothing is noticed. */
export const variants: Differences = {
  'pages of one entity': (p) => (p.pageMost = 1),
  'pages of three entities': (p) => (p.pageMost = 3),
  'batches of one': (p) => (p.batch = 1),
  'one batch for all': (p) => (p.batch = 1000),
  'lines end with CRLF': sse((body) => body.replaceAll('\n', '\r\n')),
  'lines end with CR': sse((body) => body.replaceAll('\n', '\r')),
  'comments in the stream': sse(
    (body) => `: hello\n\n${body.replace('data: [DONE]', ': still here\n\ndata: [DONE]')}`,
  ),
  'media types with a charset': {
    answer: ({ headers }) => headers.set('Content-Type', `${headers.get('Content-Type')}; charset=utf-8`),
  },
  'error types in error.code': errorsLike(({ message, type }) => ({ error: { message, code: type } })),
  'error types beside error': errorsLike(({ message, type }) => ({ error: { message }, type })),
  'no error types': errorsLike(({ message }) => ({ error: { message } })),
  'more in errors': errorsLike((error) => ({ error: { ...error, param: 'x' }, request: 1 })),
  'tasks that end in error': (p) => (p.endsInError = true),
  'slow tasks': (p) => (p.taskMs = 120_000),
  'a price of 3 for each lead': (p) => (p.price.lead = 3),
  'other prices': (p) => Object.assign(p.price, { email: 7, phone: 11, research: 1, enrich: 9, item: 2 }),
  'everything is free': (p) => {
    for (const one of Object.keys(p.price)) p.price[one] = 0;
    p.reserve = () => 0;
  },
  'free lookups': (p) => Object.assign(p.price, { email: 0, phone: 0 }),
  'lookups are charged per request': (p) =>
    (p.charge = (credits, kind, most) => (kind === 'contactSearch' ? most : credits)),
  'slow settlement of searches': (p) => (p.slow = { search: 3000, createTask: 3000 }),
  'very slow settlement of searches': (p) => (p.slow = { search: 20_000, createTask: 20_000 }),
  'slow settlement of research': (p) => (p.slow = { deepSearch: 3000, enrich: 2000, extract: 3000 }),
  'one request at a time': (p) => (p.concurrency = 1),
  'extract replays nothing': (p) => (p.replaysExtract = false),
  'entities without links, score and description': leadsLike((lead) => {
    for (const one of ['links', 'score', 'description']) delete lead[one];
  }),
  'entities with more fields': leadsLike((lead) => Object.assign(lead, { followers: 12, tags: ['a'] })),
  'new stop reasons': {
    answer: (a) =>
      void (a.body = a.body.replace(/"stop_reason":"source_finished"/g, '"stop_reason":"moon_phase"')),
  },
  'more members in events': event('batch', member('more', { a: 1 })),
  'more members of create_task and status': json(['createTask', 'status', 'balance'], member('more', true)),
  'a balance with the next refresh': json('balance', member('next_credit_refresh_at', '2026-02-01 00:00:00')),
  'a balance without a date': json('balance', (one) => delete one.updated_at),
  'research in another form': json(
    'deepSearch',
    (one) => one.success === true && (one.answer = ['anything']),
  ),
  'contacts without a hit as an empty text': json(
    'contactSearch',
    ({ result }) => (result as Json).content === null && ((result as Json).content = ' '),
  ),
  'created_at with an offset of zero': json(
    'contactSearch',
    member('created_at', '2026-01-05T12:00:00+00:00'),
  ),
  'cached never, and private': {
    answer: ({ headers }) =>
      void (headers.has('Cache-Control') && headers.set('Cache-Control', 'private, no-store')),
  },
};
