import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { localKeys } from '../../src/local-service/keys.ts';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { inTerminal } from '../helpers/pty.ts';
import { bareEnvironment, type Result, run } from '../helpers/run.ts';

const key: string = localKeys[0].key;
let service: StartedService;
let other: FaultServer;

beforeAll(async () => {
  service = await startService();
  other = await startFaultServer((socket) => void socket.destroy());
});

/** A user who keeps keys in a file. */
const withFile = (): Record<string, string> => ({ ...bareEnvironment(), LEADPIPE_CREDENTIAL_STORE: 'file' });

function login(env: Record<string, string>, stdin = key, ...more: string[]): Promise<Result> {
  return runInProcess(['auth', 'login', '--base-url', service.url, ...more], { env, stdin });
}

/** Runs these words. */
const leadpipe = (env: Record<string, string>, line: string): Promise<Result> =>
  runInProcess(line.split(' '), { env });

function filesOf(env: Record<string, string>): Record<string, unknown> {
  const folder = env.LEADPIPE_CONFIG_DIR ?? '';
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8'))]),
  );
}

describe('auth login', () => {
  it('tries the key from standard input, stores it for its origin, and every command finds it', async () => {
    const env = withFile();
    const args = ['auth', 'login', '--base-url', service.url];
    const result = await run(args, { env, stdin: `  ${key}\n` });
    expect(result).toMatchObject(failing(0, `for ${service.url} in ${env.LEADPIPE_CONFIG_DIR}`));
    expect(result.stderr).not.toContain(key);
    const origin = new URL(service.url).origin;
    expect(filesOf(env)).toEqual({
      'config.json': { profiles: { default: { base_url: service.url } } },
      'credentials.json': { keys: { default: { origin, store: 'file', key } } },
    });
    expect(statSync(join(env.LEADPIPE_CONFIG_DIR ?? '', 'credentials.json')).mode & 0o777).toBe(0o600);

    expect((await run('balance', { env })).code).toBe(0);
    const status = await run('auth status', { env });
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toEqual({
      profile: 'default',
      base_url: service.url,
      key_from: 'file',
      key: `…${key.slice(-4)}`,
      valid: true,
      available_credits: expect.any(Number),
    });
  });

  it.each([
    ['an unknown key', 'lp_never_heard_of_it', 4],
    ['a revoked key', 'lp_local_revoked', 4],
    ['no key', ' \n', 78],
    ['two lines', 'lp_one\nlp_two\n', 78],
  ])('stores nothing for %s, and keeps what was there', async (_name, stdin, code) => {
    const env = withFile();
    await login(env);
    const before = filesOf(env);
    const result = await login(env, stdin);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).not.toContain(stdin.trim() || key);
    expect(filesOf(env)).toEqual(before);
  });

  it.each([
    ['a service that hangs up', 'file', () => ['--base-url', other.url], 75, 'connection'],
    ['no address, and nobody to ask', 'file', () => [], 78, '--base-url'],
    ['a store that it does not know', 'cloud', () => ['--base-url', service.url], 78, 'keychain or file'],
  ] as const)('stores nothing with %s', async (_name, store, more, code, says) => {
    const env = { ...bareEnvironment(), LEADPIPE_CREDENTIAL_STORE: store };
    expect(await runInProcess(['auth', 'login', ...more()], { env, stdin: key })).toMatchObject(
      ending(code, says),
    );
    expect(() => filesOf(env)).toThrow('ENOENT');
  });

  it('asks on a terminal, for the key without showing it, and before it uses a file', async () => {
    const env = bareEnvironment();
    const terminal = inTerminal('auth login', { env, columns: 120 });
    await terminal.waitFor(/Address of the service: \S*$/);
    // With the scheme that is missing.
    terminal.type(`${service.url.replace('http://', '')}\r`);
    await terminal.waitFor(/not shown\): $/);
    terminal.type(`${key}\r`);
    await terminal.waitFor(/0600\)\? \[y\/n\] \S*$/);
    terminal.type('\r');
    await terminal.waitFor(/Type y or n\.\r\n[\s\S]*\[y\/n\] \S*$/);
    terminal.type('y\r');
    const { transcript, code } = await terminal.ended;
    expect(code).toBe(0);
    expect(transcript).not.toContain(key);
    expect(transcript).toContain('Stored the key');
    expect(transcript).toContain('Next, for at most 5 credits: leadpipe search company');
    expect(filesOf(env)).toMatchObject({ 'credentials.json': { keys: { default: { store: 'file' } } } });
  });

  it('asks three times for an address that can be used', async () => {
    const terminal = inTerminal('auth login', { env: bareEnvironment(), columns: 120 });
    for (const [at, typed] of ['nonsense', 'http://a.example', 'still wrong'].entries()) {
      await terminal.waitFor(new RegExp(`(?:Address of the service: [^]*){${at + 1}}$`));
      terminal.type(`${typed}\r`);
    }
    const { transcript, code } = await terminal.ended;
    expect(code).toBe(78);
    expect(transcript).toContain('it is not a URL. Write it as https://host.');
    expect(transcript).toContain('it uses http, not https');
    expect(transcript.match(/warning:/g)).toHaveLength(2);
  });

  it.each([
    ['no', 'n\r', 78],
    ['Ctrl-C', '\x03', 130],
    ['the end of the input', '\x04', 130],
  ])('stores nothing after %s', async (_name, keys, code) => {
    const env = bareEnvironment();
    const terminal = inTerminal(['auth', 'login', '--base-url', service.url], { env });
    await terminal.waitFor(/not shown\): $/);
    terminal.type(`${key}\r`);
    await terminal.waitFor(/\[y\/n\] \S*$/);
    terminal.type(keys);
    const { transcript, code: exit } = await terminal.ended;
    expect(exit).toBe(code);
    if (code === 130) expect(transcript).toMatch(/\] \S*\r\n[^\n]*nothing was changed\.?\r\n$/i);
    expect(() => filesOf(env)).toThrow('ENOENT');
  });
});

