import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './run.ts';

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

export interface Authority {
  /** Its own certificate, PEM. */
  readonly file: string;
  /** A certificate for names such as `DNS:service.test` or `IP:::1`, valid from yesterday until tomorrow. */
  issue(names: string, from?: Date, until?: Date): Certificate;
}

const day = 86_400_000;
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A certificate authority of its own, made by OpenSSL, untrusted by default. */
export function createAuthority(): Authority {
  const folder = temporaryFolder();
  const path = (name: string): string => join(folder, name);
  writeFileSync(path('index'), '');
  writeFileSync(
    path('openssl.cnf'),
    `[req]
distinguished_name = name
[name]
[ca]
default_ca = own
[own]
database = ${path('index')}
new_certs_dir = ${folder}
default_md = sha256
rand_serial = yes
unique_subject = no
copy_extensions = copy
policy = any
[any]
commonName = supplied
`,
  );
  const own = ['-keyout', path('ca.key'), '-out', path('ca.pem')];
  const isAuthority = ['-addext', 'basicConstraints=critical,CA:TRUE', '-subj', '/CN=test authority'];
  openssl('req', '-x509', '-config', path('openssl.cnf'), ...newKey, ...isAuthority, ...own);
  return {
    file: path('ca.pem'),
    issue(names, from = new Date(Date.now() - day), until = new Date(Date.now() + day)) {
      const wanted = ['-subj', '/CN=test', '-addext', `subjectAltName=${names}`];
      const made = ['-keyout', path('key.pem'), '-out', path('request.pem')];
      openssl('req', '-config', path('openssl.cnf'), ...newKey, ...wanted, ...made);
      const signing = ['-cert', path('ca.pem'), '-keyfile', path('ca.key'), '-in', path('request.pem')];
      const valid = ['-startdate', toAsn1(from), '-enddate', toAsn1(until)];
      const config = ['-batch', '-notext', '-config', path('openssl.cnf')];
      openssl('ca', ...config, ...signing, ...valid, '-out', path('cert.pem'));
      return { key: readFileSync(path('key.pem')), cert: readFileSync(path('cert.pem')) };
    },
  };
}

/** A certificate that vouches for itself. */
export function selfSigned(names: string): Certificate {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names}`];
  openssl('req', '-x509', ...newKey, ...subject, '-keyout', key, '-out', cert);
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}

function toAsn1(date: Date): string {
  return date.toISOString().replace(/[-:T]|\.\d+/g, '');
}
