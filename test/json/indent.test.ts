import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indented } from '../../src/json/indent.ts';

const whole = (text: string): string => [...indented(text)].join('');

describe('indented', () => {
  it('is what JSON.stringify makes of it, whatever the white space was', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.constantFrom(undefined, 1, '\t\r\n'.slice(0, 1)),
        (value, space) => {
          const plain = JSON.parse(JSON.stringify(value));
          fc.pre(JSON.stringify(plain) === JSON.stringify(plain).replace(/[^\x20-\x7e]/g, ''));
          expect(whole(JSON.stringify(plain, null, space))).toBe(JSON.stringify(plain, null, 2));
        },
      ),
    );
  });

  it.each([
    ['12345678901234567890', '12345678901234567890'],
    ['{"a":1.10,"a":[ ]}', '{\n  "a": 1.10,\n  "a": []\n}'],
    ['"{\\"a\\":[1,2]}"', '"{\\"a\\":[1,2]}"'],
    ['["\u202e"]', '[\n  "\\u202e"\n]'],
  ])('%s keeps numbers, repetitions and strings', (text, expected) => expect(whole(text)).toBe(expected));

  it('hostile nesting and long strings are no burden', () => {
    const deep = `${'['.repeat(50_000)}1${']'.repeat(50_000)}`;
    expect(JSON.parse(whole(deep)).length).toBe(1);
    expect(whole(deep).length).toBeLessThan(10_000_000);
    const long = JSON.stringify('x\\"'.repeat(3_000_000));
    expect(whole(long)).toBe(long);
  });
});
