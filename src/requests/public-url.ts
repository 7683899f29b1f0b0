import { isPublicHost } from '../contract/public-host.ts';
import { UsageError } from '../errors.ts';

/**
 * The target of web2list, which the service reads over the internet: refused here is what certainly can't be reached
 * there, before it is paid for. No name is looked up. Throws UsageError.
 */
export function checkPublicUrl(name: string, target: string): string {
  if (!URL.canParse(target)) {
    const address = `https://${target}`;
    const isHost = URL.canParse(address) && isPublicHost(new URL(address).hostname);
    const hint = isHost ? `Write ${address}.` : undefined;
    throw new UsageError(
      `${name} is not a URL: web2list needs the address of a public http or https page`,
      hint,
    );
  }
  const { protocol, hostname, username, password } = new URL(target);
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new UsageError(
      `${name} uses ${protocol.slice(0, -1)}: web2list needs the address of a public http or https page`,
    );
  }
  if (username !== '' || password !== '') {
    throw new UsageError(`${name} contains a user name or password, which would be sent to the service`);
  }
  if (!isPublicHost(hostname)) {
    throw new UsageError(
      `${name} is on ${hostname}, which is not public: the service can't reach it`,
      'web2list can only read pages that anyone on the internet can open.',
    );
  }
  return target;
}
