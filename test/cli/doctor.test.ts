import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeychainError } from '../../src/config/keychain.ts';
import type { Keychain } from '../../src/context.ts';
import { recordsIn, runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, jsonAnswer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { inTerminal } from '../helpers/pty.ts';
import { bareEnvironment, pointedAt, run } from '../helpers/run.ts';
import { withConfigFile, withSettings } from '../helpers/settings.ts';

interface Row {
  readonly check: string;
  readonly result: string;
  readonly found: string;
  readonly fix: string | null;
}

interface Service {
  /** The answers of the service for the balance, and for a task. */
  readonly balance?: string;
  readonly task?: string;
  readonly date?: Date;
}

const credits = (available_credits: number): string =>
  jsonAnswer({ object: 'credit_balance', available_credits });
const refusal = (status: string): string => errorAnswer(status, 'authentication_error', 'no');
const notFound = errorAnswer('404 Not Found', 'not_found', 'no');
const forbidden = wholeAnswer('403 Forbidden', 'text/html', '<html>');
const lostPage = wholeAnswer('404 Not Found', 'text/html', '<html>');

/** An environment with a service that has a balance, no tasks, and a clock. */
async function serve({ balance = credits(1200), task = notFound, date = new Date() }: Service = {}) {
  const { url } = await startFaultServer((socket, { path }) => {
    const answer = path.startsWith('/v1/credit') ? balance : task;
    socket.end(answer.replace('\r\n', `\r\nDate: ${date.toUTCString()}\r\n`));
  });
  return { ...bareEnvironment(), ...pointedAt(url) };
}

async function examine(env: Record<string, string>) {
  const result = await runInProcess('doctor', { env });
  return { ...result, rows: recordsIn(result.stdout) as unknown as Row[] };
}

const resultsOf = (rows: readonly Row[]): Record<string, string> =>
  Object.fromEntries(rows.map(({ check, result }) => [check, result]));

describe('doctor', () => {
  it('exits with 0 if a search would work, and says so', async () => {
    const { code, rows, stderr } = await examine(await serve());
    expect(code).toBe(0);
    expect(stderr).toBe('A search would work now.\n');
    expect(rows.filter(({ result }) => !['ok', 'skipped'].includes(result))).toEqual([]);
    expect(rows.find(({ check }) => check === 'proxy')?.found).toBe('none (the address is on this machine)');
    expect(rows.map(({ check }) => check).join(', ')).toBe(
      'node, config folder, state folder, settings, keychain, address, proxy, host name, connection, clock, key, access, credits',
    );
  });

  it('works against the local service, and as one JSON array', async () => {
    const { code, stdout } = await run('doctor --local -f json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).find(({ check }: Row) => check === 'credits')).toMatchObject({ result: 'ok' });
  });

  it.each<readonly [string, Service, string, number, fix: string]>([
    ['an unknown key', { balance: refusal('401 Unauthorized') }, 'key', 4, 'leadpipe auth status'],
    [
      'a key without access to searches',
      { task: refusal('403 Forbidden') },
      'access',
      4,
      'or may not do this',
    ],
    ['a firewall', { balance: forbidden }, 'connection', 4, 'a firewall or a proxy refused'],
    ['a proxy that has lost its service', { task: lostPage }, 'access', 75, 'run it again'],
    ['no credits', { balance: credits(0) }, 'credits', 5, 'Get credits for the account'],
    ['another service', { balance: jsonAnswer({ hello: 'world' }) }, 'connection', 76, 'address'],
  ])('%s is a failure', async (_, service, check, code, fix) => {
    const result = await examine(await serve(service));
    expect(result.code).toBe(code);
    // Once, with what to do about it.
    const failures = result.rows.filter((row) => row.result === 'failure');
    expect(failures).toMatchObject([{ check, fix: expect.stringContaining(fix) }]);
    expect(result.stderr).toContain(`error: a search would fail now: ${failures[0]?.found}`);
    expect(result.stderr.split(fix)).toHaveLength(2);
  });

  it('too few credits for a default search are a failure that names the limit to use', async () => {
    const { code, rows, stderr } = await examine(await serve({ balance: credits(7) }));
    expect(code).toBe(5);
    expect(resultsOf(rows).credits).toBe('failure');
    expect(stderr).toContain('--limit 7');
  });

  it.each([
    [3600, 'behind'],
    [-3600, 'ahead of'],
  ])('a clock that is %d s off is a warning', async (seconds, word) => {
    const date = new Date(Date.now() + 1000 * seconds);
    const { code, rows } = await examine(await serve({ date }));
    expect(code).toBe(0);
    expect(rows.find(({ check }) => check === 'clock')).toMatchObject({
      result: 'warning',
      found: expect.stringMatching(new RegExp(`^(3599|3600|3601) s ${word}`)),
      fix: expect.stringContaining('timedatectl'),
    });
  });

  it('wraps what it found, so that none of it is cut', async () => {
    const env = await serve({ task: refusal('403 Forbidden') });
    for (const columns of [50, 80]) {
      const { stdout } = await runInProcess('doctor', { env, stdoutIsTerminal: true, columns });
      const lines = stdout.replace(/\x1b\[[\d;]*m/g, '').split('\n');
      expect(lines.filter((line) => line.length > columns || line.endsWith('…'))).toEqual([]);
      expect(lines.join('').replace(/ +/g, ' ')).toContain('same time as the service');
      expect(lines.join('').replace(/ /g, '')).toContain(env.LEADPIPE_STATE_DIR);
    }
  });

  const nowhere = { connection: 'failure', key: 'skipped', credits: 'skipped' };
  it.each<[string, env: () => Record<string, string>, code: number, results: Record<string, string>]>([
    ['nobody there', () => pointedAt('http://127.0.0.1:9'), 75, { address: 'ok', ...nowhere }],
    [
      'a name that nobody has',
      () => pointedAt('https://nowhere.invalid'),
      75,
      { 'host name': 'failure', connection: 'skipped' },
    ],
    [
      'a file of authorities that is of no use',
      () => ({ ...withSettings({ ca_file: '/nowhere.pem' }), ...pointedAt('http://127.0.0.1:9') }),
      78,
      nowhere,
    ],
    [
      'settings that can’t be understood',
      () => withConfigFile('{'),
      78,
      { settings: 'failure', keychain: 'skipped' },
    ],
  ])('looks no further after %s', async (_, env, exit, results) => {
    const { code, rows } = await examine({ ...bareEnvironment(), ...env() });
    expect({ code, ...resultsOf(rows) }).toMatchObject({ code: exit, ...results });
  });

  it.each([
    ['nothing', {}, 'address', 'auth login'],
    ['a refused address', { LEADPIPE_BASE_URL: 'http://leads.example' }, 'address', 'http is allowed only'],
    ['no key', { LEADPIPE_BASE_URL: 'https://localhost:1' }, 'key', 'auth login'],
    [
      'a proxy that is none',
      { ...pointedAt('https://leads.invalid'), HTTPS_PROXY: 'socks5://u:hidden@h' },
      'proxy',
      'http://host:port',
    ],
  ])('with %s it is 78', async (_name, env, check, fix) => {
    const result = await examine({ ...bareEnvironment(), ...env });
    expect(result.code).toBe(78);
    expect(result.stdout + result.stderr).not.toContain('hidden');
    expect(result.rows.find((row) => row.check === check)).toMatchObject({
      result: 'failure',
      fix: expect.stringContaining(fix),
    });
  });

  it('names invalid entries of NO_PROXY, and the rule that applied', async () => {
    const env = { HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '10.0.0.0/33, leads.invalid' };
    const { rows } = await examine({
      ...bareEnvironment(),
      LEADPIPE_BASE_URL: 'https://leads.invalid',
      ...env,
    });
    expect(rows.find(({ check }) => check === 'proxy')).toMatchObject({
      result: 'warning',
      found: "none (NO_PROXY: leads.invalid); can't read NO_PROXY: 10.0.0.0/33",
      fix: expect.stringContaining('192.0.2.0/24'),
    });
  });

  it('asks a keychain that does not answer only once', async () => {
    const { LEADPIPE_BASE_URL: origin = '' } = await serve();
    const keys = JSON.stringify({ keys: { default: { origin, store: 'keychain' } } });
    const env = { ...withConfigFile(keys, 'credentials.json'), LEADPIPE_BASE_URL: origin };
    const asked: string[] = [];
    const keychain: Keychain = {
      async get(account) {
        asked.push(account);
        throw new KeychainError('silent');
      },
      set: async () => {},
      delete: async () => false,
    };
    const { code, stdout } = await runInProcess('doctor -f json', { env, keychain });
    expect(code).toBe(78);
    expect(asked).toEqual([`default ${origin}`]);
    expect(resultsOf(JSON.parse(stdout))).toMatchObject({
      keychain: 'failure',
      key: 'skipped',
      credits: 'skipped',
    });
  });

  it('a state directory that can’t be is 74', async () => {
    const env = await serve();
    writeFileSync(env.LEADPIPE_STATE_DIR ?? '', 'a file');
    const { code, rows } = await examine(env);
    expect(code).toBe(74);
    expect(rows.find(({ check }) => check === 'state folder')).toMatchObject({
      result: 'failure',
      fix: expect.stringContaining('LEADPIPE_STATE_DIR'),
    });
  });

  it('a file that others can read is a warning, with the command that fixes it', async () => {
    const env = { ...(await serve()), ...withConfigFile('{}') };
    const config = env.LEADPIPE_CONFIG_DIR ?? '';
    const file = join(config, 'config.json');
    chmodSync(config, 0o755);
    chmodSync(file, 0o644);
    const { code, rows } = await examine(env);
    expect(code).toBe(0);
    expect(rows.filter(({ result }) => result === 'warning').map(({ fix }) => fix)).toEqual([
      `chmod 700 '${config}'`,
      `chmod 600 '${file}'`,
    ]);
  });

  it('shows a table on a terminal, and every fix in full below it', async () => {
    const options = { columns: 80, env: { NO_COLOR: '1' } };
    const { transcript, code } = await inTerminal('doctor', options).ended;
    expect(code).toBe(78);
    expect(transcript).toMatch(/check +result +found/);
    expect(transcript).toMatch(/node +ok +\d+\.\d+\.\d+/);
    expect(transcript).toContain('LEADPIPE_CREDENTIAL_STORE=file leadpipe auth login');
    const local = await inTerminal('doctor --local', options).ended;
    expect(local.transcript).toMatch(
      /\ncredits +ok .*\r\n\r\nThe local service answers with fictional leads\./,
    );
  });
});
