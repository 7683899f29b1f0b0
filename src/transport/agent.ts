import type { buildConnector, Dispatcher } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';

/** A connection that was never made: nothing of the request left this machine. */
export class ConnectFailure extends Error {
  readonly code: string | undefined;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = 'ConnectFailure';
    this.code = (cause as NodeJS.ErrnoException).code;
  }
}

export interface AgentOptions {
  /** Whether proxies named by the environment are used; never for this machine itself. */
  readonly proxies: boolean;
  readonly connectTimeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * A stale keep-alive connection can take a POST and then reset, which leaves a paid request in doubt. So no
 * connection is used again after a second of idleness.
 */
const idleConnectionMs = 1000;

/**
 * The connections of one run. Time limits of answers are not undici's: see watch.ts, which can tell what ran out.
 * Redirects are not followed (the caller asks fetch for `manual`).
 */
export async function createAgent(options: AgentOptions): Promise<Dispatcher> {
  const common = {
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
  };
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise switch certificate checks off.
  const tls = { timeout: options.connectTimeoutMs, rejectUnauthorized: true, autoSelectFamily: true };
  const proxies = options.proxies ? proxiesOf(options.env) : undefined;
  if (proxies !== undefined) {
    const { default: EnvHttpProxyAgent } = await import('undici/lib/dispatcher/env-http-proxy-agent.js');
    return new EnvHttpProxyAgent({ ...common, ...proxies, connect: tls, requestTls: tls, proxyTls: tls });
  }
  const connector = createConnector(tls);
  const connect: buildConnector.connector = (target, callback) =>
    connector(target, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(new ConnectFailure(error), null);
    });
  return new Agent({ ...common, connect });
}

/** Lower case wins over upper case, as in curl. Undefined when no proxy is named. */
function proxiesOf(
  env: AgentOptions['env'],
): { httpProxy?: string; httpsProxy?: string; noProxy?: string } | undefined {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY;
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY;
  if (!httpProxy && !httpsProxy) return undefined;
  return {
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
  };
}
