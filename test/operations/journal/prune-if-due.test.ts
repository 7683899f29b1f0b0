import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pruneIfDue } from '../../../src/operations/prune-if-due.ts';
import { temporaryFolder } from '../../helpers/run.ts';
import { keepingIn } from '../../helpers/stored.ts';

const now = '2026-06-15T12:00:00.000Z';

it.each([
  ['within a day', '2026-06-15T08:00:00.000Z', false],
  ['a day ago', '2026-06-14T12:00:00.000Z', true],
  // Else nothing would be removed until then.
  ['by a clock that was a year ahead', '2027-06-15T12:00:00.000Z', true],
  ['never', undefined, true],
])('old records are removed once a day: last %s', async (_, last, isDue) => {
  const state = temporaryFolder();
  const stamp = join(state, 'pruned');
  if (last !== undefined) writeFileSync(stamp, last);
  await pruneIfDue(keepingIn(state, () => new Date(now)));
  expect(readFileSync(stamp, 'utf8')).toBe(isDue ? now : last);
});
