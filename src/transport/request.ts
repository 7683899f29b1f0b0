import type { Dispatcher } from 'undici';
import type { Clock } from '../context.ts';
import { type Endpoint, type KeyHeader, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import { hasMoreValues } from '../json/many.ts';
import type { JsonText } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { type Body, piecesOf, readText, unreadableOf } from './body.ts';
import { garbled, toFailure } from './failure.ts';
import { createMask, type Mask } from './mask.ts';
import { toRefusal } from './refusal.ts';
import { type Retrying, toRetryAfter, type WaitListener, withRetries } from './retry.ts';
import { createSending } from './sending.ts';
import { createFrameReader, type Frame, FrameTooLargeError } from './sse.ts';
import { createWatch, type TimeLimits } from './watch.ts';

const maxJsonBytes = 64 * 1024 * 1024;
/** An answer of 10,000 items with a hundred members each. */
const maxJsonValues = 1_000_000;
const maxFrameBytes = 16 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const maxLocationCharacters = 500;

export interface Request {
  readonly endpoint: Endpoint;
  readonly query?: Readonly<Record<string, string>>;
  /** The exact body: a repetition with the same Idempotency-Key must send the same bytes. */
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** Whether its connection is closed behind it, and not used for what comes next. */
  readonly last?: true;
}

export interface Call extends Request {
  /** What the interface promises of the answer and is not there; undefined when all of it is. */
  readonly lacks?: (text: JsonText) => string | undefined;
  readonly limits: TimeLimits;
  readonly signal: AbortSignal;
}

/** A body as text, with what the head said about it. */
export interface JsonAnswer {
  readonly text: JsonText;
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** The `Date` header. */
  readonly serverTime: string | undefined;
}

export interface StreamAnswer {
  readonly requestId: string | undefined;
  /**
   * The frames of the stream, gathered per piece of the network. Ends without an error only when the HTTP body
   * itself was whole; throws a RequestError with fault `lost` where it was cut, stalled or grew over the cap.
   */
  readonly frames: AsyncIterable<readonly Frame[]>;
}

/** A request as it would go out, with the API key masked. */
export interface Preview {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Transport {
  /** Pure: what would be sent. */
  preview(request: Request): Preview;
  /** Throws RequestError (ServiceError for the service's own refusals) and StoppedError. */
  json(call: Call): Promise<JsonAnswer>;
  /** Throws as `json` does, until the stream has begun. */
  stream(call: Call): Promise<StreamAnswer>;
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** Overrides the form that the document lists for each endpoint. */
  readonly keyHeader: KeyHeader | undefined;
  readonly userAgent: string;
  /** A line for each request and answer, for --verbose. */
  readonly trace?: ((line: string) => void) | undefined;
  readonly waits?: WaitListener | undefined;
  /** From 0 to 1. */
  random(): number;
  /** Further attempts at most; the policy table says how many each fault deserves. */
  readonly retryAttempts: number;
  /** Milliseconds that all waits between attempts may take together. */
  readonly retryBudgetMs: number;
}

interface Head extends Body {
  readonly status: number;
  readonly controller: AbortController;
  readonly requestId: string | undefined;
}

/** The one way from a request to the wire, and from a failed one to its repetition. */
export function createTransport(options: TransportOptions): Transport {
  const mask = createMask(options.apiKey);
  const retrying: Retrying = {
    clock: options.clock,
    random: options.random,
    trace: options.trace,
    waits: options.waits,
    mostAttempts: options.retryAttempts,
    budget: { leftMs: options.retryBudgetMs },
  };

  async function sendOnce(call: Call): Promise<Head> {
    const { endpoint } = call;
    const url = urlOf(options.baseUrl, call);
    const controller = new AbortController();
    const watch = createWatch(options.clock, call.limits, (reason) => controller.abort(reason));
    const start = options.clock.monotonic();
    options.trace?.(`> ${endpoint.method} ${url}`);
    const sending = createSending(options.dispatcher, call.last);
    let response: Response;
    try {
      response = await watch.head(
        options.fetch(url, {
          method: endpoint.method,
          headers: headersOf(options, call),
          redirect: 'manual',
          signal: AbortSignal.any([controller.signal, call.signal]),
          ...(call.body === undefined ? {} : { body: call.body }),
          // Node's fetch takes it; its type does not say so.
          ...({ dispatcher: sending.dispatcher } as object),
        }),
      );
    } catch (error) {
      throw toFailure(error, call, undefined, sending.hasBegun());
    }
    const requestId = headerOf(response, responseHeaders.requestId, mask);
    const ms = Math.round(options.clock.monotonic() - start);
    const status = sending.statusOf(response);
    options.trace?.(`< ${status} ${responseHeaders.requestId}: ${requestId ?? '-'} (${ms} ms)`);
    const head = { response, status, watch, controller, requestId };
    if (status !== 200) await refuse(head, call);
    const type = headerOf(response, 'content-type', mask) ?? 'none';
    if (mediaTypeOf(type) !== endpoint.answer) {
      // Without a length it may never end.
      const body = response.headers.has('content-length') ? await readBriefly(head, call) : '';
      controller.abort();
      const what = `a 200 with the content type ${type} instead of ${endpoint.answer}`;
      throw garbled(call, what, requestId, undefined, body);
    }
    return head;
  }

  async function refuse(head: Head, call: Call): Promise<never> {
    const { response, status, requestId } = head;
    const body = await readBriefly(head, call);
    head.controller.abort();
    const location = headerOf(response, 'location', mask, maxLocationCharacters);
    const retryAfterMs = toRetryAfter(response.headers.get('retry-after'), options.clock);
    throw toRefusal(call, { status, location, retryAfterMs, body, requestId });
  }

  /** What may come beside the head, which says enough by itself; only a stop from outside matters more. */
  async function readBriefly(head: Head, call: Call): Promise<string> {
    try {
      return await readText(head, maxRefusalBytes, false, mask);
    } catch (error) {
      if (call.signal.aborted) throw toFailure(error, call, head);
      return '';
    }
  }

  async function readJson(call: Call): Promise<JsonAnswer> {
    const head = await sendOnce(call);
    let text: string;
    try {
      text = await readText(head, maxJsonBytes, true, mask);
    } catch (error) {
      head.controller.abort();
      const unreadable = unreadableOf(error);
      if (unreadable !== undefined) {
        throw garbled(call, `an answer that is not JSON (${unreadable})`, head.requestId, error);
      }
      throw toFailure(error, call, head);
    }
    if (hasMoreValues(text, maxJsonValues)) {
      const what = `an answer of more than ${maxJsonValues} values`;
      throw garbled(call, what, head.requestId, undefined, text);
    }
    if (!isJson(text)) throw garbled(call, 'an answer that is not JSON', head.requestId, undefined, text);
    const lacks = call.lacks?.(text);
    if (lacks !== undefined)
      throw garbled(call, `an answer without ${lacks}`, head.requestId, undefined, text);
    const idempotencyKey = headerOf(head.response, responseHeaders.idempotencyKey, mask);
    const serverTime = headerOf(head.response, 'date', mask);
    return { text, requestId: head.requestId, idempotencyKey, serverTime };
  }

  return {
    preview(request) {
      const { endpoint, body } = request;
      const headers = headersOf({ ...options, apiKey: '[API key]' }, request);
      return { method: endpoint.method, url: urlOf(options.baseUrl, request).href, headers, body };
    },
    json: (call) => withRetries(retrying, call.endpoint, call.signal, () => readJson(call)),
    async stream(call) {
      // Once the stream has begun it is never asked for again: what comes would be a second search.
      const head = await withRetries(retrying, call.endpoint, call.signal, () => sendOnce(call));
      return { requestId: head.requestId, frames: readFrames(head, call, mask) };
    },
    close: () => options.dispatcher.destroy(),
  };
}

async function* readFrames(head: Head, call: Call, mask: (text: string) => string): AsyncGenerator<Frame[]> {
  const reader = createFrameReader(maxFrameBytes);
  const toSafe = (frames: Frame[]): Frame[] => frames.map((frame) => ({ ...frame, data: mask(frame.data) }));
  try {
    for await (const bytes of piecesOf(head)) {
      const frames = reader.feed(bytes);
      if (frames.length > 0) {
        head.watch.event();
        yield toSafe(frames);
      }
      if (reader.isOverCap()) throw new FrameTooLargeError(maxFrameBytes);
    }
    if (reader.isInFrame()) throw new Error('the stream ended in the middle of a frame');
    if (!hasLength(head.response)) throw new Error('the stream ended without saying so');
  } catch (error) {
    throw toFailure(error, call, head);
  } finally {
    head.controller.abort();
  }
}

/** A body that ends with its connection can have been cut anywhere; only chunks or a length prove its end. */
function hasLength(response: Response): boolean {
  return response.headers.has('transfer-encoding') || response.headers.has('content-length');
}

function urlOf(baseUrl: URL, call: Request): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + call.endpoint.path;
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
  return url;
}

function headersOf(options: TransportOptions, call: Request): Record<string, string> {
  const accept = call.endpoint.answer;
  const form = options.keyHeader ?? call.endpoint.keyHeader;
  return {
    accept,
    // A compressed stream is held back until a block is full.
    ...(accept === 'text/event-stream' ? { 'accept-encoding': 'identity' } : {}),
    'user-agent': options.userAgent,
    ...(form === 'bearer'
      ? { [requestHeaders.authorization]: `Bearer ${options.apiKey}` }
      : { [requestHeaders.apiKey]: options.apiKey }),
    ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(call.idempotencyKey === undefined ? {} : { [requestHeaders.idempotencyKey]: call.idempotencyKey }),
  };
}

function headerOf(response: Response, name: string, mask: Mask, most = 200): string | undefined {
  const value = response.headers.get(name);
  return value === null ? undefined : mask(value).slice(0, most);
}

/** Without its parameters. */
function mediaTypeOf(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}
