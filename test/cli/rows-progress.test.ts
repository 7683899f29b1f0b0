import { expect, it } from 'vitest';
import { toProgress } from '../../src/cli/records/rows-report.ts';

const counts = { done: 5, failed: 0 };

it.each([
  [{}, undefined, 0.2, '5 rows done, 4 at once'],
  [{ done: 1 }, undefined, 2, '1 row done, 0.5/s, 4 at once'],
  [{}, 20, 2, '[#####---------------] 5 of 20, 2.5/s, 4 at once, 6 s left'],
  [{ failed: 2 }, 20, 2, '[#####---------------] 5 of 20, 2 failed, 2.5/s, 4 at once, 6 s left'],
  [{ done: 30 }, 20, 1, '[####################] 30 of 30, 30/s, 4 at once, 0 s left'],
  [{ done: 0 }, 20, 5, '[--------------------] 0 of 20, 0.0/s, 4 at once'],
])('%j of %j after %d s', (more, total, seconds, expected) => {
  expect(toProgress({ ...counts, ...more }, { used: 4 }, total, seconds)).toBe(expected);
});

it.each([
  [120, '[##------------------] 1234 of 10000, 12 failed, 2.5/s, 4 at once, 59 min 12 s left'],
  [80, '[##------------------] 1234 of 10000, 12 failed, 2.5/s, 59 min 12 s left'],
  [70, '[#-------] 1234 of 10000, 12 failed, 2.5/s, 59 min 12 s left'],
  [60, '1234 of 10000, 12 failed, 2.5/s, 59 min 12 s left'],
])('in %d columns the time left is not cut', (columns, expected) => {
  const many = { ...counts, done: 1234, failed: 12 };
  expect(toProgress(many, { used: 4 }, 10_000, 500, columns)).toBe(expected);
  expect(expected.length).toBeLessThanOrEqual(columns - 4);
});
