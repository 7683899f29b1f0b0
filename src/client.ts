import { type Endpoint, type EndpointName, endpoints } from './contract/endpoints.ts';
import {
  type ContactSearchRequest,
  type ContactSearchResult,
  type CreatedTask,
  type CreateTaskRequest,
  type CreditBalance,
  type DeepSearchRequest,
  type DeepSearchResponse,
  type EnrichRequest,
  type EnrichResponse,
  type EntitySearchBatch,
  type EntitySearchDone,
  type EntitySearchItems,
  type EntitySearchRequest,
  type EntitySearchStatusResponse,
  type ExtractRequest,
  type ExtractResponse,
  streamSentinel,
  taskStates,
} from './contract/types.ts';
import { arrayItems, type JsonText, objectMembers } from './json/text.ts';
import type { Request, Transport } from './transport/request.ts';
import type { Frame } from './transport/sse.ts';
import type { TimeLimits } from './transport/watch.ts';

/** What one frame of a search stream says. Entities stay as the service wrote them. */
export type SearchEvent =
  | {
      readonly kind: 'batch';
      readonly batch: Omit<EntitySearchBatch, 'entities'>;
      readonly entities: JsonText[];
    }
  | { readonly kind: 'done'; readonly done: EntitySearchDone }
  | { readonly kind: 'sentinel' }
  /** An error frame, or one that can't be understood: the stream is over. */
  | { readonly kind: 'error'; readonly message: string }
  /** An event of a later version of the interface. */
  | { readonly kind: 'unknown' };

export interface SearchStream {
  readonly requestId: string | undefined;
  /** Gathered per piece of the network. Throws a RequestError where the stream is cut. */
  readonly events: AsyncIterable<readonly SearchEvent[]>;
}

/** A body as the service sent it, beside its parsed form. */
export interface Answer<T> {
  readonly text: JsonText;
  readonly value: T;
  readonly requestId: string | undefined;
  /** As the service returned it: supplied or generated. */
  readonly idempotencyKey: string | undefined;
  /** The `Date` header. */
  readonly serverTime: string | undefined;
}

/** A fetch page with its entities as the service wrote them. */
export interface Page extends Answer<Omit<EntitySearchItems, 'entities'>> {
  readonly entities: readonly JsonText[];
}

/** The request of each endpoint, before it is sent: what `--dry-run` shows is what would go out. */
export const requests = {
  search: (body: EntitySearchRequest, key: string) => post(endpoints.search, body, key),
  createTask: (body: CreateTaskRequest, key: string) => post(endpoints.createTask, body, key),
  status: (id: string): Request => ({ endpoint: endpoints.status, query: { leads_search_id: id } }),
  fetch: (id: string, pts: number, num: number): Request => ({
    endpoint: endpoints.fetch,
    query: { leads_search_id: id, pts: String(pts), num: String(num) },
  }),
  contactSearch: (body: ContactSearchRequest, key: string) => post(endpoints.contactSearch, body, key),
  deepSearch: (body: DeepSearchRequest, key: string) => post(endpoints.deepSearch, body, key),
  enrich: (body: EnrichRequest, key: string) => post(endpoints.enrich, body, key),
  extract: (body: ExtractRequest, key: string) => post(endpoints.extract, body, key),
  balance: (): Request => ({ endpoint: endpoints.balance }),
} as const;

