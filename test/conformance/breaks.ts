// biome-ignore-all lint/suspicious/noAssignInExpressions: a fault is told in a line
// biome-ignore-all lint/suspicious/noExplicitAny: what a service says has any form
import { nameOf } from '../../src/conformance/samples.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { Alteration, Answered, Asked, Policy } from './double.ts';

/** How a service differs in one place: in itself, or on the way. */
export type Difference = ((policy: Policy) => void) | Alteration;
type Differences = Readonly<Record<string, Difference>>;
type Json = Record<string, any>;

const posts = (Object.keys(endpoints) as EndpointName[]).filter((name) => endpoints[name].method === 'POST');
type Of = EndpointName | readonly EndpointName[];
const isOf = (of: Of, { name }: Asked): boolean => [of].flat().includes(name);

/** Changes requests before the service sees them. */
const request = (of: Of, change: (asked: Asked) => unknown): Alteration => ({
  request: (asked) => void (isOf(of, asked) && change(asked)),
});

/** Changes the text of bodies, whatever they are. */
const text = (of: Of, from: RegExp, to: string): Alteration =>
  request(of, (asked) => (asked.body = Buffer.from(asked.body.toString().replace(from, to))));

/** Changes bodies that are JSON objects; the bytes of others may be what a row is about. */
const body = (of: Of, change: (body: Json) => unknown): Alteration =>
  request(of, (asked) => {
    const parsed = parse(asked.body.toString());
    if (parsed === undefined) return;
    const before = JSON.stringify(parsed);
    change(parsed);
    if (JSON.stringify(parsed) !== before) asked.body = Buffer.from(JSON.stringify(parsed));
  });

/** Takes what is wrong, as if something right had come. */
const takes = (of: Of, field: string, when: (value: any) => boolean, right: unknown): Alteration =>
  body(of, (one) => field in one && when(one[field]) && (one[field] = right));

/** Takes a page for another one. */
const pages = (name: string, from: string | null, to: string): Alteration =>
  request('fetch', ({ query }) => query.get(name) === from && query.set(name, to));

