import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { wait } from '../clock.ts';
import { type EndpointName, endpoints, responseHeaders } from '../contract/endpoints.ts';
import { answer, answerFault, reset } from './answer.ts';
import { FaultAnswer, Refusal, toEnvelope } from './refusal.ts';
import { routes } from './routes.ts';
import type { Exchange, Service } from './service.ts';

export interface Listener {
  readonly listen: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  /** Answers what is not HTTP, is too large to be a request's head, or did not come in time. */
  readonly refuseUnreadable: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** Ends what is running as if its clients had gone away. */
  close(): Promise<void>;
}

/** Takes HTTP requests to the routes of the contract, and nowhere else. */
export function createListener(service: Service): Listener {
  const running = new Map<
    AbortController,
    { readonly run: Promise<void>; readonly incoming: IncomingMessage }
  >();
  let closing = false;
  const app = new Hono<{ Bindings: HttpBindings }>();
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const operation = name as EndpointName;
    app.on(endpoint.method, endpoint.path, async ({ req, env }) => {
      const gone = new AbortController();
      if (closing) gone.abort();
      const run = serve(service, openExchange(service, operation, fromNode(env), req.url, gone));
      running.set(gone, { run, incoming: fromNode(env).incoming });
      await run.finally(() => running.delete(gone));
      return RESPONSE_ALREADY_SENT;
    });
    app.all(endpoint.path, ({ env }) => {
      env.outgoing.setHeader('Allow', endpoint.method);
      refuse(
        service,
        fromNode(env),
        new Refusal(405, 'invalid_request_error', `this endpoint accepts ${endpoint.method} only`),
      );
      return RESPONSE_ALREADY_SENT;
    });
  }
  app.notFound(({ env }) => {
    refuse(service, fromNode(env), new Refusal(404, 'not_found', 'there is no such endpoint'));
    return RESPONSE_ALREADY_SENT;
  });
  // The globals belong to the program around this service, which may be a client in the same process.
  const toApp = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // A request whose address can't be parsed never reaches the app.
    errorHandler: (error) => refusedByHono(service, error),
  });
  const listen: Listener['listen'] = (incoming, outgoing) => {
    outgoing.setHeader(responseHeaders.requestId, `req_${randomUUID()}`);
    logWhenClosed(service, incoming, outgoing);
    // A web page must not reach the service under a name of its own (DNS rebinding).
    if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(incoming.headers.host ?? ''))
      refuse(
        service,
        { outgoing },
        new Refusal(
          403,
          'authentication_error',
          'the Host header must name this machine: 127.0.0.1, localhost or [::1]',
        ),
      );
    else void toApp(incoming, outgoing);
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

type NodePair = Pick<Exchange, 'incoming' | 'outgoing'>;

/** Only HTTP/1.1 is spoken here, so these are node's own. */
function fromNode({ incoming, outgoing }: HttpBindings): NodePair {
  return { incoming: incoming as IncomingMessage, outgoing: outgoing as ServerResponse };
}

function openExchange(
  service: Service,
  operation: EndpointName,
  { incoming, outgoing }: NodePair,
  url: string,
  gone: AbortController,
): Exchange {
  const requestId = outgoing.getHeader(responseHeaders.requestId) as string;
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  return {
    operation,
    requestId,
    incoming,
    outgoing,
    query: new URL(url).searchParams,
    gone: gone.signal,
    fault: service.scenario.next(operation),
  };
}

/** Runs a route; whatever it throws becomes the error envelope, once. */
async function serve(service: Service, exchange: Exchange): Promise<void> {
  const { operation, requestId, outgoing, fault, gone } = exchange;
  service.answering.add(requestId);
  try {
    if (fault?.delayMs) await wait(service.clock, fault.delayMs, gone);
    if (fault?.fault === 'status' && !fault.admitted) throw new FaultAnswer(fault);
    if (fault?.fault === 'reset' && operation !== 'search') reset(outgoing);
    else await routes[operation](service, exchange);
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof FaultAnswer)) {
      service.failed?.(error);
      service.log?.((error as Error).stack ?? String(error));
    }
    if (error instanceof FaultAnswer) answerFault(exchange, error.fault, service.switches.error_type_at);
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

/** Answers with the error envelope. */
function refuse(
  { switches }: Service,
  { outgoing, fault }: Pick<Exchange, 'outgoing'> & { readonly fault?: Exchange['fault'] },
  error: unknown,
): void {
  const { status, type, message } =
    error instanceof Refusal
      ? error
      : {
          status: 500,
          type: 'internal_error',
          message: 'the local service failed while it answered this request',
        };
  answer({ outgoing, fault }, status, toEnvelope(type, message, switches.error_type_at));
}

function refusedByHono({ switches }: Service, error: unknown): Response {
  const [status, type] =
    error instanceof RequestError
      ? ([422, 'invalid_request_error'] as const)
      : ([500, 'internal_error'] as const);
  const message = `the request failed: ${(error as Error).message}`;
  return Response.json(toEnvelope(type, message, switches.error_type_at), { status });
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
