// biome-ignore-all lint/suspicious/noExplicitAny: what is asked for has any form
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { limits } from '../../src/contract/limits.ts';
import { contactTypes, entityTypes, extractionTypes, streamEntityTypes } from '../../src/contract/types.ts';
import { checkPublicUrl } from '../../src/requests/public-url.ts';
import { contactResult, creditBalance, taskPage, taskStatus } from '../helpers/bodies.ts';
import { searchFrames } from '../helpers/fault-server.ts';
import { listening } from '../helpers/listening.ts';

/** A service in memory that keeps the interface, made to be broken in single places: no disk, no sockets, its own time. */

export type Json = Record<string, any>;

export interface Asked {
  readonly name: EndpointName;
  readonly query: URLSearchParams;
  headers: Record<string, string>;
  body: Buffer;
}

export interface Answered {
  status: number;
  headers: Headers;
  body: string;
}

/** What may be changed on the way there, or on the way back. */
export interface Alteration {
  readonly request?: (asked: Asked) => void;
  readonly answer?: (answered: Answered, asked: Asked) => void;
}

interface Task {
  readonly key: string;
  readonly leads: readonly Json[];
  readonly limit: number;
  readonly created: number;
  readonly settle: () => void;
  polls: number;
}

/** What of the service itself can be different. */
export function usualPolicy() {
  const policy = {
    price: { lead: 1, enriched: 1, web: 1, email: 5, phone: 10, research: 20, enrich: 2, item: 1 },
    batch: 5,
    /** Milliseconds of the double's own time that a task takes. */
    taskMs: 8000,
    /** And between an end and its settlement, where that is not at once. */
    slow: {} as Partial<Record<EndpointName, number>>,
    concurrency: 10,
    /** Whether a task counts for that until it has ended. */
    tasksTakeRoom: false,
    pageMost: 500,
    endsInError: false,
    /** What is kept back at first, and what is charged in the end. */
    reserve: (most: number): number => most,
    charge: (credits: number, _kind: EndpointName, _most: number): number => credits,
    /** Credits that a refused, a repeated, a read request costs. */
    refusedCost: (_: Asked): number => 0,
    repeatedCost: (_: EndpointName): number => 0,
    readCost: 0,
    /** Milliseconds after the admission at which an Idempotency-Key is known. */
    keysKnownLate: false,
    keysOfRefused: false,
    progress: (task: Task, now: number): number => (now - task.created) / policy.taskMs,
    /** Whether what is excluded counts for the limit. */
    exclusionsUseLimit: false,
    position: (pts: number): number => pts,
    ownsTask: (task: Task, key: string): boolean => task.key === key,
    balanceOf: (account: string, _query: URLSearchParams): string => account,
    replaysExtract: true,
  };
  return policy;
}
export type Policy = ReturnType<typeof usualPolicy>;

const accounts: Record<string, { account: string; state?: string; access?: boolean }> = {
  main: { account: 'main' },
  sibling: { account: 'main' },
  other: { account: 'other' },
  few_credits: { account: 'few' },
  no_access: { account: 'main', access: false },
  no_credits: { account: 'empty' },
  busy: { account: 'busy' },
  revoked: { account: 'main', state: 'revoked' },
  expired: { account: 'main', state: 'expired' },
};
const keys = Object.fromEntries(Object.keys(accounts).map((name) => [name, `key-${name}`])) as {
  main: string;
};

const refuse = (status: number, type: string): never => {
  throw Object.assign(new Error(type), { status });
};
const demand = (holds: boolean): void => {
  if (!holds) refuse(422, 'invalid_request_error');
};

/** Time that passes when somebody waits; nothing else lasts. */
export function createOwnClock() {
  let now = 1_000_000;
  return {
    monotonic: () => now,
    async pause(ms: number) {
      await new Promise((resolve) => setImmediate(resolve));
      now += ms;
    },
  };
}

/** A text of so many bytes or characters. */
const within = (value: unknown, most: number, least = 1, lengthOf = characters): boolean =>
  typeof value === 'string' && whole(lengthOf(value), least, most);
