import { describe, expect, it } from 'vitest';
import { hasMoreValues, isJson, mostValues } from '../../src/json/valid.ts';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const levels = 300_000;

describe('is JSON or not as JSON.parse says', () => {
  it.each([
    ...['{}', ' [ ] ', '{"a":[1,{"b":null}],"":""}', '"\\u00e9\\n\\/"', '-0.5e+10', ' true\r\n\t', '[[],{}]'],
    ...['', ' ', '[', ']', '{', '{]', '[}', '[1,]', '{,}', '{"a"}', '{"a":}', '{"a":1,}', '{a:1}', '{1:1}'],
    ...['01', '+1', '1.', '.5', '1e', '--1', 'NaN', 'Infinity', 'nul', 'truex', 'true false', '1 2', '"'],
    ...["'a'", '"\\x"', '"\\u12g4"', '"\\u12', '"\u0000"', '"\n"', '"\t"', '"\u007f\u2028\ud800"'],
    ...['\ufeff1', '\u00a01'],
    ...['[1]]', '{"a":1}}', '[1 2]', '{"a":1 "b":2}', '{"a" 1}', '[,1]', '"a""b"', '"a"x', '"\\'],
  ])('%j', (text) => expect(isJson(text)).toBe(parses(text)));

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
  const full = '0,'.repeat(mostValues - 2);
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
