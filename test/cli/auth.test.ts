import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { localKeys } from '../../src/local-service/keys.ts';
import { creditBalance } from '../helpers/bodies.ts';
import { ending, failing } from '../helpers/ending.ts';
import { type FaultServer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { inTerminal } from '../helpers/pty.ts';
import { screenOf } from '../helpers/screen.ts';
import { writeSettings } from '../helpers/settings.ts';

const key: string = localKeys[0].key;
let service: StartedService;
let other: FaultServer;

beforeAll(async () => {
  service = await startService();
  other = await startFaultServer((socket) => void socket.destroy());
});

/** A user who keeps keys in a file. */
function withFile(): Machine {
  const at = createMachine();
  at.env.LEADPIPE_CREDENTIAL_STORE = 'file';
  return at;
}

const login = ({ leadpipe }: Machine, stdin = key, more = '') =>
  leadpipe(`auth login --base-url ${service.url} ${more}`, { stdin });

/** Of a user who keeps keys in a file, and has logged in. */
async function loggedIn(more?: string): Promise<Machine> {
  const at = withFile();
  await login(at, key, more);
  return at;
}

const pathOf = ({ env }: Machine, name: string): string => join(env.LEADPIPE_CONFIG_DIR ?? '', name);

function filesOf(at: Machine): Record<string, unknown> {
  const names = readdirSync(pathOf(at, ''));
  return Object.fromEntries(names.map((name) => [name, JSON.parse(readFileSync(pathOf(at, name), 'utf8'))]));
}

describe('auth login', () => {
  it('leaves no key of an earlier address in the keychain', async () => {
    const secrets = new Map<string, string>();
    const keychain = {
      get: async (account: string) => secrets.get(account),
      set: async (account: string, secret: string) => void secrets.set(account, secret),
      delete: async (account: string) => secrets.delete(account),
    };
    const at = createMachine();
    const second = service.url.replace('127.0.0.1', 'localhost');
    for (const url of [service.url, second, second]) {
      const login = await at.leadpipe(`auth login --base-url ${url}`, { stdin: key, keychain });
      expect(login).toMatchObject({ code: 0 });
    }
    expect([...secrets]).toEqual([[`default ${new URL(second).origin}`, key]]);
    expect((await at.leadpipe('config get base_url')).stdout.trim()).toBe(second);
  });

  it.each([
    ['auto', ['x-api-key', 'authorization']],
    ['x-api-key', ['x-api-key', 'x-api-key']],
    ['bearer', ['authorization', 'authorization']],
  ])('the setting auth_header %s says in which header the key is sent', async (form, names) => {
    const at = await machineWith((socket) => void socket.write(jsonAnswer(creditBalance(3))));
    writeSettings(at.env, { auth_header: form });
    for (const line of ['balance', 'contact email a']) await at.leadpipe(line);
    const sent = at.requests.flatMap(({ headers }) =>
      ['x-api-key', 'authorization'].filter((name) => name in headers),
    );
    expect(sent).toEqual(names);
  });

  it('tries the key from standard input, stores it for its origin, and every command finds it', async () => {
    const at = withFile();
    const result = await at.run(`auth login --base-url ${service.url}`, {}, `  ${key}\n`);
    const says = `for ${service.url} in ${pathOf(at, '')}`;
    expect(result).toEqual({ ...ending(0, says), stdout: '' });
    expect(result.stderr).not.toContain(key);
    const origin = new URL(service.url).origin;
    expect(filesOf(at)).toEqual({
      'config.json': { profiles: { default: { base_url: service.url } } },
      'credentials.json': { keys: { default: { origin, store: 'file', key } } },
    });
    expect(statSync(pathOf(at, 'credentials.json')).mode & 0o777).toBe(0o600);

    expect((await at.run('balance')).code).toBe(0);
    const status = await at.run('auth status');
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
  ])('stores nothing for %s, and keeps what was there', async (_, stdin, code) => {
    const at = await loggedIn();
    const before = filesOf(at);
    const result = await login(at, stdin);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).not.toContain(stdin.trim() || key);
    expect(filesOf(at)).toEqual(before);
  });

  it.each<[name: string, store: string, more: () => string, code: number, says: string]>([
    ['a service that hangs up', 'file', () => `--base-url ${other.url}`, 75, 'connection'],
    ['no address, and nobody to ask', 'file', () => '', 78, '--base-url'],
    [
      'a store that it does not know',
      'cloud',
      (): string => `--base-url ${service.url}`,
      78,
      'keychain or file',
    ],
  ])('stores nothing with %s', async (_, store, more, code, says) => {
    const at = withFile();
    at.env.LEADPIPE_CREDENTIAL_STORE = store;
    expect(await at.leadpipe(`auth login ${more()}`, { stdin: key })).toMatchObject(ending(code, says));
    expect(() => filesOf(at)).toThrow('ENOENT');
  });

  it('asks on a terminal, for the key without showing it, and before it uses a file', async () => {
    const at = createMachine();
    const terminal = inTerminal('auth login', { env: at.env, columns: 120 });
    await terminal.waitFor(/Address of the service: \S*$/);
    terminal.type('\r');
    await terminal.waitFor(
      /Please type the address, for example \S+ \(Ctrl-C stops\. No account\? Add --local to a command\.\)\r\n[\s\S]*Address of the service: \S*$/,
    );
    // With the scheme that is missing.
    terminal.type(`${service.url.replace('http://', '')}\r`);
    await terminal.waitFor(/not shown\): $/);
    terminal.type(' \r');
    await terminal.waitFor(/Please paste the API key[\s\S]*not shown\): $/);
    terminal.type(`${key}\r`);
    await terminal.waitFor(/0600\)\? \[y\/n\] \S*$/);
    terminal.type('\r');
    await terminal.waitFor(/Type y or n\.\r\n[\s\S]*\[y\/n\] \S*$/);
    terminal.type('y\r');
    const { transcript, code } = await terminal.ended;
    expect(code).toBe(0);
    expect(transcript).not.toContain(key);
    expect(transcript).toSay('Stored the key', 'Next, for at most 5 credits: leadpipe search company');
    expect(filesOf(at)).toMatchObject({ 'credentials.json': { keys: { default: { store: 'file' } } } });
  });

  it('tries the key before it asks where to store it, and keeps the profile in its advice', async () => {
    const { env } = createMachine();
    const terminal = inTerminal(`auth login --base-url ${service.url} --profile work`, { env, columns: 120 });
    await terminal.waitFor(/not shown\): $/);
    terminal.type('mistyped\r');
    const { transcript, code } = await terminal.ended;
    expect(code).toBe(4);
    expect(transcript).not.toContain('[y/n]');
    expect(transcript).toSay('run `leadpipe auth login --profile work` again');
  });

  it('asks three times for an address that can be used', async () => {
    const terminal = inTerminal('auth login', { columns: 120 });
    for (const [at, typed] of ['nonsense', 'http://a.example', 'still wrong'].entries()) {
      await terminal.waitFor(new RegExp(`(?:Address of the service: [^]*){${at + 1}}$`));
      terminal.type(`${typed}\r`);
    }
    const { transcript, code } = await terminal.ended;
    expect(code).toBe(78);
    expect(transcript).toSay('it is not a URL. Write it as https://host.', 'it uses http, not https');
    expect(transcript.match(/warning:/g)).toHaveLength(2);
  });

  it.each([
    ['no', 'n\r', 78],
    ['Ctrl-C', '\x03', 130],
    ['the end of the input', '\x04', 130],
  ])('stores nothing after %s', async (_name, keys, code) => {
    const at = createMachine();
    const terminal = inTerminal(`auth login --base-url ${service.url}`, { env: at.env });
    await terminal.waitFor(/not shown\): $/);
    terminal.type(`${key}\r`);
    await terminal.waitFor(/\[y\/n\] \S*$/);
    terminal.type(keys);
    const { transcript, code: exit } = await terminal.ended;
    expect(exit).toBe(code);
    // What the terminal itself broke is one word, the path.
    expect((await screenOf(transcript, 80)).text).not.toMatch(/^↪.* /m);
    if (code === 130) expect(transcript).toMatch(/\] \S*\r\n[^\n]*nothing was done\.?\r\n$/i);
    expect(() => filesOf(at)).toThrow('ENOENT');
  });
});

