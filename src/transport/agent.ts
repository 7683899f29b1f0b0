import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { ConnectFailure, toLoopbackFailure } from './connect-failure.ts';
import type { HttpProxy } from './proxy.ts';
import type { Connect } from './tunnel.ts';

export interface AgentOptions {
  /** The only address that is connected to. */
  readonly service: URL;
  /** Whether it is a loopback address: no proxy is used, and http is allowed. */
  readonly isLoopback: boolean;
  readonly proxy?: HttpProxy | undefined;
  /** The limit for each step: TCP and TLS to the service or the proxy, the proxy's answer, TLS through the proxy. */
  readonly connectTimeoutMs: number;
  /** A PEM file of authorities to trust in addition. NODE_EXTRA_CA_CERTS in `env` may name more. */
  readonly caFile?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called when a connection begins to open; the returned function is called when it is open or has failed. */
  readonly connecting?: ((host: string) => () => void) | undefined;
  /** Is called when a connection is open, before undici gets it. */
  readonly opened?: (socket: Socket) => void;
}

/**
 * An idle connection may accept a POST and then reset, and whether a paid request was charged would be unknown. So a connection that was
 * idle for a second is not used again.
 */
const idleConnectionMs = 1000;

/** Maximum bytes of all headers of an answer. Cookies and policies of proxies often exceed Node's default of 16 kB. */
const maxHeaderSize = 64 * 1024;

/**
 * The connections of one run. exchange.ts measures the timeouts of answers, because undici does not tell which one ran out. Throws
 * ConfigurationError for an invalid file of authorities.
 */
export async function createAgent(options: AgentOptions): Promise<Dispatcher> {
  const { service, proxy, caFile, env = {}, connectTimeoutMs } = options;
  const isIpv6 = `${service.hostname}${proxy?.hostname ?? ''}`.includes(':');
  const ended = new AbortController();
  // Many connections can be opening at once, and each adds a listener.
  setMaxListeners(0, ended.signal);
  const open = createConnector({
    timeout: connectTimeoutMs,
    autoSelectFamily: true,
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise switch certificate checks off.
    rejectUnauthorized: true,
    ...(caFile === undefined
      ? {}
      : { secureContext: await (await import('./trust.ts')).trustAlso(caFile, env) }),
    ...(isIpv6 ? { checkServerIdentity: (await import('./trust.ts')).checkIdentity } : {}),
  });
  const direct: Connect = (target) =>
    new Promise((resolve, reject) => {
      const stop = (): void => void opening.destroy(new Error('the run has ended'));
      const opening = open(target, (...[error, socket]) => {
        ended.signal.removeEventListener('abort', stop);
        if (error === null) resolve(socket);
        else reject(options.isLoopback ? toLoopbackFailure(error, service) : new ConnectFailure(error));
      });
      ended.signal.addEventListener('abort', stop);
    });
  const connect =
    proxy === undefined
      ? direct
      : (await import('./tunnel.ts')).createTunnel(proxy, direct, connectTimeoutMs, ended.signal);
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize,
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
    connect(target, callback) {
      const over = options.connecting?.(service.host) ?? (() => {});
      void connect(target)
        .finally(over)
        .then(
          (socket) => {
            options.opened?.(socket);
            callback(null, socket);
          },
          (error) => callback(error, null),
        );
    },
  });
  const destroy = (): Promise<void> => {
    // undici waits for connections that are still opening; without this, a run that gave up would not end.
    ended.abort();
    return new Promise((resolve) => Agent.prototype.destroy.apply(agent, [null, resolve] as never));
  };
  return Object.assign(agent, { destroy });
}
