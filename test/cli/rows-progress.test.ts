import { expect, it } from 'vitest';
import { toProgress } from '../../src/cli/records/rows-report.ts';

it.each([
  [{ done: 5 }, undefined, 0.2, 120, '5 rows done'],
  [{ done: 1 }, undefined, 2, 120, '1 row done, 0.5/s'],
  [{ done: 5 }, 20, 2, 120, '[#####---------------] 5 of 20, 2.5/s, 6 s left'],
  [{ done: 5, failed: 2 }, 20, 2, 120, '[#####---------------] 5 of 20, 2 failed, 2.5/s, 6 s left'],
  [{ done: 30 }, 20, 1, 120, '[####################] 30 of 30, 30/s, 0 s left'],
  [{ done: 0 }, 20, 5, 120, '[--------------------] 0 of 20, 0.0/s'],
  [{ done: 5 }, 480, 2, 120, '[--------------------] 5 of 480, 2.5/s, 3 min 10 s left'],
  // The time left is not cut.
  [{ done: 5 }, 20, 2, 50, '5 of 20, 2.5/s, 6 s left'],
])('%j of %j after %d s, in %d columns', (counts, total, seconds, columns, expected) => {
  expect(toProgress({ failed: 0, ...counts }, total, seconds, columns)).toBe(expected);
});
