import { BlockList, isIP } from 'node:net';
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
 * The first variable that is set counts; an empty one means no proxy. Lower case comes first, as in curl. HTTP_PROXY is included for users
 * who set nothing else: plain http is only used for this machine, without a proxy.
 */
const variables = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'http_proxy', 'HTTP_PROXY'];

export interface ProxyChoice {
  readonly proxy: HttpProxy | undefined;
  /** The reason: the variable, or the entry of NO_PROXY; undefined if no variable is set. */
  readonly rule: string | undefined;
  /** Invalid entries of NO_PROXY, which are ignored. */
  readonly unread: readonly string[];
}

/** The proxy for the service, if any, and why. Throws ConfigurationError for a bad one, without its credentials. */
export function chooseProxy(service: URL, env: Environment): ProxyChoice {
  const variable = variables.find((name) => env[name] !== undefined);
  const value = variable === undefined ? '' : env[variable]?.trim();
  if (variable === undefined || !value) {
    return { proxy: undefined, rule: variable && `${variable} is empty`, unread: [] };
  }
  const excepting = env.no_proxy === undefined ? 'NO_PROXY' : 'no_proxy';
  const entries = (env[excepting] ?? '').split(/[\s,]+/).filter((one) => one !== '');
  const exceptions = entries.map((entry) => ({ rule: `${excepting}: ${entry}`, covers: toException(entry) }));
  const unread = exceptions.flatMap(({ covers, rule }) => (covers === undefined ? [rule] : []));
  const exception = exceptions.find(({ covers }) => covers?.(service));
  return exception === undefined
    ? { proxy: toProxy(value, variable), rule: variable, unread }
    : { proxy: undefined, rule: exception.rule, unread };
}

/**
 * Which services an entry of NO_PROXY covers; undefined where it can't be read. It is a name (with its subdomains), an address or a range of
 * addresses, each with or without a port, or `*`. No name is looked up: an address covers only a service that is named by its address.
 */
function toException(text: string): ((service: URL) => boolean) | undefined {
  if (text === '*') return () => true;
  // An IPv6 address without brackets has no port.
  const [, entry = text, port] = /^(\[.*\](?:\/\d+)?|[^:]*):(\d+)$/.exec(text) ?? [];
  const covers = toRange(bare(entry)) ?? toName(entry);
  return (
    covers &&
    ((service) => {
      const isPort = port === undefined || port === (service.port || '443');
      return isPort && covers(bare(service.hostname).replace(/\.$/, ''));
    })
  );
}

/** Whether a host is this address, or an address in this range (`192.0.2.0/24`). */
function toRange(range: string): ((host: string) => boolean) | undefined {
  const [first = '', bits] = range.split('/');
  const family = isIP(first);
  const most = family === 4 ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  if (family === 0 || bits === '' || !(prefix <= most)) return undefined;
  const covered = new BlockList();
  covered.addSubnet(first, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return (host) => isIP(host) !== 0 && covered.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

function toName(text: string): ((host: string) => boolean) | undefined {
  const [, name] = /^(?:\*?\.)?([\w-]+(?:\.[\w-]+)*)\.?$/.exec(text.toLowerCase()) ?? [];
  return name === undefined ? undefined : (host) => isIP(host) === 0 && `.${host}`.endsWith(`.${name}`);
}

function bare(hostname: string): string {
  return hostname.replace(/[[\]]/g, '');
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
  // An unescaped slash or # in a password ends the host early, and part of the password looks like the host.
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
