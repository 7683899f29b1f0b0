import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { type Answer, type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { needs } from '../helpers/parts.ts';
import { bareEnvironment, run, start, temporaryFolder } from '../helpers/run.ts';
import { type SecretService, startSecretService } from '../helpers/secret-service.ts';

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

/** Looks into every file below a folder, but those that are named: they may hold it. */
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

let server: FaultServer | undefined;
let secrets: SecretService | undefined;

/** The same, whatever is asked. */
const sends =
  (text: string): Answer =>
  (socket) =>
    void socket.end(text);
const json = (status: number, body: string, more = ''): string =>
  `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const balanceAnswer = json(200, '{"object":"credit_balance","available_credits":500}');
const stream = (frames: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(frames)}\r\n\r\n${frames}`;
const lead = JSON.stringify({ name: `Lead of ${canary}`, links: { website: `https://x.example/${canary}` } });
const batch = `event: entity_search_batch\ndata: {"object":"entity_search_batch","leads_search_id":"ls_${canary}","batch_index":0,"batch_count":1,"cum_count":1,"entities":[${lead}]}\n\n`;
const done = `event: entity_search_done\ndata: {"object":"entity_search_done","leads_search_id":"ls_${canary}","cum_count":1,"stop_reason":"limit"}\n\ndata: [DONE]\n\n`;

/** Services that repeat the key wherever they can. */
const echoes: readonly (readonly [string, Answer, readonly string[]])[] = [
  [
    'an answer',
    sends(json(200, `{"object":"credit_balance","available_credits":1,"x":"${canary}"}`)),
    ['balance'],
  ],
  [
    'a refusal and the request ID',
    sends(
      json(
        401,
        `{"error":{"type":"authentication_error","message":"no key ${canary}"}}`,
        `x-request-id: ${canary}\r\n`,
      ),
    ),
    ['contact', 'email', 'someone'],
  ],
  ['a redirect', sends(`HTTP/1.1 302 X\r\nlocation: https://x.example/?k=${canary}\r\n\r\n`), ['balance']],
  ['no HTTP', sends(`${canary}\r\n\r\n`), ['balance']],
  ['a page instead of JSON', sends(json(200, `<html>${canary}</html>`)), ['research', 'something']],
  ['leads', sends(stream(batch + done)), ['search', 'company', 'x', '-o', 'leads.csv']],
  ['a stream that is cut', sends(stream(batch)), ['search', 'company', 'x', '-f', 'json']],
  ['an error in the stream', sends(stream(`data: {"error":"${canary}"}\n\n`)), ['search', 'company', 'x']],
];

describe('a service that repeats the key', () => {
  it.each(echoes)('in %s: it is shown and stored masked', async (_name, answer, args) => {
    server = await startFaultServer(answer);
    const folder = temporaryFolder();
    const cwd = join(folder, 'work');
    mkdirSync(cwd);
    const env = { ...bareEnvironment(folder), LEADPIPE_BASE_URL: server.url, LEADPIPE_API_KEY: canary };
    for (const more of [[], ['--verbose'], ['--json-errors'], ['--verbose', '--dry-run']]) {
      if (more.includes('--dry-run') && args[0] === 'balance') continue;
      // The built command, then the same with other words.
      const start = more.length === 0 ? run : runInProcess;
      const { stdout, stderr } = await start([...args, ...more], { env, cwd });
      expectNoKey(stdout, 'stdout');
      expectNoKey(stderr, 'stderr');
    }
    expect(server.requests.length).toBeGreaterThan(0);
    expectNoKeyIn(folder);
  });
});

/** Everything that can be asked, and is answered. */
const commands: readonly (readonly string[])[] = [
  ['balance', '--verbose'],
  ['search', 'company', 'fintech in Berlin', '--limit', '3', '--verbose'],
  [
    'task',
    'run',
    'person',
    'founders in Lisbon',
    '--limit',
    '2',
    '--poll-interval',
    '0.1',
    '-o',
    'leads.csv',
  ],
  ['contact', 'email', 'CTO of Nordlicht Pay', '--verbose'],
  ['auth', 'status', '--verbose'],
  ['auth', 'list'],
  ['config', 'list'],
  ['history', 'list'],
  ['doctor', '--verbose'],
];

describe('Node asked to tell everything it does', () => {
  it('does not tell the key', async () => {
    server = await startFaultServer((socket, { path }) => {
      if (path === '/v1/entity-search')
        return void socket.end(stream(batch.replaceAll(canary, 'x') + done.replaceAll(canary, 'x')));
      return void socket.end(balanceAnswer);
    });
    const folder = temporaryFolder();
    const env = {
      ...bareEnvironment(folder),
      LEADPIPE_BASE_URL: server.url,
      LEADPIPE_API_KEY: canary,
      NODE_DEBUG: '*',
    };
    for (const args of commands.filter(([name]) => name !== 'task' && name !== 'contact')) {
      const { stdout, stderr } = await run(args, { env, cwd: folder });
      expectNoKey(stdout, `stdout of ${args.join(' ')}`);
      expectNoKey(stderr, `stderr of ${args.join(' ')}`);
      expect(stderr.length).toBeGreaterThan(1000);
    }
    expect(server.requests.some(({ headers }) => headers['x-api-key'] === canary)).toBe(true);
    expectNoKeyIn(folder);
  });

  it('is not given a key to read', async () => {
    const env = { ...bareEnvironment(), LEADPIPE_CREDENTIAL_STORE: 'file', NODE_DEBUG: 'stream' };
    const args = ['auth', 'login', '--base-url', 'http://127.0.0.1:1'];
    const { stderr, code } = await run(args, { env, stdin: canary });
    expect(code).toBe(2);
    expectNoKey(stderr, 'stderr');
  });
});

describe('a key in the file store', () => {
  it('is in that file and nowhere else', async () => {
    server = await startFaultServer(sends(balanceAnswer));
    const folder = temporaryFolder();
    const env = { ...bareEnvironment(folder), LEADPIPE_CREDENTIAL_STORE: 'file' };
    const login = ['auth', 'login', '--base-url', server.url, '--verbose'];
    const all = [await run(login, { env, stdin: canary })];
    for (const args of commands) {
      if (args[0] !== 'search' && args[0] !== 'task' && args[0] !== 'contact')
        all.push(await run(args, { env, cwd: folder }));
    }
    for (const { stdout, stderr } of all) expectNoKey(stdout + stderr, 'the output');
    expect(readFileSync(join(folder, 'config/credentials.json'), 'utf8')).toContain(canary);
    expect(expectNoKeyIn(folder, ['config/credentials.json'])).toBeGreaterThan(0);
    await run(['auth', 'logout'], { env });
    expectNoKeyIn(folder);
  });
});

describe('a report that Node writes about the process', () => {
  it('does not have the key of the environment', async () => {
    server = await startFaultServer(() => {});
    const folder = temporaryFolder();
    const reports = join(folder, 'reports');
    mkdirSync(reports);
    const child = start(['balance'], {
      env: {
        ...bareEnvironment(folder),
        LEADPIPE_BASE_URL: server.url,
        LEADPIPE_API_KEY: canary,
        NODE_OPTIONS: `--report-on-signal --report-directory=${reports}`,
      },
    });
    await expect.poll(() => server?.requests.length).toBe(1);
    child.kill('SIGUSR2');
    await expect.poll(() => readdirSync(reports)).toHaveLength(1);
    await expect
      .poll(() => readFileSync(join(reports, readdirSync(reports)[0] ?? ''), 'utf8'))
      .toMatch(/\}\s*$/);
    child.kill('SIGKILL');
    expect(readFileSync(join(reports, readdirSync(reports)[0] ?? ''), 'utf8')).toContain('LEADPIPE_BASE_URL');
    expect(expectNoKeyIn(folder)).toBeGreaterThan(0);
  });
});

