import { ConfigurationError, type Facts } from '../errors.ts';

/** Whether a host name is this machine: plain http is allowed for these alone. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Checks an address of the service: https, or http on this machine; no user-info, no query. Throws
 * ConfigurationError, wherever the address came from.
 */
export function toBaseUrl(address: string, source: string): URL {
  const bare = withScheme(address.trim());
  if (bare !== undefined) {
    const [scheme] = bare.split('//');
    throw refused(source, `${scheme}// is missing`, `Write it with ${scheme}//: ${bare}`);
  }
  let url: URL;
  try {
    url = new URL(address.trim());
  } catch (error) {
    throw refused(source, 'it is not a URL', 'Write it as https://host.', error);
  }
  if (url.username !== '' || url.password !== '') {
    // The address itself is not repeated: it holds a secret.
    throw refused(source, 'it contains a user name or password', { is: 'secret_in_address' });
  }
  if (url.search !== '' || url.hash !== '') {
    throw refused(source, 'it has more text after a ? or #', 'Write only the address: https://host.');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw refused(
      source,
      `it uses ${url.protocol.slice(0, -1)}, not https`,
      'http is allowed only for this machine (127.0.0.1, localhost, [::1]).',
    );
  }
  return url;
}

/** Pure: a host without what has to stand before it, with that; undefined for anything else, which may be a secret. */
export function withScheme(text: string): string | undefined {
  const [, host = ''] = /^([\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?\/?$/i.exec(text) ?? [];
  const isHost = isLoopback(host) || /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,20}$/i.test(host);
  return isHost && text.length <= 100 ? `${isLoopback(host) ? 'http' : 'https'}://${text}` : undefined;
}

/** Pure: an address as it is shown and stored. */
export function toAddressText({ href }: URL): string {
  return href.replace(/\/$/, '');
}

function refused(source: string, why: string, more: string | Facts, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`the address from ${source} can't be used: ${why}`, more, cause);
}
