import type { Socket } from 'node:net';
import type { Answer } from './answers.ts';
import { createClient as createWireClient, type Client as WireClient } from './client.ts';
import { createClock } from './clock.ts';
import { defaults } from './config/defaults.ts';
import { limits } from './contract/limits.ts';
import type * as wire from './contract/types.ts';
import { UsageError } from './errors.ts';
import { arrayItems, type JsonText, objectMembers } from './json/text.ts';
import { type ClientOptions, checkNames, checkOptions, checkSignal } from './library/client-options.ts';
import { type Item, type Lead, type Search, toSearch } from './library/lead-stream.ts';
import { checkPage } from './operations/kinds/task-page.ts';
import { isLoopback, toBaseUrl } from './requests/address.ts';
import { checkKey } from './requests/api-key.ts';
import { toCreateTaskRequest, toEntitySearchRequest } from './requests/entity-search.ts';
import {
  toContactSearchRequest,
  toDeepSearchRequest,
  toEnrichRequest,
  toExtractRequest,
} from './requests/lookups.ts';
import {
  checkIdempotencyKey,
  checkNumber,
  checkText,
  type InputNames,
  wireNames,
} from './requests/within-limits.ts';
import type { Dispatching } from './transport/exchange.ts';
import { createTransport } from './transport/request.ts';

/**
 * leadpipe for programs: a method per endpoint of the service, with the same checks, retries and masking of the API key as the command.
 * It reads nothing from the environment and writes nothing to disk, so an answer that the program loses is lost. Only the command stores
 * what it bought.
 */

export type { Answer } from './answers.ts';
export type { KeyHeader } from './contract/endpoints.ts';
export type * from './contract/types.ts';
export {
  type Charged,
  ConfigurationError,
  type ErrorDetails,
  type Facts,
  LeadpipeError,
  type Outcome,
  StoppedError,
  UsageError,
} from './errors.ts';
export { type JsonText, JsonView } from './json/text.ts';
export type { ClientOptions, Dispatcher, Retry, Timeouts } from './library/client-options.ts';
export type { Item, Lead, Search } from './library/lead-stream.ts';
export type { Fault } from './transport/policy.ts';
export { RequestError, ServiceError } from './transport/request-error.ts';

declare const LEADPIPE_VERSION: string;

