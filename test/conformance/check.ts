import type { RowResult } from '../../src/conformance/row.ts';
import { type ConformanceOptions, rows, runRows } from '../../src/conformance/run.ts';
import { createOwnClock, doubleKeys } from './double.ts';

/** What becomes of rows against whatever answers `fetch`. */
export async function check(
  options: Partial<ConformanceOptions> & Pick<ConformanceOptions, 'fetch'>,
  some = rows,
): Promise<RowResult[]> {
  let made = 0;
  const run = runRows(some, {
    clock: createOwnClock(),
    signal: new AbortController().signal,
    newKey: () => `new-key-${++made}`,
    userAgent: 'test',
    secondsFor: () => 100_000,
    baseUrl: new URL('https://service.example'),
    keys: doubleKeys,
    free: false,
    pollMs: 1000,
    mask: (text) => text,
    ...options,
  });
  const results: RowResult[] = [];
  for await (const result of run) results.push(result);
  return results;
}
