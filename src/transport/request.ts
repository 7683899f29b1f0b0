import { type KeyHeader, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import { hasMoreValues, isJson, mostValues } from '../json/valid.ts';
import { piecesOf, readText, unreadableOf } from './body.ts';
import type { Call, Request } from './call.ts';
import { type Dispatching, type Exchange, type Head, openExchange } from './exchange.ts';
import { garbled, toFailure, toRefusal } from './failure.ts';
import { type Frame, framesOf } from './frames.ts';
import { createMask, type Mask } from './mask.ts';
import { type Retrying, toRetryAfter, withRetries } from './retry.ts';

const maxJsonBytes = 64 * 1024 * 1024;
const maxFrameCharacters = 16 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const maxLocationCharacters = 500;

export type Transport = ReturnType<typeof createTransport>;
/** A request as it would go out, with the API key masked. */
export type Preview = ReturnType<Transport['preview']>;

interface TransportOptions extends Retrying {
  readonly dispatcher: Dispatching;
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** Overrides the header form that the interface lists for each endpoint. */
  readonly keyHeader: KeyHeader | undefined;
  readonly userAgent: string;
}

/** An answer whose head has arrived. Its exchange must be closed. */
interface Incoming {
  readonly exchange: Exchange;
  readonly head: Head;
  readonly requestId: string | undefined;
}

/** Sends requests, and repeats those that failed. Nothing else sends any. */
export function createTransport(options: TransportOptions) {
  const { clock, trace } = options;
  const mask = createMask(options.apiKey);

  async function send(call: Call): Promise<Incoming> {
    const { endpoint } = call;
    const url = urlOf(options.baseUrl, call);
    if (call.signal.aborted) throw toFailure(undefined, call, undefined, false);
    const start = clock.monotonic();
    trace?.(`> ${endpoint.method} ${url}`);
    const exchange = openExchange(options.dispatcher, clock, call, {
      origin: url.origin,
      path: url.pathname + url.search,
      method: endpoint.method,
      headers: headersOf(options, call),
      body: call.body ?? null,
      ...(call.last ? { reset: true } : {}),
    });
    const head = await exchange.head().catch((error: unknown) => {
      exchange.close();
      throw toFailure(error, call, undefined, exchange.hasBegun());
    });
    const { status } = head;
    // rule: general.request-id, create.headers, contact.headers
    const requestId = headerOf(head, responseHeaders.requestId, mask);
    const ms = Math.round(clock.monotonic() - start);
    trace?.(`< ${status} ${responseHeaders.requestId}: ${requestId ?? '-'} (${ms} ms)`);
    const incoming = { exchange, head, requestId };
    const type = headerOf(head, 'content-type', mask) ?? 'none';
    // rule: search.media-type
    if (status === 200 && type.split(';', 1)[0]?.trim().toLowerCase() === endpoint.answer) return incoming;
    // A body that nobody needs and that has no length may never end.
    const hasEnd = status !== 200 || head.header('content-length') !== undefined;
    const body = hasEnd ? await readBriefly(incoming, call) : '';
    exchange.close();
    if (status === 200) {
      const what = `an answer with the content type ${type} instead of ${endpoint.answer}`;
      throw garbled(call, what, requestId, { body });
    }
    const location = headerOf(head, 'location', mask, maxLocationCharacters);
    const retryAfterMs = toRetryAfter(head.header('retry-after'), clock);
    throw toRefusal(call, { status, location, retryAfterMs, body, requestId });
  }

  /** Reads a body beside a head that says enough by itself. Only a stop from outside is thrown. */
  async function readBriefly(incoming: Incoming, call: Call): Promise<string> {
    try {
      return await readText(piecesOf(incoming.exchange, incoming.head), maxRefusalBytes, false, mask);
    } catch (error) {
      if (call.signal.aborted) throw toFailure(error, call, incoming);
      return '';
    }
  }

  async function readJson(call: Call) {
    const incoming = await send(call);
    const { exchange, head, requestId } = incoming;
    let text: string;
    try {
      text = await readText(piecesOf(exchange, head), maxJsonBytes, true, mask);
    } catch (cause) {
      const why = unreadableOf(cause);
      if (why === undefined) throw toFailure(cause, call, incoming);
      throw garbled(call, `an answer that is not JSON (${why})`, requestId, { cause });
    } finally {
      exchange.close();
    }
    if (call.followed) await new Promise((resolve) => setImmediate(resolve));
    const flaw = flawOf(text, call);
    if (flaw !== undefined) throw garbled(call, `an answer ${flaw}`, requestId, { body: text });
    // rule: common.key-generated, extract.key, create.headers
    const idempotencyKey = headerOf(head, responseHeaders.idempotencyKey, mask);
    return { text, requestId, idempotencyKey, serverTime: headerOf(head, 'date', mask) };
  }

  return {
    /** Pure: what would be sent. */
    preview(request: Request) {
      const { endpoint, body } = request;
      const headers = headersOf({ ...options, apiKey: '[API key]' }, request);
      return { method: endpoint.method, url: urlOf(options.baseUrl, request).href, headers, body };
    },
    /** A body as text, with what the head said about it. Throws RequestError (ServiceError for the service's own refusals) and StoppedError. */
    json: (call: Call) => withRetries(options, call.endpoint, call.signal, () => readJson(call)),
    /**
     * Frames, in groups as the network brings them. They end without an error only if the whole HTTP body arrived; if it was cut, stalled
     * or exceeded the cap, they throw a RequestError with fault `lost`. Until they begin, throws as `json` does.
     */
    async stream(call: Call) {
      // A stream that has begun is never requested again: that would be a second search.
      const incoming = await withRetries(options, call.endpoint, call.signal, () => send(call));
      return { requestId: incoming.requestId, frames: readFrames(incoming, call, mask) };
    },
  };
}

function flawOf(text: string, call: Call): string | undefined {
  if (hasMoreValues(text, mostValues)) return `with more than ${mostValues} values`;
  if (!isJson(text)) return 'that is not JSON';
  const lacks = call.lacks?.(text);
  return lacks === undefined ? undefined : `without ${lacks}`;
}

async function* readFrames(incoming: Incoming, call: Call, mask: Mask): AsyncGenerator<Frame[]> {
  const { exchange, head } = incoming;
  try {
    for await (const frames of framesOf(piecesOf(exchange, head), maxFrameCharacters)) {
      exchange.event();
      yield frames.map(({ event, data }) => ({ event, data: mask(data) }));
    }
    if (!hasLength(head)) throw new Error('it closed without a sign that the stream was complete');
  } catch (error) {
    throw toFailure(error, call, incoming);
  } finally {
    exchange.close();
  }
}

/** Whether the end of the body can be proven: a body that ends with its connection may have been cut anywhere. */
function hasLength({ header }: Head): boolean {
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
    // A compressed stream would arrive late, in full blocks.
    'accept-encoding': accept === 'text/event-stream' ? 'identity' : 'gzip, br',
    'user-agent': options.userAgent,
    ...(form === 'bearer'
      ? { [requestHeaders.authorization]: `Bearer ${options.apiKey}` }
      : { [requestHeaders.apiKey]: options.apiKey }),
    ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(call.idempotencyKey === undefined ? {} : { [requestHeaders.idempotencyKey]: call.idempotencyKey }),
  };
}

function headerOf(head: Head, name: string, mask: Mask, most = 200): string | undefined {
  const value = head.header(name);
  return value === undefined ? undefined : mask(value).slice(0, most);
}
