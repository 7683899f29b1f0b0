import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasMoreValues, isJson, isLargeJson } from '../../src/json/valid.ts';

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
    ...[
      '01',
      '+1',
      '1.',
      '.5',
      '1e',
      '--1',
      'NaN',
      'Infinity',
      'nul',
      'truex',
      'true false',
      '1 2',
      '"',
      "'a'",
    ],
    ...[
      '"\\x"',
      '"\\u12g4"',
      '"\\u12',
      '"\u0000"',
      '"\n"',
      '"\t"',
      '"\u007f\u2028\ud800"',
      '\ufeff1',
      '\u00a01',
    ],
    ...['[1]]', '{"a":1}}', '[1 2]', '{"a":1 "b":2}', '{"a" 1}', '[,1]', '"a""b"', '"a"x', '"\\'],
  ])('%j', (text) => expect([isJson(text), isLargeJson(text)]).toEqual([parses(text), parses(text)]));

  const tokens = [
    ...'{}[]",:\\ \n-01.eE',
    'true',
    'null',
    '"a"',
    '"a":',
    '\\u00e9',
    '\ud800',
    'é',
    '1e5',
    '\u0001',
  ];
  it.each([
    [
      'any text of its tokens',
      fc.array(fc.constantFrom(...tokens), { maxLength: 12 }).map((all) => all.join('')),
    ],
    ['any JSON', fc.json({ maxDepth: 6 })],
    [
      'any JSON with a character changed',
      fc
        .tuple(fc.json(), fc.nat(), fc.constantFrom(...tokens))
        .map(
          ([text, at, token]) => text.slice(0, at % text.length) + token + text.slice((at % text.length) + 1),
        ),
    ],
  ])('%s', (_, source) => {
    fc.assert(
      fc.property(source, (text) => isLargeJson(text) === parses(text)),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['lists', '['.repeat(levels), ']'.repeat(levels)],
    ['objects', '{"a":'.repeat(levels), `1${'}'.repeat(levels)}`],
    ['both', '[{"a":'.repeat(levels), `1${'}]'.repeat(levels)}`],
  ])('300,000 levels of %s', (_, open, close) => {
    for (const check of [isJson, isLargeJson]) {
      expect(check(open + close)).toBe(true);
      expect(check(open + close.slice(1))).toBe(false);
      expect(check(open + close.slice(0, -1))).toBe(false);
      expect(check(`${open}${close}]`)).toBe(false);
    }
  });
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
