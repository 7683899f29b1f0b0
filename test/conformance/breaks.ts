// biome-ignore-all lint/suspicious/noAssignInExpressions: a fault is told in a line
import { names } from '../../src/conformance/samples.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { Alteration, Answered, Asked, Json, Policy } from './double.ts';

/** A service that differs in one place. */
export interface Difference {
  readonly name: string;
  readonly policy?: (policy: Policy) => void;
  readonly alteration?: Alteration;
  /** A row that must fail because of it. */
  readonly fails: string;
}

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

const row = (name: string, fails: string, difference: Omit<Difference, 'name' | 'fails'>): Difference => ({
  name,
  fails,
  ...difference,
});
const policy = (name: string, fails: string, change: (policy: Policy) => void) =>
  row(name, fails, { policy: change });
const altered = (name: string, fails: string, alteration: Alteration) => row(name, fails, { alteration });

const unaskedFields: Alteration = {
  answer(answered) {
    answered.body = answered.body.replaceAll('"description":', '"enrich_fields":{},"description":');
  },
};

/** What breaks a rule of the document: each must be noticed. */
export const breaks: readonly Difference[] = [
  // Money
  policy(
    'a task keeps what it reserved beyond its leads',
    'settlement/task-unused',
    (p) => (p.charge = (c, kind, most) => (kind === 'createTask' ? most : c)),
  ),
  policy(
    'a stream keeps what it reserved beyond its leads',
    'settlement/search-unused',
    (p) => (p.charge = (c, kind, most) => (kind === 'search' ? most : c)),
  ),
  policy(
    'a search costs at least one credit',
    'settlement/search-unused',
    (p) => (p.charge = (c) => Math.max(1, c)),
  ),
  policy(
    'a stream has one price for all its leads',
    'settlement/search-per-lead',
    (p) => (p.charge = (c, kind) => (kind === 'search' && c > 0 ? 5 : c)),
  ),
  policy(
    'a task has one price for all its leads',
    'settlement/task-per-lead',
    (p) => (p.charge = (c, kind) => (kind === 'createTask' && c > 0 ? 5 : c)),
  ),
  policy(
    'a stream is charged for its limit where it finds some',
    'settlement/search-fewer-than-limit',
    (p) => (p.charge = (c, kind, most) => (kind === 'search' && c > 0 ? most : c)),
  ),
  policy(
    'a task is charged for its limit where it finds some',
    'settlement/task-fewer-than-limit',
    (p) => (p.charge = (c, kind, most) => (kind === 'createTask' && c > 0 ? most : c)),
  ),
  policy('nothing is reserved', 'balance/reserved', (p) => (p.reserve = () => 0)),
  policy('half is reserved', 'balance/reserved', (p) => (p.reserve = (most) => Math.floor(most / 2))),
  policy(
    'invalid requests are charged',
    'settlement/invalid-costs-nothing',
    (p) => (p.refusedCost = () => 1),
  ),
  ...posts.map((name) =>
    policy(
      `a duplicate of ${name} is charged`,
      `settlement/${names[name]}-duplicate`,
      (p) => (p.repeatedCost = (one) => (one === name ? 2 : 0)),
    ),
  ),
  policy(
    'requests in the same moment are both admitted',
    'settlement/search-at-once',
    (p) => (p.keysKnownLate = true),
  ),
  policy('reads cost', 'settlement/reads-cost-nothing', (p) => (p.readCost = 1)),
  policy('contact is settled after its answer', 'settlement/contact', (p) =>
    Object.assign(p, {
      slow: { contactSearch: 1500 },
      charge: (c: number, kind: string) => (kind === 'contactSearch' ? 3 : c),
    }),
  ),
  policy(
    'contact gives credits back',
    'settlement/contact-not-negative',
    (p) => (p.charge = (c, kind) => (kind === 'contactSearch' ? -1 : c)),
  ),
  policy(
    'a user_id decides the account',
    'balance/foreign-user',
    (p) => (p.balanceOf = (account, query) => query.get('user_id') ?? account),
  ),
  policy(
    'the balance is that of the first account',
    'balance/account-of-the-key',
    (p) => (p.balanceOf = () => 'main'),
  ),
  altered(
    '402 is sent as 403',
    'errors/search-without-credits',
    answer('search', (a) => (a.status = 403), 402),
  ),
  altered(
    '402 has no message',
    'errors/extract-without-credits',
    json('extract', member('error', { type: 'insufficient_credits' }), 402),
  ),
  altered(
    'an account with some credits can overdraw',
    'errors/too-few-credits',
    request(
      'extract',
      ({ headers }) =>
        (headers.authorization = (headers.authorization ?? '').replace('few_credits', 'other')),
    ),
  ),
  // Keys and authentication
  altered(
    'an unknown key is a 403',
    'authentication/search-unknown-key',
    answer(
      'search',
      (a, { headers }) => void (/unknown/.test(headers['x-api-key'] ?? '') && (a.status = 403)),
      401,
    ),
  ),
  altered(
    'a revoked key gives 401',
    'authentication/balance-revoked',
    answer(
      'balance',
      (a, { headers }) => void (/revoked/.test(headers['x-api-key'] ?? '') && (a.status = 401)),
      403,
    ),
  ),
  altered(
    'an expired key works',
    'authentication/fetch-expired',
    request(
      'fetch',
      ({ headers }) => headers['x-api-key'] === 'key-expired' && (headers['x-api-key'] = 'key-main'),
    ),
  ),
  altered(
    'no access is needed for contacts',
    'authentication/contact-no-access',
    request(
      'contactSearch',
      ({ headers }) =>
        headers.authorization === 'Bearer key-no_access' && (headers.authorization = 'Bearer key-main'),
    ),
  ),
  altered(
    'Basic is taken for a key',
    'authentication/basic',
    request(
      'balance',
      ({ headers }) =>
        /^Basic/.test(headers.authorization ?? '') && (headers.authorization = 'Bearer key-main'),
    ),
  ),
  altered(
    'fetch takes no Bearer key',
    'authentication/fetch-bearer',
    answer(
      'fetch',
      (a, { headers }) =>
        void (
          'authorization' in headers && Object.assign(a, { status: 401, body: '{"error":{"message":"no"}}' })
        ),
    ),
  ),
  altered(
    'the error has another type',
    'authentication/search-without-key',
    json('search', member('error', { message: 'no', type: 'not_found' }), 401),
  ),
  altered('errors are HTML', 'errors/search-media-type', header('search', 'Content-Type', 'text/html', 401)),
  altered(
    'the limit of requests is a 503',
    'errors/enrich-busy',
    answer('enrich', (a) => Object.assign(a, { status: 503, body: '{"error":{"message":"busy"}}' }), 429),
  ),
  // Requests of all kinds
  ...(['text-plain', 'no-media-type'] as const).map((kind) =>
    altered(
      `enrich takes any media type: ${kind}`,
      `common/enrich-${kind}`,
      request(
        'enrich',
        ({ headers }) =>
          (kind === 'no-media-type') === !('content-type' in headers) &&
          (headers['content-type'] = 'application/json'),
      ),
    ),
  ),
  altered(
    'a charset is refused',
    'common/contact-charset',
    refuses('contactSearch', (_, { headers }) => /charset/.test(headers['content-type'] ?? '')),
  ),
  altered(
    'two objects are one',
    'common/search-two-objects',
    request('search', (asked) => (asked.body = Buffer.from(asked.body.toString().replace(/\}\{.*/s, '}')))),
  ),
  altered(
    'what follows the object is ignored',
    'common/contact-trailing-text',
    request('contactSearch', (asked) => (asked.body = Buffer.from(asked.body.toString().replace(/ x$/, '')))),
  ),
  altered(
    'bytes that are no UTF-8 are taken',
    'common/search-invalid-utf-8',
    request('search', (asked) => (asked.body = Buffer.from(asked.body.toString()))),
  ),
  altered(
    'an array of one is an object',
    'common/deep-search-array',
    request(
      'deepSearch',
      (asked) => (asked.body = Buffer.from(asked.body.toString().replace(/^\[(.*)\]$/s, '$1'))),
    ),
  ),
  altered(
    'bodies may have 2 MiB',
    'common/search-body-over-1-mib',
    request(
      'search',
      (asked) =>
        asked.body.length > 1024 * 1024 &&
        (asked.body = Buffer.from(asked.body.toString().replace(/ +\}$/, '}'))),
    ),
  ),
  altered(
    'bodies may have 1,000,000 bytes',
    'common/contact-body-of-1-mib',
    refuses('contactSearch', (_, { body: sent }) => sent.length > 1_000_000),
  ),
  altered(
    'keys of 129 characters are cut',
    'common/extract-key-of-129',
    request(
      'extract',
      ({ headers }) => (headers['idempotency-key'] = (headers['idempotency-key'] ?? '').slice(0, 128)),
    ),
  ),
  altered(
    'keys have at most 64 characters',
    'common/create_task-key-of-128',
    refuses('createTask', (_, { headers }) => (headers['idempotency-key'] ?? '').length > 64),
  ),
  altered(
    'create_task needs no key',
    'common/create_task-without-key',
    request('createTask', ({ headers }) => (headers['idempotency-key'] ??= `own-${Math.random()}`)),
  ),
  altered(
    'a stream needs a key',
    'common/search-without-key',
    refuses('search', (_, { headers }) => !('idempotency-key' in headers)),
  ),
  altered('no key is generated', 'common/enrich-generated-key', header('enrich', 'Idempotency-Key')),
  ...posts.map((name) =>
    altered(
      `${name} forgets its keys`,
      `common/${names[name]}-conflict`,
      request(
        name,
        ({ headers }) =>
          'idempotency-key' in headers && (headers['idempotency-key'] += String(Math.random()).slice(2, 8)),
      ),
    ),
  ),
  policy(
    'the key of a refused request is used up',
    'common/search-refused-key',
    (p) => (p.keysOfRefused = true),
  ),
  altered(
    'a conflict is a 422',
    'common/contact-conflict',
    answer('contactSearch', (a) => (a.status = 422), 409),
  ),
  altered(
    'a JSON answer is text',
    'common/enrich-media-type',
    header('enrich', 'Content-Type', 'text/plain'),
  ),
  // Fields of a search
  ...(['search', 'createTask'] as const).flatMap((of) => {
    const name = names[of];
    return [
      altered(
        `${of} takes limit null`,
        `${name}/limit-null`,
        takes(of, 'limit', (value) => value === null, 1),
      ),
      altered(
        `${of} takes 1001 as 1000`,
        `${name}/limit-1001`,
        takes(of, 'limit', (value) => value === 1001, 1000),
      ),
      altered(
        `${of} counts objectives in characters`,
        `${name}/objective-4001-of-3-byte-letters`,
        takes(
          of,
          'objective',
          (value) => bytes(String(value)) > 4000 && characters(String(value)) <= 4000,
          'x',
        ),
      ),
      altered(
        `${of} counts objectives before trimming`,
        `${name}/objective-trimmed`,
        refuses(of, (one) => String(one.objective).length > 4000),
      ),
      altered(
        `${of} ignores unknown fields`,
        `${name}/unknown-field`,
        body(of, (one) => delete one.entity_kind),
      ),
      altered(
        `${of} takes numbers as names`,
        `${name}/dedup-custom-leads-numbers`,
        takes(of, 'dedup_custom_leads', (value) => Array.isArray(value) && value[0] === 1, []),
      ),
      altered(
        `${of} excludes no names`,
        `${name}/excludes-custom-leads`,
        takes(
          of,
          'dedup_custom_leads',
          (value) =>
            Array.isArray(value) && value.length < 4 && value.every((one) => typeof one === 'string'),
          [],
        ),
      ),
      altered(
        `${of} excludes no earlier searches`,
        `${name}/excludes-earlier-searches`,
        takes(
          of,
          'dedup_service_leads',
          (value) => Array.isArray(value) && /^(task|search)-/.test(value[0]),
          [],
        ),
      ),
      altered(`${of} adds enrich_fields unasked`, `${name}/not-enriched`, unaskedFields),
    ];
  }),
  altered(
    'streams exclude no tasks',
    'search/excludes-across-forms',
    takes('search', 'dedup_service_leads', (value) => Array.isArray(value) && /^task-/.test(value[0]), []),
  ),
  altered(
    'tasks exclude no streams',
    'create_task/excludes-across-forms',
    takes(
      'createTask',
      'dedup_service_leads',
      (value) => Array.isArray(value) && /^search-/.test(value[0]),
      [],
    ),
  ),
  policy('exclusions use up the limit', 'search/excludes-custom-leads', (p) => (p.exclusionsUseLimit = true)),
  altered(
    'asked enrichment is left out',
    'create_task/enriched',
    body(
      'createTask',
      (one) =>
        one.enrich_fields !== undefined &&
        (one.enrich_fields as unknown[]).length === 1 &&
        delete one.enrich_fields,
    ),
  ),
  altered(
    'wechat needs no web search',
    'create_task/entity-type-wechat-without-web-search',
    body('createTask', (one) => asks('entity_type', 'wechat')(one) && (one.enable_web_search = true)),
  ),
  altered(
    'streams take xiaohongshu',
    'search/entity-type-xiaohongshu-without-web-search',
    takes('search', 'entity_type', (value) => value === 'xiaohongshu', 'person'),
  ),
  altered(
    'streams take enable_web_search',
    'search/web-search',
    body('search', (one) => asks('entity_type', 'company')(one) && delete one.enable_web_search),
  ),
  altered(
    'there is no type tiktok_creator',
    'search/entity-type-tiktok_creator',
    refuses('search', asks('entity_type', 'tiktok_creator')),
  ),
  altered(
    '50 leads are the default of a stream',
    'events/default-limit',
    body('search', (one) => (one.limit ??= one.limit === undefined ? 50 : one.limit)),
  ),
  altered(
    '1000 leads are the default of a stream',
    'events/default-limit',
    request(
      'search',
      (asked) =>
        (asked.body = Buffer.from(
          asked.body.toString().replace(/"objective":"companies"\}$/, '"objective":"companies","limit":200}'),
        )),
    ),
  ),
  altered(
    '50 leads are the default of a task',
    'create_task/default-limit',
    body('createTask', (one) => !('limit' in one) && (one.limit = 50)),
  ),
  // Streams
  altered(
    'a stream is sent as text/plain',
    'events/media-type',
    header('search', 'Content-Type', 'text/plain'),
  ),
  altered('a stream has no X-Request-Id', 'events/request-id', header('search', 'X-Request-Id')),
  altered(
    'a stream ends without [DONE]',
    'events/sentinel',
    frames((payload) => (payload === '[DONE]' ? undefined : payload)),
  ),
  altered(
    'a stream ends without a blank line',
    'events/frames',
    answer('search', (a) => (a.body = a.body.slice(0, -1))),
  ),
  altered(
    'a stream has no done event',
    'events/one-done',
    frames((payload) => (payload.includes('_done"') ? undefined : payload)),
  ),
  altered(
    'a stream has an event before the batches',
    'events/known',
    frames((payload, at) => (at === 0 ? `{"object":"entity_search_begin"}\n\ndata: ${payload}` : payload)),
  ),
  altered(
    'frames have an event line',
    'events/frames',
    answer('search', (a) => (a.body = a.body.replace(/^data: /, 'event: batch\ndata: '))),
  ),
  altered(
    'batch_index starts at 0',
    'events/batch-index',
    event('batch', (one) => (one.batch_index = Number(one.batch_index) - 1)),
  ),
  altered(
    'count of a batch is one more',
    'events/batch-count',
    event('batch', (one) => (one.count = Number(one.count) + 1)),
  ),
  altered(
    'cum_count is the count',
    'events/batch-cum-count',
    event('batch', (one) => (one.cum_count = one.count)),
  ),
  altered(
    'cum_count of done is one more',
    'events/done-cum-count',
    event('done', (one) => (one.cum_count = Number(one.cum_count) + 1)),
  ),
  altered('finish is a text', 'events/done-body', event('done', member('finish', 'true'))),
  altered(
    'done has no stop_reason',
    'events/done-body',
    event('done', (one) => delete one.stop_reason),
  ),
  altered(
    'batches have no leads_search_id',
    'events/leads-search-id',
    event('batch', (one) => delete one.leads_search_id),
  ),
  altered(
    'done has no leads_search_id',
    'events/done-leads-search-id',
    event('done', (one) => delete one.leads_search_id),
  ),
  altered(
    'done has another leads_search_id',
    'events/done-leads-search-id',
    event('done', member('leads_search_id', 'other')),
  ),
  altered(
    'a search gives one more than its limit',
    'events/at-most-limit',
    body('search', (one) => one.limit === 12 && (one.limit = 13)),
  ),
  altered(
    'a lead comes twice',
    'events/unique',
    event(
      'batch',
      (one) =>
        one.count === 5 &&
        (one.entities = [...first(one.entities), ...(one.entities as unknown[]).slice(0, 4)]),
    ),
  ),
  altered(
    'score is a number',
    'events/entity-body',
    event('batch', (one) => {
      for (const lead of one.entities as Json[]) lead.score = 0.9;
    }),
  ),
  // Tasks
  altered('create_task has no X-Request-Id', 'create_task/request-id', header('createTask', 'X-Request-Id')),
  altered('create_task can be cached', 'create_task/no-store', header('createTask', 'Cache-Control')),
  altered(
    'a replay has no Idempotency-Key',
    'create_task/replay-idempotency-key',
    (() => {
      const sent = new Set<string>();
      return answer('createTask', ({ headers }, asked) => {
        const key = asked.headers['idempotency-key'] ?? '';
        if (sent.has(key)) headers.delete('Idempotency-Key');
        sent.add(key);
      });
    })(),
  ),
  altered(
    'every create_task has the same ID',
    'create_task/new-key-new-task',
    json('createTask', member('leads_search_id', 'task-1')),
  ),
  policy(
    'a task goes on when it is asked about',
    'status/without-polling',
    (p) => (p.progress = (task) => task.polls / 6),
  ),
  altered(
    'verified_count is below ready_count',
    'status/verified-count',
    json(
      'status',
      ({ status }) => ((status as Json).verified_count = Number((status as Json).ready_count) - 1),
    ),
  ),
  altered(
    'the status has no stop_reason',
    'status/body',
    json('status', ({ status }) => delete (status as Json).stop_reason),
  ),
  altered(
    'the status is called finished',
    'status/ends',
    json(
      'status',
      ({ status }) => (status as Json).status === 'done' && ((status as Json).status = 'finished'),
    ),
  ),
  altered(
    'a task gives more than its limit',
    'status/at-most-limit',
    body('createTask', (one) => one.limit === 7 && (one.limit = 9)),
  ),
  policy(
    'every key of the account reads a task',
    'fetch/task-of-another-key',
    (p) => (p.ownsTask = (task, key) => task.key === key || key === 'key-sibling'),
  ),
  policy('every key reads a task', 'status/task-of-another-account', (p) => (p.ownsTask = () => true)),
  altered(
    'a missing task is a 422',
    'fetch/unknown-task',
    answer('fetch', (a) => (a.status = 422), 404),
  ),
  altered(
    'an ID is read to its first letter too many',
    'status/longer-id',
    request('status', ({ query }) =>
      query.set('leads_search_id', (query.get('leads_search_id') ?? '').replace(/^(task-\d+)x$/, '$1')),
    ),
  ),
  altered(
    'fetch needs no ID',
    'fetch/id-empty',
    request('fetch', ({ query }) => query.get('leads_search_id') === '' && query.set('leads_search_id', 'x')),
  ),
  // Pages
  altered(
    'num is 10 by default',
    'fetch/defaults',
    request('fetch', ({ query }) => query.get('num') ?? query.set('num', '10')),
  ),
  altered(
    'num 501 is 500',
    'fetch/num-501',
    request('fetch', ({ query }) => query.get('num') === '501' && query.set('num', '500')),
  ),
  altered(
    'num 0 is 1',
    'fetch/num-0',
    request('fetch', ({ query }) => query.get('num') === '0' && query.set('num', '1')),
  ),
  altered(
    'a negative position is the first',
    'fetch/pts-negative',
    request('fetch', ({ query }) => query.get('pts') === '-1' && query.set('pts', '0')),
  ),
  altered('pts is echoed as 0', 'fetch/echo', json('fetch', member('pts', 0))),
  altered(
    'count is num',
    'fetch/count',
    json('fetch', (one) => (one.count = one.num)),
  ),
  altered(
    'a page has more than num',
    'fetch/at-most-num',
    request('fetch', ({ query }) => query.get('num') === '2' && query.set('num', '3')),
  ),
  altered(
    'a page has no limit',
    'fetch/limit',
    json('fetch', (one) => delete one.limit),
  ),
  altered(
    'ready_count of a page is one more',
    'fetch/agrees-with-status',
    json('fetch', (one) => (one.ready_count = Number(one.ready_count) + 1)),
  ),
  policy('positions begin at 1', 'fetch/next-position', (p) => (p.position = (pts) => Math.max(0, pts - 1))),
  policy('every position is the first', 'fetch/positions', (p) => (p.position = () => 0)),
  altered(
    'nothing can be read while a task runs',
    'fetch/while-running',
    json('fetch', (one) => one.status === 'running' && Object.assign(one, { entities: [], count: 0 })),
  ),
  altered(
    'a page beyond the end is a 404',
    'fetch/beyond',
    answer('fetch', (a, { query }) => void (Number(query.get('pts')) > 1000 && (a.status = 404))),
  ),
  // Contacts, research, enrichment
  altered(
    'contact has a further field',
    'contact/body-email',
    json('contactSearch', member('confidence', 1)),
  ),
  altered(
    'contact echoes the objective untrimmed',
    'contact/echo-email',
    json(
      'contactSearch',
      (one, asked) => ((one.request as Json).objective = parse(asked.body.toString())?.objective),
    ),
  ),
  altered(
    'contact echoes another type',
    'contact/echo-phone',
    json('contactSearch', (one) => ((one.request as Json).contact_type = 'email')),
  ),
  altered(
    'created_at is not UTC',
    'contact/body-phone',
    json('contactSearch', member('created_at', '2026-01-05T12:00:00+02:00')),
  ),
  altered(
    'a phone number is a number',
    'contact/body-phone',
    json(
      'contactSearch',
      ({ request: sent, result }) =>
        (sent as Json).contact_type === 'phone' &&
        (result as Json).content !== null &&
        ((result as Json).content = 49),
    ),
  ),
  altered('contact can be cached', 'contact/no-store', header('contactSearch', 'Cache-Control', 'private')),
  altered(
    'contact counts UTF-16 units',
    'contact/objective-4000-of-4-byte-letters',
    refuses('contactSearch', longer('objective', units, 4000)),
  ),
  altered(
    'contact counts bytes',
    'contact/objective-4000-of-2-byte-letters',
    refuses('contactSearch', longer('objective', bytes, 4000)),
  ),
  altered(
    'contact knows fax',
    'contact/contact-type-unknown',
    takes('contactSearch', 'contact_type', (value) => value === 'planet', 'email'),
  ),
  altered(
    'research without a result says it otherwise',
    'deep-search/no-result',
    json('deepSearch', (one) => one.success === false && (one.answer = { answer: 'nothing' })),
  ),
  altered(
    'research is answered with null',
    'deep-search/body',
    json('deepSearch', (one) => one.success === true && (one.answer = null)),
  ),
  altered(
    'queries have at most 2000 characters',
    'deep-search/query-4000',
    refuses('deepSearch', longer('query', characters, 2000)),
  ),
  altered(
    'an enriched answer is a text',
    'enrich/body',
    json('enrich', (one) => one.success === true && (one.answer = 'text')),
  ),
  altered(
    'an enriched answer has other fields',
    'enrich/follows-schema',
    json('enrich', (one) => one.success === true && (one.answer = { other: 1 })),
  ),
  altered(
    'enrich counts characters',
    'enrich/context-16385-of-2-byte-letters',
    takes(
      'enrich',
      'entity_context',
      (value) => bytes(String(value)) > 16_384 && characters(String(value)) <= 16_384,
      'x',
    ),
  ),
  altered(
    'properties are counted at the root alone',
    'enrich/schema-properties-cumulative',
    body(
      'enrich',
      (one) => delete ((one.enrich_fields as Json | undefined)?.properties as Json | undefined)?.more,
    ),
  ),
  altered(
    'schemas may be deep',
    'enrich/schema-nested-too-deep',
    takes('enrich', 'enrich_fields', (value) => /(inner.*){13}/.test(JSON.stringify(value)), {
      type: 'object',
      properties: { a: {} },
    }),
  ),
  altered(
    'a schema needs no type',
    'enrich/schema-without-type',
    body(
      'enrich',
      (one) =>
        typeof one.enrich_fields === 'object' &&
        one.enrich_fields !== null &&
        !Array.isArray(one.enrich_fields) &&
        ((one.enrich_fields as Json).type ??= 'object'),
    ),
  ),
  // Extraction
  altered('extract has a further field', 'extract/body', json('extract', member('page', 1))),
  altered(
    'extract gives one item more',
    'extract/at-most-limit',
    json('extract', (one) => Array.isArray(one.data) && one.data.push({})),
  ),
  altered(
    'items are texts',
    'extract/body',
    json('extract', (one) => Array.isArray(one.data) && (one.data = one.data.map(String))),
  ),
  altered(
    'handles are echoed without @',
    'extract/echo-handle',
    json(
      'extract',
      ({ metadata }) => ((metadata as Json).target = String((metadata as Json).target).replace('@', '')),
    ),
  ),
  altered(
    'targets are echoed in small letters',
    'extract/echo-address',
    json(
      'extract',
      ({ metadata }) => ((metadata as Json).target = String((metadata as Json).target).toLowerCase()),
    ),
  ),
  altered(
    'an absent instruction is an empty one',
    'extract/instruction-none',
    json('extract', ({ metadata }) => ((metadata as Json).instruction ??= '')),
  ),
  altered(
    'web2list has the limit that was sent',
    'extract/web2list-limit',
    json(
      'extract',
      ({ metadata }, asked) =>
        asks('type', 'web2list')(metadata as Json) &&
        ((metadata as Json).limit = parse(asked.body.toString())?.limit ?? 100),
    ),
  ),
  altered(
    'web2list gives 101 items',
    'extract/web2list-at-most-100',
    json('extract', (one) => Array.isArray(one.data) && one.data.length === 100 && one.data.push({})),
  ),
  altered(
    'web2list keeps to the limit',
    'extract/web2list-ignores-limit',
    json(
      'extract',
      (one, asked) => parse(asked.body.toString())?.limit === 1 && (one.data = first(one.data)),
    ),
  ),
  altered(
    'web2list needs no instruction',
    'extract/web2list-without-instruction',
    body('extract', (one) => asks('type', 'web2list')(one) && (one.instruction ??= 'x')),
  ),
  altered(
    'the limit of extract is 1000',
    'extract/limit-10000',
    answer(
      'extract',
      (a, asked) => void (parse(asked.body.toString())?.limit === 10_000 && (a.status = 422)),
      402,
    ),
  ),
  ...[
    'http://127.9.9.9/list',
    'http://[::1]/list',
    'http://169.254.169.254/list',
    'http://192.168.0.1/list',
    'http://printer/list',
    'http://2130706433/list',
    'http://[::ffff:127.0.0.1]/list',
  ].map((host) =>
    altered(
      `web2list reads ${host}`,
      'extract/web2list-',
      takes('extract', 'target', (value) => value === host, 'https://example.com/'),
    ),
  ),
  altered(
    'a replay of extract differs',
    'extract/duplicate',
    (() => {
      let count = 0;
      return json('extract', ({ metadata }) => ((metadata as Json).limit = ++count));
    })(),
  ),
  altered(
    'failures of extract have no reason',
    'extract/failure',
    json('extract', (one) => one.success === false && (one.data = [])),
  ),
  // What is not enabled
  altered(
    'invalid requests are not available',
    'deep-search/query-empty',
    answer('deepSearch', (a) => Object.assign(a, { status: 503, body: '{"error":{"message":"no"}}' }), 422),
  ),
  altered(
    'long objectives are not available',
    'contact/objective-4000',
    answer('contactSearch', (a, asked) => {
      if (asked.body.length < 4000) return;
      a.status = 503;
      a.body = '{"error":{"message":"no"}}';
    }),
  ),
  altered(
    'the balance is a text',
    'balance/body',
    json('balance', (one) => (one.available_credits = String(one.available_credits))),
  ),
  altered(
    'the balance has a date of another form',
    'balance/body',
    json('balance', member('updated_at', '2026-01-05T12:00:00Z')),
  ),
  altered('the balance can be cached', 'balance/no-store', header('balance', 'Cache-Control')),
];

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
const legal = (name: string, change: ((policy: Policy) => void) | Alteration): Omit<Difference, 'fails'> =>
  typeof change === 'function' ? { name, policy: change } : { name, alteration: change };

