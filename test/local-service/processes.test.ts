import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/local-service/store.ts';
import { bundle } from '../helpers/bundle.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { admitForTest } from './ledger-steps.ts';
import { expectToAddUp, someLeads, withRows } from './running.ts';

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

const headers = { 'content-type': 'application/json', 'x-api-key': 'lp_local_demo' };
const search = JSON.stringify({ entity_type: 'company', objective: 'fintech', limit: 50 });

async function serve(
  stateDir: string,
  switches: object,
  limit?: string,
): Promise<{ child: ChildProcess; url: string }> {
  const catalogFile = join(temporaryFolder(), 'leads.jsonl');
  writeFileSync(catalogFile, someLeads.map((lead) => JSON.stringify(lead)).join('\n'));
  const worker = [process.execPath, serviceWorker, stateDir, catalogFile, JSON.stringify(switches)];
  const [file = '', ...args] =
    limit === undefined ? worker : ['sh', '-c', `${limit}; exec "$@"`, 'sh', ...worker];
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  return { child, url };
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
      const { child, url } = await serve(stateDir, switches);
      const stream = await fetch(`${url}/v1/entity-search`, { method: 'POST', headers, body: search });
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      const task = await fetch(`${url}/v1/entity-search/create_task`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': 'task' },
        body: search,
      });
      expect(task.status).toBe(200);
      await kill(child);
      await reader.read().catch(() => undefined);
      expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 100, settled: 0 }]);

      const next = await serve(stateDir, { ...switches, task_start_ms: 0, task_step_ms: 0 });
      await expect
        .poll(async () => (await fetch(`${next.url}/v1/credit/balance`, { headers })).json())
        .toMatchObject({ available_credits: 100_000 - settled - 4 });
      await kill(next.child);
      expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 0, settled: settled + 4 }]);
    },
  );

  it('leaves another service on the same state alone, and both share credits and keys', async () => {
    const stateDir = temporaryFolder();
    const one = await serve(stateDir, { batch_pause_ms: 0 });
    const two = await serve(stateDir, { batch_pause_ms: 0 });
    const searches = Array.from({ length: 10 }, (_, index) =>
      fetch(`${index % 2 === 0 ? one.url : two.url}/v1/entity-search`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': String(index % 5) },
        body: search,
      }).then(async (answer) => {
        await answer.text();
        return answer.status;
      }),
    );
    expect((await Promise.all(searches)).sort()).toEqual([...Array(5).fill(200), ...Array(5).fill(409)]);
    await kill(one.child);
    const answer = await fetch(`${two.url}/v1/credit/balance`, { headers });
    expect(await answer.json()).toMatchObject({ available_credits: 100_000 - 20 });
    await kill(two.child);
    expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 0, settled: 20 }]);
  });
});

describe('a service that goes on', () => {
  it('ends what another one, killed, had reserved', async () => {
    const stateDir = temporaryFolder();
    const switches = { batch_size: 2, batch_pause_ms: 3_600_000, user_concurrency: 1 };
    const one = await serve(stateDir, switches);
    const two = await serve(stateDir, switches);
    const stream = await fetch(`${one.url}/v1/entity-search`, { method: 'POST', headers, body: search });
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const balance = async () => (await fetch(`${two.url}/v1/credit/balance`, { headers })).json();
    expect(await balance()).toMatchObject({ available_credits: 100_000 - 50 });
    await kill(one.child);
    await reader.read().catch(() => undefined);
    expect(await balance()).toMatchObject({ available_credits: 100_000 - 2 });
    const next = await fetch(`${two.url}/v1/entity-search`, { method: 'POST', headers, body: search });
    expect(next.status).toBe(200);
    await kill(two.child);
    await next.text().catch(() => undefined);
  });

  it.skipIf(process.platform === 'win32')('outlives a lack of file descriptors', async () => {
    const stateDir = temporaryFolder();
    const { child, url } = await serve(
      stateDir,
      { task_start_ms: 3_600_000, task_step_ms: 20 },
      'ulimit -n 64',
    );
    const task = { ...headers, 'idempotency-key': 'task' };
    await fetch(`${url}/v1/entity-search/create_task`, { method: 'POST', headers: task, body: search });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const balance = () => statusOf(`${url}/v1/credit/balance`, agent);
    expect(await balance()).toBe(200);
    const sockets = Array.from({ length: 100 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => undefined);
    // Its state can't be opened for as long as it looks after the task several times.
    await expect.poll(balance).toBe(500);
    const end = performance.now() + 300;
    while (performance.now() < end) expect(await balance()).toBe(500);
    for (const socket of sockets) socket.destroy();
    await expect.poll(balance).toBe(200);
    agent.destroy();
    await kill(child);
    expect(expectToAddUp(stateDir)).toMatchObject([{ reserved: 50, settled: 0 }]);
  });
});

function statusOf(url: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    })
      .on('error', reject)
      .end();
  });
}
