import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { limits } from '../../src/contract/limits.ts';
import { contactTypes, entityTypes, extractionTypes, streamEntityTypes } from '../../src/contract/types.ts';
import { checkPublicUrl } from '../../src/requests/public-url.ts';

/** A service in memory that keeps the interface, made to be broken in single places: no disk, no sockets, its own time. */

export type Json = Record<string, unknown>;

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
  readonly id: string;
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
    price: { lead: 1, enriched: 1, web: 1, email: 5, phone: 10, research: 20, enrich: 2, item: 1 } as Record<
      string,
      number
    >,
    batch: 5,
    /** Milliseconds of the double's own time, for a task and between an end and its settlement. */
    taskMs: 8000,
    settleMs: 0,
    /** Where settlement takes longer. */
    slow: {} as Partial<Record<EndpointName, number>>,
    concurrency: 10,
    pageMost: 500,
    endsInError: false,
    disabled: [] as string[],
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
    excluded: (lead: Json, ids: ReadonlySet<unknown>, names: ReadonlySet<unknown>): boolean =>
      ids.has(lead.name) || names.has(lead.name),
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
export const doubleKeys = Object.fromEntries(Object.keys(accounts).map((name) => [name, `key-${name}`])) as {
  main: string;
};

class Refusal extends Error {
  readonly status: number;
  readonly type: string;
  constructor(status: number, type: string) {
    super(type);
    this.status = status;
    this.type = type;
  }
}
const refuse = (status: number, type: string): never => {
  throw new Refusal(status, type);
};
const demand = (holds: boolean): void => {
  if (!holds) refuse(422, 'invalid_request_error');
};

/** Time that passes when somebody waits; nothing else lasts. */
export function createOwnClock() {
  let now = 1_000_000;
  return {
    now: () => new Date(now),
    monotonic: () => now,
    after(ms: number, callback: () => void) {
      // The limit of a whole answer: the double always answers.
      if (ms > 1e7) return () => undefined;
      const immediate = setImmediate(() => {
        now += ms;
        callback();
      });
      return () => clearImmediate(immediate);
    },
  };
}

const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const within = (value: unknown, length: number, min: number, max: number): boolean =>
  typeof value === 'string' && length >= min && length <= max;
const whole = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
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
    demand(only(body, 'contact_type objective') && contactTypes.includes(body.contact_type as 'email'));
    const objective = String(body.objective).trim();
    demand(typeof body.objective === 'string' && within(objective, [...objective].length, 1, 4000));
  },
  deepSearch: ({ query }) => demand(within(query, [...String(query)].length, 1, 4000)),
  enrich({ entity_context: context, enrich_fields: schema }) {
    demand(typeof context === 'string' && within(context, Buffer.byteLength(context.trim()), 1, 16_384));
    const { type, properties } = (schema ?? {}) as Json;
    demand(type === 'object' && Object.keys(properties ?? {}).length > 0 && size(schema) <= 262_144);
    const [count, depth] = measured(schema as Json);
    demand(count <= 200 && depth <= 12);
  },
  extract(body) {
    const { type, target, instruction = null, limit = 100 } = body;
    demand(only(body, 'type target instruction limit') && extractionTypes.includes(type as 'web2list'));
    demand(within(target, [...String(target)].length, 1, 2048) && whole(limit, 1, 10_000));
    demand(instruction === null || within(instruction, [...String(instruction)].length, 0, 4000));
    if (type === 'web2list') demand(instruction !== null && instruction !== '' && isPublic(String(target)));
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
  demand(types.includes(entity_type as string) && whole(limit, 1, 1000));
  demand(typeof objective === 'string' && within(objective, Buffer.byteLength(objective.trim()), 1, 4000));
  const most = [limits.entityEnrichFields, limits.dedupServiceLeads, limits.dedupCustomLeads];
  for (const { field, max } of most) {
    const list = Object.hasOwn(lists, field) ? lists[field] : [];
    demand(Array.isArray(list) && list.length <= max && list.every((one) => typeof one === 'string'));
  }
}

