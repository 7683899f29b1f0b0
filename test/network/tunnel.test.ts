import type { Socket } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Certificate, createAuthority, selfSigned } from '../helpers/certificates.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { pointedAt, run } from '../helpers/run.ts';
import { type Failure, toFailure, withSettings } from '../helpers/settings.ts';
import { freePort } from './debian-proxies.ts';
import { startRecordingProxy } from './recording-proxy.ts';
import { type SecureService, search, startSecureService, threeLeads } from './secure-service.ts';

const authority = createAuthority();
const key = 'a-canary-key-0123456789';
const secret = 'proxy-canary';
const settings = withSettings({
  ca_file: authority.file,
  'retry.attempts': 0,
  'timeout.connect': 1,
});
const env = { ...settings, ...pointedAt('https://service.test', key) };

let service: SecureService;
beforeAll(async () => {
  service = await startSecureService(authority.issue('DNS:service.test'));
});

describe('what a proxy sees', () => {
  it('is a host, a port and TLS: never the key', async () => {
    const proxy = await startRecordingProxy({ to: service.port });
    const HTTPS_PROXY = `http://ann:${secret}@127.0.0.1:${proxy.port}`;
    const chatty = await run([...search, '--verbose'], { env: { ...env, HTTPS_PROXY, NODE_DEBUG: '*' } });
    expect(chatty.code).toBe(0);
    expect(await run(['balance'], { env: { ...env, HTTPS_PROXY } })).toMatchObject({ code: 0 });
    expect(proxy.heads).toEqual(
      Array(2).fill(
        'CONNECT service.test:443 HTTP/1.1\r\nhost: service.test:443\r\n' +
          `proxy-authorization: Basic ${Buffer.from(`ann:${secret}`).toString('base64')}\r\n` +
          'Connection: close\r\n\r\n',
      ),
    );
    const seen = proxy.bytes().toString('latin1');
    expect(seen.length).toBeGreaterThan(2000);
    const forms = [key, Buffer.from(key).toString('hex'), Buffer.from(key).toString('base64').slice(0, -4)];
    for (const form of [...forms, 'x-api-key', 'entity-search']) expect(seen).not.toContain(form);
  });

  it('is nothing at all of a service on this machine', async () => {
    const proxy = await startRecordingProxy({ to: service.port });
    const local = await startFaultServer((socket) => {
      socket.write(jsonAnswer('{"object":"credit_balance","available_credits":1}'));
    });
    const url = `http://127.0.0.1:${proxy.port}`;
    const proxies = { http_proxy: url, HTTP_PROXY: url, https_proxy: url, ALL_PROXY: url };
    const result = await run(['balance'], { env: { ...settings, ...proxies, ...pointedAt(local.url, key) } });
    expect(result.code).toBe(0);
    await local.close();
    expect([proxy.heads, proxy.bytes().length]).toEqual([[], 0]);
  });

  it('is nothing where NO_PROXY covers the service', async () => {
    const proxy = await startRecordingProxy({ to: service.port });
    // An address of this machine that is not one of its loopback addresses.
    const direct = await startSecureService(authority.issue('IP:0.0.0.0'));
    const proxies = { HTTPS_PROXY: `127.0.0.1:${proxy.port}`, NO_PROXY: 'service.test,0.0.0.0/8' };
    const address = pointedAt(`https://0.0.0.0:${direct.port}`, key);
    const env = { ...settings, ...proxies, ...address };
    expect(await runInProcess(['balance'], { env })).toMatchObject({ code: 0 });
    const { stdout } = await runInProcess('doctor -f csv', { env });
    expect(stdout).toContain('proxy,ok,none (NO_PROXY: 0.0.0.0/8),');
    direct.close();
    expect(proxy.heads).toEqual([]);
  });
});

describe('a proxy on TLS', () => {
  const through = (certificate: Certificate) => startRecordingProxy({ to: service.port, certificate });

  it('lets a search through', async () => {
    const proxy = await through(authority.issue('DNS:localhost'));
    const HTTPS_PROXY = `https://ann:${secret}@localhost:${proxy.port}`;
    expect(await runInProcess(search, { env: { ...env, HTTPS_PROXY } })).toMatchObject(threeLeads);
    expect([proxy.heads.length, proxy.hosts]).toEqual([1, ['localhost']]);
    expect(proxy.bytes().toString('latin1')).not.toContain(key);
  });

  it('is not told anything when its certificate is not good', async () => {
    const proxy = await through(selfSigned('IP:127.0.0.1'));
    const { code, error } = await failing(`https://ann:${secret}@127.0.0.1:${proxy.port}`);
    expect([code, error.type]).toEqual([76, 'certificate']);
    expect(error.message).toContain(`the proxy 127.0.0.1:${proxy.port}: self-signed certificate`);
    expect(proxy.heads).toEqual([]);
  });
});