function parse(json: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
const sent = ({ body: bytes }: Asked): Json => parse(bytes.toString()) ?? {};

const answer = (of: Of, change: (answered: Answered, asked: Asked) => unknown, status = 200): Alteration => ({
  answer: (answered, asked) =>
    void (isOf(of, asked) && answered.status === status && change(answered, asked)),
});

const json = (of: Of, change: (body: Json, asked: Asked) => unknown, status = 200): Alteration =>
  answer(
    of,
    (answered, asked) => {
      const value = parse(answered.body) as Json;
      change(value, asked);
      answered.body = JSON.stringify(value);
    },
    status,
  );
const metadata = (change: (metadata: Json, asked: Asked) => unknown): Alteration =>
  json('extract', (one, asked) => change(one.metadata, asked));
const items = (change: (data: object[], one: Json) => unknown): Alteration =>
  json('extract', (one) => Array.isArray(one.data) && change(one.data, one));

/** Changes the frames of streams; undefined drops one. */
const frames = (change: (payload: string, at: number) => string | undefined): Alteration =>
  answer('search', (answered) => {
    const payloads = answered.body.split('\n\n').filter((frame) => frame !== '');
    answered.body = payloads
      .map((frame, at) => change(frame.slice('data: '.length), at))
      .filter((one) => one !== undefined)
      .map((one) => `data: ${one}\n\n`)
      .join('');
  });

const event = (kind: 'batch' | 'done', change: (event: Json) => unknown): Alteration =>
  frames((payload) => {
    const value = parse(payload);
    if (value?.object !== `entity_search_${kind}`) return payload;
    change(value);
    return JSON.stringify(value);
  });

const stream = (change: (body: string) => string): Alteration =>
  answer('search', (answered) => (answered.body = change(answered.body)));

const header = (of: Of, name: string, value?: string, status = 200): Alteration =>
  answer(
    of,
    ({ headers }) => (value === undefined ? headers.delete(name) : headers.set(name, value)),
    status,
  );

const member = (name: string, value: unknown) => (one: Json) => (one[name] = value);
const without = (name: string) => (one: Json) => delete one[name];
const asks = (field: string, value: unknown) => (one: Json) => one[field] === value;

/** Answers what it should answer with one status by another. */
const status = (of: Of, from: number, to: number, when: (asked: Asked) => boolean = () => true): Alteration =>
  answer(of, (a, asked) => when(asked) && (a.status = to), from);
const refusal = '{"error":{"message":"no"}}';
const refuse = (answered: Answered, to = 422) => Object.assign(answered, { status: to, body: refusal });
/** Refuses what is right, as invalid. */
const refuses = (of: Of, when: (body: Json, asked: Asked) => boolean): Alteration =>
  answer(of, (answered, asked) => when(sent(asked), asked) && refuse(answered));

const longer = (field: string, length: (value: string) => number, most: number) => (one: Json) =>
  typeof one[field] === 'string' && length(one[field]) > most;
const bytes = (value: unknown) => Buffer.byteLength(String(value).trim());
const characters = (value: unknown) => [...String(value).trim()].length;
const units = (value: string) => value.trim().length;
const key = ({ headers }: Asked): string => `${headers['x-api-key'] ?? headers.authorization}`;

const charging = (charge: Policy['charge']) => (p: Policy) => (p.charge = charge);
const each = <T>(all: readonly T[], toSome: (one: T) => Differences): Differences =>
  Object.assign({}, ...all.map(toSome));

/** Both forms of a search. */
const ofForm = (of: 'search' | 'createTask'): Differences => ({
  'limit-null: limit may be null': takes(of, 'limit', (value) => value === null, 1),
  'limit-1001: 1001 is 1000': takes(of, 'limit', (value) => value === 1001, 1000),
  'objective-4001-of-3-byte-letters: objectives are counted in characters': takes(
    of,
    'objective',
    (value) => bytes(value) > 4000 && characters(value) <= 4000,
    'x',
  ),
  'objective-trimmed: objectives are counted before trimming': refuses(
    of,
    (one) => String(one.objective).length > 4000,
  ),
  'unknown-field: unknown fields are ignored': body(of, without('entity_kind')),
  'dedup-custom-leads-numbers: numbers are names': takes(of, 'dedup_custom_leads', ([one]) => one === 1, []),
  'excludes-custom-leads: no names are excluded': takes(
    of,
    'dedup_custom_leads',
    (value) => Array.isArray(value) && value.length < 4 && value.every((one) => typeof one === 'string'),
    [],
  ),
  'excludes-earlier-searches: no earlier searches are excluded': takes(
    of,
    'dedup_service_leads',
    (value) => /^(task|search)-/.test(value?.[0]),
    [],
  ),
  'excludes-across-forms: those of the other form are not excluded': takes(
    of,
    'dedup_service_leads',
    (value) => (of === 'search' ? /^task-/ : /^search-/).test(value?.[0]),
    [],
  ),
  'not-enriched: enrich_fields are there unasked': {
    answer: (a) => void (a.body = a.body.replaceAll('"description":', '"enrich_fields":{},"description":')),
  },
});

/** What breaks a rule of the document, by section, behind the row that must fail because of it. */
const bySection: Readonly<Record<string, Differences>> = {
  settlement: {
    'task-unused: a task keeps what it reserved beyond its leads': charging((c, kind, most) =>
      kind === 'createTask' ? most : c,
    ),
    'search-unused: a stream keeps what it reserved beyond its leads': charging((c, kind, most) =>
      kind === 'search' ? most : c,
    ),
    'search-unused: a search costs at least one credit': charging((c) => Math.max(1, c)),
    'search-per-lead: a stream has one price for all its leads': charging((c, kind) =>
      kind === 'search' && c > 0 ? 5 : c,
    ),
    'task-per-lead: a task has one price for all its leads': charging((c, kind) =>
      kind === 'createTask' && c > 0 ? 5 : c,
    ),
    'search-fewer-than-limit: a stream is charged for its limit where it finds some': charging(
      (c, kind, most) => (kind === 'search' && c > 0 ? most : c),
    ),
    'task-fewer-than-limit: a task is charged for its limit where it finds some': charging((c, kind, most) =>
      kind === 'createTask' && c > 0 ? most : c,
    ),
    'invalid-costs-nothing: invalid requests are charged': (p) => (p.refusedCost = () => 1),
    ...each(posts, (name) => ({
      [`${nameOf(name)}-duplicate: a duplicate of ${name} is charged`]: (p) =>
        (p.repeatedCost = (one) => (one === name ? 2 : 0)),
    })),
    'search-at-once: requests in the same moment are both admitted': (p) => (p.keysKnownLate = true),
    'reads-cost-nothing: reads cost': (p) => (p.readCost = 1),
    'contact: contact is settled after its answer': (p) => {
      p.slow = { contactSearch: 1500 };
      p.charge = (c, kind) => (kind === 'contactSearch' ? 3 : c);
    },
    'contact-not-negative: contact gives credits back': charging((c, kind) =>
      kind === 'contactSearch' ? -1 : c,
    ),
  },
  errors: {
    'search-without-credits: 402 is sent as 403': status('search', 402, 403),
    'extract-without-credits: 402 has no message': json(
      'extract',
      member('error', { type: 'insufficient_credits' }),
      402,
    ),
    'too-few-credits: an account with some credits can overdraw': request(
      'extract',
      ({ headers }) => (headers.authorization = `${headers.authorization}`.replace('few_credits', 'other')),
    ),
    'search-media-type: errors are HTML': header('search', 'Content-Type', 'text/html', 401),
    'enrich-busy: the limit of requests is a 503': answer('enrich', (a) => refuse(a, 503), 429),
  },
  authentication: {
    'search-unknown-key: an unknown key is a 403': status('search', 401, 403, (one) =>
      /unknown/.test(key(one)),
    ),
    'balance-revoked: a revoked key gives 401': status('balance', 403, 401, (one) =>
      /revoked/.test(key(one)),
    ),
    'fetch-expired: an expired key works': request(
      'fetch',
      (one) => /expired/.test(key(one)) && (one.headers['x-api-key'] = 'key-main'),
    ),
    'contact-no-access: no access is needed for contacts': request(
      'contactSearch',
      (one) => /no_access/.test(key(one)) && (one.headers.authorization = 'Bearer key-main'),
    ),
    'basic: Basic is taken for a key': request(
      'balance',
      (one) => /^Basic/.test(key(one)) && (one.headers.authorization = 'Bearer key-main'),
    ),
    'fetch-bearer: fetch takes no Bearer key': answer(
      'fetch',
      (a, { headers }) => 'authorization' in headers && refuse(a, 401),
    ),
    'search-without-key: the error has another type': json(
      'search',
      member('error', { message: 'no', type: 'not_found' }),
      401,
    ),
  },
  common: {
    ...each(['text-plain', 'no-media-type'], (kind) => ({
      [`enrich-${kind}: enrich takes any media type: ${kind}`]: request(
        'enrich',
        ({ headers }) =>
          (kind === 'no-media-type') === !('content-type' in headers) &&
          (headers['content-type'] = 'application/json'),
      ),
    })),
    'contact-charset: a charset is refused': refuses('contactSearch', (_, { headers }) =>
      /charset/.test(`${headers['content-type']}`),
    ),
    'search-two-objects: two objects are one': text('search', /\}\{.*/s, '}'),
    'contact-trailing-text: what follows the object is ignored': text('contactSearch', / x$/, ''),
    'search-invalid-utf-8: bytes that are no UTF-8 are taken': text('search', /$/, ''),
    'deep-search-array: an array of one is an object': text('deepSearch', /^\[(.*)\]$/s, '$1'),
    'search-body-over-1-mib: bodies may have 2 MiB': text('search', / {9,}\}$/, '}'),
    'contact-body-of-1-mib: bodies may have 1,000,000 bytes': refuses(
      'contactSearch',
      (_, asked) => asked.body.length > 1_000_000,
    ),
    'extract-key-of-129: keys of 129 characters are cut': request(
      'extract',
      ({ headers }) => (headers['idempotency-key'] = `${headers['idempotency-key']}`.slice(0, 128)),
    ),
    'create_task-key-of-128: keys have at most 64 characters': refuses(
      'createTask',
      (_, { headers }) => `${headers['idempotency-key']}`.length > 64,
    ),
    'create_task-without-key: create_task needs no key': request(
      'createTask',
      ({ headers }) => (headers['idempotency-key'] ??= `own-${Math.random()}`),
    ),
    'search-without-key: a stream needs a key': refuses(
      'search',
      (_, { headers }) => !('idempotency-key' in headers),
    ),
    'enrich-generated-key: no key is generated': header('enrich', 'Idempotency-Key'),
    ...each(posts, (name) => ({
      [`${nameOf(name)}-conflict: ${name} forgets its keys`]: request(
        name,
        ({ headers }) => 'idempotency-key' in headers && (headers['idempotency-key'] += `${Math.random()}`),
      ),
    })),
    'search-refused-key: the key of a refused request is used up': (p) => (p.keysOfRefused = true),
    'contact-conflict: a conflict is a 422': status('contactSearch', 409, 422),
    'enrich-media-type: a JSON answer is text': header('enrich', 'Content-Type', 'text/plain'),
  },
  search: {
    ...ofForm('search'),
    'excludes-custom-leads: exclusions use up the limit': (p) => (p.exclusionsUseLimit = true),
    'entity-type-xiaohongshu-without-web-search: streams take xiaohongshu': takes(
      'search',
      'entity_type',
      (value) => value === 'xiaohongshu',
      'person',
    ),
    'web-search: streams take enable_web_search': body(
      'search',
      (one) => asks('entity_type', 'company')(one) && delete one.enable_web_search,
    ),
    'entity-type-tiktok_creator: there is no type tiktok_creator': refuses(
      'search',
      asks('entity_type', 'tiktok_creator'),
    ),
  },
  create_task: {
    ...ofForm('createTask'),
    'enriched: asked enrichment is left out': body(
      'createTask',
      (one) => one.enrich_fields?.length === 1 && delete one.enrich_fields,
    ),
    'entity-type-wechat-without-web-search: wechat needs no web search': body(
      'createTask',
      (one) => asks('entity_type', 'wechat')(one) && (one.enable_web_search = true),
    ),
    'default-limit: 50 leads are the default of a task': body(
      'createTask',
      (one) => !('limit' in one) && (one.limit = 50),
    ),
    'request-id: create_task has no X-Request-Id': header('createTask', 'X-Request-Id'),
    'no-store: create_task can be cached': header('createTask', 'Cache-Control'),
    'replay-idempotency-key: a replay has no Idempotency-Key': (() => {
      const seen = new Set<string | undefined>();
      return answer('createTask', ({ headers }, asked) => {
        const known = asked.headers['idempotency-key'];
        if (seen.has(known)) headers.delete('Idempotency-Key');
        seen.add(known);
      });
    })(),
    'new-key-new-task: every create_task has the same ID': json(
      'createTask',
      member('leads_search_id', 'task-1'),
    ),
  },
  events: {
    'default-limit: 50 leads are the default of a stream': body(
      'search',
      (one) => one.limit === undefined && (one.limit = 50),
    ),
    'default-limit: 1000 leads are the default of a stream': text(
      'search',
      /"objective":"companies"\}$/,
      '"objective":"companies","limit":200}',
    ),
    'media-type: a stream is sent as text/plain': header('search', 'Content-Type', 'text/plain'),
    'request-id: a stream has no X-Request-Id': header('search', 'X-Request-Id'),
    'sentinel: a stream ends without [DONE]': frames((one) => (one === '[DONE]' ? undefined : one)),
    'frames: a stream ends without a blank line': stream((all) => all.slice(0, -1)),
    'one-done: a stream has no done event': frames((one) => (one.includes('_done"') ? undefined : one)),
    'known: a stream has an event before the batches': frames((one, at) =>
      at === 0 ? `{"object":"entity_search_begin"}\n\ndata: ${one}` : one,
    ),
    'frames: frames have an event line': stream((all) => all.replace(/^data: /, 'event: batch\ndata: ')),
    'batch-index: batch_index starts at 0': event('batch', (one) => (one.batch_index -= 1)),
    'batch-count: count of a batch is one more': event('batch', (one) => (one.count += 1)),
    'batch-cum-count: cum_count is the count': event('batch', (one) => (one.cum_count = one.count)),
    'done-cum-count: cum_count of done is one more': event('done', (one) => (one.cum_count += 1)),
    'done-body: finish is a text': event('done', member('finish', 'true')),
    'done-body: done has no stop_reason': event('done', without('stop_reason')),
    'leads-search-id: batches have no leads_search_id': event('batch', without('leads_search_id')),
    'done-leads-search-id: done has no leads_search_id': event('done', without('leads_search_id')),
    'done-leads-search-id: done has another leads_search_id': event(
      'done',
      member('leads_search_id', 'other'),
    ),
    'at-most-limit: a search gives one more than its limit': takes(
      'search',
      'limit',
      (one) => one === 12,
      13,
    ),
    'unique: a lead comes twice': event(
      'batch',
      (one) => one.count === 5 && (one.entities = [one.entities[0], ...one.entities.slice(0, 4)]),
    ),
    'entity-body: score is a number': event('batch', (one) => one.entities.forEach(member('score', 0.9))),
  },
  status: {
    'without-polling: a task goes on when it is asked about': (p) => (p.progress = (task) => task.polls / 6),
    'verified-count: verified_count is below ready_count': json(
      'status',
      (one) => (one.status.verified_count = one.status.ready_count - 1),
    ),
    'body: the status has no stop_reason': json('status', (one) => delete one.status.stop_reason),
    'ends: the status is called finished': json(
      'status',
      (one) => one.status.status === 'done' && (one.status.status = 'finished'),
    ),
    'at-most-limit: a task gives more than its limit': takes('createTask', 'limit', (one) => one === 7, 9),
    'task-of-another-account: every key reads a task': (p) => (p.ownsTask = () => true),
    'longer-id: an ID is read to its first letter too many': request('status', ({ query }) =>
      query.set('leads_search_id', `${query.get('leads_search_id')}`.replace(/^(task-\d+)x$/, '$1')),
    ),
  },
  fetch: {
    'task-of-another-key: every key of the account reads a task': (p) =>
      (p.ownsTask = (task, one) => task.key === one || one === 'key-sibling'),
    'unknown-task: a missing task is a 422': status('fetch', 404, 422),
    'id-empty: fetch needs no ID': pages('leads_search_id', '', 'x'),
    'defaults: num is 10 by default': pages('num', null, '10'),
    'num-501: num 501 is 500': pages('num', '501', '500'),
    'num-0: num 0 is 1': pages('num', '0', '1'),
    'pts-negative: a negative position is the first': pages('pts', '-1', '0'),
    'at-most-num: a page has more than num': pages('num', '2', '3'),
    'echo: pts is echoed as 0': json('fetch', member('pts', 0)),
    'count: count is num': json('fetch', (one) => (one.count = one.num)),
    'limit: a page has no limit': json('fetch', without('limit')),
    'agrees-with-status: ready_count of a page is one more': json('fetch', (one) => (one.ready_count += 1)),
    'next-position: positions begin at 1': (p) => (p.position = (pts) => Math.max(0, pts - 1)),
    'positions: every position is the first': (p) => (p.position = () => 0),
    'while-running: nothing can be read while a task runs': json(
      'fetch',
      (one) => one.status === 'running' && Object.assign(one, { entities: [], count: 0 }),
    ),
    'beyond: a page beyond the end is a 404': status(
      'fetch',
      200,
      404,
      ({ query }) => Number(query.get('pts')) > 1000,
    ),
  },
  contact: {
    'body-email: contact has a further field': json('contactSearch', member('confidence', 1)),
    'echo-email: contact echoes the objective untrimmed': json(
      'contactSearch',
      (one, asked) => (one.request.objective = sent(asked).objective),
    ),
    'echo-phone: contact echoes another type': json(
      'contactSearch',
      (one) => (one.request.contact_type = 'email'),
    ),
    'body-phone: created_at is not UTC': json(
      'contactSearch',
      member('created_at', '2026-01-05T12:00:00+02:00'),
    ),
    'body-phone: a phone number is a number': json(
      'contactSearch',
      (one) => one.request.contact_type === 'phone' && one.result.content && (one.result.content = 49),
    ),
    'no-store: contact can be cached': header('contactSearch', 'Cache-Control', 'private'),
    'objective-4000-of-4-byte-letters: contact counts UTF-16 units': refuses(
      'contactSearch',
      longer('objective', units, 4000),
    ),
    'objective-4000-of-2-byte-letters: contact counts bytes': refuses(
      'contactSearch',
      longer('objective', bytes, 4000),
    ),
    'contact-type-unknown: contact knows fax': takes(
      'contactSearch',
      'contact_type',
      (value) => value === 'planet',
      'email',
    ),
    'objective-4000: long objectives are not available': answer(
      'contactSearch',
      (a, asked) => asked.body.length >= 4000 && refuse(a, 503),
    ),
  },
  'deep-search': {
    'no-result: research without a result says it otherwise': json(
      'deepSearch',
      (one) => one.success === false && (one.answer = { answer: 'nothing' }),
    ),
    'body: research is answered with null': json('deepSearch', (one) => one.success && (one.answer = null)),
    'query-4000: queries have at most 2000 characters': refuses(
      'deepSearch',
      longer('query', characters, 2000),
    ),
    'query-empty: invalid requests are not available': answer('deepSearch', (a) => refuse(a, 503), 422),
  },
  enrich: {
    'body: an enriched answer is a text': json('enrich', (one) => one.success && (one.answer = 'text')),
    'follows-schema: an enriched answer has other fields': json(
      'enrich',
      (one) => one.success && (one.answer = { other: 1 }),
    ),
    'context-16385-of-2-byte-letters: enrich counts characters': takes(
      'enrich',
      'entity_context',
      (value) => bytes(value) > 16_384 && characters(value) <= 16_384,
      'x',
    ),
    'schema-properties-cumulative: properties are counted at the root alone': body(
      'enrich',
      (one) => delete one.enrich_fields?.properties?.more,
    ),
    'schema-nested-too-deep: schemas may be deep': takes(
      'enrich',
      'enrich_fields',
      (value) => /(inner.*){13}/.test(JSON.stringify(value)),
      { type: 'object', properties: { a: {} } },
    ),
    'schema-without-type: a schema needs no type': body(
      'enrich',
      (one) => one.enrich_fields?.properties && (one.enrich_fields.type ??= 'object'),
    ),
  },
  extract: {
    'body: extract has a further field': json('extract', member('page', 1)),
    'at-most-limit: extract gives one item more': items((data) => data.push({})),
    'body: items are texts': items((data, one) => (one.data = data.map(String))),
    'echo-handle: handles are echoed without @': metadata(
      (one) => (one.target = one.target.replace('@', '')),
    ),
    'echo-address: targets are echoed in small letters': metadata(
      (one) => (one.target = one.target.toLowerCase()),
    ),
    'instruction-none: an absent instruction is an empty one': metadata((one) => (one.instruction ??= '')),
    'web2list-limit: web2list has the limit that was sent': metadata(
      (one, asked) => asks('type', 'web2list')(one) && (one.limit = sent(asked).limit ?? 100),
    ),
    'web2list-at-most-100: web2list gives 101 items': items((data) => data.length === 100 && data.push({})),
    'web2list-ignores-limit: web2list keeps to the limit': json(
      'extract',
      (one, asked) => sent(asked).limit === 1 && (one.data = one.data?.slice(0, 1)),
    ),
    'web2list-without-instruction: web2list needs no instruction': body(
      'extract',
      (one) => asks('type', 'web2list')(one) && (one.instruction ??= 'x'),
    ),
    'limit-10000: the limit of extract is 1000': status(
      'extract',
      402,
      422,
      (asked) => sent(asked).limit === 10_000,
    ),
    ...each(
      '127.9.9.9 [::1] 169.254.169.254 192.168.0.1 printer 2130706433 [::ffff:127.0.0.1]'.split(' '),
      (host) => ({
        [`web2list-: web2list reads ${host}`]: takes(
          'extract',
          'target',
          (value) => value === `http://${host}/list`,
          'https://example.com/',
        ),
      }),
    ),
    'duplicate: a replay of extract differs': (() => {
      let count = 0;
      return metadata((one) => (one.limit = ++count));
    })(),
    'failure: failures of extract have no reason': json(
      'extract',
      (one) => one.success === false && (one.data = []),
    ),
  },
  balance: {
    'reserved: nothing is reserved': (p) => (p.reserve = () => 0),
    'reserved: half is reserved': (p) => (p.reserve = (most) => Math.floor(most / 2)),
    'foreign-user: a user_id decides the account': (p) =>
      (p.balanceOf = (account, query) => query.get('user_id') ?? account),
    'account-of-the-key: the balance is that of the first account': (p) => (p.balanceOf = () => 'main'),
    'body: the balance is a text': json('balance', (one) => (one.available_credits += '')),
    'body: the balance has a date of another form': json(
      'balance',
      member('updated_at', '2026-01-05T12:00:00Z'),
    ),
    'no-store: the balance can be cached': header('balance', 'Cache-Control'),
  },
};

