import type { Dispatcher } from 'undici';
import type { Clock } from '../context.ts';
import { type Endpoint, type KeyHeader, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import type { JsonText } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { garbled, toFailure } from './failure.ts';
import { toRefusal } from './refusal.ts';
import { type Retrying, toRetryAfter, withRetries } from './retry.ts';
import { createSending } from './sending.ts';
import { createFrameReader, type Frame, FrameTooLargeError } from './sse.ts';
import { createWatch, type TimeLimits, type Watch } from './watch.ts';

const maxJsonBytes = 64 * 1024 * 1024;
const maxFrameBytes = 16 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
/** Shorter keys would mask ordinary text. */
const minMaskedKey = 8;

export interface Request {
  readonly endpoint: Endpoint;
  readonly query?: Readonly<Record<string, string>>;
  /** The exact body: a repetition with the same Idempotency-Key must send the same bytes. */
  readonly body?: string;
  readonly idempotencyKey?: string;
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
  /** From 0 to 1. */
  random(): number;
  /** Further attempts at most; the policy table says how many each fault deserves. */
  readonly retryAttempts: number;
  /** Milliseconds that all waits between attempts may take together. */
  readonly retryBudgetMs: number;
}

interface Head {
  readonly response: Response;
  readonly status: number;
  readonly watch: Watch;
  readonly controller: AbortController;
  readonly requestId: string | undefined;
}

/** The one way from a request to the wire, and from a failed one to its repetition. */
export function createTransport(options: TransportOptions): Transport {
  // A service that echoes the key would have us print it.
  const mask = (text: string): string =>
    options.apiKey.length < minMaskedKey ? text : text.replaceAll(options.apiKey, '[API key]');

  const retrying: Retrying = {
    clock: options.clock,
    random: options.random,
    trace: options.trace,
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
    const sending = createSending(options.dispatcher);
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
    const type = response.headers.get('content-type') ?? 'none';
    if (mediaTypeOf(type) !== endpoint.answer) {
      // Without a length it may never end.
      const hasEnd = response.headers.has('content-length');
      const body = hasEnd ? await readText(head, maxRefusalBytes, false).catch(() => '') : '';
      controller.abort();
      const what = `a 200 with the content type ${mask(type)} instead of ${endpoint.answer}`;
      throw garbled(call, what, requestId, undefined, mask(body));
    }
    return head;
  }

  async function refuse(head: Head, call: Call): Promise<never> {
    const { response, status, requestId } = head;
    let body = '';
    try {
      body = await readText(head, maxRefusalBytes, false);
    } catch (error) {
      // The status alone says enough; only a stop from outside matters more.
      if (call.signal.aborted) throw toFailure(error, call, head);
    } finally {
      head.controller.abort();
    }
    const location = response.headers.get('location');
    const retryAfterMs = toRetryAfter(response.headers.get('retry-after'), options.clock);
    throw toRefusal(call, status, { location, retryAfterMs }, body, requestId, mask);
  }

  async function readJson(call: Call): Promise<JsonAnswer> {
    const head = await sendOnce(call);
    let text: string;
    try {
      text = mask(await readText(head, maxJsonBytes, true));
    } catch (error) {
      const unreadable = unreadableOf(error);
      if (unreadable !== undefined) {
        throw garbled(call, `an answer that is not JSON (${unreadable})`, head.requestId, error);
      }
      throw toFailure(error, call, head);
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

async function* piecesOf(head: Head): AsyncGenerator<Uint8Array> {
  const reader = head.response.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    const { done, value } = await head.watch.piece(reader.read());
    if (done) return;
    yield value;
  }
}

/** Throws a RangeError when the body is over the cap, and a TypeError when it is not UTF-8 and has to be. */
async function readText(head: Head, maxBytes: number, fatal: boolean): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal });
  const parts: string[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(head)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new RangeError(`larger than ${maxBytes} bytes`);
    parts.push(decoder.decode(piece, { stream: true }));
  }
  parts.push(decoder.decode());
  return parts.join('');
}

/** Why a body that came can't be read (over the cap, not UTF-8, not in its content encoding); undefined for a cut. */
function unreadableOf(error: unknown): string | undefined {
  if (error instanceof RangeError) return error.message;
  if (!(error instanceof TypeError)) return undefined;
  if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return error.message;
  const { cause } = error;
  const { code = '' } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {};
  // zlib and brotli, as fetch passes them on.
  return code === 'Z_DATA_ERROR' || code.startsWith('ERR__ERROR_FORMAT') ? String(cause) : undefined;
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

function headerOf(response: Response, name: string, mask: (text: string) => string): string | undefined {
  const value = response.headers.get(name);
  return value === null ? undefined : mask(value).slice(0, 200);
}

/** Without its parameters. */
function mediaTypeOf(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}
