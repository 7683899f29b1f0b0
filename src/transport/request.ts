import { endpoints, type KeyHeader, requestHeaders, responseHeaders } from '../contract/endpoints.ts';
import { checkWebAssembly } from '../errors.ts';
import { flawOfJson } from '../json/valid.ts';
import { piecesOf, readText, unreadableOf } from './body.ts';
import type { Call, Read, Request } from './call.ts';
import { type Dispatching, type Exchange, openExchange } from './exchange.ts';
import { garbled, toFailure, toRefusal } from './failure.ts';
import { type Frame, framesOf } from './frames.ts';
import { createMask } from './mask.ts';
import { type RetryOptions, withRetries } from './retry.ts';
import { type RequestedLimits, toTimeLimits } from './time-limits.ts';

const maxJsonBytes = 64 * 1024 * 1024;
const maxFrameCharacters = 16 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;

export type Transport = ReturnType<typeof createTransport>;
/** A request as it would go out, with the API key masked. */
export type Preview = ReturnType<Transport['preview']>;

interface TransportOptions extends RetryOptions {
  readonly dispatcher: Dispatching;
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** Overrides the header form that the interface lists for each endpoint. */
  readonly keyHeader: KeyHeader | undefined;
  readonly userAgent: string;
  readonly timeouts: RequestedLimits;
  /** Called before each attempt, when its connection is open, right before the first write. If it throws, nothing is sent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** An answer with the headers masked. */
interface Incoming extends Exchange {
  header(name: string, maxCharacters?: number): string | undefined;
  readonly requestId: string | undefined;
}

/** Sends and retries requests. No other code sends any. */
export function createTransport(options: TransportOptions) {
  checkWebAssembly();
  const { clock, trace } = options;
  const mask = createMask(options.apiKey);

  const toCall = (request: Request, signal: AbortSignal): Call => ({
    ...request,
    endpoint: endpoints[request.endpoint],
    limits: toTimeLimits(request.endpoint, options.timeouts),
    signal,
  });

  async function send(call: Call, isAnswer = (_body: string) => false): Promise<Incoming> {
    const { endpoint } = call;
    const url = urlOf(options.baseUrl, call);
    if (call.signal.aborted) throw toFailure(undefined, call, undefined, false);
    const start = clock.monotonic();
    trace?.(`> ${endpoint.method} ${url}`);
    const exchange = await openExchange(options, call, {
      origin: url.origin,
      path: url.pathname + url.search,
      method: endpoint.method,
      headers: headersOf(options, call),
      body: call.body ?? null,
      ...(call.last ? { reset: true } : {}),
    });
    const { status } = exchange;
    const header = (name: string, maxCharacters = 200): string | undefined => {
      const value = exchange.headers.get(name.toLowerCase());
      return value === undefined ? undefined : mask(value).slice(0, maxCharacters);
    };
    const requestId = header(responseHeaders.requestId);
    trace?.(
      `< ${status} ${responseHeaders.requestId}: ${requestId ?? '-'} (${Math.round(clock.monotonic() - start)} ms)`,
    );
    const incoming = { ...exchange, header, requestId };
    if (status === 200 && isOfType(exchange.headers.get('content-type'), endpoint.answer)) return incoming;
    // A paid answer that can't be requested again is kept, whatever its content type is.
    const isKept = status === 200 && !['free', 'replays'].includes(endpoint.repetition);
    // A body without a length may never end, so it is only read if it is needed.
    const hasEnd = isKept || status !== 200 || header('content-length') !== undefined;
    const body = hasEnd
      ? await readUnexpectedBody(incoming, call, isKept ? maxJsonBytes : maxRefusalBytes)
      : '';
    exchange.close();
    if (status !== 200) throw toRefusal(call, incoming, body, clock);
    const type = header('content-type') ?? 'none';
    const what = `an answer with the content type ${type} instead of ${endpoint.answer}`;
    throw garbled(call, what, requestId, { body, ...(isAnswer(body) ? { answer: body } : {}) });
  }

  /** Reads the body of an unexpected answer. Throws only StoppedError: the head is enough for an error. */
  async function readUnexpectedBody(incoming: Incoming, call: Call, maxBytes: number): Promise<string> {
    try {
      return (await readText(piecesOf(incoming), maxBytes, mask)).text;
    } catch (error) {
      if (call.signal.aborted) throw toFailure(error, call, incoming);
      return '';
    }
  }

  async function readJson<T extends object>(call: Call, read: Read<T>) {
    const check = (text: string): T | string => flawOfJson(text) ?? read(text);
    const incoming = await send(call, (text) => typeof check(text) !== 'string');
    const { header, requestId } = incoming;
    let body: Awaited<ReturnType<typeof readText>>;
    try {
      body = await readText(piecesOf(incoming), maxJsonBytes, mask);
    } catch (cause) {
      const why = unreadableOf(cause);
      if (why === undefined) throw toFailure(cause, call, incoming);
      throw garbled(call, `an answer that is not JSON (${why})`, requestId, { cause });
    } finally {
      incoming.close();
    }
    // undici frees the connection one turn of the event loop later. A request before that would open a second connection.
    await new Promise((resolve) => setImmediate(resolve));
    const { text, isUtf8 } = body;
    const value = check(text);
    if (typeof value === 'string') throw garbled(call, `an answer ${value}`, requestId, { body: text });
    if (!isUtf8)
      throw garbled(call, 'an answer with bytes that are not UTF-8', requestId, { body: text, answer: text });
    const idempotencyKey = header(responseHeaders.idempotencyKey);
    return { text, value, requestId, idempotencyKey, serverTime: header('date') };
  }

  async function* readFrames(incoming: Incoming, call: Call): AsyncGenerator<Frame[]> {
    try {
      for await (const frames of framesOf(piecesOf(incoming), maxFrameCharacters)) {
        incoming.event();
        yield frames.map(({ event, data }) => ({ event, data: mask(data) }));
      }
      // A body whose end is only the end of the connection may have been cut anywhere.
      const hasLength = ['transfer-encoding', 'content-length'].some((name) => incoming.headers.get(name));
      if (!hasLength) throw new Error('it closed without a sign that the stream was complete');
    } catch (error) {
      throw toFailure(error, call, incoming);
    } finally {
      incoming.close();
    }
  }

  return {
    /** Pure: what would be sent. */
    preview(request: Request) {
      const endpoint = endpoints[request.endpoint];
      const call = { ...request, endpoint };
      const headers = headersOf({ ...options, apiKey: '[API key]' }, call);
      return { method: endpoint.method, url: urlOf(options.baseUrl, call).href, headers, body: request.body };
    },
    /**
     * Requests a JSON answer: its text, the value that `read` makes, and facts from its headers. Throws RequestError (ServiceError for the
     * service's own refusals) and StoppedError.
     */
    json<T extends object>(request: Request, signal: AbortSignal, read: Read<T>) {
      const call = toCall(request, signal);
      return withRetries(options, call.endpoint, signal, () => readJson(call, read));
    },
    /**
     * Requests a stream: its frames in groups, as they arrive. The frames end without an error only if the whole HTTP body arrived; if it
     * was cut, stalled or too large, they throw a RequestError with fault `lost`. Until the stream begins, throws as `json` does.
     */
    async stream(request: Request, signal: AbortSignal) {
      const call = toCall(request, signal);
      // A stream that has begun is never requested again: that would be a second search.
      const incoming = await withRetries(options, call.endpoint, signal, () => send(call));
      return { requestId: incoming.requestId, frames: readFrames(incoming, call) };
    },
  };
}

/**
 * Whether a Content-Type header has this type. The service and a proxy may both set it: values with the same type and charset count once.
 */
function isOfType(header = '', type: string): boolean {
  const values = header.toLowerCase().match(/(?:[^,"]|"[^"]*"?)+/g) ?? [];
  const known = new Set(
    values.map((value) => {
      const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/.exec(value) ?? [];
      return `${value.split(';', 1)[0]?.trim()} ${charset}`;
    }),
  );
  const [only = ''] = known;
  return known.size === 1 && only.startsWith(`${type} `);
}

function urlOf(baseUrl: URL, { endpoint, query }: Pick<Call, 'endpoint' | 'query'>): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + endpoint.path;
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return url;
}

function headersOf(
  { apiKey, keyHeader, userAgent }: TransportOptions,
  { endpoint, body, idempotencyKey }: Pick<Call, 'endpoint' | 'body' | 'idempotencyKey'>,
): Record<string, string> {
  const accept = endpoint.answer;
  return {
    accept,
    // Compression would delay a stream until its blocks are full.
    'accept-encoding': accept === 'text/event-stream' ? 'identity' : 'gzip, br',
    'user-agent': userAgent,
    ...((keyHeader ?? endpoint.keyHeader) === 'bearer'
      ? { [requestHeaders.authorization]: `Bearer ${apiKey}` }
      : { [requestHeaders.apiKey]: apiKey }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { [requestHeaders.idempotencyKey]: idempotencyKey }),
  };
}
