import { describe, expect, it } from 'vitest';
import { hasMoreValues, isJson, maxValues } from '../../src/json/valid.ts';

const levels = 300_000;

describe('is JSON or not as JSON.parse says', () => {
  it.each([
    ['{"a":[1,{"b":null}],"":""}', true],
    [' true\r\n\t', true],
    ['', false],
    ['[1,]', false],
    ['NaN', false],
    ['true false', false],
    ['\ufeff1', false],
  ])('%j: %s', (text, is) => expect(isJson(text)).toBe(is));

  it.each([
    ['lists', '['.repeat(levels), ']'.repeat(levels)],
    ['objects', '{"a":'.repeat(levels), `1${'}'.repeat(levels)}`],
    ['both', '[{"a":'.repeat(levels), `1${'}]'.repeat(levels)}`],
  ])('300,000 levels of %s', (_, open, close) => {
    expect(isJson(open + close)).toBe(true);
    expect(isJson(open + close.slice(1))).toBe(false);
    expect(isJson(open + close.slice(0, -1))).toBe(false);
    expect(isJson(`${open}${close}]`)).toBe(false);
  });
});

it('is not when it has more values than are looked at', () => {
  const full = '0,'.repeat(maxValues - 2);
  expect(isJson(`[${full}0]`)).toBe(true);
  expect(isJson(`[${full}0,0]`)).toBe(false);
});

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
