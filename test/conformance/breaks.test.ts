import { describe, expect, it } from 'vitest';
import type { RowResult } from '../../src/conformance/row.ts';
import { type Row, sectionOf } from '../../src/conformance/row.ts';
import { rows } from '../../src/conformance/rows.ts';
import { runRows } from '../../src/conformance/run.ts';
import { breaks, type Difference, variants } from './breaks.ts';
import { createDouble, createOwnClock, doubleKeys, fetchOf, serve, usualPolicy } from './double.ts';

/** The suite against a service in memory that differs in one place. */

async function check(
  some: readonly Row[],
  fetch: typeof globalThis.fetch,
  clock: ReturnType<typeof createOwnClock>,
): Promise<RowResult[]> {
  const results: RowResult[] = [];
  let made = 0;
  const run = runRows(some, {
    fetch,
    clock,
    signal: new AbortController().signal,
    newKey: () => `new-${++made}`,
    userAgent: 'test',
    secondsFor: () => 100_000,
    baseUrl: new URL('http://double'),
    keys: doubleKeys,
    free: false,
    pollMs: 1000,
    mask: (text) => text,
  });
  for await (const result of run) results.push(result);
  return results;
}

function against(difference: Difference, some = rows): Promise<RowResult[]> {
  const usual = usualPolicy();
  const isPolicy = typeof difference === 'function';
  if (isPolicy) difference(usual);
  const clock = createOwnClock();
  return check(some, fetchOf(createDouble(usual, clock), isPolicy ? {} : difference), clock);
}

const odd = (results: readonly RowResult[]) =>
  results
    .filter(({ result }) => result !== 'passed')
    .map(({ row, result, got }) => `${row} ${result}: ${got}`);

describe('the suite', () => {
  it('has nothing against a service that keeps the interface', async () => {
    expect(odd(await against({}))).toEqual([]);
  });

  it.each(Object.entries(breaks))('notices by %s', async (name, one) => {
    const [fails = ''] = name.split(': ');
    // The section alone: what it notices, the whole notices too.
    const section = rows.filter((row) => sectionOf(row) === fails.slice(0, fails.indexOf('/')));
    const noticed = (await against(one, section))
      .filter(({ result }) => result === 'failed')
      .map(({ row }) => row);
    expect(noticed.filter((row) => row.startsWith(fails))).not.toEqual([]);
  });

  it('is tried with a hundred faults, and thirty variants', () => {
    expect(Object.keys(breaks).length).toBeGreaterThanOrEqual(100);
    expect(Object.keys(variants).length).toBeGreaterThanOrEqual(30);
  });

  it.each(Object.entries(variants))('has nothing against: %s', async (_, one) => {
    expect(odd(await against(one))).toEqual([]);
  });

  it('waits for less than a minute where tasks and settlements are quick', async () => {
    const policy = usualPolicy();
    policy.taskMs = 200;
    const clock = createOwnClock();
    const begun = clock.monotonic();
    expect(odd(await check(rows, fetchOf(createDouble(policy, clock)), clock))).toEqual([]);
    expect(clock.monotonic() - begun).toBeLessThan(60_000);
  });

  it('has nothing against gzip, over a socket', async () => {
    const clock = createOwnClock();
    const server = await serve(fetchOf(createDouble(usualPolicy(), clock)));
    const overSocket: typeof fetch = (input, init) =>
      fetch(new URL(new URL(String(input)).pathname + new URL(String(input)).search, server.url), init);
    expect(odd(await check(rows, overSocket, clock))).toEqual([]);
    server.close();
  });
});
