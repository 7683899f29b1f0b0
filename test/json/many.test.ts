import { describe, expect, it } from 'vitest';
import { hasMoreValues } from '../../src/json/many.ts';

describe('values of a text', () => {
  it.each([
    ['1', 1],
    ['[]', 2],
    ['[1, 2]', 3],
    ['{"a": 1}', 2],
    ['{"a": [1, {"b": []}], "c": 2}', 7],
    ['"a,[{"', 1],
    ['"\\",[\\\\"', 1],
    ['["\\\\",[]]', 4],
    ['[[[', 4],
    ['["a', 2],
  ])('%s: %i at most', (text, count) => {
    expect(hasMoreValues(text, count)).toBe(false);
    expect(hasMoreValues(text, count - 1)).toBe(true);
  });
});
