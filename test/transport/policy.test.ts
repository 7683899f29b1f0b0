import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/cli/exit-codes.ts';
import { toHint } from '../../src/cli/messages/hints.ts';
import { endpoints } from '../../src/contract/endpoints.ts';
import { RequestError } from '../../src/transport/errors.ts';
import { type Fault, verdictOf } from '../../src/transport/policy.ts';

/** Exit codes by group: a free read, create_task, a single answer, extract, the stream; then what a paid one may have cost. */
const matrix: readonly [fault: Fault, read: number, create: number, paid: number, charged: string][] = [
  ['unsent', 75, 75, 75, 'no'],
  ['proxy_credentials', 78, 78, 78, 'no'],
  ['proxy_refused', 78, 78, 78, 'no'],
  ['certificate', 76, 76, 76, 'no'],
  ['not_http', 76, 76, 76, 'no'],
  ['redirect', 76, 76, 76, 'maybe'],
  ['lost', 75, 8, 8, 'maybe'],
  ['gateway', 75, 8, 8, 'maybe'],
  ['garbled', 76, 76, 8, 'yes'],
  ['unexplained', 76, 76, 76, 'maybe'],
  ['internal_error', 75, 75, 8, 'maybe'],
  ['not_enabled', 9, 9, 9, 'no'],
  ['busy', 75, 75, 75, 'no'],
  ['already_exists', 8, 8, 8, 'no'],
  ['conflict', 8, 8, 8, 'no'],
  ['no_credits', 5, 5, 5, 'no'],
  ['unauthenticated', 4, 4, 4, 'no'],
  ['forbidden', 4, 4, 4, 'no'],
  ['invalid', 2, 2, 2, 'no'],
  ['missing', 6, 6, 6, 'no'],
  ['undocumented', 76, 76, 76, 'no'],
];

describe('policy', () => {
  it.each(matrix)('%s', (fault, read, create, paid, charged) => {
    const exit = (name: keyof typeof endpoints): number =>
      exitCodeOf(verdictOf(fault, endpoints[name]).outcome);
    expect((['balance', 'status', 'fetch'] as const).map(exit)).toEqual([read, read, read]);
    expect(exit('createTask')).toBe(create);
    expect((['contactSearch', 'deepSearch', 'enrich', 'extract', 'search'] as const).map(exit)).toEqual(
      Array(5).fill(paid),
    );
    expect(verdictOf(fault, endpoints.search).charged).toBe(charged);
    expect(verdictOf(fault, endpoints.balance).charged).toBe('no');
  });

  it('has something to do for every fault', () => {
    for (const [fault] of matrix) {
      for (const endpoint of Object.values(endpoints)) {
        expect(toHint(new RequestError(fault, endpoint, 'x'))).toMatch(/\.$/);
      }
    }
  });
});
