import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Row } from '../../src/conformance/row.ts';
import { rows } from '../../src/conformance/rows.ts';
import { type RowResult, runRows } from '../../src/conformance/run.ts';
import { endpoints } from '../../src/contract/endpoints.ts';
import { type LocalService, startLocalService } from '../../src/local-service/server.ts';
import type { Switches } from '../../src/local-service/switches.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { allowed, switchedOff } from './alterations.ts';
import { type AlteringProxy, startAlteringProxy } from './altering-proxy.ts';

const clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  after(ms: number, callback: () => void) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

const keys = {
  main: 'lp_local_demo',
  other: 'lp_local_other',
  revoked: 'lp_local_revoked',
  expired: 'lp_local_expired',
  no_access: 'lp_local_no_access',
  no_credits: 'lp_local_broke',
  busy: 'lp_local_busy',
};

function startService(stateDir: string, switches: Partial<Switches> = {}): Promise<LocalService> {
  return startLocalService({
    stateDir,
    port: 0,
    pid: process.pid,
    clock,
    switches: {
      batch_pause_ms: 0,
      batch_size: 2,
      task_start_ms: 10,
      task_step_ms: 10,
      opening_credits: 10_000_000,
      ...switches,
    },
  });
}

async function check(url: string, some: readonly Row[], onRow = (_: RowResult) => {}): Promise<RowResult[]> {
  const results: RowResult[] = [];
  const run = runRows(some, {
    fetch,
    clock,
    signal: new AbortController().signal,
    newKey: () => crypto.randomUUID(),
    userAgent: 'test',
    secondsFor: () => 30,
    baseUrl: new URL(url),
    keys,
    free: false,
    pollMs: 5,
    mask: (text) => text,
  });
  for await (const result of run) {
    results.push(result);
    onRow(result);
  }
  return results;
}

const failures = (results: readonly RowResult[]) =>
  results.filter(({ result }) => result === 'failed').map(({ row }) => row);
const oddOnes = (results: readonly RowResult[]) => results.filter(({ result }) => result !== 'passed');

const folder = temporaryFolder();
let service: LocalService;
let proxy: AlteringProxy;
/** Which paths each row asks for, when nothing is altered. */
const pathsOf = new Map<string, readonly string[]>();

/**
 * Whether an alteration of a path can be felt in a row. Answers that rows share are asked for by the first of them, so
 * that the others seem to ask for less: rows that ask for nothing, and rows that read tasks, count in any case.
 */
function canFeel({ id }: Row, path: string): boolean {
  const paths = pathsOf.get(id) ?? [];
  const readsTask = paths.some((one) => one === endpoints.status.path || one === endpoints.fetch.path);
  return paths.length === 0 || paths.includes(path) || (readsTask && path === endpoints.createTask.path);
}

beforeAll(async () => {
  service = await startService(folder);
  proxy = await startAlteringProxy(service.url);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the conformance suite', () => {
  it('passes against the local service, every row of it', { timeout: 60_000 }, async () => {
    proxy.takePaths();
    const results = await check(proxy.url, rows, ({ row }) => pathsOf.set(row, proxy.takePaths()));
    console.log(`conformance: ${results.length} rows`);
    expect(oddOnes(results)).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(400);
  });

  it('names every row once, and each endpoint has some', () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z_-]+\/[a-z0-9_-]+$/.test(id))).toEqual([]);
    expect([...new Set([...pathsOf.values()].flat())].sort()).toEqual(
      Object.values(endpoints)
        .map(({ path }) => path as string)
        .sort(),
    );
  });

  it.each(switchedOff)('with a rule switched off: $name', { timeout: 30_000 }, async (off) => {
    const touched = rows.filter((row) => canFeel(row, endpoints[off.endpoint].path));
    proxy.alteration = off.alteration;
    try {
      const results = await check(proxy.url, touched);
      expect(failures(results).sort()).toEqual([...off.fails].sort());
    } finally {
      proxy.alteration = {};
    }
  });

  it.each(allowed)('with what the document leaves open: $name', { timeout: 30_000 }, async (open) => {
    proxy.alteration = open.alteration;
    try {
      const touched = rows.filter((row) => canFeel(row, endpoints[open.endpoint].path));
      expect(oddOnes(await check(proxy.url, touched))).toEqual([]);
    } finally {
      proxy.alteration = {};
    }
  });

  it.each<[string, Partial<Switches>]>([
    [
      'the other ways',
      {
        error_type_at: 'error.code',
        auth_header: 'documented',
        extract_replay: 'off',
        contact_billing: 'per_request',
        no_result_bills: 'yes',
        stream_fetch: 'on',
      },
    ],
    ['no types', { error_type_at: 'none' }],
  ])('takes what the document leaves open: %s', { timeout: 60_000 }, async (_, switches) => {
    const own = temporaryFolder();
    const other = await startService(own, switches);
    try {
      expect(oddOnes(await check(other.url, rows))).toEqual([]);
    } finally {
      await other.close();
      rmSync(own, { recursive: true, force: true });
    }
  });

  it('skips what is not enabled, and fails nothing for it', { timeout: 60_000 }, async () => {
    const own = temporaryFolder();
    const other = await startService(own, { disabled: 'phone,extract,wechat,createTask' });
    try {
      const results = await check(other.url, rows);
      expect(failures(results)).toEqual([]);
      const skipped = results.filter(({ result }) => result === 'skipped').map(({ row }) => row);
      expect(skipped).toEqual(expect.arrayContaining(['contact/body-phone', 'extract/body', 'fetch/body']));
      expect(skipped).not.toEqual(expect.arrayContaining(['contact/body']));
    } finally {
      await other.close();
      rmSync(own, { recursive: true, force: true });
    }
  });
});
