import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { contactResult, creditBalance, taskPage, taskStatus } from '../helpers/bodies.ts';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { searchFrames } from '../helpers/fault-server.ts';
import { listening } from '../helpers/listening.ts';

/** What was paid for: a row by its text, a search or task by its objective. */
export interface Purchase {
  readonly kind: 'row' | 'search' | 'task';
  readonly subject: string;
  readonly key: string;
  readonly body: string;
  /** Of searches and tasks. */
  readonly leads: readonly string[];
  /** Of a task. */
  readonly id?: string;
  readonly credits: number;
  /** The leads or the row that arrived complete over an intact connection. */
  sent: readonly string[];
}

type Fault = 'none' | 'reset' | 'lost' | 'busy' | 'busy for long' | 'broken' | 'garbled' | 'proxy' | 'cut';

export type CountingService = Awaited<ReturnType<typeof startCountingService>>;

interface Search {
  readonly objective: string;
  readonly leads: readonly string[];
  /** Of a task: it goes on with every look at it. */
  ready: number;
  readonly limit: number;
  /** Up to where its pages were read, and how often its status was asked for since. */
  read: number;
  looks: number;
}

/** What a test decides of the searches and tasks with an objective. */
export interface Script {
  /** The stream ends behind this many leads, cleanly, and without its end. */
  readonly cut?: number;
  /** `onPause` is waited for when this many leads of a stream were sent. */
  readonly paused?: number;
  /** Only this many leads of the task are ready. */
  readonly ready?: number;
  /** A page from this position on is not answered. */
  readonly held?: number;
  /** Leads that are known are found again. */
  readonly isForgetful?: true;
}

const usual: readonly Fault[] = ['reset', 'lost', 'busy', 'broken', 'garbled', 'proxy', 'cut', 'cut'];
/** Leads that there are for an objective. */
const universe = 30;
const batchSize = 3;