describe('a stored key', () => {
  it.each<[name: string, more: () => string, isInEnvironment?: true]>([
    ['--base-url', () => `--base-url ${other.url}`],
    ['LEADPIPE_BASE_URL', () => '', true],
    ['localhost for 127.0.0.1', () => `--base-url ${service.url.replace('127.0.0.1', 'localhost')}`],
  ])('is not sent to another origin: %s', async (_, more, isInEnvironment) => {
    const at = await loggedIn();
    const requests = other.requests.length;
    const env = isInEnvironment ? { LEADPIPE_BASE_URL: other.url } : {};
    expect(await at.leadpipe(`balance ${more()}`, { env })).toMatchObject(
      failing(78, `only for ${service.url}`),
    );
    expect(other.requests).toHaveLength(requests);
  });

  it('is not sent to an address that the settings file was given afterwards', async () => {
    const at = await loggedIn();
    const set = await at.leadpipe(`config set base_url ${other.url}`);
    expect(set.stderr).toContain('is not sent to the new address');
    expect((await at.leadpipe('balance')).code).toBe(78);
  });

  it('comes after LEADPIPE_API_KEY', async () => {
    const at = await loggedIn();
    const { code, stdout } = await at.leadpipe('auth status', {
      env: { LEADPIPE_API_KEY: 'lp_local_revoked' },
    });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ key_from: 'LEADPIPE_API_KEY', valid: false });
  });

  it('is shown with valid: null if the service can’t be reached', async () => {
    const env = { LEADPIPE_API_KEY: key };
    const { code, stdout } = await withFile().leadpipe(`auth status --base-url ${other.url}`, { env });
    expect(code).toBe(75);
    expect(JSON.parse(stdout)).toMatchObject({ valid: null, available_credits: null });
  });

  it('is forgotten by logout, once', async () => {
    const at = await loggedIn();
    expect((await at.leadpipe('auth logout')).stderr).toContain('Removed the key');
    expect(filesOf(at)['credentials.json']).toEqual({ keys: {} });
    expect(await at.leadpipe('auth logout')).toMatchObject({ code: 0 });
    expect((await at.leadpipe('balance')).code).toBe(78);
  });

  it('is removed by logout also if its profile is missing in the settings', async () => {
    const at = await loggedIn('--profile work');
    writeFileSync(pathOf(at, 'config.json'), '{}');
    expect((await at.leadpipe('auth logout --profile work')).stderr).toContain('Removed the key');
    expect(filesOf(at)['credentials.json']).toEqual({ keys: {} });
  });

  it('in a damaged file is named, not repeated, and not overwritten', async () => {
    const at = await loggedIn();
    const file = pathOf(at, 'credentials.json');
    for (const damaged of [`{"keys":{"default":{"key":"${key}`, `{"keys":{"default":"${key}"}}`]) {
      writeFileSync(file, damaged);
      for (const line of ['balance', 'auth list', 'auth logout', 'balance --verbose']) {
        const result = await at.leadpipe(line);
        expect(result).toMatchObject(ending(78, file));
        expect(result.stderr).not.toContain(key);
      }
      expect((await login(at)).code).toBe(78);
      expect(readFileSync(file, 'utf8')).toBe(damaged);
    }
  });
});

