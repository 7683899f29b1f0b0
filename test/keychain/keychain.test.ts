import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { localKeys } from '../../src/local-service/keys.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { needs } from '../helpers/parts.ts';
import { bareEnvironment, type Result, run } from '../helpers/run.ts';
import { type SecretService, startSecretService } from '../helpers/secret-service.ts';

const [first, second] = localKeys.map(({ key }) => key) as [string, string];
let service: StartedService;

beforeAll(async () => {
  service = await startService();
});

const hasSecretService = needs('dbus-daemon', 'dbus-send', 'gnome-keyring-daemon', 'secret-tool');

describe.skipIf(!hasSecretService)('the keychain of a desktop', () => {
  let secrets: SecretService;
  let env: Record<string, string>;

  beforeEach(async () => {
    secrets = await startSecretService();
    env = { ...bareEnvironment(), ...secrets.env };
  });

  const login = (key: string, ...more: string[]): Promise<Result> =>
    run(['auth', 'login', '--base-url', service.url, ...more], { env, stdin: key });
  const leadpipe = (...args: string[]): Promise<Result> => run(args, { env });

  it('keeps the key, and no file does', async () => {
    const result = await login(first);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('in the keychain');
    expect(secrets.contents()).toContain(`secret = ${first}`);
    for (const file of ['config.json', 'credentials.json']) {
      expect(readFileSync(join(env.LEADPIPE_CONFIG_DIR ?? '', file), 'utf8')).not.toContain(first);
    }
    expect((await leadpipe('balance')).code).toBe(0);
    expect(JSON.parse((await leadpipe('auth', 'status')).stdout)).toMatchObject({
      key_from: 'keychain',
      valid: true,
    });
  });

  it('has the key of each profile, and the last one of an address', async () => {
    await login(first);
    await login(second, '--profile', 'work');
    await login(second);
    expect(secrets.contents()).not.toContain(first);
    await leadpipe('auth', 'logout');
    expect((await leadpipe('balance')).code).toBe(78);
    expect((await leadpipe('balance', '--profile', 'work')).code).toBe(0);
    await leadpipe('auth', 'logout', '--profile', 'work');
    expect(secrets.contents()).not.toContain(second);
  });

  it('forgets the key of the address before, and the one that moves to a file', async () => {
    await login(first);
    await run(['auth', 'login', '--base-url', service.url.replace('127.0.0.1', 'localhost')], {
      env,
      stdin: second,
    });
    expect(secrets.contents()).not.toContain(first);
    await run(['auth', 'login', '--base-url', service.url], {
      env: { ...env, LEADPIPE_CREDENTIAL_STORE: 'file' },
      stdin: first,
    });
    expect(secrets.contents()).not.toContain(second);
    expect((await leadpipe('balance')).code).toBe(0);
  });

  it('that is locked is 78 for whatever needs it, and changes nothing', async () => {
    await login(first);
    const file = join(env.LEADPIPE_CONFIG_DIR ?? '', 'credentials.json');
    const before = readFileSync(file, 'utf8');
    secrets.lock();
    for (const args of [['balance'], ['auth', 'status'], ['auth', 'logout'], ['search', 'company', 'x']]) {
      const result = await leadpipe(...args);
      expect(result).toMatchObject({ code: 78, stdout: '' });
      expect(result.stderr).toContain('the keychain is locked');
    }
    expect((await login(second)).code).toBe(78);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect((await run(['balance'], { env: { ...env, LEADPIPE_API_KEY: first } })).code).toBe(0);
  });

  it('that does not answer is 78, too, after a timeout', async () => {
    await login(first);
    secrets.freeze();
    const result = await leadpipe('balance');
    expect(result).toMatchObject({ code: 78, stdout: '' });
    expect(result.stderr).toContain('the keychain did not answer');
  });

  it('that has lost the key says so', async () => {
    await login(first);
    await secrets.close();
    secrets = await startSecretService();
    const result = await run(['balance'], { env: { ...env, ...secrets.env } });
    expect(result).toMatchObject({ code: 78 });
    expect(result.stderr).toContain('the key of the profile "default" is no longer in the keychain');
  });
});

it.each([
  ['no D-Bus', {}],
  ['an address of D-Bus that leads nowhere', { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere/bus' }],
])('without a keychain, with %s, it is 78, and nothing is stored', async (_, more) => {
  const env: Record<string, string> = { ...bareEnvironment(), ...more };
  const result = await run(['auth', 'login', '--base-url', service.url], { env, stdin: first });
  expect(result).toMatchObject({ code: 78, stdout: '' });
  expect(result.stderr.split('\n')[0]).toBe('error: no usable keychain was found on this machine');
  expect(result.stderr).toContain('LEADPIPE_CREDENTIAL_STORE=file');
  expect(() => statSync(env.LEADPIPE_CONFIG_DIR ?? '')).toThrow('ENOENT');
});
