import { describe, expect, it } from 'vitest';
import { breaks, type Difference, variants } from './breaks.ts';
import { check } from './check.ts';
import { createDouble, createOwnClock, fetchOf, ownRun, serve, usualPolicy } from './double.ts';
import type { RowResult } from './interpreter.ts';
import { rows } from './rows/index.ts';

/** The suite against a service in memory that differs in one place. */

function against(difference: Difference, some = rows): Promise<RowResult[]> {
  const usual = usualPolicy();
  const isPolicy = typeof difference === 'function';
  if (isPolicy) difference(usual);
  const clock = createOwnClock();
  const fetch = fetchOf(createDouble(usual, clock), isPolicy ? {} : difference);
  return check({ ...ownRun, fetch, clock }, some);
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
    const section = rows.filter(({ id }) => id.startsWith(fails.slice(0, fails.indexOf('/') + 1)));
    const noticed = odd(await against(one, section)).filter((line) => line.includes(' failed: '));
    expect(noticed.filter((line) => line.startsWith(fails))).not.toEqual([]);
  });

  it('is tried with a hundred faults, and thirty variants', () => {
    expect(Object.keys(breaks).length).toBeGreaterThanOrEqual(100);
    expect(Object.keys(variants).length).toBeGreaterThanOrEqual(30);
  });

  it.each(Object.entries(variants))('has nothing against: %s', async (_, one) => {
    expect(odd(await against(one))).toEqual([]);
  });

  it('has nothing against gzip, over a socket', async () => {
    const clock = createOwnClock();
    const server = await serve(fetchOf(createDouble(usualPolicy(), clock)));
    expect(odd(await check({ ...ownRun, baseUrl: new URL(server.url), clock }))).toEqual([]);
  });
});