describe('a stored key', () => {
  it.each([
    ['--base-url', (url: string) => ({ args: ['--base-url', url], env: {} })],
    ['LEADPIPE_BASE_URL', (url: string) => ({ args: [], env: { LEADPIPE_BASE_URL: url } })],
    ['localhost for 127.0.0.1', (_: string, own: string) => ({ args: ['--base-url', own], env: {} })],
  ])('is not sent to another origin: %s', async (_name, other_) => {
    const env = withFile();
    await login(env);
    const requests = other.requests.length;
    const way = other_(other.url, service.url.replace('127.0.0.1', 'localhost'));
    expect(await runInProcess(['balance', ...way.args], { env: { ...env, ...way.env } })).toMatchObject(
      failing(78, `only for ${service.url}`),
    );
    expect(other.requests).toHaveLength(requests);
  });

  it('is not sent to an address that the settings file was given afterwards', async () => {
    const env = withFile();
    await login(env);
    const set = await runInProcess(['config', 'set', 'base_url', other.url], { env });
    expect(set.stderr).toContain('is not sent to the new address');
    expect((await leadpipe(env, 'balance')).code).toBe(78);
  });

  it('comes after LEADPIPE_API_KEY', async () => {
    const env = withFile();
    await login(env);
    const result = await runInProcess('auth status', {
      env: { ...env, LEADPIPE_API_KEY: 'lp_local_revoked' },
    });
    expect(result.code).toBe(4);
    expect(JSON.parse(result.stdout)).toMatchObject({ key_from: 'LEADPIPE_API_KEY', valid: false });
  });

  it('is shown as it is when the service can’t be asked', async () => {
    const env = { ...withFile(), LEADPIPE_API_KEY: key };
    const result = await runInProcess(['auth', 'status', '--base-url', other.url], { env });
    expect(result.code).toBe(75);
    expect(JSON.parse(result.stdout)).toMatchObject({ valid: null, available_credits: null });
  });

  it('is forgotten by logout, once', async () => {
    const env = withFile();
    await login(env);
    expect((await leadpipe(env, 'auth logout')).stderr).toContain('Removed the key');
    expect(filesOf(env)['credentials.json']).toEqual({ keys: {} });
    expect(await leadpipe(env, 'auth logout')).toMatchObject({ code: 0 });
    expect((await leadpipe(env, 'balance')).code).toBe(78);
  });

  it('in a damaged file is named, not repeated, and not overwritten', async () => {
    const env = withFile();
    await login(env);
    const file = join(env.LEADPIPE_CONFIG_DIR ?? '', 'credentials.json');
    for (const damaged of [`{"keys":{"default":{"key":"${key}`, `{"keys":{"default":"${key}"}}`]) {
      writeFileSync(file, damaged);
      for (const args of [['balance'], ['auth', 'list'], ['auth', 'logout'], ['balance', '--verbose']]) {
        const result = await runInProcess(args, { env });
        expect(result).toMatchObject(ending(78, file));
        expect(result.stderr).not.toContain(key);
      }
      expect((await login(env)).code).toBe(78);
      expect(readFileSync(file, 'utf8')).toBe(damaged);
    }
  });
});

