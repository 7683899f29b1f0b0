import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/local-service/store.ts';
import { type Fault, faultyWith, inParallel } from '../durability/faulty-run.ts';
import { bundle } from '../helpers/bundle.ts';
import { bareEnvironment, run, temporaryFolder } from '../helpers/run.ts';
import { admitForTest } from './ledger-steps.ts';
import { clientOf, expectToAddUp, someLeads, withRows } from './running.ts';

/** Real processes on one state, killed at the worst of times. */
let ledgerWorker = '';
let serviceWorker = '';

beforeAll(async () => {
  ledgerWorker = await bundle(join(import.meta.dirname, 'ledger-worker.ts'));
  serviceWorker = await bundle(join(import.meta.dirname, 'service-worker.ts'));
});

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [ledgerWorker, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function line(child: ChildProcess, count = 1): Promise<void> {
  let seen = 0;
  for await (const _ of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    seen += 1;
    if (seen === count) return;
  }
  throw new Error(`the worker ended after ${seen} lines`);
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('a process killed', () => {
  it.each(['hold', 'spill'])('in mid-transaction (%s) leaves nothing of it', async (mode) => {
    const stateDir = temporaryFolder();
    const child = start(stateDir, mode);
    await line(child);
    if (mode === 'spill') expect(statSync(join(stateDir, 'state.db')).size).toBeGreaterThan(4_000_000);
    await kill(child);

    expect(expectToAddUp(stateDir)).toEqual([]);
    withRows(stateDir, (rows) => {
      expect(rows.all("SELECT name FROM sqlite_master WHERE name = 'bulk'")).toEqual([]);
      expect(rows.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' });
      admitForTest(rows, 'after');
    });
    expect(expectToAddUp(stateDir)).toMatchObject([{ available: 999_999, settled: 1 }]);
  });

  it('in mid-transaction does not stop a process that has the state open', async () => {
    const stateDir = temporaryFolder();
    const store = openStore({ stateDir, pid: process.pid, monotonic: () => performance.now() });
    store.transaction((rows) => admitForTest(rows, 'before'));
    const child = start(stateDir, 'spill');
    await line(child);
    await kill(child);
    store.transaction((rows) => admitForTest(rows, 'after'));
    store.close();
    expect(expectToAddUp(stateDir)).toMatchObject([{ settled: 2, reserved: 0 }]);
  });

  it('at any instant leaves a ledger that adds up', async () => {
    const stateDir = temporaryFolder();
    for (const lines of [1, 2, 3, 5, 8, 13, 21, 34]) {
      const child = start(stateDir, 'work');
      await line(child, lines);
      await kill(child);
      const [account] = expectToAddUp(stateDir);
      expect(account?.settled).toBeGreaterThanOrEqual(lines);
    }
    expect(readdirSync(stateDir).filter((name) => name.startsWith('lock'))).toEqual([]);
  });
});

it('a first `--local` that is killed at any moment leaves nothing broken', async () => {
  const search = ['search', 'company', 'fintech in Berlin', '--limit', '5', '--local'];
  const runIn = (env: Record<string, string>, fault: Fault) =>
    run(search, { env: { ...env, ...faultyWith(fault) }, isFirst: true });
  const report = join(temporaryFolder(), 'report');
  const whole = await runIn(bareEnvironment(), { mode: 'count', report });
  const { boundaries } = JSON.parse(readFileSync(report, 'utf8'));
  const step = process.env.LEADPIPE_EXHAUSTIVE === '1' ? 1 : Math.floor(boundaries / 5);
  const places = Array.from({ length: Math.floor(boundaries / step) }, (_, at) => 1 + at * step);
  await inParallel(places, async (at) => {
    const env = bareEnvironment();
    await runIn(env, { mode: 'kill', at });
    const { code, stdout } = await run(search, { env, isFirst: true });
    expect({ at, code, stdout }).toEqual({ at, code: 0, stdout: whole.stdout });
    expectToAddUp(join(env.LEADPIPE_STATE_DIR ?? '', 'local-service'));
  });
});

describe('several processes on one state', () => {
  it('make it together', async () => {
    const stateDir = temporaryFolder();
    const children = [1, 2].map(() => start(stateDir, 'first', '30'));
    const codes = await Promise.all(children.map((child) => once(child, 'exit')));
    expect(codes.map(([code]) => code)).toEqual([0, 0]);
  });

  it('take turns', async () => {
    const stateDir = temporaryFolder();
    const children = [1, 2, 3].map(() => start(stateDir, 'work', '150'));
    for (const child of children) child.stdout?.resume();
    const codes = await Promise.all(children.map((child) => once(child, 'exit')));
    expect(codes.map(([code]) => code)).toEqual([0, 0, 0]);
    expect(expectToAddUp(stateDir)).toMatchObject([{ settled: 450, reserved: 0 }]);
  });
});

const fifty = { limit: 50 };

/** A service in a process of its own, and what asks it. */
async function serve(stateDir: string, switches: object, limit?: string) {
  const catalogFile = join(temporaryFolder(), 'leads.jsonl');
  writeFileSync(catalogFile, someLeads.map((lead) => JSON.stringify(lead)).join('\n'));
  const worker = [process.execPath, serviceWorker, stateDir, catalogFile, JSON.stringify(switches)];
  const [file = '', ...args] =
    limit === undefined ? worker : ['sh', '-c', `${limit}; exec "$@"`, 'sh', ...worker];
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  const client = clientOf(url);
  return {
    ...client,
    url,
    kill: () => kill(child),
    /** Begins a stream, and waits for its first batch; `rest` resolves when there is no more of it. */
    async begin() {
      const stream = await client.ask('search', fifty);
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      return { rest: () => reader.read().catch(() => undefined) };
    },
  };
}

describe('a killed service', () => {
  it.each([
    ['bills_sent', 2],
    ['bills_all', 4],
    ['bills_nothing', 0],
  ])(
    'amid a stream (dropped_stream=%s): the next start settles %i and takes tasks on',
    async (dropped_stream, settled) => {
      const stateDir = temporaryFolder();
      const switches = { dropped_stream, batch_size: 2, batch_pause_ms: 3_600_000, task_start_ms: 3_600_000 };
      const first = await serve(stateDir, switches);
      const stream = await first.begin();
      await first.json('createTask', fifty);
      await first.kill();
      await stream.rest();
      expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 100, settled: 0 }]);

      const next = await serve(stateDir, { ...switches, task_start_ms: 0, task_step_ms: 0 });
      await expect.poll(next.balance).toBe(100_000 - settled - 4);
      await next.kill();
      expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 0, settled: settled + 4 }]);
    },
  );

  it('leaves another service on the same state alone, and both share credits and keys', async () => {
    const stateDir = temporaryFolder();
    const one = await serve(stateDir, { batch_pause_ms: 0 });
    const two = await serve(stateDir, { batch_pause_ms: 0 });
    const searches = Array.from({ length: 10 }, async (_, index) => {
      const { ask } = index % 2 === 0 ? one : two;
      const answer = await ask('search', fifty, { 'idempotency-key': String(index % 5) });
      await answer.text();
      return answer.status;
    });
    expect((await Promise.all(searches)).sort()).toEqual([...Array(5).fill(200), ...Array(5).fill(409)]);
    await one.kill();
    expect(await two.balance()).toBe(100_000 - 20);
    await two.kill();
    expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 0, settled: 20 }]);
  });
});

