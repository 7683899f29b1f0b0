import { ConfigurationError } from '../errors.ts';

export interface HttpProxy {
  /** Host and port, safe to show. */
  readonly name: string;
  readonly protocol: 'http:' | 'https:';
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  /** Empty for the default port. */
  readonly port: string;
  readonly authorization: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The first one that is set decides; an empty one means no proxy. Lower case comes first, as in curl. Plain http is only used for this
 * machine, which needs no proxy; HTTP_PROXY is here for those who have set nothing else.
 */
const variables = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'http_proxy', 'HTTP_PROXY'];

/** The proxy for the service, if any. Throws ConfigurationError for a bad one, without its credentials. */
export function proxyFor(service: URL, env: Environment): HttpProxy | undefined {
  const variable = variables.find((name) => env[name] !== undefined);
  const value = variable === undefined ? '' : env[variable]?.trim();
  if (variable === undefined || !value) return undefined;
  return isExcepted(service, env.no_proxy ?? env.NO_PROXY ?? '') ? undefined : toProxy(value, variable);
}

/** Whether NO_PROXY covers the service. It holds names (with their subdomains), addresses, each with or without a port, or `*`. */
function isExcepted(service: URL, exceptions: string): boolean {
  const host = bare(service.hostname).replace(/\.$/, '');
  const port = service.port || '443';
  return exceptions.split(/[\s,]+/).some((exception) => {
    if (exception === '*') return true;
    // An IPv6 address without brackets has no port.
    const parts = /^(\[.*\]|[^:]*):(\d+)$/.exec(exception);
    const name = bare(parts?.[1] ?? exception)
      .toLowerCase()
      .replace(/^\*?\./, '');
    if (name === '' || (parts !== null && parts[2] !== port)) return false;
    return host === name || host.endsWith(`.${name}`);
  });
}

function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function toProxy(value: string, variable: string): HttpProxy {
  let url: URL;
  let credentials: string;
  try {
    url = new URL(/^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    // Without the cause, which repeats the value with its password.
    throw refused(variable, 'it is not a URL');
  }
  const { protocol, hostname, port } = url;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw refused(variable, `it uses ${protocol.slice(0, -1)}, not http or https`);
  }
  // A password with a slash or a # ends the host here, and part of it seems to be the host.
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw refused(variable, 'it has more text after the host and port');
  }
  return {
    name: `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`,
    protocol,
    hostname: bare(hostname),
    port,
    authorization:
      credentials === ':' ? undefined : `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`,
  };
}

function refused(variable: string, why: string): ConfigurationError {
  return new ConfigurationError(
    `the proxy address from ${variable} can't be used: ${why}`,
    'Write it as http://host:port or http://user:password@host:port. Special characters in it must be percent-encoded.',
  );
}
