import { describe, expect, it } from 'vitest';
import { chooseProxy } from '../../src/transport/proxy.ts';

const service = 'https://api.service.test';
const chosen = (env: Record<string, string>, url = service): string | undefined =>
  chooseProxy(new URL(url), env).proxy?.name;

describe('which proxy', () => {
  it.each<[expected: string | undefined, env: Record<string, string>]>([
    [undefined, {}],
    ['upper:1', { HTTPS_PROXY: 'http://upper:1' }],
    ['lower:1', { HTTPS_PROXY: 'http://upper:1', https_proxy: 'http://lower:1' }],
    ['https:1', { HTTPS_PROXY: 'http://https:1', ALL_PROXY: 'http://all:1', HTTP_PROXY: 'http://http:1' }],
    ['https:1', { HTTPS_PROXY: 'http://https:1', all_proxy: 'http://all:1', http_proxy: 'http://http:1' }],
    ['all:1', { ALL_PROXY: 'http://all:1', http_proxy: 'http://http:1' }],
    ['http:1', { HTTP_PROXY: 'http://http:1' }],
    [undefined, { https_proxy: '', HTTPS_PROXY: 'http://upper:1' }],
    [undefined, { HTTPS_PROXY: ' ' }],
    ['proxy:3128', { HTTPS_PROXY: 'proxy:3128' }],
    ['proxy:80', { HTTPS_PROXY: 'proxy' }],
    ['proxy:80', { HTTPS_PROXY: 'http://proxy/' }],
    ['proxy:443', { HTTPS_PROXY: 'HTTPS://proxy' }],
    ['[::1]:3128', { HTTPS_PROXY: 'http://[::1]:3128' }],
  ])('%s from %j', (expected, env) => {
    expect(chosen(env)).toBe(expected);
  });
});

describe('credentials', () => {
  it.each([
    ['http://proxy:1', undefined],
    ['http://ann:secret@proxy:1', 'ann:secret'],
    ['ann:secret@proxy:1', 'ann:secret'],
    ['http://ann@proxy:1', 'ann:'],
    ['http://ann:p%40ss%3Aw%2Frd%231@proxy:1', 'ann:p@ss:w/rd#1'],
    ['http://%C3%A5nn:%E2%82%AC@proxy:1', 'ånn:€'],
  ])('%s', (value, credentials) => {
    const { authorization, name } = chooseProxy(new URL(service), { HTTPS_PROXY: value }).proxy ?? {};
    expect(name).toBe('proxy:1');
    const encoded = credentials && Buffer.from(credentials).toString('base64');
    expect(authorization).toBe(encoded && `Basic ${encoded}`);
  });
});

describe('a proxy that is of no use', () => {
  it.each([
    ['http://ann:secret@', 'it is not a URL'],
    ['http://ann:sec#ret@proxy:1', 'it is not a URL'],
    ['http://ann:%secret@proxy:1', 'it is not a URL'],
    ['http://ann:secret@pro xy:1', 'it is not a URL'],
    ['http://ann:secret@proxy:port', 'it is not a URL'],
    ['http://proxy:99999', 'it is not a URL'],
    ['socks5://ann:secret@proxy:1080', 'it uses socks5, not http or https'],
    ['ftp://proxy', 'it uses ftp, not http or https'],
    ['http://ann:1@secret/2@proxy:1', 'it has more text after the host and port'],
    ['http://proxy:1?secret', 'it has more text after the host and port'],
  ])('%s', async (value, why) => {
    const said: unknown = await (async () => chosen({ http_proxy: value }))().catch((error) => error);
    expect(said).toMatchObject({
      outcome: 'configuration',
      message: `the proxy address from http_proxy can't be used: ${why}`,
    });
    expect(JSON.stringify(said, Object.getOwnPropertyNames(said))).not.toContain('secret');
    expect((said as Error).cause).toBeUndefined();
  });

  it('does not matter where NO_PROXY covers the service', () => {
    expect(chosen({ HTTPS_PROXY: 'socks5://proxy', NO_PROXY: 'service.test' })).toBeUndefined();
  });
});

