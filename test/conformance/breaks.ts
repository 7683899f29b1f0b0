// biome-ignore-all lint/suspicious/noAssignInExpressions: a fault is told in a line
// biome-ignore-all lint/suspicious/noExplicitAny: what a service says has any form
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { Alteration, Answered, Asked, Policy } from './double.ts';
import { nameOf } from './rows/samples.ts';

/** How a service differs in one place: in itself, or on the way. */
export type Difference = ((policy: Policy) => void) | Alteration;
type Differences = Readonly<Record<string, Difference>>;
type Json = Record<string, any>;

/** Members that get another value, or none where it is undefined; or whatever else is to be done. */
type Change = object | ((value: Json, asked: Asked) => unknown);

function changed(text: string, change: Change, asked: Asked): string {
  const value = parse(text) as Json;
  if (typeof change === 'function') change(value, asked);
  else Object.assign(value, change);
  return JSON.stringify(value);
}

function parse(json: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
const sent = ({ body: bytes }: Asked): Json => parse(bytes.toString()) ?? {};
const refusal = '{"error":{"message":"no"}}';
const refuse = (answered: Answered, to = 422) => Object.assign(answered, { status: to, body: refusal });

/** How requests to some operations can be changed before the service sees them, and the answers to them. */
function on(...of: readonly EndpointName[]) {
  const request = (change: (asked: Asked) => unknown): Alteration => ({
    request: (asked) => void (of.includes(asked.name) && change(asked)),
  });
  const answer = (change: (answered: Answered, asked: Asked) => unknown, status = 200): Alteration => ({
    answer: (answered, asked) =>
      void (of.includes(asked.name) && answered.status === status && change(answered, asked)),
  });
  /** Bodies that are JSON objects; the bytes of others may be what a row is about. */
  const body = (change: Change): Alteration =>
    request((asked) => {
      const before = parse(asked.body.toString());
      const text = before && changed(asked.body.toString(), change, asked);
      if (text !== undefined && text !== JSON.stringify(before)) asked.body = Buffer.from(text);
    });
  return {
    request,
    answer,
    body,
    /** The text of bodies, whatever they are. */
    text: (from: RegExp, to: string) =>
      request((asked) => (asked.body = Buffer.from(asked.body.toString().replace(from, to)))),
    /** Takes what is wrong, as if something right had come. */
    takes(field: string, wrong: string | number | null | ((value: any) => boolean), right: unknown) {
      const isWrong = typeof wrong === 'function' ? wrong : (value: unknown) => value === wrong;
      return body((one) => field in one && isWrong(one[field]) && (one[field] = right));
    },
    json: (change: Change, status = 200) =>
      answer((a, asked) => (a.body = changed(a.body, change, asked)), status),
    header: (name: string, value?: string, status = 200) =>
      answer(
        ({ headers }) => (value === undefined ? headers.delete(name) : headers.set(name, value)),
        status,
      ),
    /** Answers what it should answer with one status by another. */
    status: (from: number, to: number, when: (asked: Asked) => boolean = () => true) =>
      answer((a, asked) => when(asked) && (a.status = to), from),
    /** Refuses what is right, as invalid. */
    refuses: (when: (body: Json, asked: Asked) => boolean) =>
      answer((answered, asked) => when(sent(asked), asked) && refuse(answered)),
  };
}

const posts = (Object.keys(endpoints) as EndpointName[]).filter((name) => endpoints[name].method === 'POST');
const [search, creation, statuses, fetches] = [on('search'), on('createTask'), on('status'), on('fetch')];
const [contact, research, enrich] = [on('contactSearch'), on('deepSearch'), on('enrich')];
const [extract, balance] = [on('extract'), on('balance')];

/** Takes a page for another one. */
const pages = (name: string, from: string | null, to: string): Alteration =>
  fetches.request(({ query }) => query.get(name) === from && query.set(name, to));

const metadata = (change: (metadata: Json, asked: Asked) => unknown): Alteration =>
  extract.json((one, asked) => change(one.metadata, asked));
const items = (change: (data: object[], one: Json) => unknown): Alteration =>
  extract.json((one) => Array.isArray(one.data) && change(one.data, one));

const stream = (change: (body: string) => string): Alteration =>
  search.answer((answered) => (answered.body = change(answered.body)));
/** Changes the frames of streams; undefined drops one. */
const frames = (change: (payload: string, at: number) => string | undefined): Alteration =>
  stream((all) =>
    all
      .split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame, at) => change(frame.slice('data: '.length), at))
      .filter((one) => one !== undefined)
      .map((one) => `data: ${one}\n\n`)
      .join(''),
  );
