import { setMaxListeners } from 'node:events';
import type { Clock } from '../context.ts';
import { type KeyHeader, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import type { JsonText } from '../json/text.ts';
import { hasMoreValues, isJson, mostValues } from '../json/valid.ts';
import { type Body, piecesOf, readText, unreadableOf } from './body.ts';
import type { Call, Request } from './call.ts';
import { garbled, toFailure } from './failure.ts';
import { createFrameReader, type Frame, FrameTooLargeError } from './frames.ts';
import { createMask, type Mask } from './mask.ts';
import { toRefusal } from './refusal.ts';
import { type Retrying, toRetryAfter, type WaitListener, withRetries } from './retry.ts';
import { createSending, type Dispatching, type Incoming } from './sending.ts';
import { createWatch } from './watch.ts';

const maxJsonBytes = 64 * 1024 * 1024;
const maxFrameCharacters = 16 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const maxLocationCharacters = 500;

/** A body as text, with what the head said about it. */
export interface JsonAnswer {
  readonly text: JsonText;
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
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
}

export interface TransportOptions {
  readonly dispatcher: Dispatching;
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
  /** Milliseconds that all waits between the attempts of one request may take together. */
  readonly retryBudgetMs: number;
}

interface Head extends Body {
  /** Has to be called: what has not come by then never will. */
  end(): void;
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
    budgetMs: options.retryBudgetMs,
  };

  async function sendOnce(call: Call): Promise<Head> {
    const { endpoint } = call;
    const url = urlOf(options.baseUrl, call);
    if (call.signal.aborted) throw toFailure(undefined, call, undefined, false);
    const start = options.clock.monotonic();
    options.trace?.(`> ${endpoint.method} ${url}`);
    const sending = createSending(options.dispatcher, {
      origin: url.origin,
      path: url.pathname + url.search,
      method: endpoint.method,
      headers: headersOf(options, call),
      body: call.body ?? null,
      ...(call.last ? { reset: true } : {}),
    });
    const watch = createWatch(options.clock, call.limits, sending.abort);
    const stop = (): void => sending.abort(new Error('stopped'));
    // Many requests can be under way at once, each of which listens.
    setMaxListeners(0, call.signal);
    call.signal.addEventListener('abort', stop);
    const end = (): void => {
      call.signal.removeEventListener('abort', stop);
      if (!sending.isOver()) sending.abort(new Error('not read to its end'));
    };
    let answer: Incoming;
    try {
      answer = await watch.head(sending.head());
    } catch (error) {
      end();
      throw toFailure(error, call, undefined, sending.hasBegun());
    }
    const { status } = answer;
    // rule: general.request-id, create.headers, contact.headers
    const requestId = headerOf(answer, responseHeaders.requestId, mask);
    const ms = Math.round(options.clock.monotonic() - start);
    options.trace?.(`< ${status} ${responseHeaders.requestId}: ${requestId ?? '-'} (${ms} ms)`);
    const head = { answer, watch, signal: call.signal, end, requestId };
    if (status !== 200) await refuse(head, call);
    const type = headerOf(answer, 'content-type', mask) ?? 'none';
    // rule: search.media-type
    if (mediaTypeOf(type) !== endpoint.answer) {
      // Without a length it may never end.
      const hasEnd = answer.header('content-length') !== undefined;
      const body = hasEnd ? await readBriefly(head, call) : '';
      end();
      const what = `an answer with the content type ${type} instead of ${endpoint.answer}`;
      throw garbled(call, what, requestId, undefined, body);
    }
    return head;
  }

  async function refuse(head: Head, call: Call): Promise<never> {
    const { answer, requestId } = head;
    const body = await readBriefly(head, call);
    head.end();
    const location = headerOf(answer, 'location', mask, maxLocationCharacters);
    const retryAfterMs = toRetryAfter(answer.header('retry-after'), options.clock);
    const { status } = answer;
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
      const unreadable = unreadableOf(error);
      if (unreadable !== undefined) {
        throw garbled(call, `an answer that is not JSON (${unreadable})`, head.requestId, error);
      }
      throw toFailure(error, call, head);
    } finally {
      head.end();
    }
    if (call.followed) await new Promise((resolve) => setImmediate(resolve));
    if (hasMoreValues(text, mostValues)) {
      const what = `an answer with more than ${mostValues} values`;
      throw garbled(call, what, head.requestId, undefined, text);
    }
    if (!isJson(text)) throw garbled(call, 'an answer that is not JSON', head.requestId, undefined, text);
    const lacks = call.lacks?.(text);
    if (lacks !== undefined)
      throw garbled(call, `an answer without ${lacks}`, head.requestId, undefined, text);
    // rule: common.key-generated, extract.key, create.headers
    const idempotencyKey = headerOf(head.answer, responseHeaders.idempotencyKey, mask);
    const serverTime = headerOf(head.answer, 'date', mask);
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
  };
}

async function* readFrames(head: Head, call: Call, mask: Mask): AsyncGenerator<Frame[]> {
  const reader = createFrameReader(maxFrameCharacters);
  try {
    for await (const bytes of piecesOf(head)) {
      const frames = reader.feed(bytes);
      if (frames.length > 0) {
        head.watch.event();
        yield frames.map(({ event, data }) => ({ event, data: mask(data) }));
      }
      if (reader.isOverCap()) throw new FrameTooLargeError(maxFrameCharacters);
    }
    if (reader.endsInFrame()) throw new Error('the stream ended in the middle of a frame');
    if (!hasLength(head.answer)) throw new Error('it closed without a sign that the stream was complete');
  } catch (error) {
    throw toFailure(error, call, head);
  } finally {
    head.end();
  }
}

/** A body that ends with its connection can have been cut anywhere; only chunks or a length prove its end. */
function hasLength({ header }: Incoming): boolean {
  return header('transfer-encoding') !== undefined || header('content-length') !== undefined;
}

function urlOf(baseUrl: URL, call: Request): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + call.endpoint.path;
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
  return url;
}

function headersOf(options: TransportOptions, call: Request): Record<string, string> {
  // rule: search.accept, common.media-type
  const accept = call.endpoint.answer;
  const form = options.keyHeader ?? call.endpoint.keyHeader;
  return {
    accept,
    // A compressed stream is held back until a block is full.
    'accept-encoding': accept === 'text/event-stream' ? 'identity' : 'gzip, br',
    'user-agent': options.userAgent,
    ...(form === 'bearer'
      ? { [requestHeaders.authorization]: `Bearer ${options.apiKey}` }
      : { [requestHeaders.apiKey]: options.apiKey }),
    ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(call.idempotencyKey === undefined ? {} : { [requestHeaders.idempotencyKey]: call.idempotencyKey }),
  };
}

function headerOf(answer: Incoming, name: string, mask: Mask, most = 200): string | undefined {
  const value = answer.header(name);
  return value === undefined ? undefined : mask(value).slice(0, most);
}

function mediaTypeOf(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}
