import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createAuthority } from '../helpers/certificates.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { startRowService } from '../helpers/row-service.ts';
import { pointedAt } from '../helpers/run.ts';
import { toFailure, withSettings } from '../helpers/settings.ts';
import { freePort } from './debian-proxies.ts';
import { startRecordingProxy } from './recording-proxy.ts';
import { startSecureService } from './secure-service.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);
const balance = jsonAnswer('{"object":"credit_balance","available_credits":7}');
const seven = { code: 0, stdout: expect.stringContaining('"available_credits":7') };

describe.skipIf(!hasIpv6)('IPv6', () => {
  it('http on this machine', async () => {
    const server = await startFaultServer((socket) => void socket.write(balance), '::1');
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect(await runInProcess(['balance'], { env: pointedAt(server.url) })).toMatchObject(seven);
  });

  it('https, straight and through a proxy', async () => {
    const authority = createAuthority();
    // The second is 127.0.0.1 written as IPv6: not one of the loopback addresses.
    const service = await startSecureService(authority.issue('IP:::1,IP:::ffff:7f00:1'), '::');
    const settings = withSettings({ ca_file: authority.file });
    const proxy = await startRecordingProxy({ to: service.port });
    const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
    const straight = { ...settings, ...pointedAt(`https://[::1]:${service.port}`), HTTPS_PROXY };
    expect(await runInProcess(['balance'], { env: straight })).toMatchObject(seven);
    expect(proxy.heads).toEqual([]);
    const through = { ...settings, ...pointedAt(`https://[::ffff:7f00:1]:${service.port}`), HTTPS_PROXY };
    expect(await runInProcess(['balance'], { env: through })).toMatchObject(seven);
    expect(proxy.heads).toEqual([
      expect.stringContaining(`CONNECT [::ffff:7f00:1]:${service.port} HTTP/1.1`),
    ]);
    const direct = { ...through, NO_PROXY: '::ffff:7f00:1' };
    expect(await runInProcess(['balance'], { env: direct })).toMatchObject(seven);
    expect(proxy.heads).toHaveLength(1);
  });

  it('a proxy with an IPv6 address', async () => {
    const authority = createAuthority();
    const service = await startSecureService(authority.issue('DNS:service.test'));
    const proxy = await startRecordingProxy({ to: service.port, host: '::1' });
    const settings = withSettings({ ca_file: authority.file });
    const env = {
      ...settings,
      ...pointedAt('https://service.test'),
      HTTPS_PROXY: `http://[::1]:${proxy.port}`,
    };
    expect(await runInProcess(['balance'], { env })).toMatchObject(seven);
    expect(proxy.heads).toHaveLength(1);
  });

  it('a certificate for another address is refused', async () => {
    const authority = createAuthority();
    const service = await startSecureService(authority.issue('IP:::2,DNS:service.test'), '::1');
    const env = {
      ...withSettings({ ca_file: authority.file }),
      ...pointedAt(`https://[::1]:${service.port}`),
    };
    const { code, error } = toFailure(await runInProcess(['balance', '--json-errors'], { env }));
    expect([code, error.type]).toEqual([76, 'certificate']);
    expect(service.requests).toEqual([]);
  });
});

describe('an address of this machine', () => {
  it('with https, where http is spoken, is told with http', async () => {
    const server = await startRowService();
    const env = pointedAt(server.url.replace('http', 'https'));
    const { code, error } = toFailure(await runInProcess('balance --json-errors', { env }));
    expect([code, error.type]).toEqual([76, 'not_http']);
    const { groups } = /^Write the address with http: (?<url>\S+)$/.exec(error.hint) ?? {};
    expect(await runInProcess(['balance'], { env: pointedAt(groups?.url ?? '') })).toMatchObject({ code: 0 });
  });

  it('where nothing listens is tried twice within a second', async () => {
    const env = pointedAt(`http://127.0.0.1:${await freePort()}`);
    // The longest waits that there can be.
    const options = { env, context: { random: () => 1 } };
    const result = await runInProcess('balance --json-errors --verbose', options);
    const { code, error } = toFailure(result);
    expect([code, error.type]).toEqual([75, 'not_running']);
    expect(error.hint).toMatch(/^Is `leadpipe serve` running\?/);
    expect(result.stderr.match(/retry in \d+ ms/g)).toEqual(['retry in 300 ms']);
  });
});
