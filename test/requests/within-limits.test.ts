import { expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { checkNumber, checkText } from '../../src/requests/within-limits.ts';

// As `wc -l < names.txt` prints it on a Mac.
it.each(['12', '      12', '12\n', 12])('%j is a number', (given) => {
  expect(checkNumber(limits.entityLimit, '--limit', given)).toBe(12);
});

it.each([
  ['bytes', 'é'.repeat(5), undefined],
  ['bytes', 'é'.repeat(6), 'has 12 bytes: at most 10 are allowed'],
  ['characters', '🙂'.repeat(10), undefined],
  ['characters', '🙂'.repeat(11), 'has 11 characters: at most 10 are allowed'],
] as const)('in %s, %s is refused: %s', (unit, text, words) => {
  const check = () => checkText({ field: 'it', min: 1, max: 10, unit }, 'it', text);
  if (words === undefined) expect(check()).toBe(text);
  else expect(check).toThrow(words);
});
