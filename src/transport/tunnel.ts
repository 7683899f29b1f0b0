import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { ConnectFailure, notTls } from './connect-failure.ts';
import type { HttpProxy } from './proxy.ts';

/** Opens TCP, and TLS over it (or over `httpSocket`) for https. Rejects with ConnectFailure. */
export type Connect = (target: buildConnector.Options) => Promise<Socket>;

/**
 * Connects to the service with TLS inside a tunnel, so that the proxy sees its host and port and nothing else.
 * `timeoutMs` is the timeout of the proxy's answer to CONNECT. `ended` aborts connections that are still opening. Rejects with
 * ConnectFailure.
 *
 * undici's ProxyAgent fails test/network/tunnel.test.ts: it waits forever for a proxy that closes the connection at CONNECT, and it
 * reports a bad certificate of the proxy as the service's, and 401, 403 and 407 as a temporary network error.
 */
export function createTunnel(
  proxy: HttpProxy,
  connect: Connect,
  timeoutMs: number,
  ended: AbortSignal,
): Connect {
  const { name, hostname, port, protocol, authorization } = proxy;

  /** The error for a proxy that can't be reached, or that uses another protocol. */
  function toFailure(error: NodeJS.ErrnoException): ConnectFailure {
    const { code = '', message } = error;
    const missing = notTls.test(code) ? 'TLS' : code.startsWith('HPE_') ? 'HTTP' : undefined;
    return missing === undefined
      ? new ConnectFailure(error, { message: `the proxy ${name}: ${message}` })
      : new ConnectFailure(error, {
          message: `the proxy ${name} does not answer with ${missing}`,
          refusal: 'proxy_refused',
        });
  }

  /** A 5xx status is about the connection from the proxy to the service, which may work again soon. */
  function toRefusal(status: number, authority: string): ConnectFailure {
    const cause = new Error(`the proxy ${name} answered CONNECT ${authority} with ${status}`);
    // tinyproxy answers 407 for missing credentials and 401 for wrong ones.
    const refusal = status === 407 || status === 401 ? 'proxy_credentials' : 'proxy_refused';
    return new ConnectFailure(cause, status >= 500 ? {} : { refusal });
  }

  function askFor(authority: string, socket: Socket): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const asking = request({
        method: 'CONNECT',
        path: authority,
        headers: {
          host: authority,
          ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
        },
        createConnection: () => socket,
        signal: ended,
      });
      asking.setTimeout(timeoutMs, () =>
        asking.destroy(new Error(`no answer to CONNECT for ${timeoutMs / 1000} s`)),
      );
      asking.on('error', (error) => reject(toFailure(error)));
      asking.on('connect', ({ statusCode = 0 }) => {
        if (statusCode >= 200 && statusCode < 300) return resolve(socket);
        socket.destroy();
        reject(toRefusal(statusCode, authority));
      });
      asking.end();
    });
  }

  return async (target) => {
    const socket = await connect({ host: name, hostname, port, protocol }).catch((error) => {
      throw toFailure(error);
    });
    const authority = target.port ? `${target.host}` : `${target.host}:443`;
    return connect({ ...target, httpSocket: await askFor(authority, socket) });
  };
}
