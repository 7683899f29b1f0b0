import {
  type Answer,
  Lack,
  type Members,
  type Page,
  type SearchEvent,
  type SearchStream,
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
import type * as wire from './contract/types.ts';
import { type JsonText, kindOf, objectMembers } from './json/text.ts';
import type { Request } from './transport/call.ts';
import type { Frame } from './transport/frames.ts';
import type { Transport } from './transport/request.ts';
import type { TimeLimits } from './transport/time-limits.ts';

export type { Answer, Page, SearchEvent, SearchStream, Status } from './answers.ts';

function post<Body extends object>(endpoint: Endpoint, more: Pick<Request, 'followed'> = {}) {
  return (body: Body, idempotencyKey: string): Request => ({
    endpoint,
    body: JSON.stringify(body),
    idempotencyKey,
    ...more,
  });
}

/** The request of each endpoint. `--dry-run` shows these. */
export const requests = {
  search: post<wire.EntitySearchRequest>(endpoints.search),
  createTask: post<wire.CreateTaskRequest>(endpoints.createTask, { followed: true }),
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
  contactSearch: post<wire.ContactSearchRequest>(endpoints.contactSearch),
  deepSearch: post<wire.DeepSearchRequest>(endpoints.deepSearch),
  enrich: post<wire.EnrichRequest>(endpoints.enrich),
  extract: post<wire.ExtractRequest>(endpoints.extract),
  // A purchase often follows, and must not find a connection that the service is about to close.
  // rule: balance.no-store
  balance: (): Request => ({ endpoint: endpoints.balance, last: true }),
} as const;

export type Client = ReturnType<typeof createClient>;

/**
 * A client with a method per endpoint, which sends one request. `limitsOf` returns the seconds that each may take. All methods throw
 * RequestError and StoppedError.
 */
export function createClient(transport: Transport, limitsOf: (endpoint: EndpointName) => TimeLimits) {
  /** Asks for one answer. It is only parsed once, since it can be large. */
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

  type OneAnswer = 'createTask' | 'contactSearch' | 'deepSearch' | 'enrich' | 'extract';
  const buy =
    <Name extends OneAnswer, T extends object>(name: Name, read: (members: Members) => T | Lack) =>
    (body: Parameters<(typeof requests)[Name]>[0], key: string, signal: AbortSignal): Promise<Answer<T>> =>
      ask(name, (requests[name] as (body: object, key: string) => Request)(body, key), signal, read);

  return {
    async search(body: wire.EntitySearchRequest, key: string, signal: AbortSignal): Promise<SearchStream> {
      const request = requests.search(body, key);
      const { requestId, frames } = await transport.stream({
        ...request,
        limits: limitsOf('search'),
        signal,
      });
      return { requestId, events: toEvents(frames) };
    },
    createTask: buy('createTask', toCreatedTask),
    status: (id: string, signal: AbortSignal) => ask('status', requests.status(id), signal, toStatus),
    /** `pts` is the position to start from, `num` the most entities to return (1 to 500). */
    async fetch(id: string, pts: number, num: number, signal: AbortSignal): Promise<Page> {
      const answer = await ask('fetch', requests.fetch(id, pts, num), signal, toPage);
      const { entities, ...value } = answer.value;
      return { ...answer, value, entities };
    },
    contactSearch: buy('contactSearch', toContact),
    deepSearch: buy('deepSearch', toResearchOrEnrichment),
    enrich: buy('enrich', toResearchOrEnrichment),
    extract: buy('extract', toExtraction),
    balance: (signal: AbortSignal) => ask('balance', requests.balance(), signal, toBalance),
  };
}

async function* toEvents(frames: AsyncIterable<readonly Frame[]>): AsyncGenerator<SearchEvent[]> {
  for await (const some of frames) yield some.flatMap<SearchEvent>(toSearchEvents);
}
