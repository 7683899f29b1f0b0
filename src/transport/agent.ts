import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { buildConnector, Dispatcher } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { ConnectFailure, messageOf } from './connect-failure.ts';
import { proxyFor } from './proxy.ts';

export interface AgentOptions {
  /** The one address that is connected to. */
  readonly service: URL;
  /** Whether proxies named by the environment are used; never for this machine itself. */
  readonly proxies: boolean;
  /** For each of: TCP and TLS to the service or the proxy, the proxy's answer, TLS through the proxy. */
  readonly connectTimeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A PEM file of authorities to trust beside the usual ones. */
  readonly caFile?: string | undefined;
  /** A connection is being opened; what is returned is called when that is over. */
  readonly connecting?: ((host: string) => () => void) | undefined;
  /** A connection is open, and undici has it next. */
  readonly opened?: (socket: Socket) => void;
}

/**
 * A stale keep-alive connection can take a POST and then reset, which leaves a paid request in doubt. So no
 * connection is used again after a second of idleness.
 */
const idleConnectionMs = 1000;

/**
 * The connections of one run. Time limits of answers are not undici's: see watch.ts, which can tell what ran out.
 * Throws ConfigurationError for a proxy or a file of
 * authorities that is of no use.
 */
export async function createAgent(options: AgentOptions): Promise<Dispatcher> {
  const { service, proxies, caFile, env } = options;
  const proxy = proxies ? proxyFor(service, env) : undefined;
  const isIpv6 = `${service.hostname}${proxy?.hostname ?? ''}`.includes(':');
  const ended = new AbortController();
  // Many connections can be opening at once, each of which listens.
  setMaxListeners(0, ended.signal);
  const direct = createConnect(
    {
      timeout: options.connectTimeoutMs,
      autoSelectFamily: true,
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise switch certificate checks off.
      rejectUnauthorized: true,
      ...(caFile === undefined
        ? {}
        : { secureContext: await (await import('./trust.ts')).trustAlso(caFile, env) }),
      ...(isIpv6 ? { checkServerIdentity: (await import('./trust.ts')).checkIdentity } : {}),
    },
    ended.signal,
  );
  const connect =
    proxy === undefined
      ? direct
      : (await import('./tunnel.ts')).createTunnel(proxy, direct, options.connectTimeoutMs, ended.signal);
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
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
    // undici waits for what is still being opened, and Node for undici: a run that gave up would not end.
    ended.abort();
    return new Promise((resolve) => Agent.prototype.destroy.apply(agent, [null, resolve] as never));
  };
  return Object.assign(agent, { destroy });
}

/** Characters: some certificates have hundreds of names. */
const maxNames = 300;

/** Opens TCP, and TLS over it (or over `httpSocket`) for https. Rejects with ConnectFailure. */
export type Connect = (target: buildConnector.Options) => Promise<Socket>;

/** `timeout`, in milliseconds, is for TCP and TLS together. What is still being opened ends with `ended`. */
export function createConnect(options: buildConnector.BuildOptions, ended: AbortSignal): Connect {
  const connector = createConnector(options);
  return (target) =>
    new Promise((resolve, reject) => {
      let validity = '';
      const stop = (): void => void opening.destroy(new Error('the run has ended'));
      const opening = connector(target, (...[error, socket]) => {
        ended.removeEventListener('abort', stop);
        if (error === null) return resolve(socket);
        reject(new ConnectFailure(error, messageOf(error) + aboutCertificate(error, validity)));
      });
      ended.addEventListener('abort', stop);
      // Node judges the certificate next, and one that it refuses can't be read any more.
      opening.prependOnceListener('secure', () => {
        validity = validityOf(opening as TLSSocket);
      });
    });
}

function validityOf(socket: TLSSocket): string {
  const { valid_from, valid_to } = socket.getPeerCertificate();
  return valid_to === undefined ? '' : ` (valid from ${valid_from} to ${valid_to})`;
}

/** What OpenSSL leaves out, and Node where the host is an address. */
function aboutCertificate(error: NodeJS.ErrnoException, validity: string): string {
  if (error.code === 'CERT_HAS_EXPIRED' || error.code === 'CERT_NOT_YET_VALID') return validity;
  if (error.code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return '';
  const { cert } = error as { cert?: PeerCertificate };
  const names = cert?.subjectaltname ?? cert?.subject?.CN ?? 'nobody';
  return ` (the certificate is for ${names.slice(0, maxNames)})`;
}
