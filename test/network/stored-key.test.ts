import { beforeAll, describe, expect, it } from 'vitest';
import { type Authority, createAuthority } from '../helpers/certificates.ts';
import { ending } from '../helpers/ending.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { writeSettings } from '../helpers/settings.ts';
import { type RecordingProxy, startRecordingProxy } from './recording-proxy.ts';
import { type SecureService, startSecureService } from './secure-service.ts';

/** All of these lead to one service, which answers every request. */
const hosts = ['host.test', 'host.test.evil.example', 'host.testing', 'a.host.test'];
let authority: Authority;
let service: SecureService;
let proxy: RecordingProxy;

beforeAll(async () => {
  authority = createAuthority();
  service = await startSecureService(authority.issue(hosts.map((host) => `DNS:${host}`).join(',')));
  proxy = await startRecordingProxy({ to: service.port });
});

/** A user who has stored a key for this address. */
async function loggedIn(address: string): Promise<Machine> {
  const at = createMachine();
  Object.assign(at.env, {
    LEADPIPE_CREDENTIAL_STORE: 'file',
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
  });
  writeSettings(at.env, { ca_file: authority.file });
  const login = await at.leadpipe(`auth login --base-url ${address}`, { stdin: 'lp_stored_0123456789' });
  expect(login).toMatchObject({ code: 0 });
  return at;
}

describe('a key that is stored for', () => {
  it.each([
    ['https://host.test', 'https://host.test.evil.example'],
    ['https://host.test', 'https://host.testing'],
    ['https://host.test', 'https://a.host.test'],
    ['https://host.test', 'https://host.test:8443'],
    ['https://host.test:844', 'https://host.test:8443'],
    ['https://host.test:8443', 'https://host.test:844'],
    ['https://host.test:8443', 'https://host.test'],
    ['https://host.test.evil.example', 'https://host.test'],
  ])('%s is not sent to %s', async (origin, other) => {
    const at = await loggedIn(origin);
    const before = [proxy.heads.length, service.requests.length];
    const refused = ending(78, `is only for ${origin}, so it was not sent to ${other}`);
    for (const line of ['balance', 'search company x', 'auth status']) {
      const env = { LEADPIPE_BASE_URL: other };
      expect({ line, ...(await at.leadpipe(line, { env })) }).toMatchObject({ line, ...refused });
    }
    expect(await at.leadpipe(`balance --base-url ${other}`)).toMatchObject(refused);
    expect([proxy.heads.length, service.requests.length]).toEqual(before);
  });

  it('an origin is sent there, however its address is written', async () => {
    const at = await loggedIn('https://host.test');
    for (const same of ['https://host.test/', 'https://host.test:443', 'https://HOST.test/v2']) {
      expect(await at.leadpipe(`balance --base-url ${same}`)).toMatchObject({ code: 0 });
    }
  });
});