const characters = (text: string): number => [...text].length;
const trimmed = (text: string): number => characters(text.trim());
const trimmedBytes = (text: string): number => Buffer.byteLength(text.trim());
const whole = (value: any, min: number, max: number): boolean =>
  Number.isInteger(value) && value >= min && value <= max;
const only = (body: Json, fields: string): boolean =>
  Object.keys(body).every((field) => fields.split(' ').includes(field));

const validate: Record<string, (body: Json) => void> = {
  search: (body) => searchFields(body, streamEntityTypes, ''),
  createTask(body) {
    searchFields(body, entityTypes, ' enable_web_search');
    demand(['undefined', 'boolean'].includes(typeof body.enable_web_search));
    if (body.entity_type === 'xiaohongshu' || body.entity_type === 'wechat')
      demand(body.enable_web_search === true);
  },
  contactSearch(body) {
    demand(only(body, 'contact_type objective') && contactTypes.includes(body.contact_type));
    demand(within(body.objective, 4000, 1, trimmed));
  },
  deepSearch: ({ query }) => demand(within(query, 4000)),
  enrich({ entity_context: context, enrich_fields: schema }) {
    demand(within(context, 16_384, 1, trimmedBytes));
    const { type, properties } = schema ?? {};
    demand(type === 'object' && Object.keys(properties ?? {}).length > 0);
    demand(Buffer.byteLength(JSON.stringify(schema)) <= 262_144);
    const [count, depth] = measured(schema);
    demand(count <= 200 && depth <= 12);
  },
  extract(body) {
    const { type, target, instruction = null, limit = 100 } = body;
    demand(only(body, 'type target instruction limit') && extractionTypes.includes(type));
    demand(within(target, 2048) && whole(limit, 1, 10_000));
    demand(instruction === null || within(instruction, 4000, 0));
    if (type === 'web2list') demand(instruction !== null && instruction !== '' && isPublic(target));
  },
};

function isPublic(target: string): boolean {
  try {
    return checkPublicUrl('target', target) !== '';
  } catch {
    return false;
  }
}

function searchFields(body: Json, types: readonly string[], more: string): void {
  const { entity_type, objective, limit = 100, ...lists } = body;
  demand(
    only(body, `entity_type objective limit enrich_fields dedup_service_leads dedup_custom_leads${more}`),
  );
  demand(types.includes(entity_type) && whole(limit, 1, 1000));
  demand(within(objective, 4000, 1, trimmedBytes));
  const most = [limits.entityEnrichFields, limits.dedupServiceLeads, limits.dedupCustomLeads];
  for (const { field, max } of most) {
    const list = Object.hasOwn(lists, field) ? lists[field] : [];
    demand(Array.isArray(list) && list.length <= max && list.every((one) => typeof one === 'string'));
  }
}

function measured({ properties = {} }: Json): [count: number, depth: number] {
  const inner = Object.values(properties as Json).map(measured);
  return [
    inner.length + inner.reduce((sum, [count]) => sum + count, 0),
    1 + Math.max(0, ...inner.map(([, deep]) => deep)),
  ];
}

/** Three hundred of everything, few of what is scarce, none of what nobody is. */
function leadsFor({ entity_type, objective, enrich_fields: fields = [] }: Json): Json[] {
  const found = /zzqx/.test(objective) ? 0 : /satellite/.test(objective) ? 2 : 300;
  const asked: string[] = fields;
  const enriched = Object.fromEntries(asked.map((one) => [one, { content: '1', reference: '' }]));
  return Array.from({ length: found }, (_, at) => ({
    name: `${entity_type} ${at}`,
    links: { website: `https://${at}.example` },
    description: `Number ${at}`,
    score: { score: '0.9', reason: 'it fits' },
    ...(fields.length > 0 && { enrich_fields: enriched }),
  }));
}