describe('NO_PROXY', () => {
  it.each<[isDirect: boolean, exceptions: string, url: string]>([
    [false, '', service],
    [true, '*', service],
    [true, 'other.test,*', service],
    [true, 'api.service.test', service],
    [true, 'API.Service.Test', service],
    [true, 'service.test', service],
    [true, '.service.test', service],
    [true, '*.service.test', service],
    [true, '.service.test', 'https://service.test'],
    [true, 'service.test', 'https://service.test.'],
    [true, 'other.test, service.test', service],
    [true, 'other.test service.test', service],
    [false, 'vice.test', service],
    [false, 'api.service.tes', service],
    [false, 'www.api.service.test', service],
    [false, '.', service],
    [false, ',', service],
    [true, 'service.test:443', service],
    [false, 'service.test:8443', service],
    [true, 'service.test:8443', `${service}:8443`],
    [true, 'service.test', `${service}:8443`],
    [true, '192.0.2.1', 'https://192.0.2.1'],
    [false, '192.0.2.1', 'https://192.0.2.10'],
    [true, '192.0.2.1:443', 'https://192.0.2.1'],
    [true, '2001:db8::1', 'https://[2001:db8::1]'],
    [true, '[2001:db8::1]', 'https://[2001:db8::1]'],
    [true, '2001:DB8::1', 'https://[2001:db8::1]:8443'],
    [true, '[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
    [false, '[2001:db8::1]:8443', 'https://[2001:db8::1]'],
    [false, '2001:db8::2', 'https://[2001:db8::1]'],
    [true, '192.0.2.0/24', 'https://192.0.2.200'],
    [false, '192.0.2.0/24', 'https://192.0.3.1'],
    [true, '10.0.0.0/8, 192.0.2.128/25:443', 'https://192.0.2.200'],
    [false, '192.0.2.128/25:8443', 'https://192.0.2.200'],
    [true, '0.0.0.0/0', 'https://192.0.2.1'],
    [false, '192.0.2.0/33', 'https://192.0.2.1'],
    [false, '192.0.2.0/', 'https://192.0.2.0'],
    [false, '192.0.2.0/x', 'https://192.0.2.0'],
    [false, '192.0.2.0/24', service],
    [false, '2.1', 'https://192.0.2.1'],
    [true, 'fd00::/8', 'https://[fd12:3456::1]'],
    [false, 'fd00::/8', 'https://[2001:db8::1]'],
    [true, '[fd00::]/8:8443', 'https://[fd12:3456::1]:8443'],
    [false, '[fd00::/8]:8443', 'https://[fd12:3456::1]'],
    [true, '2001:db8:0:0:0:0:0:1', 'https://[2001:db8::1]'],
    [false, '192.0.2.0/24', 'https://[fd12::1]'],
    [false, 'fd00::/8', 'https://192.0.2.1'],
  ])('%s: %j for %s', (isDirect, exceptions, url) => {
    const proxy = { HTTPS_PROXY: 'http://proxy:1' };
    const expected = isDirect ? undefined : 'proxy:1';
    expect(chosen({ ...proxy, NO_PROXY: exceptions }, url)).toBe(expected);
    expect(chosen({ ...proxy, no_proxy: exceptions, NO_PROXY: 'api.service.test,::1' }, url)).toBe(expected);
  });
});

it.each<[rule: string | undefined, env: Record<string, string>, url: string]>([
  [undefined, {}, service],
  ['https_proxy is empty', { https_proxy: '', HTTPS_PROXY: 'http://upper:1' }, service],
  ['ALL_PROXY', { ALL_PROXY: 'http://all:1', NO_PROXY: 'other.test' }, service],
  ['NO_PROXY: .service.test', { HTTPS_PROXY: 'http://a:1', NO_PROXY: 'other.test,.service.test' }, service],
  [
    'no_proxy: 192.0.2.0/24',
    { HTTPS_PROXY: 'http://a:1', no_proxy: '192.0.2.0/24', NO_PROXY: '*' },
    'https://192.0.2.1',
  ],
])('%s decides with %j', (rule, env, url) => {
  expect(chooseProxy(new URL(url), env).rule).toBe(rule);
});

it.each<[entry: string, isRead: boolean]>([
  ['192.0.2.0/33', false],
  ['192.0.2.0/', false],
  ['192.0.2.0/x', false],
  ['192.0.2.*', false],
  ['fd00::/129', false],
  ['[fd00::/8]:8443', true],
  ['fd00:::', false],
  ['https://service.test', false],
  ['service.test:https', false],
  ['.', false],
  ['service.test.', true],
  ['*.service.test', true],
  ['*', true],
])('the entry %j of NO_PROXY can be read: %s', (entry, isRead) => {
  const env = { HTTPS_PROXY: 'http://proxy:1', NO_PROXY: `${entry}, other.test` };
  expect(chooseProxy(new URL(service), env).unread).toEqual(isRead ? [] : [`NO_PROXY: ${entry}`]);
});