const event = (kind: 'batch' | 'done', change: Change): Alteration =>
  frames((payload) =>
    parse(payload)?.object === `entity_search_${kind}` ? changed(payload, change, {} as Asked) : payload,
  );

const longer = (field: string, length: (value: string) => number, most: number) => (one: Json) =>
  typeof one[field] === 'string' && length(one[field]) > most;
const bytes = (value: unknown) => Buffer.byteLength(String(value).trim());
const characters = (value: unknown) => [...String(value).trim()].length;
const units = (value: string) => value.trim().length;
const key = ({ headers }: Asked): string => `${headers['x-api-key'] ?? headers.authorization}`;

const charging = (of: EndpointName, charge: (credits: number, most: number) => number) => (p: Policy) =>
  (p.charge = (credits, kind, most) => (kind === of ? charge(credits, most) : credits));
const each = <T>(all: readonly T[], toSome: (one: T) => Differences): Differences =>
  Object.assign({}, ...all.map(toSome));

/** Both forms of a search. */
const ofForm = (form: ReturnType<typeof on>, ofOthers: RegExp): Differences => ({
  'limit-null: limit may be null': form.takes('limit', null, 1),
  'limit-1001: 1001 is 1000': form.takes('limit', 1001, 1000),
  'objective-4001-of-3-byte-letters: objectives are counted in characters': form.takes(
    'objective',
    (value) => bytes(value) > 4000 && characters(value) <= 4000,
    'x',
  ),
  'objective-trimmed: objectives are counted before trimming': form.refuses(
    (one) => String(one.objective).length > 4000,
  ),
  'unknown-field: unknown fields are ignored': form.body({ entity_kind: undefined }),
  'dedup-custom-leads-numbers: numbers are names': form.takes('dedup_custom_leads', ([one]) => one === 1, []),
  'excludes-custom-leads: no names are excluded': form.takes(
    'dedup_custom_leads',
    (value) => Array.isArray(value) && value.length < 4 && value.every((one) => typeof one === 'string'),
    [],
  ),
  'excludes-earlier-searches: no earlier searches are excluded': form.takes(
    'dedup_service_leads',
    (value) => /^(task|search)-/.test(value?.[0]),
    [],
  ),
  'excludes-across-forms: those of the other form are not excluded': form.takes(
    'dedup_service_leads',
    (value) => ofOthers.test(value?.[0]),
    [],
  ),
  'not-enriched: enrich_fields are there unasked': {
    answer: (a) => void (a.body = a.body.replaceAll('"description":', '"enrich_fields":{},"description":')),
  },
});

