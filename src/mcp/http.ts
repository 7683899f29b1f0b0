import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { LocalIoError } from '../errors.ts';
import { createSession, type Session } from './session.ts';
import type { McpOptions } from './tool.ts';

/**
 * Clients of the earlier revisions have a session each, and rarely say when they leave. The oldest are removed, except during a call, which
 * may be buying.
 */
const mostSessions = 100;

const path = '/mcp';

/**
 * Serves Streamable HTTP on 127.0.0.1 until `context.signal` aborts. `port` 0 means any free one; `listening` gets the address. Throws
 * LocalIoError where the port is taken.
 */
export async function serveHttp(
  context: Context,
  options: McpOptions,
  port: number,
  listening: (url: string) => void,
): Promise<void> {
  const { signal } = context;
  const session = createSession(context, options);
  const onerror = ({ message }: Error): void => options.say(message);
  const modern = createMcpHandler(() => session.createServer(), { legacy: 'reject', onerror });
  const earlier = createEarlierRevisions(session, onerror);
  const answer = async (request: Request): Promise<Response> => {
    const refusal = refusalOf(request, actual);
    if (refusal !== undefined) return refusal;
    const id = request.headers.get('mcp-session-id');
    if (id === null && !(await isLegacyRequest(request))) return await modern.fetch(request);
    return await earlier.answer(request, id);
  };
  const server = createServer(getRequestListener(answer, { overrideGlobalObjects: false }));
  server.listen({ port, host: '127.0.0.1', exclusive: true });
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EADDRINUSE' ? `port ${port} on 127.0.0.1 is already in use` : cause.message;
    throw new LocalIoError(why, { cause, hint: 'Choose another port, or 0 for any free one.' });
  });
  const { port: actual } = server.address() as AddressInfo;
  listening(`http://127.0.0.1:${actual}${path}`);
  if (!signal.aborted) await once(signal, 'abort');
  const closed = once(server, 'close');
  server.close();
  await session.close();
  await modern.close();
  await earlier.close();
  server.closeAllConnections();
  await closed;
}

/** A protocol error, as the answer to a request that can't be handled. */
function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

/** Refuses web pages: in a browser they can reach this machine, even under a name of their own, and must not spend anything. */
function refusalOf({ headers, url }: Request, port: number): Response | undefined {
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
  const host = headers.get('host')?.toLowerCase() ?? '';
  const origin = headers.get('origin')?.toLowerCase();
  if (!hosts.includes(host)) return refuse(403, -32_000, 'this Host is not served');
  if (origin !== undefined && !hosts.some((one) => origin === `http://${one}`))
    return refuse(403, -32_000, 'this Origin is not served');
  return new URL(url).pathname === path ? undefined : refuse(404, -32_000, `the endpoint is ${path}`);
}

/** A client that begins with `initialize` has a session, in which it can be asked questions. */
function createEarlierRevisions(session: Session, onerror: (error: Error) => void) {
  type Transport = WebStandardStreamableHTTPServerTransport;
  const sessions = new Map<string, { transport: Transport; calls: { underWay: number } }>();

  async function begin(): Promise<Transport> {
    const calls = { underWay: 0 };
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized(id) {
        const idle = [...sessions.values()].find((one) => one.calls.underWay === 0);
        if (sessions.size >= mostSessions) void idle?.transport.close();
        sessions.set(id, { transport, calls });
      },
    });
    const server = session.createServer(calls);
    server.onerror = onerror;
    server.onclose = () => sessions.delete(transport.sessionId ?? '');
    await server.connect(transport);
    return transport;
  }

  return {
    async answer(request: Request, id: string | null): Promise<Response> {
      if (id === null) return await (await begin()).handleRequest(request);
      const known = sessions.get(id);
      if (known === undefined) return refuse(404, -32_001, 'this session has ended');
      sessions.delete(id);
      sessions.set(id, known);
      return await known.transport.handleRequest(request);
    },
    async close(): Promise<void> {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
    },
  };
}
