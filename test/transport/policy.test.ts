import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/cli/exit-codes.ts';
import { toHint } from '../../src/cli/messages/hints.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { type Fault, verdictOf } from '../../src/transport/policy.ts';
import { RequestError } from '../../src/transport/request-error.ts';
import { toTimeLimits } from '../../src/transport/time-limits.ts';

/**
 * Number of retries, by column of the matrix (G, C, P, X, S); exit codes of G, of C and of paid requests; whether it may have been charged.
 */
const matrix: readonly [fault: Fault, again: readonly number[], exits: readonly number[], charged: string][] =
  [
    ['unsent', [4, 4, 4, 4, 4], [75, 75, 75], 'no'],
    ['not_running', [1, 1, 1, 1, 1], [75, 75, 75], 'no'],
    ['proxy_credentials', [0, 0, 0, 0, 0], [78, 78, 78], 'no'],
    ['proxy_refused', [0, 0, 0, 0, 0], [78, 78, 78], 'no'],
    ['certificate', [0, 0, 0, 0, 0], [76, 76, 76], 'no'],
    ['not_http', [0, 0, 0, 0, 0], [76, 76, 76], 'no'],
    ['redirect', [0, 0, 0, 0, 0], [76, 76, 76], 'maybe'],
    ['lost', [4, 4, 1, 1, 1], [75, 8, 8], 'maybe'],
    ['unreadable', [0, 0, 0, 0, 0], [76, 8, 8], 'maybe'],
    ['gateway', [4, 4, 1, 1, 1], [75, 8, 8], 'maybe'],
    ['gateway_refused', [0, 0, 0, 0, 0], [76, 76, 76], 'no'],
    ['garbled', [3, 3, 0, 1, 0], [76, 76, 8], 'yes'],
    ['internal_error', [4, 4, 1, 1, 1], [75, 75, 8], 'maybe'],
    ['not_enabled', [0, 0, 0, 0, 0], [9, 9, 9], 'no'],
    ['busy', [6, 6, 6, 6, 6], [75, 75, 75], 'no'],
    ['already_exists', [0, 100, 0, 5, 0], [8, 8, 8], 'no'],
    ['conflict', [0, 0, 0, 0, 0], [8, 8, 8], 'no'],
    ['no_credits', [0, 0, 0, 0, 0], [5, 5, 5], 'no'],
    ['unauthenticated', [0, 0, 0, 0, 0], [4, 4, 4], 'no'],
    ['forbidden', [0, 0, 0, 0, 0], [4, 4, 4], 'no'],
    ['invalid', [0, 0, 0, 0, 0], [2, 2, 2], 'no'],
    ['missing', [0, 0, 0, 0, 0], [6, 6, 6], 'no'],
    ['undocumented', [0, 0, 0, 0, 0], [76, 76, 76], 'no'],
  ];
const columns: readonly (readonly EndpointName[])[] = [
  ['balance', 'status', 'fetch'],
  ['createTask'],
  ['contactSearch', 'deepSearch', 'enrich'],
  ['extract'],
  ['search'],
];

describe('policy', () => {
  it.each(matrix)('%s', (fault, again, exits, charged) => {
    for (const [column, names] of columns.entries()) {
      for (const name of names) {
        const verdict = verdictOf(fault, endpoints[name]);
        expect({ name, ...verdict, exit: exitCodeOf(verdict.outcome) }).toMatchObject({
          name,
          again: again[column],
          exit: exits[Math.min(column, 2)],
          charged: column === 0 ? 'no' : charged,
        });
        expect(toHint(new RequestError(fault, endpoints[name], 'x'))).toMatch(/\.$/);
      }
    }
  });
});

it('a longer silence that is asked for is not cut by the total of the endpoint', () => {
  for (const endpoint of Object.keys(endpoints) as EndpointName[])
    expect(toTimeLimits(endpoint, { headers: 3600, idle: 3600 }).total).toBeGreaterThanOrEqual(7200);
});
