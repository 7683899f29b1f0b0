import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { wait } from '../clock.ts';
import { type EndpointName, endpoints, responseHeaders } from '../contract/endpoints.ts';
import { answer, answerFault, Refusal, Rehearsed, reset, toEnvelope } from './answer.ts';
import { extract } from './extract.ts';
import { FieldError } from './fields.ts';
import { balance, contactSearch, deepSearch, enrich } from './lookups.ts';
import type { Exchange, Service } from './service.ts';
import { search } from './stream.ts';
import { createTask, fetchPage, status } from './task-routes.ts';

type Body = object | string;
/** What answers each endpoint of the contract: with a body, or by itself. */
const routes: Record<
  EndpointName,
  (service: Service, exchange: Exchange) => Body | Promise<Body | undefined>
> = {
  ...{ search, createTask, status, fetch: fetchPage, contactSearch, deepSearch, enrich, extract, balance },
};
// rule: balance.no-store
const notStored: readonly EndpointName[] = ['createTask', 'contactSearch', 'balance'];

/** Takes the HTTP requests of a server to the routes, and nowhere else; returns what is running. */
export function listenTo(server: Server, service: Service): ReadonlySet<Promise<void>> {
  const running = new Set<Promise<void>>();
  server.on('request', (incoming, outgoing) => {
    // rule: general.request-id, contact.headers
    const requestId = `req_${randomUUID()}`;
    outgoing.setHeader(responseHeaders.requestId, requestId);
    const start = service.clock.monotonic();
    const gone = new AbortController();
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) gone.abort();
      const outcome = outgoing.writableFinished ? outgoing.statusCode : `${outgoing.statusCode} cut`;
      const ms = Math.round(service.clock.monotonic() - start);
      service.log?.(`${incoming.method} ${incoming.url?.split('?')[0]} ${outcome} ${ms} ms ${requestId}`);
    });
    try {
      const { operation, query } = toOperation(incoming, outgoing);
      const fault = service.scenario.next(operation);
      const exchange = { operation, requestId, incoming, outgoing, query, gone: gone.signal, fault };
      const run = serve(service, exchange).finally(() => running.delete(run));
      running.add(run);
    } catch (error) {
      refuse(service, { outgoing, fault: undefined }, error);
    }
  });
  // What is not HTTP, is too large to be a request's head, or did not come in time: there is no request to answer to.
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    const refusal = new Refusal(422, `the request can't be read: ${code}`);
    const body = JSON.stringify(toEnvelope(refusal, service.switches));
    const id = `${responseHeaders.requestId}: req_${randomUUID()}`;
    const head = `HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\n${id}\r\nConnection: close`;
    if (socket.writable) socket.write(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    socket.destroy();
  });
  return running;
}

/** The operation that a request asks for, with its query; throws a Refusal where there is none. */
function toOperation({ url = '', method, headers }: IncomingMessage, outgoing: ServerResponse) {
  // A web page must not reach the service under a name of its own (DNS rebinding).
  const host = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?$/i.exec(headers.host ?? '');
  if (host === null)
    throw new Refusal(403, 'the Host header must name this machine: 127.0.0.1, localhost or [::1]');
  const [path = '', ...query] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  if (Number(host[1] ?? 0) > 65_535 || !path.startsWith('/'))
    throw new FieldError('the request has no valid address');
  const operation = (Object.keys(endpoints) as EndpointName[]).find((name) => endpoints[name].path === path);
  if (operation === undefined) throw new Refusal(404, 'there is no such endpoint');
  const accepted = endpoints[operation].method;
  if (accepted === method) return { operation, query: new URLSearchParams(query.join('?')) };
  outgoing.setHeader('Allow', accepted);
  throw new Refusal(405, `this endpoint accepts ${accepted} only`);
}

/** Runs a route; whatever it throws becomes the error envelope, once. */
async function serve(service: Service, exchange: Exchange): Promise<void> {
  const { operation, requestId, outgoing, fault, gone } = exchange;
  service.answering.add(requestId);
  try {
    if (fault?.delayMs) await wait(service.clock, fault.delayMs, gone);
    if (fault?.fault === 'status' && !fault.admitted) throw new Rehearsed();
    if (fault?.fault === 'reset' && operation !== 'search') reset(outgoing);
    else {
      const body = await routes[operation](service, exchange);
      const headers = notStored.includes(operation) ? { 'Cache-Control': 'no-store' } : {};
      if (body !== undefined) answer(exchange, 200, body, headers);
    }
  } catch (error) {
    if (error instanceof Rehearsed) answerFault(exchange, service.switches);
    else refuse(service, exchange, error);
  } finally {
    service.answering.delete(requestId);
  }
  if (fault?.fault === 'cut' && operation !== 'search') return;
  if (fault?.fault === 'stall' && !gone.aborted) await once(gone, 'abort');
  // A stream that the closing service cut short must not look like a clean end.
  if (!outgoing.writableEnded) outgoing.destroy();
}

function refuse(service: Service, to: Parameters<typeof answer>[0], error: unknown): void {
  let refusal = error instanceof FieldError ? new Refusal(422, error.message) : error;
  if (!(refusal instanceof Refusal)) {
    service.failed?.(error);
    service.log?.((error as Error).stack ?? String(error));
    refusal = new Refusal(500, 'the local service failed while it answered this request');
  }
  const { status } = refusal as Refusal;
  if (to.outgoing.headersSent) to.outgoing.destroy();
  else if (!to.outgoing.destroyed) answer(to, status, toEnvelope(refusal as Refusal, service.switches));
}
