import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { wait } from '../clock.ts';
import { type EndpointName, endpoints, responseHeaders } from '../contract/endpoints.ts';
import { answer, answerFault, invalid, Refusal, Rehearsed, reset, toEnvelope } from './answer.ts';
import { extract } from './extract.ts';
import { balance, contactSearch, deepSearch, enrich } from './lookups.ts';
import type { Exchange, Service } from './service.ts';
import { search } from './stream.ts';
import { createTask, fetchPage, status } from './task-routes.ts';

/** What answers each endpoint of the contract. */
const routes: Readonly<Record<EndpointName, (service: Service, exchange: Exchange) => Promise<void>>> = {
  ...{ search, createTask, status, fetch: fetchPage, contactSearch, deepSearch, enrich, extract, balance },
};

export interface Listener {
  readonly listen: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  /** Answers what is not HTTP, is too large to be a request's head, or did not come in time. */
  readonly refuseUnreadable: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** Ends what is running as if its clients had gone away. */
  close(): Promise<void>;
}

/** Takes HTTP requests to the routes of the contract, and nowhere else. */
export function createListener(service: Service): Listener {
  const running = new Map<AbortController, { run: Promise<void>; incoming: IncomingMessage }>();
  let closing = false;
  const listen: Listener['listen'] = (incoming, outgoing) => {
    // rule: general.request-id, create.headers, contact.headers
    outgoing.setHeader(responseHeaders.requestId, `req_${randomUUID()}`);
    logWhenClosed(service, incoming, outgoing);
    try {
      const [operation, query] = toOperation(incoming, outgoing);
      const gone = new AbortController();
      if (closing) gone.abort();
      outgoing.on('close', () => {
        if (!outgoing.writableFinished) gone.abort();
      });
      const requestId = outgoing.getHeader(responseHeaders.requestId) as string;
      const fault = service.scenario.next(operation);
      const exchange = { operation, requestId, incoming, outgoing, query, gone: gone.signal, fault };
      const run = serve(service, exchange).finally(() => running.delete(gone));
      running.set(gone, { run, incoming });
    } catch (error) {
      refuse(service, { outgoing }, error);
    }
  };
  return {
    listen,
    refuseUnreadable(error, socket) {
      if (socket.writable) socket.write(unreadable(service, error));
      socket.destroy();
    },
    async close() {
      closing = true;
      const left = [...running];
      for (const [gone, { incoming }] of left) {
        gone.abort();
        // Its body may never come.
        if (!incoming.complete) incoming.destroy();
      }
      await Promise.all(left.map(([, { run }]) => run));
    },
  };
}

/** The operation that a request asks for, with its query; throws a Refusal where there is none. */
function toOperation(
  { url = '', method, headers }: IncomingMessage,
  outgoing: ServerResponse,
): [EndpointName, URLSearchParams] {
  // A web page must not reach the service under a name of its own (DNS rebinding).
  const host = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?$/i.exec(headers.host ?? '');
  if (host === null) {
    const message = 'the Host header must name this machine: 127.0.0.1, localhost or [::1]';
    throw new Refusal(403, message);
  }
  const [path = '', ...query] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  if (Number(host[1] ?? 0) > 65_535 || !path.startsWith('/'))
    throw invalid('the request has no valid address');
  const found = (Object.keys(endpoints) as EndpointName[]).find((name) => endpoints[name].path === path);
  if (found === undefined) throw new Refusal(404, 'there is no such endpoint');
  if (endpoints[found].method !== method) {
    outgoing.setHeader('Allow', endpoints[found].method);
    throw new Refusal(405, `this endpoint accepts ${endpoints[found].method} only`);
  }
  return [found, new URLSearchParams(query.join('?'))];
}

/** Runs a route; whatever it throws becomes the error envelope, once. */
async function serve(service: Service, exchange: Exchange): Promise<void> {
  const { operation, requestId, outgoing, fault, gone } = exchange;
  service.answering.add(requestId);
  try {
    if (fault?.delayMs) await wait(service.clock, fault.delayMs, gone);
    if (fault?.fault === 'status' && !fault.admitted) throw new Rehearsed();
    if (fault?.fault === 'reset' && operation !== 'search') reset(outgoing);
    else await routes[operation](service, exchange);
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Rehearsed)) {
      service.failed?.(error);
      service.log?.((error as Error).stack ?? String(error));
    }
    if (error instanceof Rehearsed && fault) answerFault(exchange, fault, service.switches.error_type_at);
    else if (outgoing.headersSent) outgoing.destroy();
    else if (!outgoing.destroyed) refuse(service, exchange, error);
  } finally {
    service.answering.delete(requestId);
  }
  if (fault?.fault === 'cut' && operation !== 'search') return;
  if (fault?.fault === 'stall') await untilAborted(gone);
  // A stream that the closing service cut short must not look like a clean end.
  if (!outgoing.writableEnded) outgoing.destroy();
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function refuse({ switches }: Service, to: Parameters<typeof answer>[0], error: unknown): void {
  const failed = 'the local service failed while it answered this request';
  const refusal = error instanceof Refusal ? error : new Refusal(500, failed);
  answer(to, refusal.status, toEnvelope(refusal.type, refusal.message, switches.error_type_at));
}

/** A whole answer, since there is no request to answer to. */
function unreadable({ switches }: Service, { code }: NodeJS.ErrnoException): string {
  const message = `the request can't be read: ${code}`;
  const body = JSON.stringify(toEnvelope('invalid_request_error', message, switches.error_type_at));
  const head = [
    'HTTP/1.1 422 Unprocessable Entity',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `${responseHeaders.requestId}: req_${randomUUID()}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

function logWhenClosed(
  { clock, log }: Service,
  { method, url }: IncomingMessage,
  outgoing: ServerResponse,
): void {
  if (log === undefined) return;
  const start = clock.monotonic();
  outgoing.once('close', () => {
    const outcome = outgoing.writableFinished ? outgoing.statusCode : `${outgoing.statusCode} cut`;
    const id = outgoing.getHeader(responseHeaders.requestId);
    log(`${method} ${url?.split('?')[0]} ${outcome} ${Math.round(clock.monotonic() - start)} ms ${id}`);
  });
}