/** What breaks a rule of the document, by section, behind the row that must fail because of it. */
const bySection: Readonly<Record<string, Differences>> = {
  settlement: {
    'task-unused: a task keeps what it reserved beyond its leads': charging('createTask', (_, most) => most),
    'search-unused: a stream keeps what it reserved beyond its leads': charging('search', (_, most) => most),
    'search-unused: a search costs at least one credit': (p) => (p.charge = (c) => Math.max(1, c)),
    'search-per-lead: a stream has one price for all its leads': charging('search', (c) => (c > 0 ? 5 : c)),
    'task-per-lead: a task has one price for all its leads': charging('createTask', (c) => (c > 0 ? 5 : c)),
    'search-fewer-than-limit: a stream is charged for its limit where it finds some': charging(
      'search',
      (c, most) => (c > 0 ? most : c),
    ),
    'task-fewer-than-limit: a task is charged for its limit where it finds some': charging(
      'createTask',
      (c, most) => (c > 0 ? most : c),
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
      charging('contactSearch', () => 3)(p);
    },
    'contact-not-negative: contact gives credits back': charging('contactSearch', () => -1),
  },
  errors: {
    'search-without-credits: 402 is sent as 403': search.status(402, 403),
    'extract-without-credits: 402 has no message': extract.json(
      { error: { type: 'insufficient_credits' } },
      402,
    ),
    'too-few-credits: an account with some credits can overdraw': extract.request(
      ({ headers }) => (headers.authorization = `${headers.authorization}`.replace('few_credits', 'other')),
    ),
    'search-media-type: errors are HTML': search.header('Content-Type', 'text/html', 401),
    'enrich-busy: the limit of requests is a 503': enrich.answer((a) => refuse(a, 503), 429),
  },
  authentication: {
    'search-unknown-key: an unknown key is a 403': search.status(401, 403, (one) => /unknown/.test(key(one))),
    'balance-revoked: a revoked key gives 401': balance.status(403, 401, (one) => /revoked/.test(key(one))),
    'fetch-expired: an expired key works': fetches.request(
      (one) => /expired/.test(key(one)) && (one.headers['x-api-key'] = 'key-main'),
    ),
    'contact-no-access: no access is needed for contacts': contact.request(
      (one) => /no_access/.test(key(one)) && (one.headers.authorization = 'Bearer key-main'),
    ),
    'basic: Basic is taken for a key': balance.request(
      (one) => /^Basic/.test(key(one)) && (one.headers.authorization = 'Bearer key-main'),
    ),
    'fetch-bearer: fetch takes no Bearer key': fetches.answer(
      (a, { headers }) => 'authorization' in headers && refuse(a, 401),
    ),
    'search-without-key: the error has another type': search.json(
      { error: { message: 'no', type: 'not_found' } },
      401,
    ),
  },
  common: {
    ...each(['text-plain', 'no-media-type'], (kind) => ({
      [`enrich-${kind}: enrich takes any media type: ${kind}`]: enrich.request(
        ({ headers }) =>
          (kind === 'no-media-type') === !('content-type' in headers) &&
          (headers['content-type'] = 'application/json'),
      ),
    })),
    'contact-charset: a charset is refused': contact.refuses((_, { headers }) =>
      /charset/.test(`${headers['content-type']}`),
    ),
    'search-two-objects: two objects are one': search.text(/\}\{.*/s, '}'),
    'contact-trailing-text: what follows the object is ignored': contact.text(/ x$/, ''),
    'search-invalid-utf-8: bytes that are no UTF-8 are taken': search.text(/$/, ''),
    'deep-search-array: an array of one is an object': research.text(/^\[(.*)\]$/s, '$1'),
    'search-body-over-1-mib: bodies may have 2 MiB': search.text(/ {9,}\}$/, '}'),
    'contact-body-of-1-mib: bodies may have 1,000,000 bytes': contact.refuses(
      (_, asked) => asked.body.length > 1_000_000,
    ),
    'extract-key-of-129: keys of 129 characters are cut': extract.request(
      ({ headers }) => (headers['idempotency-key'] = `${headers['idempotency-key']}`.slice(0, 128)),
    ),
    'create_task-key-of-128: keys have at most 64 characters': creation.refuses(
      (_, { headers }) => `${headers['idempotency-key']}`.length > 64,
    ),
    'create_task-without-key: create_task needs no key': creation.request(
      ({ headers }) => (headers['idempotency-key'] ??= `own-${Math.random()}`),
    ),
    'search-without-key: a stream needs a key': search.refuses(
      (_, { headers }) => !('idempotency-key' in headers),
    ),
    'enrich-generated-key: no key is generated': enrich.header('Idempotency-Key'),
    ...each(posts, (name) => ({
      [`${nameOf(name)}-conflict: ${name} forgets its keys`]: on(name).request(
        ({ headers }) => 'idempotency-key' in headers && (headers['idempotency-key'] += `${Math.random()}`),
      ),
    })),
    'search-refused-key: the key of a refused request is used up': (p) => (p.keysOfRefused = true),
    'contact-conflict: a conflict is a 422': contact.status(409, 422),
    'enrich-media-type: a JSON answer is text': enrich.header('Content-Type', 'text/plain'),
  },
  search: {
    ...ofForm(search, /^task-/),
    'excludes-custom-leads: exclusions use up the limit': (p) => (p.exclusionsUseLimit = true),
    'entity-type-xiaohongshu-without-web-search: streams take xiaohongshu': search.takes(
      'entity_type',
      'xiaohongshu',
      'person',
    ),
    'web-search: streams take enable_web_search': search.body(
      (one) => one.entity_type === 'company' && delete one.enable_web_search,
    ),
    'entity-type-tiktok_creator: there is no type tiktok_creator': search.refuses(
      (one) => one.entity_type === 'tiktok_creator',
    ),
  },
  create_task: {
    ...ofForm(creation, /^search-/),
    'enriched: asked enrichment is left out': creation.body(
      (one) => one.enrich_fields?.length === 1 && delete one.enrich_fields,
    ),
    'entity-type-wechat-without-web-search: wechat needs no web search': creation.body(
      (one) => one.entity_type === 'wechat' && (one.enable_web_search = true),
    ),
    'default-limit: 50 leads are the default of a task': creation.body(
      (one) => !('limit' in one) && (one.limit = 50),
    ),
    'request-id: create_task has no X-Request-Id': creation.header('X-Request-Id'),
    'no-store: create_task can be cached': creation.header('Cache-Control'),
    'replay-idempotency-key: a replay has no Idempotency-Key': (() => {
      const seen = new Set<string | undefined>();
      return creation.answer(({ headers }, asked) => {
        const known = asked.headers['idempotency-key'];
        if (seen.has(known)) headers.delete('Idempotency-Key');
        seen.add(known);
      });
    })(),
    'replay-when-ended: the key of an ended task is forgotten': (() => {
      const created = new Set<string>();
      let hasEnded = false;
      return {
        request({ name, headers }) {
          const known = `${headers['idempotency-key']}`;
          if (name === 'createTask' && hasEnded && created.has(known))
            headers['idempotency-key'] = `new-${known}`;
          created.add(known);
        },
        answer({ body }, { name }) {
          hasEnded = name === 'status' ? body.includes('"done"') : hasEnded && name !== 'createTask';
        },
      };
    })(),
    'new-key-new-task: every create_task has the same ID': creation.json({ leads_search_id: 'task-1' }),
  },
  events: {
    'default-limit: 50 leads are the default of a stream': search.body(
      (one) => one.limit === undefined && (one.limit = 50),
    ),
    'default-limit: 1000 leads are the default of a stream': search.text(
      /"objective":"companies"\}$/,
      '"objective":"companies","limit":200}',
    ),
    'media-type: a stream is sent as text/plain': search.header('Content-Type', 'text/plain'),
    'request-id: a stream has no X-Request-Id': search.header('X-Request-Id'),
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
    'done-body: finish is a text': event('done', { finish: 'true' }),
    'done-body: done has no stop_reason': event('done', { stop_reason: undefined }),
    'leads-search-id: batches have no leads_search_id': event('batch', { leads_search_id: undefined }),
    'done-leads-search-id: done has no leads_search_id': event('done', { leads_search_id: undefined }),
    'done-leads-search-id: done has another leads_search_id': event('done', { leads_search_id: 'other' }),
    'done-after-batches: the done event comes first': stream((all) => {
      const parts = all.split('\n\n');
      return [...parts.slice(-3, -2), ...parts.slice(0, -3), ...parts.slice(-2)].join('\n\n');
    }),
    'found-nothing: a stream without leads has no done event': stream((all) =>
      all.includes('"cum_count":0') ? 'data: [DONE]\n\n' : all,
    ),
    'batch-body: batches have no cum_count': event('batch', { cum_count: undefined }),
    'at-most-limit: a search gives one more than its limit': search.takes('limit', 12, 13),
    'unique: a lead comes twice': event(
      'batch',
      (one) => one.count === 5 && (one.entities = [one.entities[0], ...one.entities.slice(0, 4)]),
    ),
    'entity-body: score is a number': event('batch', (one) => {
      for (const lead of one.entities) lead.score = 0.9;
    }),
  },
  status: {
    'without-polling: a task goes on when it is asked about': (p) => (p.progress = (task) => task.polls / 6),
    'verified-count: verified_count is below ready_count': statuses.json(
      (one) => (one.status.verified_count = one.status.ready_count - 1),
    ),
    'body: the status has no stop_reason': statuses.json((one) => delete one.status.stop_reason),
    'ends: the status is called finished': statuses.json(
      (one) => one.status.status === 'done' && (one.status.status = 'finished'),
    ),
    'at-most-limit: a task gives more than its limit': creation.takes('limit', 7, 9),
    'task-of-another-account: every key reads a task': (p) => (p.ownsTask = () => true),
    'longer-id: an ID is read to its first letter too many': statuses.request(({ query }) =>
      query.set('leads_search_id', `${query.get('leads_search_id')}`.replace(/^(task-\d+)x$/, '$1')),
    ),
  },
  fetch: {
    'task-of-another-key: every key of the account reads a task': (p) =>
      (p.ownsTask = (task, one) => task.key === one || one === 'key-sibling'),
    'unknown-task: a missing task is a 422': fetches.status(404, 422),
    'id-empty: fetch needs no ID': pages('leads_search_id', '', 'x'),
    'defaults: num is 10 by default': pages('num', null, '10'),
    'num-501: num 501 is 500': pages('num', '501', '500'),
    'num-0: num 0 is 1': pages('num', '0', '1'),
    'pts-negative: a negative position is the first': pages('pts', '-1', '0'),
    'at-most-num: a page has more than num': pages('num', '2', '3'),
    'echo: pts is echoed as 0': fetches.json({ pts: 0 }),
    'count: count is num': fetches.json((one) => (one.count = one.num)),
    'limit: a page has no limit': fetches.json({ limit: undefined }),
    'agrees-with-status: ready_count of a page is one more': fetches.json((one) => (one.ready_count += 1)),
    'next-position: positions begin at 1': (p) => (p.position = (pts) => Math.max(0, pts - 1)),
    'positions: every position is the first': (p) => (p.position = () => 0),
    'while-running: nothing can be read while a task runs': fetches.json(
      (one) => one.status === 'running' && Object.assign(one, { entities: [], count: 0 }),
    ),
    'again: a page gives its leads only once': (() => {
      const seen = new Set<string>();
      return fetches.json((one) => {
        const page = `${one.leads_search_id} ${one.pts} ${one.num}`;
        if (seen.has(page)) one.entities = one.entities.slice(1);
        seen.add(page);
      });
    })(),
    'all-ready: the last lead is in no page': fetches.json((one) => {
      if (one.pts + one.count < one.ready_count) return;
      one.entities.pop();
      one.count = one.entities.length;
    }),
    'beyond: a page beyond the end is a 404': fetches.status(
      200,
      404,
      ({ query }) => Number(query.get('pts')) > 1000,
    ),
  },
  contact: {
    'body-email: contact has a further field': contact.json({ confidence: 1 }),
    'echo-email: contact echoes the objective untrimmed': contact.json(
      (one, asked) => (one.request.objective = sent(asked).objective),
    ),
    'echo-phone: contact echoes another type': contact.json((one) => (one.request.contact_type = 'email')),
    'not-found: what is not found has no result': contact.json(
      (one) => one.result.content === null && (one.result = null),
    ),
    'body-phone: created_at is not UTC': contact.json({ created_at: '2026-01-05T12:00:00+02:00' }),
    'body-phone: a phone number is a number': contact.json(
      (one) => one.request.contact_type === 'phone' && one.result.content && (one.result.content = 49),
    ),
    'no-store: contact can be cached': contact.header('Cache-Control', 'private'),
    'objective-4000-of-4-byte-letters: contact counts UTF-16 units': contact.refuses(
      longer('objective', units, 4000),
    ),
    'objective-4000-of-2-byte-letters: contact counts bytes': contact.refuses(
      longer('objective', bytes, 4000),
    ),
    'contact-type-unknown: contact knows fax': contact.takes('contact_type', 'planet', 'email'),
    'objective-4000: long objectives are not available': contact.answer(
      (a, asked) => asked.body.length >= 4000 && refuse(a, 503),
    ),
  },
  'deep-search': {
    'no-result: research without a result says it otherwise': research.json(
      (one) => one.success === false && (one.answer = { answer: 'nothing' }),
    ),
    'body: research is answered with null': research.json((one) => one.success && (one.answer = null)),
    'query-4000: queries have at most 2000 characters': research.refuses(longer('query', characters, 2000)),
    'query-4001: what is too long is cut': research.takes('query', (value) => characters(value) > 4000, 'x'),
    'query-empty: invalid requests are not available': research.answer((a) => refuse(a, 503), 422),
  },
  enrich: {
    'body: an enriched answer is a text': enrich.json((one) => one.success && (one.answer = 'text')),
    'follows-schema: an enriched answer has other fields': enrich.json(
      (one) => one.success && (one.answer = { other: 1 }),
    ),
    'context-16385-of-2-byte-letters: enrich counts characters': enrich.takes(
      'entity_context',
      (value) => bytes(value) > 16_384 && characters(value) <= 16_384,
      'x',
    ),
    'schema-properties-cumulative: properties are counted at the root alone': enrich.body(
      (one) => delete one.enrich_fields?.properties?.more,
    ),
    'schema-nested-too-deep: schemas may be deep': enrich.takes(
      'enrich_fields',
      (value) => /(inner.*){13}/.test(JSON.stringify(value)),
      { type: 'object', properties: { a: {} } },
    ),
    'schema-without-type: a schema needs no type': enrich.body(
      (one) => one.enrich_fields?.properties && (one.enrich_fields.type ??= 'object'),
    ),
  },
  extract: {
    'body: extract has a further field': extract.json({ page: 1 }),
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
      (one, asked) => one.type === 'web2list' && (one.limit = sent(asked).limit ?? 100),
    ),
    'web2list-at-most-100: web2list gives 101 items': items((data) => data.length === 100 && data.push({})),
    'web2list-ignores-limit: web2list keeps to the limit': extract.json(
      (one, asked) => sent(asked).limit === 1 && (one.data = one.data?.slice(0, 1)),
    ),
    'web2list-instruction-null: the instruction of web2list may be null': extract.body(
      (one) => one.type === 'web2list' && one.instruction === null && (one.instruction = 'x'),
    ),
    'web2list-without-instruction: web2list needs no instruction': extract.body(
      (one) => one.type === 'web2list' && (one.instruction ??= 'x'),
    ),
    'limit-10000: the limit of extract is 1000': extract.status(
      402,
      422,
      (asked) => sent(asked).limit === 10_000,
    ),
    ...each(
      '127.9.9.9 [::1] 169.254.169.254 192.168.0.1 printer 2130706433 [::ffff:127.0.0.1]'.split(' '),
      (host) => ({
        [`web2list-: web2list reads ${host}`]: extract.takes(
          'target',
          `http://${host}/list`,
          'https://example.com/',
        ),
      }),
    ),
    'duplicate: a replay of extract differs': (() => {
      let count = 0;
      return metadata((one) => (one.limit = ++count));
    })(),
    'failure: failures of extract have no reason': extract.json(
      (one) => one.success === false && (one.data = []),
    ),
  },
  balance: {
    'reserved: nothing is reserved': (p) => (p.reserve = () => 0),
    'reserved: half is reserved': (p) => (p.reserve = (most) => Math.floor(most / 2)),
    'foreign-user: a user_id decides the account': (p) =>
      (p.balanceOf = (account, query) => query.get('user_id') ?? account),
    'account-of-the-key: the balance is that of the first account': (p) => (p.balanceOf = () => 'main'),
    'any-active-key: the balance needs access to searches': balance.answer(
      (a, asked) => /no_access/.test(key(asked)) && refuse(a, 403),
    ),
    'body: the balance is a text': balance.json((one) => (one.available_credits += '')),
    'body: the balance has a date of another form': balance.json({ updated_at: '2026-01-05T12:00:00Z' }),
    'no-store: the balance can be cached': balance.header('Cache-Control'),
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
    if (answered.status !== 200 || !['search', 'fetch'].includes(asked.name)) return;
    const other = (payload: string) => {
      const value = parse(payload);
      if (!Array.isArray(value?.entities)) return payload;
      value.entities.forEach(change);
      return JSON.stringify(value);
    };
    answered.body =
      asked.name === 'fetch' ? other(answered.body) : answered.body.replace(/(?<=^data: ).*$/gm, other);
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
    for (const one of Object.keys(p.price)) Object.assign(p.price, { [one]: 0 });
    p.reserve = () => 0;
  },
  'free lookups': (p) => Object.assign(p.price, { email: 0, phone: 0 }),
  'lookups are charged per request': charging('contactSearch', (_, most) => most),
  'slow settlement of searches': (p) => (p.slow = { search: 3000, createTask: 3000 }),
  'very slow settlement of searches': (p) => (p.slow = { search: 20_000, createTask: 20_000 }),
  'slow settlement of research': (p) => (p.slow = { deepSearch: 3000, enrich: 2000, extract: 3000 }),
  'one request at a time': (p) => (p.concurrency = 1),
  'one task at a time': (p) => Object.assign(p, { concurrency: 1, tasksTakeRoom: true }),
  'extract replays nothing': (p) => (p.replaysExtract = false),
  'entities without links, score and description': leadsLike((lead) => {
    for (const one of ['links', 'score', 'description']) delete lead[one];
  }),
  'entities with more fields': leadsLike((lead) => Object.assign(lead, { followers: 12, tags: ['a'] })),
  'new stop reasons': {
    answer: (a) => void (a.body = a.body.replaceAll('"source_finished"', '"moon_phase"')),
  },
  'more members in events': event('batch', { more: { a: 1 } }),
  'more members of create_task and status': on('createTask', 'status', 'balance').json({ more: true }),
  'a balance with the next refresh': balance.json({ next_credit_refresh_at: '2026-02-01 00:00:00' }),
  'a balance without a date': balance.json({ updated_at: undefined }),
  'research in another form': research.json((one) => one.success && (one.answer = ['anything'])),
  'contacts without a hit as an empty text': contact.json((one) => (one.result.content ??= ' ')),
  'created_at with an offset of zero': contact.json({ created_at: '2026-01-05T12:00:00+00:00' }),
  'cached never, and private': headers(
    (all) => all.has('Cache-Control') && all.set('Cache-Control', 'private, no-store'),
  ),
};
