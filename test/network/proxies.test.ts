import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../helpers/certificates.ts';
import { needs } from '../helpers/parts.ts';
import { pointedAt, run } from '../helpers/run.ts';
import { type Failure, toFailure, withSettings } from '../helpers/settings.ts';
import { type DebianProxy, freePort, password, startSquid, startTinyproxy, user } from './debian-proxies.ts';
import { type SecureService, search, startSecureService, threeLeads } from './secure-service.ts';

const authority = createAuthority();
// tinyproxy knows no names of its own; 0.0.0.0 is this machine, and not one of its loopback addresses.
const certificate = authority.issue('DNS:service.test,IP:0.0.0.0');
let service: SecureService;
beforeAll(async () => {
  service = await startSecureService(certificate);
});

const trusted = { NODE_EXTRA_CA_CERTS: authority.file };
const balance = ['balance', '-f', 'jsonl'];

/** A run that says everything it can, and fails. */
async function refused(env: Record<string, string>): Promise<Failure> {
  return toFailure(await run([...search, '--json-errors', '--verbose'], { env }));
}

const withoutRetries = withSettings({ 'retry.attempts': 0 });

describe.skipIf(!needs('squid'))('squid', () => {
  let open: DebianProxy;
  let closed: DebianProxy;
  beforeAll(async () => {
    [open, closed] = await Promise.all([startSquid(false), startSquid(true)]);
  });
  const here = (proxy: DebianProxy, credentials = ''): Record<string, string> => ({
    ...pointedAt(`https://service.test:${service.port}`),
    HTTPS_PROXY: `http://${credentials}127.0.0.1:${proxy.port}`,
  });

  it('lets balance and a streaming search through', async () => {
    const env = { ...here(open), ...trusted };
    expect(await run(balance, { env })).toMatchObject({
      code: 0,
      stdout: '{"object":"credit_balance","available_credits":7}\n',
    });
    expect(await run(search, { env })).toMatchObject(threeLeads);
    expect(open.log().match(/CONNECT service\.test:\d+/g)).toHaveLength(2);
    expect(service.requests).toEqual(['GET /v1/credit/balance', 'POST /v1/entity-search']);
  });

  it('gets its user name and password, which are sent only to it', async () => {
    const credentials = `${user}:${encodeURIComponent(password)}@`;
    const env = { ...here(closed, credentials), ...trusted };
    const came = await run([...search, '--verbose'], { env });
    expect(came).toMatchObject(threeLeads);
    expect(came.stderr).not.toContain(password);
    expect(closed.log()).toMatch(new RegExp(`CONNECT service\\.test:\\d+ ${user}`));
  });

  it.each([
    ['no credentials', ''],
    ['wrong credentials', 'ann:a-wrong-secret@'],
  ])('with %s says what it wants', async (_, credentials) => {
    const { code, error, stderr } = await refused({
      ...withoutRetries,
      ...here(closed, credentials),
      ...trusted,
    });
    expect(code).toBe(78);
    expect(error).toMatchObject({ type: 'proxy_credentials', charged: 'no', retryable: false });
    expect(error.message).toContain(
      `the proxy 127.0.0.1:${closed.port} answered CONNECT service.test:${service.port} with 407`,
    );
    expect(error.hint).toContain('HTTPS_PROXY=http://user:password@host:port');
    expect(stderr).not.toContain('a-wrong-secret');
    expect(stderr).not.toContain(Buffer.from('ann:a-wrong-secret').toString('base64'));
  });

  it.each([
    ['forbids a service', async () => 'https://forbidden.test', 78, 'proxy_refused', /with 403 \(POST/],
    ['does not find a service', async () => 'https://missing.invalid', 75, 'unsent', /with 50\d \(POST/],
    [
      'can not connect to a service',
      async () => `https://service.test:${await freePort()}`,
      75,
      'unsent',
      /with 503 \(POST/,
    ],
  ])('says that it %s', async (_, url, exit, type, status) => {
    const { code, error } = await refused({ ...withoutRetries, ...here(open), ...pointedAt(await url()) });
    expect(code).toBe(exit);
    expect(error).toMatchObject({ type, charged: 'no', retryable: exit === 75 });
    expect(error.message).toContain(`the proxy 127.0.0.1:${open.port} answered`);
    expect(error.message).toMatch(status);
  });
});

describe.skipIf(!needs('tinyproxy'))('tinyproxy', () => {
  let open: DebianProxy;
  let closed: DebianProxy;
  beforeAll(async () => {
    [open, closed] = await Promise.all([startTinyproxy(false), startTinyproxy(true)]);
  });
  const here = (proxy: string): Record<string, string> => ({
    ...pointedAt(`https://0.0.0.0:${service.port}`),
    ...trusted,
    https_proxy: proxy,
  });

  it('lets balance and a streaming search through', async () => {
    const env = here(`127.0.0.1:${open.port}`);
    expect(await run(balance, { env })).toMatchObject({ code: 0 });
    expect(await run(search, { env })).toMatchObject(threeLeads);
    expect(open.log().match(/CONNECT 0\.0\.0\.0:\d+/g)).toHaveLength(2);
  });

  it('wants its user name and password', async () => {
    const right = here(`http://${user}:secret@127.0.0.1:${closed.port}`);
    expect(await run(search, { env: right })).toMatchObject(threeLeads);
    const wrong = { ...withoutRetries, ...here(`http://${user}:another@127.0.0.1:${closed.port}`) };
    const { code, error } = await refused(wrong);
    expect([code, error.type]).toEqual([78, 'proxy_credentials']);
  });
});