function measured({ properties = {} }: Json): [count: number, depth: number] {
  const inner = Object.values(properties as Json).map((one) => measured(one as Json));
  return [
    inner.length + inner.reduce((sum, [count]) => sum + count, 0),
    1 + Math.max(0, ...inner.map(([, deep]) => deep)),
  ];
}

/** Three hundred of everything, few of what is scarce, none of what nobody is. */
function leadsFor({ entity_type, objective, enrich_fields: fields = [] }: Json): Json[] {
  const found = /zzqx/.test(String(objective)) ? 0 : /satellite/.test(String(objective)) ? 2 : 300;
  return Array.from({ length: found }, (_, at) => ({
    name: `${entity_type} ${at}`,
    links: { website: `https://${at}.example` },
    description: `Number ${at}`,
    score: { score: '0.9', reason: 'it fits' },
    ...((fields as string[]).length === 0
      ? {}
      : {
          enrich_fields: Object.fromEntries(
            (fields as string[]).map((one) => [one, { content: '1', reference: '' }]),
          ),
        }),
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
      due.push({ at: clock.monotonic() + (policy.slow[kind] ?? policy.settleMs), run });
      advance();
    };
  }

  function find(body: Json): Json[] {
    const { limit = 100, dedup_service_leads: ids = [], dedup_custom_leads: names = [] } = body;
    const taken = new Set(
      (ids as string[]).flatMap((id) => (searches.get(id) ?? []).map(({ name }) => name)),
    );
    const isFree = (lead: Json) => !policy.excluded(lead, taken, new Set(names as string[]));
    const all = leadsFor(body);
    if (policy.exclusionsUseLimit) return all.slice(0, limit as number).filter(isFree);
    return all.filter(isFree).slice(0, limit as number);
  }

  function startTask(body: Json, key: string, settle: (credits: number) => void, price: number): Task {
    const leads = find(body);
    const id = `task-${++made}`;
    const { limit = 100 } = body as { limit?: number };
    const task: Task = {
      id,
      key,
      leads,
      limit,
      created: clock.monotonic(),
      polls: 0,
      settle: () => settle(price * leads.length),
    };
    searches.set(id, leads);
    tasks.set(id, task);
    return task;
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
    if (asked.name === 'status')
      return { status: { status, ready_count: ready, verified_count: ready + 3, stop_reason: reason } };
    const from = policy.position(Number(pts));
    const entities = task.leads.slice(0, ready).slice(from, from + Math.min(policy.pageMost, Number(num)));
    const counts = {
      pts: Number(pts),
      num: Number(num),
      count: entities.length,
      ready_count: ready,
      limit: task.limit,
    };
    return { object: 'entity_search_items', leads_search_id: id, status, ...counts, entities };
  }

  function toStream(body: Json, leads: readonly Json[], id: string): string {
    const events: Json[] = [];
    for (let at = 0; at < leads.length; at += policy.batch) {
      const entities = leads.slice(at, at + policy.batch);
      const counts = {
        batch_index: events.length + 1,
        count: entities.length,
        cum_count: at + entities.length,
      };
      events.push({ object: 'entity_search_batch', leads_search_id: id, ...counts, entities });
    }
    const reason = stopReason(leads.length, (body.limit ?? 100) as number);
    const done = {
      object: 'entity_search_done',
      leads_search_id: id,
      cum_count: leads.length,
      stop_reason: reason,
      finish: true,
    };
    const frames = [...events.map((event) => JSON.stringify(event)), JSON.stringify(done), '[DONE]'];
    return frames.map((frame) => `data: ${frame}\n\n`).join('');
  }

  /** What a paid request costs at most, and then its answer and what it does cost. */
  function work(name: EndpointName, body: Json): { most: number; answer: (id: string) => [string, number] } {
    const { price } = policy;
    const limit = (body.limit ?? 100) as number;
    const none = (of: string) =>
      JSON.stringify({ success: false, answer: { answer: `No result generated from ${of}` } });
    const isKnown = !/zzqx/.test(String(body.query ?? body.entity_context));
    if (name === 'contactSearch') {
      const [type, objective] = [String(body.contact_type), String(body.objective).trim()];
      const content = /of person \d/.test(objective) ? (type === 'email' ? 'a@b.example' : '+49 30 1') : null;
      const result = { content, reference: content === null ? null : 'https://b.example' };
      const answer = {
        object: 'contact_search_result',
        request: { contact_type: type, objective },
        result,
        created_at: '2026-01-05T12:00:00.123Z',
      };
      return {
        most: price[type] as number,
        answer: () => [JSON.stringify(answer), content === null ? 0 : (price[type] as number)],
      };
    }
    if (name === 'deepSearch') {
      const text = isKnown
        ? JSON.stringify({ success: true, answer: { Result: 'text', Citations: [] } })
        : none('deep search');
      return {
        most: price.research as number,
        answer: () => [text, isKnown ? (price.research as number) : 0],
      };
    }
    if (name === 'enrich') {
      const { properties } = body.enrich_fields as { properties: Json };
      const answer = Object.fromEntries(Object.keys(properties).map((field) => [field, 'text']));
      const text = isKnown ? JSON.stringify({ success: true, answer }) : none('enrich');
      return { most: price.enrich as number, answer: () => [text, isKnown ? (price.enrich as number) : 0] };
    }
    if (name === 'extract') {
      const { type, target, instruction = null } = body;
      const most = type === 'web2list' ? 100 : limit;
      const items =
        target === 'nobody'
          ? undefined
          : /zzqx/.test(String(target))
            ? []
            : Array.from({ length: most }, (_, at) => ({ id: at }));
      const metadata = { type, target, instruction, limit: most };
      const text = JSON.stringify({
        success: items !== undefined,
        data: items ?? 'there is nobody',
        metadata,
      });
      return {
        most: most * (price.item as number),
        answer: () => [text, (items?.length ?? 0) * (price.item as number)],
      };
    }
    const { enrich_fields: fields = [], enable_web_search: web } = body;
    const each =
      (price.lead as number) +
      ((fields as string[]).length > 0 ? (price.enriched as number) : 0) +
      (web ? (price.web as number) : 0);
    return {
      most: each * limit,
      answer(id) {
        const leads = find(body);
        searches.set(id, leads);
        return [toStream(body, leads, id), leads.length * each];
      },
    };
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
    for (const one of [name, body.entity_type, body.contact_type])
      if (policy.disabled.includes(String(one))) refuse(503, 'service_unavailable');
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
    if (account === 'busy' || running >= policy.concurrency) refuse(429, 'concurrency_limit');
    const { most, answer } = work(name, body);
    const settle = reserve(account, name, most);
    const admitted: { body: string; answer?: string } = { body: `${name} ${text}` };
    if (!policy.keysKnownLate) keysSeen.set(seen, admitted);
    running += 1;
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (name === 'createTask') {
      const { limit = 100 } = body as { limit?: number };
      answered.body = JSON.stringify({ leads_search_id: startTask(body, key, settle, most / limit).id });
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
      if (policy.disabled.includes(asked.name)) refuse(503, 'service_unavailable');
      if (endpoint.method === 'POST') {
        await pay(asked, key, account, answered);
        return answered;
      }
      const funds = fundsOf(policy.balanceOf(account, asked.query));
      funds.credits -= policy.readCost;
      const balance = {
        object: 'credit_balance',
        available_credits: funds.credits - funds.reserved,
        updated_at: '2026-01-05 12:00:00',
      };
      answered.body = JSON.stringify(asked.name === 'balance' ? balance : readTask(asked, key));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, type } = error;
      if (status === 422) fundsOf('main').credits -= policy.refusedCost(asked);
      answered.status = status;
      answered.headers.set('Content-Type', 'application/json');
      answered.body = JSON.stringify({ error: { message: 'not like that', type } });
    }
    return answered;
  };
}

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
export async function serve(
  fetchDouble: typeof globalThis.fetch,
): Promise<{ url: string; close: () => void }> {
  const server = createServer(async (incoming, outgoing) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = incoming.method === 'POST' ? { body: new Uint8Array(Buffer.concat(pieces)) } : {};
    const headers = incoming.headers as Record<string, string>;
    const answer = await fetchDouble(`http://double${incoming.url}`, { headers, ...body });
    outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'Content-Encoding': 'gzip' });
    outgoing.end(gzipSync(await answer.text()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close().closeAllConnections(),
  };
}