/** What the document leaves open: nothing is noticed. */
export const variants: readonly Omit<Difference, 'fails'>[] = [
  legal('pages of one entity', (p) => (p.pageMost = 1)),
  legal('pages of three entities', (p) => (p.pageMost = 3)),
  legal('batches of one', (p) => (p.batch = 1)),
  legal('one batch for all', (p) => (p.batch = 1000)),
  legal(
    'lines end with CRLF',
    sse((body) => body.replaceAll('\n', '\r\n')),
  ),
  legal(
    'lines end with CR',
    sse((body) => body.replaceAll('\n', '\r')),
  ),
  legal(
    'comments in the stream',
    sse((body) => `: hello\n\n${body.replace('data: [DONE]', ': still here\n\ndata: [DONE]')}`),
  ),
  legal('media types with a charset', {
    answer: ({ headers }) => headers.set('Content-Type', `${headers.get('Content-Type')}; charset=utf-8`),
  }),
  legal(
    'error types in error.code',
    errorsLike(({ message, type }) => ({ error: { message, code: type } })),
  ),
  legal(
    'error types beside error',
    errorsLike(({ message, type }) => ({ error: { message }, type })),
  ),
  legal(
    'no error types',
    errorsLike(({ message }) => ({ error: { message } })),
  ),
  legal(
    'more in errors',
    errorsLike((error) => ({ error: { ...error, param: 'x' }, request: 1 })),
  ),
  legal('tasks that end in error', (p) => (p.endsInError = true)),
  legal('slow tasks', (p) => (p.taskMs = 120_000)),
  legal('a price of 3 for each lead', (p) => (p.price.lead = 3)),
  legal('other prices', (p) =>
    Object.assign(p.price, { email: 7, phone: 11, research: 1, enrich: 9, item: 2 }),
  ),
  legal('everything is free', (p) => {
    for (const one of Object.keys(p.price)) p.price[one] = 0;
    p.reserve = () => 0;
  }),
  legal('free lookups', (p) => Object.assign(p.price, { email: 0, phone: 0 })),
  legal(
    'lookups are charged per request',
    (p) => (p.charge = (credits, kind, most) => (kind === 'contactSearch' ? most : credits)),
  ),
  legal('slow settlement of searches', (p) => (p.slow = { search: 3000, createTask: 3000 })),
  legal('very slow settlement of searches', (p) => (p.slow = { search: 20_000, createTask: 20_000 })),
  legal('slow settlement of research', (p) => (p.slow = { deepSearch: 3000, enrich: 2000, extract: 3000 })),
  legal('one request at a time', (p) => (p.concurrency = 1)),
  legal('extract replays nothing', (p) => (p.replaysExtract = false)),
  legal(
    'entities without links, score and description',
    leadsLike((lead) => {
      for (const one of ['links', 'score', 'description']) delete lead[one];
    }),
  ),
  legal(
    'entities with more fields',
    leadsLike((lead) => Object.assign(lead, { followers: 12, tags: ['a'] })),
  ),
  legal('new stop reasons', {
    answer: (a) =>
      void (a.body = a.body.replace(/"stop_reason":"source_finished"/g, '"stop_reason":"moon_phase"')),
  }),
  legal('more members in events', event('batch', member('more', { a: 1 }))),
  legal(
    'more members of create_task and status',
    json(['createTask', 'status', 'balance'], member('more', true)),
  ),
  legal(
    'a balance with the next refresh',
    json('balance', member('next_credit_refresh_at', '2026-02-01 00:00:00')),
  ),
  legal(
    'a balance without a date',
    json('balance', (one) => delete one.updated_at),
  ),
  legal(
    'research in another form',
    json('deepSearch', (one) => one.success === true && (one.answer = ['anything'])),
  ),
  legal(
    'contacts without a hit as an empty text',
    json(
      'contactSearch',
      ({ result }) => (result as Json).content === null && ((result as Json).content = ' '),
    ),
  ),
  legal(
    'created_at with an offset of zero',
    json('contactSearch', member('created_at', '2026-01-05T12:00:00+00:00')),
  ),
  legal('cached never, and private', {
    answer: ({ headers }) =>
      void (headers.has('Cache-Control') && headers.set('Cache-Control', 'private, no-store')),
  }),
];