it('profiles are listed with where their keys are, switched and removed', async () => {
  const env = withFile();
  await login(env);
  const work = await login(env, key, '--profile', 'work');
  expect(work.stderr).toContain('leadpipe auth switch work');
  await leadpipe(env, 'auth logout --profile default');
  expect((await leadpipe(env, 'balance')).code).toBe(78);
  expect((await leadpipe(env, 'auth switch work')).code).toBe(0);
  expect((await leadpipe(env, 'balance')).code).toBe(0);
  const list = await leadpipe(env, 'auth list -f json');
  expect(JSON.parse(list.stdout)).toEqual([
    { profile: 'default', in_use: false, base_url: service.url, key_in: null, key_for: null },
    { profile: 'work', in_use: true, base_url: service.url, key_in: 'file', key_for: service.url },
  ]);
  await login(env, key, '--profile', 'default');
  expect(await leadpipe(env, 'auth remove work')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `Removed the settings of the profile "work", and its key for ${service.url}.\n`,
  });
  expect(filesOf(env)).toEqual({
    'config.json': { profiles: { default: { base_url: service.url } } },
    'credentials.json': { keys: { default: expect.objectContaining({ key }) } },
  });
  expect((await leadpipe(env, 'balance')).code).toBe(0);
  for (const line of ['auth remove work', 'auth switch wrok']) {
    expect(await leadpipe(env, line)).toMatchObject(ending(2, 'The profiles are default.'));
  }
});

it('a key of a profile that the settings have lost can be forgotten', async () => {
  const env = withFile();
  await login(env, key, '--profile', 'work');
  writeFileSync(join(env.LEADPIPE_CONFIG_DIR ?? '', 'config.json'), '{}');
  expect((await leadpipe(env, 'auth logout --profile work')).stderr).toContain('Removed the key');
  expect(filesOf(env)['credentials.json']).toEqual({ keys: {} });
});

describe('the first command of someone who has nothing', () => {
  it.each(['balance', 'search company x', 'task run person x', 'auth status'])(
    '`%s` says in four lines what to do',
    async (line) => {
      const result = await runInProcess(line.split(' '), { env: bareEnvironment() });
      expect(result).toMatchObject({ code: 78, stdout: '' });
      expect(result.stderr.trimEnd().split('\n')).toHaveLength(4);
      for (const way of ['auth login', 'LEADPIPE_BASE_URL', '--local']) expect(result.stderr).toContain(way);
    },
  );
});