/** Answers one request after the other, as often as it is asked. */
export function createDouble(
  policy: Policy,
  clock: { monotonic(): number },
): (asked: Asked) => Promise<Answered> {
  const ledger = new Map<string, { credits: number; reserved: number }>();
  const keysSeen = new Map<string, { body: string; answer?: string }>();
  const tasks = new Map<string, Task>();
  const searches = new Map<string, readonly Json[]>();
  const due: { at: number; run: () => void }[] = [];
  let made = 0;
  let running = 0;

  const fundsOf = (account: string) => {
    const opening: Record<string, number> = { empty: 0, few: 5 };
    const funds = ledger.get(account) ?? { credits: opening[account] ?? 1e6, reserved: 0 };
    ledger.set(account, funds);
    return funds;
  };

  /** What time has brought about: tasks that have ended, and what is settled late. */
  function advance(): void {
    for (const task of tasks.values()) if (policy.progress(task, clock.monotonic()) >= 1) task.settle();
    for (const one of due.splice(0)) {
      if (one.at <= clock.monotonic()) one.run();
      else due.push(one);
    }
  }

  /** Sets the most aside, and returns what settles it, once. */
  function reserve(account: string, kind: EndpointName, most: number): (credits: number) => void {
    const funds = fundsOf(account);
    const reserved = policy.reserve(most);
    if (funds.credits - funds.reserved < most) refuse(402, 'insufficient_credits');
    funds.reserved += reserved;
    let open = true;
    return (credits) => {
      if (!open) return;
      open = false;
      const run = () => {
        funds.reserved -= reserved;
        funds.credits -= policy.charge(credits, kind, most);
      };
      due.push({ at: clock.monotonic() + (policy.slow[kind] ?? 0), run });
      advance();
    };
  }

  function find(body: Json): Json[] {
    const { limit = 100, dedup_service_leads: ids = [], dedup_custom_leads: names = [] } = body;
    const earlier = ids.flatMap((id: string) => searches.get(id) ?? []).map(({ name }: Json) => name);
    const excluded = new Set([...earlier, ...names]);
    const isFree = ({ name }: Json) => !excluded.has(name);
    const all = leadsFor(body);
    return policy.exclusionsUseLimit
      ? all.slice(0, limit).filter(isFree)
      : all.filter(isFree).slice(0, limit);
  }

  function startTask(body: Json, key: string, settle: (credits: number) => void, price: number): string {
    const leads = find(body);
    const id = `task-${++made}`;
    const { limit = 100 } = body;
    searches.set(id, leads);
    const created = clock.monotonic();
    tasks.set(id, { key, leads, limit, created, polls: 0, settle: () => settle(price * leads.length) });
    return id;
  }

  function stateOf(task: Task): { status: string; ready: number } {
    const done = policy.progress(task, clock.monotonic());
    const ready = Math.min(task.leads.length, Math.floor(done * (task.leads.length + 1)));
    const end = policy.endsInError ? 'error' : 'done';
    return { status: done >= 1 ? end : done > 0.1 ? 'running' : 'created', ready };
  }

  const stopReason = (found: number, limit: number) => (found >= limit ? 'limit' : 'source_finished');

  function readTask(asked: Asked, key: string): Json {
    const id = asked.query.get('leads_search_id') ?? '';
    demand(id !== '');
    const [pts, num] = [asked.query.get('pts') ?? '0', asked.query.get('num') ?? '5'];
    if (asked.name === 'fetch') demand(/^\d+$/.test(pts) && /^\d+$/.test(num) && whole(Number(num), 1, 500));
    const task = tasks.get(id);
    if (task === undefined || !policy.ownsTask(task, key)) return refuse(404, 'not_found');
    const { status, ready } = stateOf(task);
    task.polls += 1;
    const reason = status === 'done' ? stopReason(task.leads.length, task.limit) : '';
    if (asked.name === 'status') return taskStatus(status, ready, ready + 3, reason);
    const from = policy.position(Number(pts));
    const entities = task.leads.slice(0, ready).slice(from, from + Math.min(policy.pageMost, Number(num)));
    const counts = { pts: Number(pts), num: Number(num), count: entities.length, ready_count: ready };
    return { ...taskPage(id, status, [], counts, task.limit), ...counts, entities };
  }

  /** What a paid request costs at most, and then its answer and what of that it does cost. */
  function work(name: EndpointName, body: Json): [most: number, answer: (id: string) => [string, number]] {
    const { price } = policy;
    const { limit = 100 } = body;
    const isKnown = !/zzqx/.test(body.query ?? body.entity_context);
    const generated = (most: number, answer: object, of: string): ReturnType<typeof work> => {
      const given = isKnown ? answer : { answer: `No result generated from ${of}` };
      return [most, () => [JSON.stringify({ success: isKnown, answer: given }), isKnown ? most : 0]];
    };
    switch (name) {
      case 'contactSearch': {
        const most = body.contact_type === 'email' ? price.email : price.phone;
        const isFound = /of person \d/.test(body.objective);
        const content = body.contact_type === 'email' ? 'a@b.example' : '+49 30 1';
        const [found, reference] = isFound ? [content, 'https://b.example'] : [null, null];
        const answer = contactResult(body.contact_type, body.objective.trim(), found, reference);
        return [most, () => [JSON.stringify(answer), isFound ? most : 0]];
      }
      case 'deepSearch':
        return generated(price.research, { Result: 'text', Citations: [] }, 'deep search');
      case 'enrich': {
        const fields = Object.keys(body.enrich_fields.properties);
        return generated(price.enrich, Object.fromEntries(fields.map((field) => [field, 'text'])), 'enrich');
      }
      case 'extract': {
        const { type, target, instruction = null } = body;
        const most = type === 'web2list' ? 100 : limit;
        const items = Array.from({ length: /zzqx|^nobody$/.test(target) ? 0 : most }, (_, id) => ({ id }));
        const metadata = { type, target, instruction, limit: most };
        const success = target !== 'nobody';
        const text = JSON.stringify({ success, data: success ? items : 'there is nobody', metadata });
        return [most * price.item, () => [text, items.length * price.item]];
      }
    }
    const { enrich_fields: fields = [], enable_web_search: web } = body;
    const each = price.lead + (fields.length > 0 ? price.enriched : 0) + (web ? price.web : 0);
    return [
      each * limit,
      (id) => {
        const leads = find(body);
        searches.set(id, leads);
        const texts = leads.map((lead) => JSON.stringify(lead));
        const count = Math.ceil(texts.length / policy.batch);
        const batches = Array.from({ length: count }, (_, at) =>
          texts.slice(at * policy.batch, (at + 1) * policy.batch),
        );
        return [searchFrames(batches, stopReason(leads.length, limit), id).join(''), leads.length * each];
      },
    ];
  }

  async function pay(asked: Asked, key: string, account: string, answered: Answered): Promise<void> {
    const { name } = asked;
    demand(/^application\/json\s*(;|$)/.test(asked.headers['content-type'] ?? ''));
    const sent = asked.headers['idempotency-key'];
    demand((sent !== undefined || name !== 'createTask') && (sent ?? '').length <= 128);
    const idempotencyKey = sent ?? `made-${++made}`;
    const text = asked.body.toString();
    const seen = `${account} ${idempotencyKey}`;
    if (policy.keysOfRefused && !keysSeen.has(seen)) keysSeen.set(seen, { body: text });
    demand(asked.body.length <= 1024 * 1024 && Buffer.from(text).equals(asked.body));
    let body: Json = {};
    try {
      body = JSON.parse(text) as Json;
    } catch {
      demand(false);
    }
    demand(typeof body === 'object' && body !== null && !Array.isArray(body));
    validate[name]?.(body);
    answered.headers.set('Idempotency-Key', idempotencyKey);
    const earlier = keysSeen.get(seen);
    if (earlier !== undefined) {
      fundsOf(account).credits -= policy.repeatedCost(name);
      if (earlier.body !== `${name} ${text}`) refuse(409, 'idempotency_error');
      const canReplay = name === 'createTask' || (name === 'extract' && policy.replaysExtract);
      if (earlier.answer === undefined || !canReplay) refuse(409, 'request_already_exists');
      answered.body = earlier.answer ?? '';
      return;
    }
    const isOpen = (task: Task) => task.key === key && policy.progress(task, clock.monotonic()) < 1;
    const busy = running + (policy.tasksTakeRoom ? [...tasks.values()].filter(isOpen).length : 0);
    if (account === 'busy' || busy >= policy.concurrency) refuse(429, 'concurrency_limit');
    const [most, answer] = work(name, body);
    const settle = reserve(account, name, most);
    const admitted: { body: string; answer?: string } = { body: `${name} ${text}` };
    if (!policy.keysKnownLate) keysSeen.set(seen, admitted);
    running += 1;
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (name === 'createTask') {
      const { limit = 100 } = body;
      answered.body = JSON.stringify({ leads_search_id: startTask(body, key, settle, most / limit) });
    } else {
      const [whole, credits] = answer(`search-${++made}`);
      answered.body = whole;
      settle(credits);
    }
    keysSeen.set(seen, { ...admitted, answer: answered.body });
  }

  return async (asked) => {
    advance();
    const answered: Answered = { status: 200, headers: new Headers(), body: '' };
    const endpoint = endpoints[asked.name];
    answered.headers.set('Content-Type', endpoint.answer);
    answered.headers.set('X-Request-Id', `request-${++made}`);
    if (['createTask', 'contactSearch', 'balance'].includes(asked.name))
      answered.headers.set('Cache-Control', 'no-store');
    try {
      const { authorization = '', 'x-api-key': plain } = asked.headers;
      const key = plain ?? /^Bearer (\S+)$/.exec(authorization)?.[1] ?? '';
      const known = accounts[key.replace(/^key-/, '')];
      if (known === undefined) return void refuse(401, 'authentication_error') as never;
      const { account, state, access } = known;
      const isOpen = access !== false || endpoint.access === 'any' || endpoint.method === 'GET';
      if (state !== undefined || !isOpen) refuse(403, 'authentication_error');
      if (endpoint.method === 'POST') {
        await pay(asked, key, account, answered);
        return answered;
      }
      const funds = fundsOf(policy.balanceOf(account, asked.query));
      funds.credits -= policy.readCost;
      const balance = creditBalance(funds.credits - funds.reserved);
      answered.body = JSON.stringify(asked.name === 'balance' ? balance : readTask(asked, key));
    } catch (error) {
      const { status, message: type } = error as { status?: number; message: string };
      if (status === undefined) throw error;
      if (status === 422) fundsOf('main').credits -= policy.refusedCost(asked);
      answered.status = status;
      answered.headers.set('Content-Type', 'application/json');
      answered.body = JSON.stringify({ error: { message: 'not like that', type } });
    }
    return answered;
  };
}

