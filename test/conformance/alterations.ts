import { randomUUID } from 'node:crypto';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { Alteration, Answered, Asked } from './altering-proxy.ts';

interface SwitchedOff {
  readonly name: string;
  readonly endpoint: EndpointName;
  readonly alteration: Alteration;
  /** The rows that must fail; no other may. */
  readonly fails: readonly string[];
}

type Json = Record<string, unknown>;

/** Changes answers of one status of one endpoint. */
function answers(endpoint: EndpointName, status: number, change: Alteration['answer']): Alteration {
  return {
    answer(answered, asked) {
      if (asked.path === endpoints[endpoint].path && answered.status === status) change?.(answered, asked);
    },
  };
}

function json(endpoint: EndpointName, change: (body: Json, asked: Asked) => void, status = 200): Alteration {
  return answers(endpoint, status, (answered, asked) => {
    const body = JSON.parse(answered.body) as Json;
    change(body, asked);
    answered.body = JSON.stringify(body);
  });
}

/** Changes the events of streams, payload by payload; undefined drops one. */
function events(change: (payload: string, at: number) => string | undefined): Alteration {
  return answers('search', 200, (answered) => {
    const payloads = answered.body.split('\n\n').filter((frame) => frame !== '');
    answered.body = payloads
      .map((frame, at) => change(frame.slice('data: '.length), at))
      .filter((payload) => payload !== undefined)
      .map((payload) => `data: ${payload}\n\n`)
      .join('');
  });
}

function eventJson(object: string, change: (event: Json) => void): Alteration {
  return events((payload) => {
    if (!payload.includes(`"object":"${object}`)) return payload;
    const event = JSON.parse(payload) as Json;
    change(event);
    return JSON.stringify(event);
  });
}

function requests(endpoint: EndpointName, change: (asked: Asked) => void): Alteration {
  return {
    request(asked) {
      if (asked.path === endpoints[endpoint].path) change(asked);
    },
  };
}

/** Changes bodies that are JSON objects before the service sees them. */
function bodies(endpoint: EndpointName, change: (body: Json) => void): Alteration {
  return requests(endpoint, (asked) => {
    try {
      const body = JSON.parse(asked.body.toString()) as Json;
      if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
      const before = JSON.stringify(body);
      change(body);
      // Its bytes stay as they are where nothing was to be changed: they may be what a row is about.
      if (JSON.stringify(body) !== before) asked.body = Buffer.from(JSON.stringify(body));
    } catch {
      // Not JSON: the service may refuse it.
    }
  });
}

const without = (header: string) => (answered: Answered) => answered.headers.delete(header);
const errorType = (type: string) => (body: Json) => {
  body.error = { ...(body.error as Json), type };
};
const anyKey = (asked: Asked) => {
  if ('idempotency-key' in asked.headers) asked.headers['idempotency-key'] = randomUUID();
};
const asMain = (asked: Asked) => {
  if (asked.headers['x-api-key'] === 'lp_local_other') asked.headers['x-api-key'] = 'lp_local_demo';
};
let refusals = 0;

/** Takes credits away from the main key's balance, without end: whenever `cost` says so of an answer. */
function charging(cost: (answered: Answered, asked: Asked) => number): Alteration {
  let debt = 0;
  return {
    answer(answered, asked) {
      if (asked.path !== endpoints.balance.path) debt += cost(answered, asked);
      else if (answered.status === 200 && asked.headers['x-api-key'] === 'lp_local_demo') {
        const body = JSON.parse(answered.body) as { available_credits: number };
        answered.body = JSON.stringify({ ...body, available_credits: body.available_credits - debt });
      }
    },
  };
}

/** The limit of each task that has not ended. */
const limitOfTask = new Map<string, number>();

function leftOfTask({ body, status }: Answered, { path, query, body: sent }: Asked): number {
  if (path === endpoints.createTask.path && status === 200) {
    const { leads_search_id: id } = JSON.parse(body) as { leads_search_id: string };
    limitOfTask.set(id, (JSON.parse(sent.toString()) as { limit?: number }).limit ?? 100);
  }
  if (path !== endpoints.status.path || !body.includes('"done"')) return 0;
  const id = query.get('leads_search_id') ?? '';
  const { status: task } = JSON.parse(body) as { status: { ready_count: number } };
  const left = Math.max(0, (limitOfTask.get(id) ?? 0) - task.ready_count);
  limitOfTask.delete(id);
  return left;
}

