import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Certificate, createAuthority, selfSigned } from '../helpers/certificates.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { pointedAt, run, temporaryFolder } from '../helpers/run.ts';
import { toFailure, withSettings } from '../helpers/settings.ts';
import { type RecordingProxy, startRecordingProxy } from './recording-proxy.ts';
import { type SecureService, search, startSecureService } from './secure-service.ts';

const authority = createAuthority();
const [long, lately] = [new Date('2020-01-01T00:00:00Z'), new Date('2020-02-03T04:05:06Z')];
const [soon, then] = [new Date('2120-01-01T00:00:00Z'), new Date('2121-02-03T04:05:06Z')];
const names = 'IP:127.0.0.1,DNS:service.test';

let service: SecureService;
let proxy: RecordingProxy | undefined;

/** The way to the service: straight, or through a proxy. */
async function addressOf(way: 'straight' | 'proxy'): Promise<Record<string, string>> {
  if (way === 'straight') return pointedAt(`https://127.0.0.1:${service.port}`);
  proxy = await startRecordingProxy({ to: service.port });
  return { ...pointedAt('https://service.test'), HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
}

const privateAuthority = /`leadpipe config set ca_file <file\.pem>`, or NODE_EXTRA_CA_CERTS=/;
const bad: readonly [what: string, certificate: () => Certificate, why: string, hint: RegExp][] = [
  [
    'expired',
    () => authority.issue(names, long, lately),
    'certificate has expired',
    /clock of this machine.* renew/,
  ],
  [
    'not yet valid',
    () => authority.issue(names, soon, then),
    'certificate is not yet valid',
    /clock of this machine.* renew/,
  ],
  [
    'for another host',
    () => authority.issue('DNS:other.test,DNS:another.test'),
    "does not match certificate's altnames",
    /the certificate of that server is for other host names/,
  ],
  ['self-signed', () => selfSigned(names), 'self-signed certificate', privateAuthority],
  [
    'of an authority that nobody knows',
    () => createAuthority().issue(names),
    'unable to verify the first certificate',
    privateAuthority,
  ],
];

describe.each(['straight', 'proxy'] as const)('%s: a certificate', (way) => {
  it.each(bad)('that is %s', async (_, certificate, why, hint) => {
    service = await startSecureService(certificate());
    const env = { ...withSettings({ ca_file: authority.file }), ...(await addressOf(way)) };
    const { code, error } = toFailure(await runInProcess([...search, '--json-errors'], { env }));
    expect(code).toBe(76);
    expect(error).toMatchObject({ type: 'certificate', charged: 'no', retryable: false });
    expect(error.message).toContain(why);
    expect(error.hint).toMatch(hint);
    expect(service.requests).toEqual([]);
  });

  it('is looked at whatever NODE_TLS_REJECT_UNAUTHORIZED says, and stderr is the error alone', async () => {
    service = await startSecureService(selfSigned(names));
    const env = { ...(await addressOf(way)), NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { code, stderr } = await run(['balance', '--json-errors'], { env });
    expect([code, JSON.parse(stderr).error.type]).toEqual([76, 'certificate']);
    expect(service.requests).toEqual([]);
  });

  it.each(['NODE_EXTRA_CA_CERTS', 'ca_file', 'ca_file beside NODE_EXTRA_CA_CERTS'])(
    'of a private authority is good with %s',
    async (how) => {
      service = await startSecureService(authority.issue(names));
      const env = {
        ...(how === 'NODE_EXTRA_CA_CERTS'
          ? {}
          : withSettings({ ca_file: how === 'ca_file' ? authority.file : createAuthority().file })),
        ...(how === 'ca_file' ? {} : { NODE_EXTRA_CA_CERTS: authority.file }),
        ...(await addressOf(way)),
      };
      expect(await run(['balance'], { env })).toMatchObject({ code: 0 });
    },
  );
});

describe('ca_file', () => {
  const folder = temporaryFolder();
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const begin = '-----BEGIN CERTIFICATE-----\n';

  it('may hold several certificates and text around them', async () => {
    const pem = [createAuthority().file, authority.file].map((one) => readFileSync(one, 'utf8'));
    service = await startSecureService(authority.issue(names));
    const ca_file = file('several.pem', `Ours:\r\n${pem.join('# and\n').replaceAll('\n', '\r\n')}`);
    const env = { ...withSettings({ ca_file }), ...(await addressOf('straight')) };
    expect(await runInProcess(['balance'], { env })).toMatchObject({ code: 0 });
  });

  it.each<[what: string, ca_file: () => string, why: string]>([
    ['is missing', () => join(folder, 'missing.pem'), 'ENOENT'],
    ['is a folder', () => folder, 'EISDIR'],
    ['is empty', () => file('empty.pem', ''), 'it contains no PEM certificate'],
    ['is not PEM', () => file('der.pem', '\x30\x82\x01\x0a'), 'it contains no PEM certificate'],
    ['is a key', () => file('key.pem', `${authority.issue(names).key}`), 'it contains no PEM certificate'],
    ['is cut', () => file('cut.pem', `${begin}MIIB`), 'it contains no PEM certificate'],
    ['is broken', () => file('broken.pem', `${begin}MIIB\n-----END CERTIFICATE-----\n`), "can't be used: "],
  ])('that %s ends the run before anything is sent', async (_, caFile, why) => {
    service = await startSecureService(authority.issue(names));
    const ca_file = caFile();
    const env = { ...withSettings({ ca_file }), ...(await addressOf('straight')) };
    const { code, error } = toFailure(await runInProcess([...search, '--json-errors'], { env }));
    expect(code).toBe(78);
    expect(error).toMatchObject({ type: 'configuration', charged: 'no' });
    expect(error.message).toContain(`the ca_file ${ca_file} can't be used: `);
    expect(error.message).toContain(why);
    expect(error.hint).toMatch(/config set ca_file.*config unset ca_file/);
    expect(service.requests).toEqual([]);
  });
});