const hasSecretService = needs('dbus-daemon', 'dbus-send', 'gnome-keyring-daemon', 'secret-tool');

describe.skipIf(!hasSecretService)('a key in the keychain', () => {
  it('is in no file, no output, and no debug output', async () => {
    secrets = await startSecretService();
    server = await startFaultServer(sends(balanceAnswer));
    const folder = temporaryFolder();
    const env = { ...bareEnvironment(folder), ...secrets.env };
    const login = await run(['auth', 'login', '--base-url', server.url, '--verbose'], { env, stdin: canary });
    expect(login.code).toBe(0);
    const balance = await run(['balance', '--verbose'], { env: { ...env, NODE_DEBUG: '*' } });
    expect(balance.code).toBe(0);
    for (const { stdout, stderr } of [login, balance]) expectNoKey(stdout + stderr, 'the output');
    expect(secrets.contents()).toContain(canary);
    expectNoKeyIn(folder);
  });

  it('is not in the command line or the environment of any other process', async () => {
    secrets = await startSecretService();
    const env = { ...bareEnvironment(), ...secrets.env, LEADPIPE_API_KEY: canary };
    secrets.freeze();
    // It waits for the keychain, in a process of its own, with the key of the environment at hand.
    const child = start(['auth', 'login', '--base-url', 'http://127.0.0.1:1'], { env, stdin: canary });
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