/** A search that fails on the way, and says what it can. */
async function failing(HTTPS_PROXY: string, more: Record<string, string> = {}): Promise<Failure> {
  const result = await runInProcess([...search, '--json-errors', '--verbose'], {
    env: { ...env, HTTPS_PROXY, ...more },
  });
  const { stderr } = result;
  expect(stderr).not.toContain(secret);
  expect(stderr).not.toContain(Buffer.from(`ann:${secret}`).toString('base64'));
  const failure = toFailure(result);
  expect(failure.error.charged).toBe('no');
  return failure;
}

describe.concurrent('a proxy that fails', () => {
  const says = (text: string) => (socket: Socket) => void socket.write(text);

  it.each<[what: string, answer: (socket: Socket) => void, exit: number, type: string, why: string]>([
    ['hangs up', (socket) => void socket.end(), 75, 'unsent', ': socket hang up'],
    ['resets', (socket) => void socket.resetAndDestroy(), 75, 'unsent', ': read ECONNRESET'],
    ['says nothing', () => {}, 75, 'unsent', ': no answer to CONNECT for 1 s'],
    ['stops in its head', says('HTTP/1.1 200 OK\r\n'), 75, 'unsent', ': no answer to CONNECT for 1 s'],
    ['is something else', says('220 mail.test ESMTP\r\n'), 78, 'proxy_refused', ' does not answer with HTTP'],
    ['wants a login', says('HTTP/1.1 407 No\r\n\r\n'), 78, 'proxy_credentials', ' with 407'],
    ['refuses a login', says('HTTP/1.1 401 No\r\n\r\n'), 78, 'proxy_credentials', ' with 401'],
    ['forbids', says('HTTP/1.1 403 No\r\n\r\n'), 78, 'proxy_refused', ' with 403'],
    ['redirects', says('HTTP/1.1 302 No\r\nLocation: http://x\r\n\r\n'), 78, 'proxy_refused', ' with 302'],
    ['has no way on', says('HTTP/1.1 502 No\r\n\r\n'), 75, 'unsent', ' with 502'],
    ['waits in vain', says('HTTP/1.1 504 No\r\n\r\n'), 75, 'unsent', ' with 504'],
    [
      'goes silent after its answer',
      says('HTTP/1.1 200 OK\r\n\r\n'),
      75,
      'unsent',
      'nothing answers in time (attempted address: service.test:443, timeout: 1000ms)',
    ],
  ])('because it %s', async (_, answer, exit, type, why) => {
    const proxy = await startRecordingProxy({ answer: () => answer });
    const { code, error } = await failing(`http://ann:${secret}@127.0.0.1:${proxy.port}`);
    expect([code, error.type]).toEqual([exit, type]);
    expect(error.message).toContain(`${why} (POST /v1/entity-search)`);
    if (!why.startsWith('nothing')) expect(error.message).toContain(`the proxy 127.0.0.1:${proxy.port}`);
  });

  it('because its port is closed', async () => {
    const port = await freePort();
    const { code, error } = await failing(`http://ann:${secret}@127.0.0.1:${port}`);
    expect([code, error.type]).toEqual([75, 'unsent']);
    expect(error.message).toContain(`the proxy 127.0.0.1:${port}: nothing answers at`);
  });

  it('because its name can not be resolved', async () => {
    const { code, error } = await failing(`http://ann:${secret}@proxy.invalid:3128`);
    expect([code, error.type]).toEqual([75, 'unsent']);
    expect(error.message).toContain('the proxy proxy.invalid:3128: there is no host proxy.invalid');
  });

  it('because it is not on TLS', async () => {
    const proxy = await startRecordingProxy({ answer: () => says('HTTP/1.1 400 Bad Request\r\n\r\n') });
    const { code, error } = await failing(`https://ann:${secret}@127.0.0.1:${proxy.port}`);
    expect([code, error.type]).toEqual([78, 'proxy_refused']);
    expect(error.message).toContain(`the proxy 127.0.0.1:${proxy.port} does not answer with TLS`);
  });

  it.each([
    'socks5://ann:proxy-canary@127.0.0.1:1080',
    'http://ann:proxy-canary@',
    'ann:proxy-canary#1@proxy:1',
  ])('because %s is not a proxy that leadpipe can use', async (value) => {
    const { code, error } = await failing(value);
    expect([code, error.type]).toEqual([78, 'configuration']);
    expect(error.message).toContain("the proxy address from HTTPS_PROXY can't be used");
  });

  it('once, and lets the next attempt through', async () => {
    const proxy = await startRecordingProxy({
      to: service.port,
      answer: (attempt) => (attempt === 1 ? says('HTTP/1.1 503 Busy\r\n\r\n') : undefined),
    });
    const again = withSettings({ ca_file: authority.file });
    const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
    expect(await runInProcess(search, { env: { ...env, ...again, HTTPS_PROXY } })).toMatchObject(threeLeads);
    expect(proxy.heads).toHaveLength(2);
  });
});
