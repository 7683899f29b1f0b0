import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as tls from 'node:tls';
import { ConfigurationError } from '../errors.ts';

/** The authorities that Node trusts, and those of `caFile`. Throws ConfigurationError when the file can't be read or has no certificate. */
export async function trustAlso(
  caFile: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<tls.SecureContext> {
  return tls.createSecureContext({
    ca: [...(await defaultAuthorities(env)), ...(await readAuthorities(caFile))],
  });
}

/** Node's default authorities and those of NODE_EXTRA_CA_CERTS. Node ignores both if `ca` is given. */
async function defaultAuthorities(
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  // Node has it from 22.15 on.
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => readonly string[] };
  if (getCACertificates !== undefined) return getCACertificates('default');
  const extra = env.NODE_EXTRA_CA_CERTS;
  // Node has already warned about a file that can't be read.
  return extra
    ? [...tls.rootCertificates, await readFile(extra, 'utf8').catch(() => '')]
    : tls.rootCertificates;
}

async function readAuthorities(caFile: string): Promise<readonly string[]> {
  try {
    const pem = await readFile(caFile, 'utf8');
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs);
    if (certificates === null) throw new Error('it contains no PEM certificate');
    return certificates.map((certificate) => new X509Certificate(certificate).toString());
  } catch (error) {
    throw new ConfigurationError(
      `the ca_file ${caFile} can't be used: ${(error as Error).message}`,
      { is: 'bad_authorities' },
      error,
    );
  }
}

/**
 * As Node's own check, with OpenSSL's check first for IPv6 addresses: Node 22.23 and 24.17 find no IPv6 address in any certificate (nodejs/node issue
 * 64032). Returns what is wrong.
 */
export function checkIdentity(host: string, certificate: tls.PeerCertificate): Error | undefined {
  const isForAddress = host.includes(':') && new X509Certificate(certificate.raw).checkIP(host) !== undefined;
  return isForAddress ? undefined : tls.checkServerIdentity(host, certificate);
}