describe('a service that goes on', () => {
  it('ends what another one, killed, had reserved', async () => {
    const stateDir = temporaryFolder();
    const switches = { batch_size: 2, batch_pause_ms: 3_600_000, user_concurrency: 1 };
    const one = await serve(stateDir, switches);
    const two = await serve(stateDir, switches);
    const stream = await one.begin();
    expect(await two.balance()).toBe(100_000 - 50);
    await one.kill();
    await stream.rest();
    expect(await two.balance()).toBe(100_000 - 2);
    const next = await two.ask('search', fifty);
    expect(next.status).toBe(200);
    await two.kill();
    await next.text().catch(() => undefined);
  });

  it.skipIf(process.platform === 'win32')('outlives a lack of file descriptors', async () => {
    const stateDir = temporaryFolder();
    const switches = { task_start_ms: 3_600_000, task_step_ms: 20 };
    const { json, url, kill } = await serve(stateDir, switches, 'ulimit -n 64');
    await json('createTask', fifty);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const balance = () => statusOf(`${url}/v1/credit/balance`, agent);
    expect(await balance()).toBe(200);
    const sockets = Array.from({ length: 100 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => undefined);
    // Its state can't be opened for a while.
    await expect.poll(balance).toBe(500);
    const end = performance.now() + 300;
    while (performance.now() < end) expect(await balance()).toBe(500);
    for (const socket of sockets) socket.destroy();
    await expect.poll(balance).toBe(200);
    agent.destroy();
    await kill();
    expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 50, settled: 0 }]);
  });
});

async function statusOf(url: string, agent: Agent): Promise<number | undefined> {
  const asked = request(url, { agent, headers: { 'x-api-key': 'lp_local_demo' } }).end();
  const [answer] = await once(asked, 'response');
  await once(answer.resume(), 'end');
  return answer.statusCode;
}
