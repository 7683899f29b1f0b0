import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  arrayItems,
  isFilled,
  type JsonKind,
  JsonView,
  kindOf,
  objectMembers,
  objectOf,
  stringOf,
  textsAnywhereIn,
  toLine,
  withMembers,
} from '../../src/json/text.ts';

const source = fc
  .tuple(
    fc.jsonValue({ maxDepth: 4 }),
    fc.constantFrom(undefined, 1, '\t'),
    fc.constantFrom('', ' ', '\r\n\t'),
  )
  .map(([value, indent, around]) => around + JSON.stringify(value, null, indent) + around);
const hostile = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'{}[]",:\\ \n0e-t'.split('')), maxLength: 60 }),
  fc.string({ unit: 'binary' }),
);

describe('kinds', () => {
  it.each<[string, JsonKind]>([
    ['{}', 'object'],
    [' \r\n\t{"a":1}', 'object'],
    ['[]', 'array'],
    ['"{"', 'string'],
    ['-0.1e5', 'number'],
    ['true', 'boolean'],
    ['false', 'boolean'],
    ['null', 'null'],
  ])('%j is %s', (text, kind) => expect(kindOf(text)).toBe(kind));
});

it('finds each text at any depth, and no name of a member', () => {
  const textsOf = (value: unknown): unknown[] =>
    typeof value === 'string'
      ? [value]
      : value !== null && typeof value === 'object'
        ? Object.values(value).flatMap(textsOf)
        : [];
  fc.assert(
    fc.property(source, (text) => {
      expect(textsAnywhereIn(text).map(stringOf)).toEqual(textsOf(JSON.parse(text)));
    }),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      expect(textsAnywhereIn(text).length).toBeLessThanOrEqual(text.length);
    }),
  );
});

describe('parts', () => {
  it.each<[string, string, string | undefined]>([
    ['{"a":12345678901234567890}', 'a', '12345678901234567890'],
    ['{"a": 1.10 }', 'a', '1.10'],
    ['{"a":1,"a":2}', 'a', '2'],
    ['{"a":{"b":[10,20]}}', 'a.b.1', '20'],
    ['{"a.b":1,"a":{"b":2}}', 'a.b', '1'],
    ['{"a.b":{"c":1}}', 'a.b.c', '1'],
    ['{"a":{"b.c":1}}', 'a.b.c', '1'],
    ['{"a":{"":{"b":1}}}', 'a..b', '1'],
    ['{"":{"a":1}}', '.a', '1'],
    ['{"\\u0061":1}', 'a', '1'],
    ['{"\\"":1}', '"', '1'],
    ['{"a\\\\":"x\\\\"}', 'a\\', '"x\\\\"'],
    ['{"__proto__":1}', '__proto__', '1'],
    ['{"a":"}"}', 'a', '"}"'],
    ['{"a":null}', 'a', 'null'],
    ['{"a":null}', 'a.b', undefined],
    ['{"a":1}', 'b', undefined],
    ['{}', 'constructor', undefined],
    ['[1]', 'length', undefined],
    ['"text"', '0', undefined],
  ])('%s at %j is %s', (text, path, part) => expect(new JsonView(text).at(path)).toBe(part));

  it('agree with JSON.parse', () => {
    fc.assert(
      fc.property(source, (text) => {
        const parsed: unknown = JSON.parse(text);
        if (Array.isArray(parsed)) {
          expect(arrayItems(text).map((item) => JSON.parse(item))).toEqual(parsed);
        } else {
          expect(arrayItems(text)).toEqual([]);
        }
        // Among equal names, only the last counts, so each occurs once.
        const inOrder = (all: [string, unknown][]) => all.sort(([a], [b]) => (a < b ? -1 : 1));
        const members =
          typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
            ? Object.entries(parsed)
            : [];
        const found = [...objectMembers(text)].map(([key, value]): [string, unknown] => [
          key,
          JSON.parse(value),
        ]);
        expect(inOrder(found)).toEqual(inOrder(members));
        expect(stringOf(text)).toBe(typeof parsed === 'string' ? parsed : undefined);
      }),
    );
  });

  it('put together again are the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (object) => {
        const text = JSON.stringify(object);
        expect(objectOf(objectMembers(text))).toBe(text);
      }),
    );
  });

  it('are cut out once', () => {
    const view = new JsonView('{"a":{"b":1}}');
    expect(view.inner('a')).toBe(view.inner('a'));
    expect(view.at('a.b')).toBe('1');
    expect(view.inner('b')).toBeUndefined();
  });

  it('count as filled if they contain a text, a number, true or false', () => {
    const says = (value: unknown): boolean =>
      typeof value === 'object' && value !== null
        ? Object.values(value).some(says)
        : value !== null && String(value).trim() !== '';
    const blank = fc.constantFrom(
      '',
      ' ',
      null,
      [],
      {},
      [''],
      { a: null },
      { 'a": b': [' \n', {}] },
      { '': ':' },
    );
    const values = fc.oneof(fc.jsonValue(), blank, fc.array(blank), fc.dictionary(fc.string(), blank));
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, '\t'), (value, indent) => {
        expect(isFilled(JSON.stringify(value, null, indent))).toBe(says(value));
      }),
    );
  });

  it('of nonsense are pieces of it, or none', () => {
    const pieces: Readonly<Record<string, (text: string, path: string) => Iterable<string | undefined>>> = {
      objectMembers: (text) => objectMembers(text).values(),
      arrayItems,
      at: (text, path) => [new JsonView(text).at(path)],
    };
    fc.assert(
      fc.property(hostile, fc.string(), fc.constantFrom(...Object.values(pieces)), (text, path, cut) => {
        let found: readonly (string | undefined)[] = [];
        try {
          found = [...cut(text, path)];
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
        for (const piece of found) expect(text).toContain(piece ?? '');
      }),
      { numRuns: 2000 },
    );
  });

  it('of deeply nested and of long escaped text take no time to speak of', () => {
    const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)},"b":1}`;
    expect(new JsonView(deep).at('b')).toBe('1');
    expect([isFilled(deep), isFilled(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)]).toEqual([true, false]);
    const escaped = `{"a":"${'\\"'.repeat(200_000)}${'\\\\'.repeat(200_000)}","b":1}`;
    expect(new JsonView(escaped).at('b')).toBe('1');
  });
});

