import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { Certificate } from '../helpers/certificates.ts';
import { closing } from '../helpers/closing.ts';

export interface RecordingProxy {
  readonly port: number;
  /** Heads of the requests that came. */
  readonly heads: string[];
  /** The host names that TLS asked the proxy itself for. */
  readonly hosts: unknown[];
  /** Every byte that went through, both ways; of a proxy on TLS, what was inside. */
  bytes(): Buffer;
  close(): void;
}

interface RecordingProxyOptions {
  /** Where tunnels end, whatever CONNECT asks for: a port of 127.0.0.1. */
  readonly to?: number;
  /** What comes instead of a tunnel at this attempt, from 1 on; a tunnel where there is nothing. */
  readonly answer?: (attempt: number) => ((socket: Socket) => void) | undefined;
  /** Of the proxy. */
  readonly host?: string;
  /** Has the way to the proxy itself on TLS. */
  readonly certificate?: Certificate;
}

/** A proxy that keeps what it sees. */
export async function startRecordingProxy(options: RecordingProxyOptions): Promise<RecordingProxy> {
  const heads: string[] = [];
  const hosts: unknown[] = [];
  const seen: Buffer[] = [];
  const sockets = new Set<Socket>();

  function keep(socket: Socket): Socket {
    sockets.add(socket);
    return socket.on('error', () => {}).on('data', (bytes: Buffer) => seen.push(bytes));
  }

  function serve(socket: Socket): void {
    if (socket instanceof TLSSocket) hosts.push(socket.servername);
    keep(socket).once('data', (head: Buffer) => {
      heads.push(head.toString('latin1'));
      const answer = options.answer?.(heads.length);
      if (answer !== undefined) return answer(socket);
      const onward = keep(
        connect(options.to ?? 0, '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
          socket.pipe(onward).pipe(socket);
        }),
      );
    });
  }

  const server = options.certificate ? createTlsServer(options.certificate, serve) : createServer(serve);
  await once(server.listen(0, options.host ?? '127.0.0.1'), 'listening');
  return closing({
    port: (server.address() as AddressInfo).port,
    heads,
    hosts,
    bytes: () => Buffer.concat(seen),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}