/** A run of the suite against a fetch like these. */
export const ownRun = { baseUrl: new URL('https://service.example'), keys, pollMs: 1000 };

/** A fetch whose answers come from the double, altered. */
export function fetchOf(
  double: (asked: Asked) => Promise<Answered>,
  alteration: Alteration = {},
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(String(input));
    const [name] = Object.entries(endpoints).find(([, { path }]) => path === url.pathname) as [
      EndpointName,
      unknown,
    ];
    const asked: Asked = {
      name,
      query: url.searchParams,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: Buffer.from((init.body as Uint8Array | undefined) ?? []),
    };
    alteration.request?.(asked);
    const answered = await double(asked);
    alteration.answer?.(answered, asked);
    return new Response(answered.body, answered);
  };
}

/** The same over a socket, in pieces and compressed. */
export async function serve(fetchDouble: typeof globalThis.fetch): Promise<{ url: string }> {
  const server = createServer(async (incoming, outgoing) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = incoming.method === 'POST' ? { body: new Uint8Array(Buffer.concat(pieces)) } : {};
    const headers = incoming.headers as Record<string, string>;
    const answer = await fetchDouble(`http://double${incoming.url}`, { headers, ...body });
    outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'Content-Encoding': 'gzip' });
    outgoing.end(gzipSync(await answer.text()));
  });
  return await listening(server);
}
