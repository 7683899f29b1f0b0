import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as tls from 'node:tls';
import { ConfigurationError } from '../errors.ts';

/**
 * What Node trusts, and the authorities of `caFile` too. Throws ConfigurationError when the file can't be read or has
 * no certificate in it.
 */
export async function trustAlso(
  caFile: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<tls.SecureContext> {
  return tls.createSecureContext({
    ca: [...(await usualAuthorities(env)), ...(await readAuthorities(caFile))],
  });
}

/** The bundled authorities and those of NODE_EXTRA_CA_CERTS: Node uses these only while no other is named. */
async function usualAuthorities(
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  // Node has it from 22.15 on.
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => readonly string[] };
  if (getCACertificates !== undefined) return getCACertificates('default');
  const extra = env.NODE_EXTRA_CA_CERTS;
  // Node has warned already of one that can't be read.
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
 * Node's own check, but for IPv6 addresses OpenSSL's is asked first: Node 22.23 and 24.17 find no IPv6 address in any
 * certificate (nodejs/node issue 64032). Returns what is wrong.
 */
export function checkIdentity(host: string, certificate: tls.PeerCertificate): Error | undefined {
  const isForAddress = host.includes(':') && new X509Certificate(certificate.raw).checkIP(host) !== undefined;
  return isForAddress ? undefined : tls.checkServerIdentity(host, certificate);
}