describe('members in front', () => {
  it('are there, and the rest is to the byte what it was', () => {
    expect(withMembers([['a', '1']], ' {"b" : 1.10 , "c":[] }')).toBe('{"a":1,"b" : 1.10 , "c":[] }');
    expect(withMembers([['a', '1']], '{ }')).toBe('{"a":1}');
    expect(withMembers([['a', '1']], '[1]')).toBe('[1]');
    expect(withMembers([['id', '"x"']], '{"n":1.10,"id":"x","b":2}')).toBe('{"id":"x","n":1.10,"b":2}');
    expect(withMembers([['position', '7']], '{"position":"CEO","service_position":1}')).toBe(
      '{"position":7,"service_service_position":"CEO","service_position":1}',
    );
    fc.assert(
      fc.property(fc.object(), (object) => {
        const text = withMembers([['leads_search_id', '"ls"']], JSON.stringify(object));
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ leads_search_id: 'ls', ...object })));
      }),
    );
  });
});

describe('lines', () => {
  it.each([
    ['{"a": 1}', '{"a": 1}'],
    ['{\r\n  "a": 1\n}', '{  "a": 1}'],
    ['"\u009b31m"', '"\\u009b31m"'],
    ['"\u2028\u2029\ufeff"', '"\\u2028\\u2029\\ufeff"'],
    ['"\u202etxt\u2066\u061c\u200f"', '"\\u202etxt\\u2066\\u061c\\u200f"'],
    ['"\u007f"', '"\\u007f"'],
    ['"漢字 👩‍👧"', '"漢字 👩‍👧"'],
    ['12345678901234567890', '12345678901234567890'],
  ])('%j becomes %j', (text, line) => expect(toLine(text)).toBe(line));

  it('are the same JSON, on one line', () => {
    fc.assert(
      fc.property(source, (text) => {
        const line = toLine(text);
        expect(line).not.toMatch(/[\r\n\u0080-\u009f\u2028\u2029\u202a-\u202e]/);
        expect(JSON.parse(line)).toEqual(JSON.parse(text));
      }),
    );
  });
});