function leftOfStream({ body, status }: Answered, { path, body: sent }: Asked): number {
  if (path !== endpoints.search.path || status !== 200) return 0;
  const { limit = 100 } = JSON.parse(sent.toString()) as { limit?: number };
  return limit - Number(/"entity_search_done".*?"cum_count":(\d+)/.exec(body)?.[1]);
}

/** What no JSON.stringify and no template string takes. */
const hostile = {
  'an object without toString': '{"toString":1,"valueOf":{}}',
  'nested 20,000 levels deep': `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
};

/** Puts something of another type in the place of a member, wherever it stands in the answers of an endpoint. */
function replaced(endpoint: EndpointName, member: string, by: keyof typeof hostile): Alteration {
  return answers(endpoint, 200, (answered) => {
    const value = '(?:"[^"]*"|-?\\d+|\\{[^{}]*\\}|\\[[^[\\]]*\\])';
    answered.body = answered.body.replace(
      new RegExp(`"${member}":${value}`, 'g'),
      () => `"${member}":${hostile[by]}`,
    );
  });
}

/** What the document leaves open: every row passes all the same. */
export const allowed: readonly Omit<SwitchedOff, 'fails'>[] = [
  {
    name: 'pages of one entity, whatever num is',
    endpoint: 'fetch',
    alteration: json('fetch', (body) => {
      body.entities = (body.entities as unknown[]).slice(0, 1);
      body.count = (body.entities as unknown[]).length;
    }),
  },
  ...(['search', 'fetch'] as const).map((endpoint) => ({
    name: `${endpoint}: entities without links, score and description`,
    endpoint,
    alteration: withoutMembers(endpoint, ['links', 'score', 'description']),
  })),
  {
    name: 'fields and stop reasons that are not in the document',
    endpoint: 'search',
    alteration: eventJson('entity_search_', (event) => {
      event.conformance = { new: true };
      if ('stop_reason' in event) event.stop_reason = 'moon_phase';
    }),
  },
];

function withoutMembers(endpoint: 'search' | 'fetch', members: readonly string[]): Alteration {
  const strip = (body: Json) => {
    for (const one of (body.entities ?? []) as Json[]) for (const member of members) delete one[member];
  };
  return endpoint === 'fetch' ? json('fetch', strip) : eventJson('entity_search_batch', strip);
}

export const switchedOff: readonly SwitchedOff[] = [
  {
    name: 'a task never gives back what it reserved beyond its leads',
    endpoint: 'balance',
    alteration: charging(leftOfTask),
    fails: ['settlement/task-unused'],
  },
  {
    name: 'a stream never gives back what it reserved beyond its leads',
    endpoint: 'balance',
    alteration: charging(leftOfStream),
    fails: ['settlement/search-unused'],
  },
  {
    name: 'deep-search refuses a duplicate, and charges for it',
    endpoint: 'balance',
    alteration: charging(({ status }, { path }) =>
      status === 409 && path === endpoints.deepSearch.path ? 20 : 0,
    ),
    fails: ['settlement/deep-search-duplicate'],
  },
  {
    name: 'contact echoes the objective as it came',
    endpoint: 'contactSearch',
    alteration: json('contactSearch', (body, asked) => {
      (body.request as Json).objective = (JSON.parse(asked.body.toString()) as Json).objective;
    }),
    fails: ['contact/echo-trimmed'],
  },
  {
    name: 'tasks exclude nothing',
    endpoint: 'createTask',
    alteration: bodies('createTask', (body) => {
      for (const list of ['dedup_service_leads', 'dedup_custom_leads']) {
        const items = (body[list] ?? []) as unknown[];
        if (items.length > 0 && items.length < 4 && items.every((item) => typeof item === 'string'))
          delete body[list];
      }
    }),
    fails: ['create_task/excludes-custom-leads', 'create_task/excludes-earlier-searches'],
  },
  {
    name: 'stop_reason of a stream is an object without toString',
    endpoint: 'search',
    alteration: replaced('search', 'stop_reason', 'an object without toString'),
    fails: ['events/done-body'],
  },
  {
    name: 'available_credits are nested 20,000 levels deep',
    endpoint: 'balance',
    alteration: replaced('balance', 'available_credits', 'nested 20,000 levels deep'),
    fails: ['balance/body'],
  },
  {
    name: 'cum_count is nested 20,000 levels deep',
    endpoint: 'search',
    alteration: replaced('search', 'cum_count', 'nested 20,000 levels deep'),
    fails: [
      'events/batch-body',
      'events/batch-cum-count',
      'events/done-body',
      'events/done-cum-count',
      'events/found-nothing',
    ],
  },
  {
    name: 'the data of extract is nested 20,000 levels deep',
    endpoint: 'extract',
    alteration: replaced('extract', 'data', 'nested 20,000 levels deep'),
    fails: ['extract/body', 'extract/web2list-body', 'extract/failure'],
  },
  {
    name: 'contact has no X-Request-Id',
    endpoint: 'contactSearch',
    alteration: answers('contactSearch', 200, without('x-request-id')),
    fails: ['contact/request-id'],
  },
  {
    name: 'the balance can be cached',
    endpoint: 'balance',
    alteration: answers('balance', 200, without('cache-control')),
    fails: ['balance/no-store'],
  },
  {
    name: 'the balance has a date of another form',
    endpoint: 'balance',
    alteration: json('balance', (body) => {
      body.updated_at = '2026-01-05T12:00:00Z';
    }),
    fails: ['balance/body'],
  },
  {
    name: 'refused requests are charged',
    endpoint: 'balance',
    alteration: {
      answer(answered, asked) {
        if (answered.status === 422) refusals += 1;
        if (asked.path !== endpoints.balance.path || answered.status !== 200) return;
        const body = JSON.parse(answered.body) as { available_credits: number };
        answered.body = JSON.stringify({ ...body, available_credits: body.available_credits - refusals });
      },
    },
    fails: ['settlement/invalid-costs-nothing'],
  },
  {
    name: 'batch_index starts at 0',
    endpoint: 'search',
    alteration: eventJson('entity_search_batch', (event) => {
      event.batch_index = Number(event.batch_index) - 1;
    }),
    fails: ['events/batch-index'],
  },
  {
    name: 'the stream ends without [DONE]',
    endpoint: 'search',
    alteration: events((payload) => (payload === '[DONE]' ? undefined : payload)),
    fails: ['events/sentinel', 'events/found-nothing'],
  },
  {
    name: 'there is no done event',
    endpoint: 'search',
    alteration: events((payload) => (payload.includes('entity_search_done') ? undefined : payload)),
    fails: ['events/one-done', 'events/found-nothing'],
  },
  {
    name: 'done counts one too many',
    endpoint: 'search',
    alteration: eventJson('entity_search_done', (event) => {
      event.cum_count = Number(event.cum_count) + 1;
    }),
    fails: ['events/done-cum-count', 'events/found-nothing'],
  },
  {
    name: 'cum_count is the count of the batch',
    endpoint: 'search',
    alteration: eventJson('entity_search_batch', (event) => {
      event.cum_count = event.count;
    }),
    fails: ['events/batch-cum-count'],
  },
  {
    name: 'events carry no leads_search_id',
    endpoint: 'search',
    alteration: eventJson('entity_search_batch', (event) => {
      delete event.leads_search_id;
    }),
    fails: ['events/leads-search-id'],
  },
  {
    name: 'a search is as long as it likes',
    endpoint: 'search',
    alteration: bodies('search', (body) => {
      if (body.limit === 12) body.limit = 13;
    }),
    fails: ['events/at-most-limit'],
  },
  {
    name: 'earlier searches are not excluded',
    endpoint: 'search',
    alteration: bodies('search', (body) => {
      if (/^ls_/.test(String((body.dedup_service_leads as unknown[] | undefined)?.[0])))
        delete body.dedup_service_leads;
    }),
    fails: ['search/excludes-earlier-searches'],
  },
  {
    name: 'the objective of a search is counted in characters',
    endpoint: 'search',
    alteration: bodies('search', (body) => {
      const { objective } = body;
      if (typeof objective === 'string' && Buffer.byteLength(objective) > 4000 && objective.length <= 4000)
        body.objective = 'é';
    }),
    fails: ['search/objective-2001-two-byte-characters'],
  },
  {
    name: 'create_task does without an Idempotency-Key',
    endpoint: 'createTask',
    alteration: requests('createTask', (asked) => {
      asked.headers['idempotency-key'] ??= randomUUID();
    }),
    fails: ['common/create_task-without-key'],
  },
  {
    name: 'create_task forgets its keys',
    endpoint: 'createTask',
    alteration: requests('createTask', anyKey),
    fails: [
      'settlement/task-replay',
      'common/create_task-key-of-129',
      'common/create_task-conflict',
      'create_task/idempotency-key',
      'create_task/replay',
      'create_task/replay-when-ended',
    ],
  },
  {
    name: 'xiaohongshu and wechat need no web search',
    endpoint: 'createTask',
    alteration: bodies('createTask', (body) => {
      if (body.entity_type === 'xiaohongshu' || body.entity_type === 'wechat') body.enable_web_search = true;
    }),
    fails: [
      'create_task/xiaohongshu-without-web-search',
      'create_task/wechat-without-web-search',
      'create_task/xiaohongshu-web-search-false',
      'create_task/wechat-web-search-false',
    ],
  },
  {
    name: 'verified_count is below ready_count',
    endpoint: 'status',
    alteration: json('status', ({ status }) => {
      const task = status as Json;
      task.verified_count = Math.max(0, Number(task.ready_count) - 1);
    }),
    fails: ['status/verified-count'],
  },
  {
    name: 'another key can read the status',
    endpoint: 'status',
    alteration: requests('status', asMain),
    fails: ['status/task-of-another-key'],
  },
  {
    name: 'another key can fetch',
    endpoint: 'fetch',
    alteration: requests('fetch', asMain),
    fails: ['fetch/task-of-another-key'],
  },
  {
    name: 'a missing task is an internal error',
    endpoint: 'fetch',
    alteration: json('fetch', errorType('internal_error'), 404),
    fails: ['fetch/unknown-task', 'fetch/task-of-another-key'],
  },
  {
    name: 'num is echoed as 5',
    endpoint: 'fetch',
    alteration: json('fetch', (body) => {
      body.num = 5;
    }),
    fails: ['fetch/num-1', 'fetch/num-500', 'fetch/echo', 'fetch/beyond'],
  },
  {
    name: 'pages skip an entity',
    endpoint: 'fetch',
    alteration: json('fetch', (body) => {
      if (body.pts === 2 && body.num === 2) (body.entities as unknown[]).shift();
    }),
    fails: ['fetch/next-position'],
  },
  {
    name: 'a page says too much of itself',
    endpoint: 'fetch',
    alteration: json('fetch', (body) => {
      body.count = Number(body.count) + 1;
    }),
    fails: ['fetch/count', 'fetch/beyond', 'fetch/next-position'],
  },
  {
    name: 'unknown fields of contact are ignored',
    endpoint: 'contactSearch',
    alteration: bodies('contactSearch', (body) => {
      delete body.conformance;
    }),
    fails: ['common/contact-unknown-field'],
  },
  {
    name: 'contact says when in local time',
    endpoint: 'contactSearch',
    alteration: json('contactSearch', (body) => {
      body.created_at = '2026-01-05T12:00:00+02:00';
    }),
    fails: ['contact/body', 'contact/body-phone'],
  },
  {
    name: 'deep-search forgets its keys',
    endpoint: 'deepSearch',
    alteration: requests('deepSearch', anyKey),
    fails: ['common/deep-search-key-of-129', 'common/deep-search-duplicate', 'common/deep-search-conflict'],
  },
  {
    name: 'deep-search finds nothing in other words',
    endpoint: 'deepSearch',
    alteration: json('deepSearch', (body) => {
      if (body.success === false) body.answer = { answer: 'nothing' };
    }),
    fails: ['deep-search/no-result'],
  },
  {
    name: 'enrich takes any media type',
    endpoint: 'enrich',
    alteration: requests('enrich', (asked) => {
      asked.headers['content-type'] = 'application/json';
    }),
    fails: ['common/enrich-text-plain', 'common/enrich-form', 'common/enrich-no-media-type'],
  },
  {
    name: 'web2list has the limit that was sent',
    endpoint: 'extract',
    alteration: json('extract', ({ metadata }) => {
      const echoed = metadata as Json;
      if (echoed.type === 'web2list') echoed.limit = 5;
    }),
    fails: ['extract/web2list-limit'],
  },
  {
    name: 'extract answers with a field more',
    endpoint: 'extract',
    alteration: json('extract', (body) => {
      body.page = 1;
    }),
    fails: ['extract/body', 'extract/web2list-body', 'extract/failure'],
  },
  {
    name: 'the balance of a revoked key gives 401',
    endpoint: 'balance',
    alteration: answers('balance', 403, (answered, asked) => {
      if (asked.headers['x-api-key'] === 'lp_local_revoked') answered.status = 401;
    }),
    fails: ['authentication/balance-revoked'],
  },
  {
    name: 'errors of extract say nothing',
    endpoint: 'extract',
    alteration: json(
      'extract',
      (body) => {
        body.error = { type: 'insufficient_credits' };
      },
      402,
    ),
    fails: ['extract/limit-10000', 'errors/extract-without-credits'],
  },
];