/** A method per endpoint; each sends one request. All throw RequestError and StoppedError. */
export interface Client {
  search(request: EntitySearchRequest, idempotencyKey: string, signal: AbortSignal): Promise<SearchStream>;
  createTask(
    request: CreateTaskRequest,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<Answer<CreatedTask>>;
  status(leadsSearchId: string, signal: AbortSignal): Promise<Answer<EntitySearchStatusResponse>>;
  /** `pts` is the position to start from, `num` the most entities to bring (1 to 500). */
  fetch(leadsSearchId: string, pts: number, num: number, signal: AbortSignal): Promise<Page>;
  contactSearch(
    request: ContactSearchRequest,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<Answer<ContactSearchResult>>;
  deepSearch(
    request: DeepSearchRequest,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<Answer<DeepSearchResponse>>;
  enrich(
    request: EnrichRequest,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<Answer<EnrichResponse>>;
  extract(
    request: ExtractRequest,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<Answer<ExtractResponse>>;
  balance(signal: AbortSignal): Promise<Answer<CreditBalance>>;
}

/** `limitsOf` gives the seconds that each endpoint may take. */
export function createClient(transport: Transport, limitsOf: (endpoint: EndpointName) => TimeLimits): Client {
  /** Asks for one answer, and knows what the interface promises of it. */
  async function ask<T>(
    name: EndpointName,
    request: Request,
    signal: AbortSignal,
    lacksOf: (value: Members) => string | undefined,
  ): Promise<Answer<T>> {
    const lacks = (value: unknown): string | undefined => (isMembers(value) ? lacksOf(value) : 'an object');
    const answer = await transport.json({ ...request, limits: limitsOf(name), signal, lacks });
    return { ...answer, value: answer.value as T };
  }

  return {
    async search(request, key, signal) {
      const { requestId, frames } = await transport.stream({
        ...requests.search(request, key),
        limits: limitsOf('search'),
        signal,
      });
      return { requestId, events: toEvents(frames) };
    },
    createTask: (request, key, signal) =>
      ask('createTask', requests.createTask(request, key), signal, ({ leads_search_id }) =>
        isText(leads_search_id) ? undefined : '`leads_search_id`',
      ),
    status: (id, signal) => ask('status', requests.status(id), signal, lacksOfStatus),
    async fetch(id, pts, num, signal) {
      const answer = await ask<EntitySearchItems>('fetch', requests.fetch(id, pts, num), signal, lacksOfPage);
      return { ...answer, entities: arrayItems(objectMembers(answer.text).get('entities') ?? '[]') };
    },
    contactSearch: (request, key, signal) =>
      ask('contactSearch', requests.contactSearch(request, key), signal, ({ result }) =>
        isMembers(result) ? undefined : '`result`',
      ),
    deepSearch: (request, key, signal) =>
      ask('deepSearch', requests.deepSearch(request, key), signal, lacksOfAnswer),
    enrich: (request, key, signal) => ask('enrich', requests.enrich(request, key), signal, lacksOfAnswer),
    extract: (request, key, signal) => ask('extract', requests.extract(request, key), signal, lacksOfExtract),
    balance: (signal) =>
      ask('balance', requests.balance(), signal, ({ object, available_credits }) =>
        object === 'credit_balance' && isCount(available_credits) ? undefined : '`available_credits`',
      ),
  };
}

type Members = Readonly<Record<string, unknown>>;

function post(endpoint: Endpoint, body: object, idempotencyKey: string): Request {
  return { endpoint, body: JSON.stringify(body), idempotencyKey };
}

function lacksOfStatus({ status }: Members): string | undefined {
  if (!isMembers(status)) return '`status`';
  if (!taskStates.some((one) => one === status.status)) return 'a known `status.status`';
  return isCount(status.ready_count) ? undefined : '`status.ready_count`';
}

function lacksOfPage(page: Members): string | undefined {
  if (!Array.isArray(page.entities)) return '`entities`';
  const missing = ['pts', 'num', 'count', 'ready_count'].find((name) => !isCount(page[name]));
  return missing === undefined ? undefined : `\`${missing}\``;
}

function lacksOfAnswer({ success, answer }: Members): string | undefined {
  if (typeof success !== 'boolean') return '`success`';
  return answer === undefined || answer === null ? '`answer`' : undefined;
}

function lacksOfExtract({ success, data }: Members): string | undefined {
  if (typeof success !== 'boolean') return '`success`';
  return (success ? Array.isArray(data) : data !== undefined) ? undefined : '`data`';
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

async function* toEvents(frames: AsyncIterable<readonly Frame[]>): AsyncGenerator<SearchEvent[]> {
  for await (const some of frames) yield some.map(toSearchEvent);
}

/** Pure: what a frame says. */
function toSearchEvent(frame: Frame): SearchEvent {
  if (frame.data === streamSentinel) return { kind: 'sentinel' };
  let value: unknown;
  try {
    value = JSON.parse(frame.data);
  } catch {
    return { kind: 'error', message: `a frame that is not JSON: ${frame.data}` };
  }
  if (typeof value !== 'object' || value === null) return { kind: 'unknown' };
  const event = value as Record<string, unknown>;
  if (frame.event === 'error' || (event.error !== undefined && event.error !== null)) {
    return { kind: 'error', message: errorText(event.error ?? event) };
  }
  if (event.object === 'entity_search_batch') {
    if (!Array.isArray(event.entities)) return { kind: 'error', message: 'a batch without entities' };
    const { entities: _, ...batch } = event as unknown as EntitySearchBatch;
    return { kind: 'batch', batch, entities: arrayItems(objectMembers(frame.data).get('entities') ?? '[]') };
  }
  if (event.object === 'entity_search_done')
    return { kind: 'done', done: event as unknown as EntitySearchDone };
  return { kind: 'unknown' };
}

function errorText(error: unknown): string {
  const message = (error as { message?: unknown }).message;
  return typeof message === 'string' ? message : JSON.stringify(error);
}
