import { expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { checkNumber } from '../../src/requests/within-limits.ts';

// As `wc -l < names.txt` prints it on a Mac.
it.each(['12', '      12', '12\n', 12])('%j is a number', (given) => {
  expect(checkNumber(limits.entityLimit, '--limit', given)).toBe(12);
});
