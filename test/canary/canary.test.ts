import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { creditBalance } from '../helpers/bodies.ts';
import { jsonAnswer, searchFrames, startFaultServer, wholeStream } from '../helpers/fault-server.ts';
import { needs } from '../helpers/parts.ts';
import { bareEnvironment, pointedAt, run, start, temporaryFolder } from '../helpers/run.ts';
import { startSecretService } from '../helpers/secret-service.ts';

/** A key that occurs nowhere else, and every form in which it could leak. */
const canary = `lp_canary_${randomBytes(12).toString('hex')}`;
const bytes = Buffer.from(canary);
const forms = [
  canary,
  bytes.toString('hex'),
  // As Node shows bytes: the first of them are enough.
  (bytes.toString('hex').match(/../g) ?? []).slice(0, 12).join(' '),
  bytes.toString('base64').replace(/=+$/, ''),
  encodeURIComponent(canary),
];

function expectNoKey(text: string, where: string): void {
  for (const form of forms) {
    const at = text.indexOf(form);
    const around = at === -1 ? '' : text.slice(Math.max(0, at - 200), at).replaceAll(canary, '(the key)');
    expect(at, `the key is in ${where}, after: ${around}`).toBe(-1);
  }
}

/** Searches every file below a folder, except the named ones, which may contain the key. */
function expectNoKeyIn(folder: string, except: readonly string[] = []): number {
  let files = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (!statSync(path).isFile() || except.includes(name)) continue;
    expectNoKey(readFileSync(path, 'latin1'), path);
    files++;
  }
  return files;
}

/** An empty machine, and a service that answers a search with leads and anything else with a balance. */
async function createPlace(more: Readonly<Record<string, string>> = {}) {
  const server = await startFaultServer((socket, { path }) => {
    const stream = wholeStream(searchFrames([['{"name":"A"}']]));
    socket.end(path === '/v1/entity-search' ? stream : jsonAnswer(creditBalance(500)));
  });
  const folder = temporaryFolder();
  return { server, folder, env: { ...bareEnvironment(folder), ...more } };
}

/** Everything that can be asked, and is answered. */
const commands: readonly (readonly string[])[] = [
  ['balance', '--verbose'],
  ['auth', 'status', '--verbose'],
  ['auth', 'list'],
  ['config', 'list'],
  ['history', 'list'],
  ['doctor', '--verbose'],
];

describe('Node with all of its debug output', () => {
  it('does not tell the key', async () => {
    const { server, folder, env } = await createPlace({ LEADPIPE_API_KEY: canary, NODE_DEBUG: '*' });
    const search = ['search', 'company', 'fintech in Berlin', '--limit', '3', '--verbose'];
    for (const args of [search, ...commands]) {
      const { stdout, stderr } = await run(args, {
        env: { ...env, LEADPIPE_BASE_URL: server.url },
        cwd: folder,
      });
      expectNoKey(stdout, `stdout of ${args.join(' ')}`);
      expectNoKey(stderr, `stderr of ${args.join(' ')}`);
      expect(stderr.length).toBeGreaterThan(1000);
    }
    expect(server.requests.some(({ headers }) => headers['x-api-key'] === canary)).toBe(true);
    expectNoKeyIn(folder);
  });

  it('does not show a key from standard input', async () => {
    const env = { ...bareEnvironment(), LEADPIPE_CREDENTIAL_STORE: 'file', NODE_DEBUG: 'stream' };
    const args = ['auth', 'login', '--base-url', 'http://127.0.0.1:1'];
    const { stderr, code } = await run(args, { env, stdin: canary });
    expect(code).toBe(2);
    expectNoKey(stderr, 'stderr');
  });
});

it('a key in the file store is in that file and nowhere else', async () => {
  const { server, folder, env } = await createPlace({ LEADPIPE_CREDENTIAL_STORE: 'file' });
  const login = ['auth', 'login', '--base-url', server.url, '--verbose'];
  const all = [await run(login, { env, stdin: canary })];
  for (const args of commands) all.push(await run(args, { env, cwd: folder }));
  for (const { stdout, stderr } of all) expectNoKey(stdout + stderr, 'the output');
  expect(readFileSync(join(folder, 'config/credentials.json'), 'utf8')).toContain(canary);
  expect(expectNoKeyIn(folder, ['config/credentials.json'])).toBeGreaterThan(0);
  await run(['auth', 'logout'], { env });
  expectNoKeyIn(folder);
});

it('a report that Node writes about the process does not have the key of the environment', async () => {
  const server = await startFaultServer(() => {});
  const folder = temporaryFolder();
  const reports = join(folder, 'reports');
  mkdirSync(reports);
  const env = { ...bareEnvironment(folder), ...pointedAt(server.url, canary) };
  const child = start(['balance'], {
    env: { ...env, NODE_OPTIONS: `--report-on-signal --report-directory=${reports}` },
  });
  await expect.poll(() => server.requests.length).toBe(1);
  child.kill('SIGUSR2');
  await expect.poll(() => readdirSync(reports)).toHaveLength(1);
  const report = (): string => readFileSync(join(reports, readdirSync(reports)[0] ?? ''), 'utf8');
  await expect.poll(report).toMatch(/\}\s*$/);
  child.kill('SIGKILL');
  expect(report()).toContain('LEADPIPE_BASE_URL');
  expect(expectNoKeyIn(folder)).toBeGreaterThan(0);
});

const hasSecretService = needs('dbus-daemon', 'dbus-send', 'gnome-keyring-daemon', 'secret-tool');

describe.skipIf(!hasSecretService)('a key in the keychain', () => {
  it('is in no file, no output, and no debug output', async () => {
    const secrets = await startSecretService();
    const { server, folder, env } = await createPlace(secrets.env);
    const login = await run(['auth', 'login', '--base-url', server.url, '--verbose'], { env, stdin: canary });
    expect(login.code).toBe(0);
    const balance = await run(['balance', '--verbose'], { env: { ...env, NODE_DEBUG: '*' } });
    expect(balance.code).toBe(0);
    for (const { stdout, stderr } of [login, balance]) expectNoKey(stdout + stderr, 'the output');
    expect(secrets.contents()).toContain(canary);
    expectNoKeyIn(folder);
  });

  it('is not in the command line or the environment of any other process', async () => {
    const secrets = await startSecretService();
    const env = { ...bareEnvironment(), ...secrets.env, LEADPIPE_API_KEY: canary };
    secrets.freeze();
    // The key is tried first.
    const { url } = await startFaultServer((socket) => void socket.end(jsonAnswer(creditBalance(1))));
    // It waits for the keychain, in a process of its own, with the key of the environment at hand.
    const child = start(['auth', 'login', '--base-url', url], { env, stdin: canary });
    const children = (): string =>
      execFileSync('sh', ['-c', `cat /proc/${child.pid}/task/*/children`], { encoding: 'utf8' }).trim();
    await expect.poll(children).toMatch(/^\d+$/);
    const own = children();
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      expectNoKey(readProcess(pid, 'cmdline'), `the command line of ${pid}`);
    }
    expectNoKey(readProcess(own, 'environ'), 'the environment of the child');
    expect(readProcess(own, 'environ')).toContain('DBUS_SESSION_BUS_ADDRESS');
    child.kill('SIGKILL');
  });
});

function readProcess(pid: string, what: string): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'latin1');
  } catch {
    return '';
  }
}