/** Options of one call. */
export interface CallOptions {
  /** Stops this request. If it was sent and costs money, the error has `charged: 'maybe'`. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of one call that can cost credits. */
export interface PurchaseOptions extends CallOptions {
  /** The key of this purchase. The service charges a key only once. Without it, each call gets a new one. */
  readonly idempotencyKey?: string | undefined;
}

/** A page of a task's leads: the whole answer, and each lead with its text. */
export interface Page extends Answer<wire.EntitySearchItems> {
  readonly leads: readonly Lead[];
}

/** The result of an extraction: the whole answer, and each item with its text. Without items when `success` is false. */
export interface Extraction extends Answer<wire.ExtractResponse> {
  readonly items: readonly Item<Record<string, unknown>>[];
}

const names: InputNames = { ...wireNames, idempotency_key: 'idempotencyKey' };

const searchInputs = ['objective', 'limit', 'enrich_fields', 'dedup_service_leads', 'dedup_custom_leads'];
/** The allowed members of each request. Others are refused: a misspelt `limit` would not limit the cost. */
const inputs = {
  search: ['entity_type', ...searchInputs],
  createTask: ['entity_type', ...searchInputs, 'enable_web_search'],
  status: ['leads_search_id'],
  fetch: ['leads_search_id', 'pts', 'num'],
  contactSearch: ['contact_type', 'objective'],
  deepSearch: ['query'],
  enrich: ['entity_context', 'enrich_fields'],
  extract: ['type', 'target', 'instruction', 'limit'],
};

export type Client = ReturnType<typeof createClient>;

/**
 * A client of one service, with a method per endpoint. A method takes its request in the names of the interface and checks it before
 * anything is sent (UsageError). In an answer, `value` is the parsed JSON, and `text` the JSON as the service wrote it. Without an answer,
 * a method throws RequestError (ServiceError if the service itself refused) or, after a signal, StoppedError; `details.charged` says
 * whether the request may have cost credits. createClient sends nothing; it throws UsageError, and ConfigurationError for an invalid
 * address or key.
 */
export function createClient(options: ClientOptions) {
  checkOptions(options);
  const { dispatcher, keyHeader, timeouts = {}, retry = {}, signal } = options;
  const baseUrl = toBaseUrl(String(options.baseUrl), 'from baseUrl');
  const apiKey = checkKey(String(options.apiKey ?? ''), 'from apiKey');
  /** The client's own connections. */
  const sockets = new Set<Socket>();
  let agent: Promise<Dispatching> | undefined;

  const ownAgent = (): Promise<Dispatching> => {
    agent ??= import('./transport/agent.ts').then(({ createAgent }) =>
      createAgent({
        service: baseUrl,
        isLoopback: isLoopback(baseUrl.hostname),
        connectTimeoutMs: 1000 * (timeouts.connect ?? defaults['timeout.connect']),
        opened(socket) {
          sockets.add(socket);
          socket.once('close', () => sockets.delete(socket));
        },
      }),
    );
    return agent;
  };

  /** Sends one request with its own signal and key. */
  async function send<T>(
    call: PurchaseOptions,
    ask: (client: WireClient, stop: AbortSignal, key: string) => Promise<T>,
  ): Promise<T> {
    checkNames('option', call, ['signal', 'idempotencyKey']);
    checkSignal(call.signal);
    const key = checkIdempotencyKey(call.idempotencyKey ?? `lp-${crypto.randomUUID()}`, names);
    const transport = createTransport({
      // Only one method is needed; undici's type asks for more.
      dispatcher: (dispatcher as Dispatching | undefined) ?? (await ownAgent()),
      clock: createClock(),
      baseUrl,
      apiKey,
      keyHeader,
      userAgent: `leadpipe/${LEADPIPE_VERSION}`,
      random: Math.random,
      retryAttempts: retry.attempts ?? defaults['retry.attempts'],
      retryBudgetMs: 1000 * (retry.budget ?? defaults['retry.budget']),
      timeouts,
    });
    const client = createWireClient(transport);
    const stop = AbortSignal.any([signal, call.signal].filter((one) => one !== undefined));
    try {
      return await ask(client, stop, key);
    } finally {
      // A timer keeps the process alive while an answer is awaited. An unread stream must not.
      for (const socket of sockets) socket.unref();
    }
  }

  const buy =
    <Request extends object, Result>(
      name: 'createTask' | 'contactSearch' | 'deepSearch' | 'enrich' | 'extract',
      toBody: (request: Request, names: InputNames) => object,
    ) =>
    async (request: Request, call: PurchaseOptions = {}): Promise<Answer<Result>> => {
      checkInput(request, inputs[name]);
      const body = await toBody(request, names);
      return send(call, async (client, stop, key) =>
        whole(await (client[name] as (...sent: unknown[]) => Promise<Answer<object>>)(body, key, stop)),
      );
    };
  const extract = buy<wire.ExtractRequest, wire.ExtractResponse>('extract', toExtractRequest);

  return {
    /** Starts a search. Resolves when its stream has begun; it only continues while it is read. */
    async search(request: wire.EntitySearchRequest, call: PurchaseOptions = {}): Promise<Search> {
      checkInput(request, inputs.search);
      const body = toEntitySearchRequest(request, names);
      return send(call, async (client, stop, key) =>
        toSearch(await client.search(body, key, stop), body, key),
      );
    },
    /** Creates a task, which then runs at the service. */
    createTask: buy<wire.CreateTaskRequest, wire.CreatedTask>('createTask', toCreateTaskRequest),
    /** The status of a task. Free. */
    async status(
      request: { readonly leads_search_id: string },
      call: CallOptions = {},
    ): Promise<Answer<wire.EntitySearchStatusResponse>> {
      checkInput(request, inputs.status);
      const id = checkText(limits.leadsSearchId, 'leads_search_id', request.leads_search_id);
      return send(call, async (client, stop) => whole(await client.status(id, stop)));
    },
    /** The leads of a task that are ready, from position `pts` (0 by default), at most `num` (1 to 500, 5 by default). Free. */
    async fetch(
      request: {
        readonly leads_search_id: string;
        readonly pts?: number | undefined;
        readonly num?: number | undefined;
      },
      call: CallOptions = {},
    ): Promise<Page> {
      checkInput(request, inputs.fetch);
      const id = checkText(limits.leadsSearchId, 'leads_search_id', request.leads_search_id);
      const pts = checkNumber(limits.fetchPts, 'pts', request.pts ?? limits.fetchPts.default);
      const num = checkNumber(limits.fetchNum, 'num', request.num ?? limits.fetchNum.default);
      return send(call, async (client, stop) => {
        const { entities, ...page } = checkPage(await client.fetch(id, pts, num, stop), id, pts, num);
        const answer = whole<wire.EntitySearchItems>(page);
        return { ...answer, leads: toItems(entities, answer.value.entities) };
      });
    },
    /** Looks up one email address or phone number. */
    contactSearch: buy<wire.ContactSearchRequest, wire.ContactSearchResult>(
      'contactSearch',
      toContactSearchRequest,
    ),
    /** Answers a question. */
    deepSearch: buy<wire.DeepSearchRequest, wire.DeepSearchResponse>('deepSearch', toDeepSearchRequest),
    /** Fills the fields of a JSON Schema. */
    enrich: buy<wire.EnrichRequest, wire.EnrichResponse>('enrich', async (request) => {
      const enrich_fields = toJsonValue(request.enrich_fields);
      const body = toEnrichRequest({ ...request, enrich_fields }, names);
      const { checkJsonSchema } = await import('./requests/json-schema.ts');
      await checkJsonSchema(body.enrich_fields);
      return body;
    }),
    /** Extracts a list. */
    async extract(request: wire.ExtractRequest, call: PurchaseOptions = {}): Promise<Extraction> {
      const answer = await extract(request, call);
      const { data } = answer.value;
      const texts = arrayItems(objectMembers(answer.text).get('data') ?? '[]');
      return { ...answer, items: typeof data === 'string' ? [] : toItems(texts, data) };
    },
    /** The credits that are available. Free. */
    async balance(call: CallOptions = {}): Promise<Answer<wire.CreditBalance>> {
      return send(call, async (client, stop) => whole(await client.balance(stop)));
    },
  };
}

/** Throws UsageError for an unknown member: a misspelt name may cost money. */
function checkInput(request: object, allowed: readonly string[]): void {
  checkNames('input', request, allowed);
  for (const name of ['limit', 'pts', 'num']) {
    const given: unknown = request[name as keyof typeof request];
    if (given !== undefined && typeof given !== 'number') throw new UsageError(`${name} must be a number`);
  }
}

/** The answer with all its JSON as the value. The required members have been checked before. */
function whole<T>(answer: Answer<unknown>): Answer<T> {
  return { ...answer, value: JSON.parse(answer.text) };
}

function toItems<T>(texts: readonly JsonText[], values: readonly T[]): Item<T>[] {
  return texts.map((text, index) => ({ value: values[index] as T, text }));
}

/** The schema as it will be sent: a program's object may have values that JSON lacks. Throws UsageError. */
function toJsonValue(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null');
  } catch (error) {
    throw new UsageError(`${names.enrich_fields} can't be written as JSON: ${(error as Error).message}`);
  }
}
