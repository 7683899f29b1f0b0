import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Answered {
  status: number;
  headers: Headers;
  body: string;
}

/** One rule switched off: what is changed on the way there, or on the way back. */
export interface Alteration {
  readonly request?: (asked: Asked) => void;
  readonly answer?: (answered: Answered, asked: Asked) => void;
}

export interface AlteringProxy {
  readonly url: string;
  alteration: Alteration;
  /** The paths asked for since the last look. */
  takePaths(): string[];
  close(): Promise<void>;
}

/** Passes requests on to a service, and changes the one thing it is told to. */
export async function startAlteringProxy(service: string): Promise<AlteringProxy> {
  let paths: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const url = new URL(incoming.url ?? '', service);
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const asked: Asked = {
      method: incoming.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(pieces),
    };
    paths.push(asked.path);
    proxy.alteration.request?.(asked);
    const answer = await fetch(url, {
      method: asked.method,
      headers: headersOf(asked.headers),
      ...(asked.method === 'POST' ? { body: new Uint8Array(asked.body) } : {}),
    });
    const answered: Answered = {
      status: answer.status,
      headers: new Headers(answer.headers),
      body: await answer.text(),
    };
    proxy.alteration.answer?.(answered, asked);
    for (const name of ['content-length', 'transfer-encoding', 'connection', 'keep-alive'])
      answered.headers.delete(name);
    outgoing.writeHead(answered.status, Object.fromEntries(answered.headers));
    outgoing.end(answered.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: AlteringProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    alteration: {},
    takePaths() {
      const taken = paths;
      paths = [];
      return taken;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

function headersOf(headers: IncomingHttpHeaders): Record<string, string> {
  const own = ['host', 'connection', 'content-length', 'transfer-encoding', 'expect', 'accept-encoding'];
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !own.includes(name) ? [[name, value]] : [],
    ),
  );
}