/** A service that answers rows and finds leads, keeps books, and fails as it is told. */
export async function startCountingService(streamsCanBeFetched: boolean) {
  const purchases: Purchase[] = [];
  const disturbed = new Set<string>();
  const keys = new Map<string, string>();
  const searches = new Map<string, Search>();
  const tries = new Map<string, number>();
  let seed: string | undefined;

  const faultOf = (what: string): { readonly fault: Fault; readonly random: () => number } => {
    const nth = (tries.get(what) ?? 0) + 1;
    tries.set(what, nth);
    const random = createRandom(`${seed}/${what}/${nth}`);
    if (seed === undefined || random() < 0.75) return { fault: 'none', random };
    if (random() < 0.03) return { fault: 'busy for long', random };
    return { fault: usual[Math.floor(random() * usual.length)] as Fault, random };
  };
  const buy = (purchase: Purchase): void => {
    purchases.push(purchase);
    service.onPurchase();
    service.onEvent(purchase.subject);
  };
  const say = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const refuse = (response: ServerResponse, status: number, type: string, headers = {}): void =>
    say(response, status, { error: { type, message: type } }, headers);

  /** True where the fault is all that is answered; nothing was carried out. */
  function failsBefore(fault: Fault, response: ServerResponse): boolean {
    if (fault === 'reset') response.socket?.destroy();
    else if (fault === 'busy') refuse(response, 429, 'concurrency_limit', { 'retry-after': '0' });
    else if (fault === 'busy for long') refuse(response, 429, 'concurrency_limit', { 'retry-after': '3600' });
    else if (fault === 'broken') refuse(response, 500, 'internal_error');
    else return false;
    return true;
  }

  /** True where the fault is all that is answered of what was carried out. */
  function failsBehind(fault: Fault, response: ServerResponse): boolean {
    if (fault === 'lost' || fault === 'cut') response.socket?.destroy();
    else if (fault === 'garbled') say(response, 200, '<paid for>');
    else if (fault === 'proxy') {
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end('<html>');
    } else return false;
    return true;
  }

  function answerRow(path: string, key: string, body: string, response: ServerResponse): void {
    const { objective, contact_type, query, entity_context, target } = JSON.parse(body);
    const subject: string = objective ?? query ?? entity_context ?? target;
    const { fault } = faultOf(subject);
    if (fault !== 'none') disturbed.add(subject);
    if (failsBefore(fault, response)) return;
    if (keys.has(key)) {
      disturbed.add(subject);
      const type = keys.get(key) === body ? 'request_already_exists' : 'idempotency_error';
      return void refuse(response, 409, type);
    }
    keys.set(key, body);
    const purchase: Purchase = { kind: 'row', subject, key, body, leads: [], credits: 1, sent: [] };
    buy(purchase);
    if (failsBehind(fault, response)) return;
    purchase.sent = [subject];
    const found = `${subject}@example.com`;
    const answers: Record<string, object> = {
      '/v1/contact-search': contactResult(contact_type, objective, found),
      '/v1/deep-search': { success: true, answer: { Result: found, Citations: [] } },
      '/v1/enrich': { success: true, answer: { city: found } },
      '/v1/extract': { success: true, data: [{ id: found }] },
    };
    say(response, 200, answers[path]);
  }

  const scriptOf = (objective: string): Script => service.scripts.get(objective) ?? {};

  function find(body: string) {
    const { objective, limit, dedup_service_leads = [], dedup_custom_leads = [] } = JSON.parse(body);
    const known = new Set<string>();
    if (!scriptOf(objective).isForgetful) {
      for (const name of dedup_custom_leads) known.add(name);
      for (const id of dedup_service_leads) for (const lead of searches.get(id)?.leads ?? []) known.add(lead);
    }
    const all = Array.from({ length: universe }, (_, at) => `${objective}/${at}`);
    return {
      objective: objective as string,
      limit: limit as number,
      leads: all.filter((lead) => !known.has(lead)).slice(0, limit),
    };
  }

  async function answerSearch(key: string, body: string, response: ServerResponse): Promise<void> {
    const { objective, leads, limit } = find(body);
    const { fault, random } = faultOf(objective);
    if (failsBefore(fault, response)) return;
    if (keys.has(key)) return void refuse(response, 409, 'request_already_exists');
    keys.set(key, body);
    const id = `ls_${searches.size}`;
    const batches = Math.ceil(leads.length / batchSize);
    const { cut, paused } = scriptOf(objective);
    const isCut = fault === 'cut' || cut !== undefined;
    const whole = fault === 'cut' ? Math.floor(random() * (batches + 1)) : batches;
    const sent = cut === undefined ? whole : Math.ceil(cut / batchSize);
    // It goes on without its reader, or finds out at once.
    const found = cut === undefined && random() < 0.5 ? leads : leads.slice(0, sent * batchSize);
    searches.set(id, { objective, leads: found, ready: found.length, limit, read: 0, looks: 0 });
    const credits = found.length;
    const purchase: Purchase = {
      kind: 'search',
      subject: objective,
      key,
      body,
      leads: found,
      credits,
      sent: [],
    };
    buy(purchase);
    if (fault !== 'cut' && failsBehind(fault, response)) return;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req' });
    const all = Array.from({ length: batches }, (_, at) =>
      leads.slice(at * batchSize, (at + 1) * batchSize).map((name) => JSON.stringify(toEntity(name))),
    );
    const frames = searchFrames(all, leads.length < limit ? 'source_finished' : 'limit', id);
    for (const [nth, frame] of frames.slice(0, sent).entries()) {
      if (nth * batchSize === paused) await service.onPause();
      response.write(frame);
      service.onEvent(objective);
      if (service.betweenBatchesMs === 0) await turn();
      else await pause(service.betweenBatchesMs);
    }
    if (cut !== undefined) await service.onPause();
    else await service.onLast(objective);
    // What a connection that is reset had brought may be lost with it.
    const isReset = fault === 'cut' && cut === undefined && sent % 2 === 0;
    if (isReset) return void response.socket?.destroy();
    purchase.sent = leads.slice(0, sent * batchSize);
    if (isCut) response.socket?.end();
    else response.end(frames.slice(batches).join(''));
  }

  const tasks = new Map<string, string>();
  function answerCreate(key: string, body: string, response: ServerResponse): void {
    const { objective, leads, limit } = find(body);
    const { fault } = faultOf(objective);
    if (failsBefore(fault, response)) return;
    let id = tasks.get(key);
    if (id === undefined) {
      id = `ls_${searches.size}`;
      tasks.set(key, id);
      searches.set(id, { objective, leads, ready: 0, limit, read: 0, looks: 0 });
      buy({ kind: 'task', subject: objective, key, body, leads, credits: leads.length, id, sent: [] });
    } else if (keys.get(key) !== body) return void refuse(response, 409, 'idempotency_error');
    keys.set(key, body);
    if (failsBehind(fault, response)) return;
    say(response, 200, { leads_search_id: id }, { 'idempotency-key': key });
  }

  async function answerRead(url: URL, response: ServerResponse): Promise<void> {
    const id = url.searchParams.get('leads_search_id') ?? '';
    const search = searches.get(id);
    const isTask = [...tasks.values()].includes(id);
    if (search === undefined || !(isTask || streamsCanBeFetched))
      return void refuse(response, 404, 'not_found');
    const { fault } = faultOf(`${id}${url.pathname}`);
    if (fault !== 'busy for long' && (failsBefore(fault, response) || failsBehind(fault, response))) return;
    service.onEvent(search.objective);
    const isStatus = url.pathname.endsWith('/status');
    const script = scriptOf(search.objective);
    if (isStatus) search.ready = Math.min(search.leads.length, script.ready ?? Infinity, search.ready + 4);
    const { leads, ready, limit } = search;
    const status = ready === leads.length ? 'done' : 'running';
    if (isStatus) {
      if (search.read === ready) search.looks++;
      return void say(response, 200, taskStatus(status, ready));
    }
    const [pts, num] = ['pts', 'num'].map((name) => Number(url.searchParams.get(name))) as [number, number];
    if (pts >= (script.held ?? Infinity)) {
      search.looks++;
      return;
    }
    search.read = Math.min(ready, pts + num);
    search.looks = 0;
    if (search.read === leads.length) await service.onLast(search.objective);
    say(response, 200, taskPage(id, status, leads.slice(0, ready).map(toEntity), { pts, num }, limit));
  }

  async function answer(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    await turn();
    const url = new URL(request.url ?? '', 'http://service');
    const key = String(request.headers['idempotency-key']);
    if (/^\/v1\/(?:contact-search|deep-search|enrich|extract)$/.test(url.pathname)) {
      answerRow(url.pathname, key, body, response);
    } else if (url.pathname === '/v1/entity-search') await answerSearch(key, body, response);
    else if (url.pathname === '/v1/entity-search/create_task') answerCreate(key, body, response);
    else if (url.pathname === '/v1/credit/balance') {
      say(response, 200, creditBalance(1_000_000));
    } else await answerRead(url, response);
  }

  const underWay = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    response.on('error', () => {});
    request.on('error', () => {});
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const one = answer(request, response, Buffer.concat(pieces).toString());
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
    });
  });
  const { sockets, ...listener } = await listening(server);
  const service = {
    ...listener,
    purchases: purchases as readonly Purchase[],
    /** From now on it knows of these purchases alone. */
    remember(some: readonly Purchase[]) {
      const known = new Set(some.map(({ key }) => key));
      for (const key of keys.keys()) if (!known.has(key)) keys.delete(key);
      for (const { key, body, id } of some) {
        keys.set(key, body);
        if (id !== undefined) tasks.set(key, id);
      }
      for (const key of tasks.keys()) if (!known.has(key)) tasks.delete(key);
    },
    /** Rows whose answer did not arrive, or was not one. */
    disturbed: disturbed as ReadonlySet<string>,
    /** What goes wrong from now on is decided by the seed; undefined lets everything be well. */
    disturb(next: string | undefined) {
      seed = next;
    },
    /** Of a search; 0 for none. */
    betweenBatchesMs: 0,
    /** Told of each purchase, before it is answered. */
    onPurchase: () => {},
    /** Told of each purchase too, of each batch that was sent, and of each look at a task. */
    onEvent: (_subject: string) => {},
    /** Told before the last leads of a task, or the end of a stream, which wait for it. */
    onLast: async (_objective: string): Promise<void> => {},
    /** Told amid a stream that a script pauses, or before it is cut, as a script says. */
    onPause: async (): Promise<void> => {},
    /** By objective. */
    scripts: new Map<string, Script>(),
    /** Whether somebody has read all leads of a task that are ready, and has asked for more since. */
    isWaitedFor: (objective: string) =>
      [...searches.values()].some((one) => one.objective === objective && one.looks > 0 && one.ready > 0),
    /** Resolves when every connection is closed and its requests are done, so that dead processes buy nothing more. */
    async quiet() {
      while (sockets.size + underWay.size > 0) {
        const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
        await Promise.all([...underWay, ...closed]);
      }
    },
  };
  return service;
}

function toEntity(name: string): object {
  return { name, links: {}, description: '', score: { score: 'high', reason: '' } };
}
