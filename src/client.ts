import {
  type Answer,
  Lack,
  type Members,
  type Page,
  type SearchEvent,
  type SearchStream,
  type Status,
  type Success,
  toBalance,
  toContact,
  toCreatedTask,
  toExtraction,
  toPage,
  toResearchOrEnrichment,
  toSearchEvents,
  toStatus,
} from './answers.ts';
import { type Endpoint, type EndpointName, endpoints } from './contract/endpoints.ts';
import type {
  ContactSearchRequest,
  CreatedTask,
  CreateTaskRequest,
  CreditBalance,
  DeepSearchRequest,
  EnrichRequest,
  EntitySearchRequest,
  ExtractRequest,
} from './contract/types.ts';
import { type JsonText, kindOf, objectMembers } from './json/text.ts';
import type { Request } from './transport/call.ts';
import type { Frame } from './transport/frames.ts';
import type { Transport } from './transport/request.ts';
import type { TimeLimits } from './transport/watch.ts';

export type { Answer, Page, SearchEvent, SearchStream, Status, Success } from './answers.ts';

/** The request of each endpoint, before it is sent: what `--dry-run` shows is what would go out. */
export const requests = {
  search: (body: EntitySearchRequest, key: string) => post(endpoints.search, body, key),
  createTask: (body: CreateTaskRequest, key: string): Request => ({
    ...post(endpoints.createTask, body, key),
    followed: true,
  }),
  status: (id: string): Request => ({
    endpoint: endpoints.status,
    query: { leads_search_id: id },
    followed: true,
  }),
  fetch: (id: string, pts: number, num: number): Request => ({
    endpoint: endpoints.fetch,
    query: { leads_search_id: id, pts: String(pts), num: String(num) },
    followed: true,
  }),
  contactSearch: (body: ContactSearchRequest, key: string) => post(endpoints.contactSearch, body, key),
  deepSearch: (body: DeepSearchRequest, key: string) => post(endpoints.deepSearch, body, key),
  enrich: (body: EnrichRequest, key: string) => post(endpoints.enrich, body, key),
  extract: (body: ExtractRequest, key: string) => post(endpoints.extract, body, key),
  // A purchase often follows, and must not find a connection that the service is about to close.
  // rule: balance.no-store
  balance: (): Request => ({ endpoint: endpoints.balance, last: true }),
} as const;

type Buy<Body, Result> = (request: Body, idempotencyKey: string, signal: AbortSignal) => Promise<Result>;

/** A method per endpoint; each sends one request. All throw RequestError and StoppedError. */
export interface Client {
  readonly search: Buy<EntitySearchRequest, SearchStream>;
  readonly createTask: Buy<CreateTaskRequest, Answer<CreatedTask>>;
  status(leadsSearchId: string, signal: AbortSignal): Promise<Answer<{ readonly status: Status }>>;
  /** `pts` is the position to start from, `num` the most entities to bring (1 to 500). */
  fetch(leadsSearchId: string, pts: number, num: number, signal: AbortSignal): Promise<Page>;
  readonly contactSearch: Buy<ContactSearchRequest, Answer<object>>;
  readonly deepSearch: Buy<DeepSearchRequest, Answer<Success>>;
  readonly enrich: Buy<EnrichRequest, Answer<Success>>;
  readonly extract: Buy<ExtractRequest, Answer<Success>>;
  balance(signal: AbortSignal): Promise<Answer<Pick<CreditBalance, 'available_credits'>>>;
}

/** `limitsOf` gives the seconds that each endpoint may take. */
export function createClient(transport: Transport, limitsOf: (endpoint: EndpointName) => TimeLimits): Client {
  /** Asks for one answer, which is read once: it can be large. */
  async function ask<T extends object>(
    name: EndpointName,
    request: Request,
    signal: AbortSignal,
    read: (members: Members) => T | Lack,
  ): Promise<Answer<T>> {
    let value: T | Lack | undefined;
    const lacks = (text: JsonText): string | undefined => {
      value = kindOf(text) === 'object' ? read(objectMembers(text)) : new Lack('an object');
      return value instanceof Lack ? value.what : undefined;
    };
    const answer = await transport.json({ ...request, limits: limitsOf(name), signal, lacks });
    return { ...answer, value: value as T };
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
      ask('createTask', requests.createTask(request, key), signal, toCreatedTask),
    status: (id, signal) => ask('status', requests.status(id), signal, toStatus),
    async fetch(id, pts, num, signal) {
      const answer = await ask('fetch', requests.fetch(id, pts, num), signal, toPage);
      const { entities, ...value } = answer.value;
      return { ...answer, value, entities };
    },
    contactSearch: (request, key, signal) =>
      ask('contactSearch', requests.contactSearch(request, key), signal, toContact),
    deepSearch: (request, key, signal) =>
      ask('deepSearch', requests.deepSearch(request, key), signal, toResearchOrEnrichment),
    enrich: (request, key, signal) =>
      ask('enrich', requests.enrich(request, key), signal, toResearchOrEnrichment),
    extract: (request, key, signal) => ask('extract', requests.extract(request, key), signal, toExtraction),
    balance: (signal) => ask('balance', requests.balance(), signal, toBalance),
  };
}

function post(endpoint: Endpoint, body: object, idempotencyKey: string): Request {
  return { endpoint, body: JSON.stringify(body), idempotencyKey };
}

async function* toEvents(frames: AsyncIterable<readonly Frame[]>): AsyncGenerator<SearchEvent[]> {
  for await (const some of frames) yield some.flatMap(toSearchEvents);
}
