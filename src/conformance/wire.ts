import type { Clock } from '../context.ts';
import { type EndpointName, endpoints, type KeyHeader, requestHeaders } from '../contract/endpoints.ts';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import type { Answer, Keys, Request } from './row.ts';

export interface WireOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  readonly baseUrl: URL;
  readonly keys: Keys;
  readonly newKey: () => string;
  readonly signal: AbortSignal;
  readonly userAgent: string;
  /** Where the form that the document lists first for each endpoint is not the one to use. */
  readonly keyHeader?: KeyHeader | undefined;
  readonly secondsFor: (endpoint: EndpointName) => number;
  readonly trace?: ((line: string) => void) | undefined;
}

export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** Throws LeadpipeError once the run was stopped; the signal's reason is how it ends. */
export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new LeadpipeError(stoppedBy(signal), 'the check was stopped');
}

/** One way from a row's request to the wire; nothing is checked, repeated or followed. */
export function createWire(options: WireOptions): (request: Request) => Promise<Answer> {
  const labelled = new Map<string, string>();
  const { fetch, clock, trace } = options;

  function idempotencyKeyOf({ endpoint, idempotencyKey, idempotencyKeyLength }: Request): string | undefined {
    if (endpoints[endpoint].method === 'GET' || idempotencyKey === null) return undefined;
    if (idempotencyKey === undefined) {
      const key = options.newKey();
      return idempotencyKeyLength === undefined ? key : key.padEnd(idempotencyKeyLength, 'x');
    }
    const known = labelled.get(idempotencyKey) ?? options.newKey();
    labelled.set(idempotencyKey, known);
    return known;
  }

  return async (request) => {
    const { method, path, answer } = endpoints[request.endpoint];
    const url = new URL(options.baseUrl);
    url.pathname = url.pathname.replace(/\/+$/, '') + path;
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value);
    const sentKey = idempotencyKeyOf(request);
    const body = bytesOf(request);
    const headers: Record<string, string> = {
      Accept: answer,
      'User-Agent': options.userAgent,
      ...authorizationOf(options, request),
      ...(sentKey === undefined ? {} : { [requestHeaders.idempotencyKey]: sentKey }),
      ...(body === undefined || request.contentType === null
        ? {}
        : { 'Content-Type': request.contentType ?? 'application/json' }),
    };
    const limit = new AbortController();
    const seconds = options.secondsFor(request.endpoint);
    const cancel = clock.after(seconds * 1000, () => limit.abort());
    trace?.(`> ${method} ${url.href}`);
    try {
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.any([limit.signal, options.signal]),
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      trace?.(`< ${response.status}`);
      return {
        request,
        sentKey,
        status: response.status,
        headers: response.headers,
        text,
        json: toJson(text),
      };
    } catch (error) {
      throwIfStopped(options.signal);
      throw new NoAnswer(
        limit.signal.aborted
          ? `no complete answer within ${seconds} seconds`
          : `no complete answer: ${causeOf(error)}`,
        { cause: error },
      );
    } finally {
      cancel();
    }
  };
}

function authorizationOf(options: WireOptions, request: Request): Record<string, string> {
  const { apiKey = 'main', authorization } = request;
  if (authorization !== undefined) return { [requestHeaders.authorization]: authorization };
  if (apiKey === 'none') return {};
  const key = apiKey === 'unknown' ? `unknown-${options.newKey()}` : (options.keys[apiKey] ?? '');
  const form = request.keyHeader ?? options.keyHeader ?? endpoints[request.endpoint].keyHeader;
  return form === 'bearer'
    ? { [requestHeaders.authorization]: `Bearer ${key}` }
    : { [requestHeaders.apiKey]: key };
}

/** Bytes and not a text, to which fetch would add a Content-Type of its own. */
function bytesOf({ body, bytes }: Request): Uint8Array<ArrayBuffer> | undefined {
  if (bytes === undefined && body === undefined) return undefined;
  return new Uint8Array(bytes?.() ?? Buffer.from(JSON.stringify(body)));
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code, message: deeper } = (cause ?? {}) as NodeJS.ErrnoException;
  return code ?? deeper ?? message;
}

/** A body of exactly so many bytes: white space between tokens counts. */
export function paddedTo(bytes: number, body: object): () => Uint8Array {
  return () => {
    const text = JSON.stringify(body);
    return Buffer.from(`${text.slice(0, -1)}${' '.repeat(bytes - Buffer.byteLength(text))}}`);
  };
}