it('profiles are listed with where their keys are, switched and removed', async () => {
  const at = await loggedIn();
  const codeOf = async (line: string) => (await at.leadpipe(line)).code;
  expect((await login(at, key, '--profile work')).stderr).toContain('leadpipe auth switch work');
  await at.leadpipe('auth logout --profile default');
  expect(await codeOf('balance')).toBe(78);
  expect(await codeOf('auth switch work')).toBe(0);
  expect(await codeOf('balance')).toBe(0);
  expect(JSON.parse((await at.leadpipe('auth list -f json')).stdout)).toEqual([
    { profile: 'default', in_use: false, base_url: service.url, key_in: null, key_for: null },
    { profile: 'work', in_use: true, base_url: service.url, key_in: 'file', key_for: service.url },
  ]);
  expect((await at.leadpipe('auth list -f table')).stdout).toMatch(/^default +no .*\nwork +yes /m);
  await login(at, key, '--profile default');
  const stderr = `Removed the settings of the profile "work", and its key for ${service.url}.\n`;
  expect(await at.leadpipe('auth remove work')).toEqual({ code: 0, stdout: '', stderr });
  expect(filesOf(at)).toEqual({
    'config.json': { profiles: { default: { base_url: service.url } } },
    'credentials.json': { keys: { default: expect.objectContaining({ key }) } },
  });
  expect(await codeOf('balance')).toBe(0);
  for (const line of ['auth remove work', 'auth switch wrok']) {
    expect(await at.leadpipe(line)).toMatchObject(ending(2, 'Profiles: default.'));
  }
});

it.each(['balance', 'search company x', 'task run person x', 'auth status'])(
  '`%s` as the first command of someone who has nothing says in four lines what to do',
  async (line) => {
    const result = await createMachine().leadpipe(line);
    expect(result).toMatchObject(failing(78, 'auth login', 'LEADPIPE_BASE_URL', '--local'));
    expect(result.stderr.trimEnd().split('\n')).toHaveLength(4);
  },
);
