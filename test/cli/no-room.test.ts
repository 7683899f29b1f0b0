import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runWith } from '../durability/faulty-run.ts';
import { ending, silently } from '../helpers/ending.ts';
import {
  type FaultServer,
  searchFrames,
  startFaultServer,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine } from '../helpers/machine.ts';
import {
  bareEnvironment,
  command,
  pointedAt,
  type Result,
  resultOf,
  run,
  temporaryFolder,
} from '../helpers/run.ts';

/** An output, a state or a home that nothing can be written to. */

let server: FaultServer | undefined;

const leads = ['{"name":"A"}', '{"name":"B"}'];
const balance =
  '{"object":"credit_balance","available_credits":7,"updated_at":"2026-01-01T00:00:00Z","next_credit_refresh_at":null}';

async function serve(): Promise<Record<string, string>> {
  server = await startFaultServer((socket, { method }) => {
    if (method === 'GET') return void socket.write(wholeAnswer('200 OK', 'application/json', balance));
    socket.write(wholeStream(searchFrames([leads])));
  });
  return { ...bareEnvironment(), ...pointedAt(server.url) };
}

/** Runs the command as a shell does, with a redirection behind it. */
function redirected(args: readonly string[], to: string, env: Record<string, string>): Promise<Result> {
  const words = ['-c', `"$0" "$@" ${to}`, process.execPath, command, ...args];
  const child = spawn('bash', words, { env, stdio: 'pipe' });
  child.stdin.end();
  return resultOf(child);
}

const search = ['search', 'company', 'x', '--limit', '9'];

describe.runIf(process.platform === 'linux')('standard output', () => {
  it('that is full: says what arrived and is kept, and how to read it for nothing', async () => {
    const env = await serve();
    const full = await redirected(search, '> /dev/full', env);
    expect(full).toMatchObject(
      ending(74, 'no space left on the device. 2 leads arrived, but not all of them could be written'),
    );
    const [, operation = ''] =
      /To print it, for free: leadpipe history show (op_\w+)/.exec(full.stderr) ?? [];
    expect(full.stderr).toContain('charged: yes');
    const { stdout } = await run('history list -f jsonl', { env });
    expect(JSON.parse(stdout)).toMatchObject({ state: 'partial', leads: 2, charged: 'yes' });
    expect(await run(`history show ${operation} -f jsonl`, { env })).toMatchObject({
      code: 0,
      stdout: leads.map((lead) => `${lead}\n`).join(''),
    });
  });

  it('that is closed loses nothing: what arrives is kept, and without that nothing is bought', async () => {
    const env = await serve();
    expect(await redirected([...search, '--no-history'], '>&-', env)).toMatchObject(
      ending(74, 'standard output is closed', 'charged: no'),
    );
    expect(server?.requests).toEqual([]);
    const closed = await redirected(search, '>&-', env);
    expect(closed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: standard output is closed'),
    });
    const [, operation = ''] = /operation (op_\w+)/.exec(closed.stderr) ?? [];
    const shown = await run(`history show ${operation} -f jsonl`, { env });
    expect(shown.stdout).toBe(leads.map((lead) => `${lead}\n`).join(''));
    expect(await redirected([...search, '--no-history', '-q'], '> /dev/null', env)).toMatchObject(silently);
  });
});

it.runIf(process.platform === 'linux')(
  'neither for the output nor for what is kept: says that not all of what arrived is stored',
  async () => {
    const large = Array.from({ length: 20 }, (_, at) =>
      JSON.stringify({ name: `${at} ${'x'.repeat(2000)}` }),
    );
    const { url } = await startFaultServer((socket) => {
      socket.write(wholeStream(searchFrames([large.slice(0, 10), large.slice(10)])));
    });
    const machine = createMachine(url);
    const words = [
      '-c',
      'ulimit -f 30; exec "$0" "$@"',
      process.execPath,
      command,
      ...search,
      '-o',
      'a.jsonl',
    ];
    const child = spawn('bash', words, { env: machine.env, cwd: machine.cwd, stdio: 'pipe' });
    child.stdin.end();
    const { code, stderr } = await resultOf(child);
    expect(code).toBe(74);
    const [, operation = ''] =
      /^Not all of what arrived could be stored\. To print what is stored, for free: leadpipe history show (op_\w+)$/m.exec(
        stderr,
      ) ?? [];
    const shown = await machine.run(`history show ${operation} -f jsonl`);
    const stored = shown.stdout.split('\n').slice(0, -1);
    expect(stored.length).toBeGreaterThan(9);
    expect(stored).toEqual(large.slice(0, stored.length));
  },
);

it('a home that is no folder: free reads work with a key of the environment; --local says what to do', async () => {
  const { LEADPIPE_BASE_URL = '', LEADPIPE_API_KEY = '', PATH = '' } = await serve();
  const bare = { PATH, HOME: '/dev/null', LEADPIPE_CONFIG_DIR: '', LEADPIPE_STATE_DIR: '' };
  expect(await run('balance', { env: { ...bare, LEADPIPE_BASE_URL, LEADPIPE_API_KEY } })).toMatchObject({
    code: 0,
    stdout: `${balance}\n`,
    stderr: '',
  });
  expect(await run('balance --local', { env: bare })).toMatchObject(ending(74, 'LEADPIPE_STATE_DIR'));
});

it('a full disk under --local is no bug: 74, and what to do', async () => {
  const machine = createMachine();
  const args = ['task', 'create', 'company', 'x', '--local', '--no-history'];
  expect(await machine.run('config set retry.attempts 0')).toMatchObject({ code: 0 });
  expect(await machine.run(args)).toMatchObject({ code: 0 });
  for (const at of [1, 2, 3]) {
    const full = await runWith({ mode: 'ENOSPC', at }, machine, args);
    expect({ at, ...full }).toMatchObject({
      at,
      code: 74,
      stderr: expect.stringContaining('LEADPIPE_STATE_DIR'),
    });
  }
  expect(await machine.run(args)).toMatchObject({ code: 0 });
});

it.runIf(process.platform === 'linux')(
  'a folder that was removed under the run is no bug of leadpipe',
  async () => {
    const env = await serve();
    const gone = temporaryFolder();
    const words = [
      '-c',
      `cd "$1" && rmdir "$1" && "$0" "$2" ${search.join(' ')} -o leads.csv`,
      process.execPath,
    ];
    const child = spawn('bash', [...words, gone, command], { env, stdio: 'pipe' });
    child.stdin.end();
    const { code, stderr } = await resultOf(child);
    expect({ code, requests: server?.requests }).toEqual({ code: 74, requests: [] });
    expect(stderr).toBe(
      'error: the folder that you are in does not exist any more\nChange to another folder, and run it again.\n',
    );
  },
);
