import { X509Certificate } from 'node:crypto';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/**
 * Node's own check, but for IPv6 addresses OpenSSL's is asked first: Node 22.23 and 24.17 find no IPv6 address in any
 * certificate (nodejs/node issue 64032). Returns what is wrong.
 */
export function checkIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const isForAddress = host.includes(':') && new X509Certificate(certificate.raw).checkIP(host) !== undefined;
  return isForAddress ? undefined : checkServerIdentity(host, certificate);
}