/** By the row that must fail, and what is broken. */
export const breaks: Differences = Object.fromEntries(
  Object.entries(bySection).flatMap(([section, some]) =>
    Object.entries(some).map(([name, one]) => [`${section}/${name}`, one]),
  ),
);

const errorsLike = (change: (error: Json) => Json): Alteration => ({
  answer(answered) {
    const value = answered.status < 400 ? undefined : parse(answered.body);
    if (value !== undefined) answered.body = JSON.stringify(change(value.error));
  },
});
const leadsLike = (change: (lead: Json) => void): Alteration => ({
  answer(answered, asked) {
    if (answered.status !== 200 || !isOf(['search', 'fetch'], asked)) return;
    const changed = (payload: string) => {
      const value = parse(payload);
      if (!Array.isArray(value?.entities)) return payload;
      value.entities.forEach(change);
      return JSON.stringify(value);
    };
    answered.body =
      asked.name === 'fetch' ? changed(answered.body) : answered.body.replace(/(?<=^data: ).*$/gm, changed);
  },
});
const headers = (change: (headers: Headers) => unknown): Alteration => ({
  answer: (answered) => void change(answered.headers),
});

/** What the document leaves open: nothing is noticed. */
export const variants: Differences = {
  'pages of one entity': (p) => (p.pageMost = 1),
  'pages of three entities': (p) => (p.pageMost = 3),
  'batches of one': (p) => (p.batch = 1),
  'one batch for all': (p) => (p.batch = 1000),
  'lines end with CRLF': stream((all) => all.replaceAll('\n', '\r\n')),
  'lines end with CR': stream((all) => all.replaceAll('\n', '\r')),
  'comments in the stream': stream(
    (all) => `: hello\n\n${all.replace('data: [DONE]', ': still here\n\ndata: [DONE]')}`,
  ),
  'media types with a charset': headers((all) =>
    all.set('Content-Type', `${all.get('Content-Type')}; charset=utf-8`),
  ),
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
  'lookups are charged per request': charging((c, kind, most) => (kind === 'contactSearch' ? most : c)),
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
    answer: (a) => void (a.body = a.body.replaceAll('"source_finished"', '"moon_phase"')),
  },
  'more members in events': event('batch', member('more', { a: 1 })),
  'more members of create_task and status': json(['createTask', 'status', 'balance'], member('more', true)),
  'a balance with the next refresh': json('balance', member('next_credit_refresh_at', '2026-02-01 00:00:00')),
  'a balance without a date': json('balance', without('updated_at')),
  'research in another form': json('deepSearch', (one) => one.success && (one.answer = ['anything'])),
  'contacts without a hit as an empty text': json('contactSearch', (one) => (one.result.content ??= ' ')),
  'created_at with an offset of zero': json(
    'contactSearch',
    member('created_at', '2026-01-05T12:00:00+00:00'),
  ),
  'cached never, and private': headers(
    (all) => all.has('Cache-Control') && all.set('Cache-Control', 'private, no-store'),
  ),
};
