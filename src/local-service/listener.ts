import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { wait } from '../clock.ts';
import { type EndpointName, endpoints, responseHeaders } from '../contract/endpoints.ts';
import { authenticate } from './authentication.ts';
import { createTask } from './entity-search.ts';
import { reset, search } from './entity-stream.ts';
import { extract } from './extraction.ts';
import { invalid, Refusal } from './fields.ts';
import { contactSearch, deepSearch, enrich } from './lookups.ts';
import { balance, fetchPage, status } from './reads.ts';
import type { Fault } from './scenario.ts';
import type { Exchange, Service } from './service.ts';

/** The function for each endpoint. It returns the body, or sends the answer itself. */
const routes: Record<EndpointName, (service: Service, exchange: Exchange) => unknown> = {
  ...{ search, createTask, status, fetch: fetchPage, contactSearch, deepSearch, enrich, extract, balance },
};
const notStored: readonly EndpointName[] = ['createTask', 'contactSearch', 'balance'];

/** Passes the HTTP requests of a server to these functions. */
export function listenTo(server: Server, service: Service): void {
  const { answering, clock, log, switches } = service;
  server.on('request', (incoming, outgoing) => {
    const requestId = `req_${randomUUID()}`;
    outgoing.setHeader(responseHeaders.requestId, requestId);
    const start = clock.monotonic();
    const gone = new AbortController();
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) gone.abort();
      const outcome = outgoing.writableFinished ? outgoing.statusCode : `${outgoing.statusCode} cut`;
      const ms = Math.round(clock.monotonic() - start);
      log?.(`${incoming.method} ${incoming.url?.split('?')[0]} ${outcome} ${ms} ms ${requestId}`);
    });
    const arrival = { requestId, incoming, outgoing, gone: gone.signal };
    answering.set(
      requestId,
      serve(service, arrival).finally(() => answering.delete(requestId)),
    );
  });
  // Not HTTP, too large a head, or not received in time: there is no request object to answer.
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    const { message, stated: said } = invalid(`the request can't be read: ${code}`);
    const body = JSON.stringify(toEnvelope(message, said.type, switches));
    const id = `${responseHeaders.requestId}: req_${randomUUID()}`;
    const head = `HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\n${id}\r\nConnection: close`;
    if (socket.writable) socket.write(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    socket.destroy();
  });
}

/** The operation of a request, with its query. Throws a Refusal if there is none. */
function toOperation({ url = '', method, headers }: IncomingMessage) {
  // Protects against DNS rebinding: a web page must not reach the service under its own host name.
  const host = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?$/i.exec(headers.host ?? '');
  if (host === null)
    throw new Refusal(403, 'the Host header must name this machine: 127.0.0.1, localhost or [::1]');
  const [path = '', ...query] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  if (Number(host[1] ?? 0) > 65_535 || !path.startsWith('/'))
    throw invalid('the request target is not valid');
  const operation = (Object.keys(endpoints) as EndpointName[]).find((name) => endpoints[name].path === path);
  if (operation === undefined) throw new Refusal(404, 'there is no such endpoint');
  const { method: Allow } = endpoints[operation];
  if (Allow === method) return { operation, query: new URLSearchParams(query.join('?')) };
  throw new Refusal(405, `this endpoint accepts ${Allow} only`, { headers: { Allow } });
}

/** Answers a request by its operation. Any error becomes the error envelope. */
async function serve(
  service: Service,
  arrival: Omit<Exchange, 'operation' | 'query' | 'caller' | 'fault'>,
): Promise<void> {
  const { incoming, outgoing, gone } = arrival;
  let fault: Fault | undefined;
  let isStream = false;
  try {
    const { operation, query } = toOperation(incoming);
    isStream = operation === 'search';
    fault = service.scenario(operation);
    if (fault?.delayMs) await wait(service.clock, fault.delayMs, gone);
    if (fault?.refusal && !fault.admitted) throw fault.refusal;
    if (fault?.fault === 'reset' && !isStream) reset(outgoing);
    else {
      const caller = authenticate(service, operation, incoming.headers);
      const body = await routes[operation](service, { ...arrival, operation, query, caller, fault });
      const headers = notStored.includes(operation) ? { 'Cache-Control': 'no-store' } : {};
      if (body !== undefined) answer({ outgoing, fault }, 200, body, headers);
    }
  } catch (error) {
    refuse(service, { outgoing, fault }, error);
  }
  if (fault?.fault === 'cut' && !isStream) return;
  if (fault?.fault === 'stall' && !gone.aborted) await once(gone, 'abort');
  // A stream that was cut by closing the service must not look complete.
  if (!outgoing.writableEnded) outgoing.destroy();
}

type Addressee = Pick<Exchange, 'outgoing' | 'fault'>;

/** Writes a whole answer, unless the scenario has a fault for it. */
function answer(
  { outgoing, fault }: Addressee,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  outgoing.statusCode = status;
  outgoing.setHeaders(new Map(Object.entries({ 'Content-Type': 'application/json', ...headers })));
  if (fault?.fault === 'lost_response') reset(outgoing);
  else if (fault?.fault === 'cut') {
    outgoing.setHeader('Content-Length', bytes.length);
    outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.destroy());
    // A connection that stalls stays open without an answer, until the client gives up.
  } else if (fault?.fault !== 'stall') outgoing.end(bytes);
}

function refuse({ failed, log, switches }: Service, to: Addressee, error: unknown): void {
  if (!(error instanceof Refusal)) {
    failed?.(error);
    log?.((error as Error).stack ?? String(error));
  }
  const internal = new Refusal(500, 'the local service failed while it answered this request');
  const { status, message, stated: said } = error instanceof Refusal ? error : internal;
  if (to.outgoing.headersSent) to.outgoing.destroy();
  if (to.outgoing.destroyed) return;
  const { type, headers, body = toEnvelope(message, type, switches) } = said;
  const kind = typeof body === 'string' ? { 'Content-Type': 'text/plain' } : {};
  answer(to, status, body, { ...kind, ...headers });
}

/** The error envelope. The place of the type is not documented, so there is a switch. */
function toEnvelope(
  message: string,
  type: string | undefined,
  { error_type_at: at }: Service['switches'],
): object {
  if (at === 'none' || type === undefined) return { error: { message } };
  if (at === 'type') return { error: { message }, type };
  return { error: { message, [at === 'error.code' ? 'code' : 'type']: type } };
}
