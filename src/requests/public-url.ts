import { BlockList, isIP } from 'node:net';
import { UsageError } from '../errors.ts';

/**
 * Checks the target of web2list, which the service reads over the internet. Refuses addresses that it certainly can't reach, before they
 * are paid for. Makes no DNS request. Throws UsageError.
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

function isPublicHost(hostname: string): boolean {
  // The URL parser has normalized every form of an address (0x7f.1, 2130706433).
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const version = isIP(host);
  if (version !== 0) return !closed.check(host, version === 4 ? 'ipv4' : 'ipv6');
  return host.includes('.') && !closedNames.test(host);
}

/** Names that no public server can have (RFC 6761, 6762, 8375; ICANN's internal), and those that home networks use. */
const closedNames = /\.(?:localhost|local|internal|intranet|lan|home|home\.arpa|corp|test|invalid)$/;

/** All registered special-purpose addresses that can't be reached from the internet. */
const closedNetworks = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24',
  '192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3',
  '::/96 64:ff9b:1::/48 100::/64 2001:db8::/32 fc00::/7 fe80::/9 ff00::/8',
].join(' ');
const closed = new BlockList();
for (const [, network = '', bits] of closedNetworks.matchAll(/(\S+)\/(\d+)/g)) {
  closed.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
}
