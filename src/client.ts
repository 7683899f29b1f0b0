import {
  type Answer,
  type Members,
  type MissingMember,
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
import type { EndpointName } from './contract/endpoints.ts';
import type * as wire from './contract/types.ts';
import { kindOf, objectMembers } from './json/text.ts';
import type { Request } from './transport/call.ts';
import type { Frame } from './transport/frames.ts';
import type { Transport } from './transport/request.ts';

export type { Answer, Page, SearchEvent, SearchStream, Status } from './answers.ts';

const post =
  <Body extends object>(endpoint: EndpointName) =>
  (body: Body, idempotencyKey: string): Request => ({
    endpoint,
    body: JSON.stringify(body),
    idempotencyKey,
  });

/** The request of each endpoint. `--dry-run` shows these. */
export const requests = {
  search: post<wire.EntitySearchRequest>('search'),
  createTask: post<wire.CreateTaskRequest>('createTask'),
  status: (id: string): Request => ({ endpoint: 'status', query: { leads_search_id: id } }),
  fetch: (id: string, pts: number, num: number): Request => ({
    endpoint: 'fetch',
    query: { leads_search_id: id, pts: String(pts), num: String(num) },
  }),
  contactSearch: post<wire.ContactSearchRequest>('contactSearch'),
  deepSearch: post<wire.DeepSearchRequest>('deepSearch'),
  enrich: post<wire.EnrichRequest>('enrich'),
  extract: post<wire.ExtractRequest>('extract'),
  // Closes its connection: a purchase often follows, and must not reuse one that the service may be about to close.
  balance: (): Request => ({ endpoint: 'balance', last: true }),
} as const;

export type Client = ReturnType<typeof createClient>;

/** A client for the free endpoints. */
export type FreeClient = Pick<Client, 'status' | 'fetch' | 'balance'>;

/** A client with a method per endpoint, which sends one request. All methods throw RequestError and StoppedError. */
export function createClient(transport: Transport) {
  /** Asks for one answer. */
  const ask = <T extends object>(
    request: Request,
    signal: AbortSignal,
    read: (members: Members) => T | MissingMember,
  ): Promise<Answer<T>> =>
    transport.json(request, signal, (text) => {
      const value = kindOf(text) === 'object' ? read(objectMembers(text)) : 'an object';
      return typeof value === 'string' ? `without ${value}` : value;
    });

  const buy =
    <Body, T extends object>(
      toRequest: (body: Body, key: string) => Request,
      read: (members: Members) => T | MissingMember,
    ) =>
    (body: Body, key: string, signal: AbortSignal): Promise<Answer<T>> =>
      ask(toRequest(body, key), signal, read);

  return {
    async search(body: wire.EntitySearchRequest, key: string, signal: AbortSignal): Promise<SearchStream> {
      const { requestId, frames } = await transport.stream(requests.search(body, key), signal);
      return { requestId, events: toEvents(frames) };
    },
    createTask: buy(requests.createTask, toCreatedTask),
    status: (id: string, signal: AbortSignal) => ask(requests.status(id), signal, toStatus),
    /** `pts` is the position to start from, `num` the maximum number of entities (1 to 500). */
    async fetch(id: string, pts: number, num: number, signal: AbortSignal): Promise<Page> {
      const answer = await ask(requests.fetch(id, pts, num), signal, toPage);
      const { entities, ...value } = answer.value;
      return { ...answer, value, entities };
    },
    contactSearch: buy(requests.contactSearch, toContact),
    deepSearch: buy(requests.deepSearch, toResearchOrEnrichment),
    enrich: buy(requests.enrich, toResearchOrEnrichment),
    extract: buy(requests.extract, toExtraction),
    balance: (signal: AbortSignal) => ask(requests.balance(), signal, toBalance),
  };
}

async function* toEvents(frames: AsyncIterable<readonly Frame[]>): AsyncGenerator<SearchEvent[]> {
  for await (const batch of frames) yield batch.flatMap<SearchEvent>(toSearchEvents);
}
