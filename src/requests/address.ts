import { ConfigurationError, type Facts } from '../errors.ts';

/** Whether a host name means this machine: only then is plain http allowed. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Checks an address of the service: https, or http on this machine; without credentials and query. `source` tells
 * in messages where it is from. Throws ConfigurationError.
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
    // The address holds a secret, so it is not repeated.
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

/** Pure: a host without a scheme, with the right one added; undefined for anything else, which may be a secret. */
export function withScheme(text: string): string | undefined {
  const [, host = ''] = /^([\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?\/?$/i.exec(text) ?? [];
  const isHost = isLoopback(host) || /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,20}$/i.test(host);
  return isHost && text.length <= 100 ? `${isLoopback(host) ? 'http' : 'https'}://${text}` : undefined;
}

/** Pure: an address in the form in which it is shown and stored. */
export function toAddressText({ href }: URL): string {
  return href.replace(/\/$/, '');
}

function refused(source: string, why: string, more: string | Facts, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`the address ${source} can't be used: ${why}`, more, cause);
}
