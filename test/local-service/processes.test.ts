import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../../src/local-service/lock.ts';
import { openStore } from '../../src/local-service/store.ts';
import { admitForTest } from './ledger-steps.ts';
import { expectToAddUp, temporaryFolder } from './running.ts';

/** Real processes on one state, killed at the worst of times. */
const folder = join(import.meta.dirname, '../../node_modules/.cache/leadpipe-tests');
const worker = join(folder, 'ledger-worker.mjs');

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [join(import.meta.dirname, 'ledger-worker.ts')],
    outfile: worker,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['node-sqlite3-wasm'],
    logLevel: 'error',
  });
});

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [worker, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
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

function open(stateDir: string) {
  return openStore({ stateDir, pid: process.pid, monotonic: () => performance.now() });
}

describe('a process killed', () => {
  it.each(['hold', 'spill'])('in mid-transaction (%s) leaves nothing of it', async (mode) => {
    const stateDir = temporaryFolder();
    const child = start(stateDir, mode);
    await line(child);
    if (mode === 'spill') expect(statSync(join(stateDir, 'state.db')).size).toBeGreaterThan(4_000_000);
    await kill(child);

    expect(expectToAddUp(stateDir)).toEqual([]);
    const store = open(stateDir);
    store.transaction((rows) => {
      expect(rows.all("SELECT name FROM sqlite_master WHERE name = 'bulk'")).toEqual([]);
      expect(rows.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' });
      admitForTest(rows, 'after');
    });
    store.close();
    expect(expectToAddUp(stateDir)).toMatchObject([{ available: 999_999, settled: 1 }]);
  });

  it('in mid-transaction does not stop a process that has the state open', async () => {
    const stateDir = temporaryFolder();
    const store = open(stateDir);
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
  it('take turns', async () => {
    const stateDir = temporaryFolder();
    const children = [1, 2, 3].map(() => start(stateDir, 'work', '150'));
    for (const child of children) child.stdout?.resume();
    const codes = await Promise.all(children.map((child) => once(child, 'exit')));
    expect(codes.map(([code]) => code)).toEqual([0, 0, 0]);
    expect(expectToAddUp(stateDir)).toMatchObject([{ settled: 450, reserved: 0 }]);
  });
});

describe('isAlive', () => {
  it.each([
    ['this process', `${process.pid}..x`, true],
    ['no process', '999999999..x', false],
    ['a pid that was given to another process since', `${process.pid}.1.x`, process.platform !== 'linux'],
    ['nonsense', 'nonsense', false],
  ])('%s', (_, owner, alive) => {
    expect(isAlive(owner)).toBe(alive);
  });
});
