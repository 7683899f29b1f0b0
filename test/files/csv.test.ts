import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createCsvReader, delimiterOf } from '../../src/files/csv.ts';

const longest = 100;

/** Rows as `line: cells`, or what is wrong with them. */
function read(pieces: readonly string[], delimiter = ','): string[] {
  const reader = createCsvReader(delimiter, longest);
  const rows = [...pieces.flatMap((piece) => reader.take(piece)), ...reader.end()];
  return rows.map(({ line, cells, flaw }) => `${line}: ${flaw ?? JSON.stringify(cells)}`);
}

const texts: readonly [name: string, text: string, rows: readonly string[]][] = [
  ['rows', 'a,b\nc,d', ['1: ["a","b"]', '2: ["c","d"]']],
  ['CRLF', 'a,b\r\nc,d\r\n', ['1: ["a","b"]', '2: ["c","d"]']],
  ['ends of lines of an old Macintosh', 'a,b\rc,d\r', ['1: ["a","b"]', '2: ["c","d"]']],
  ['a carriage return that ends no line', 'a\nb\rc\n', ['1: ["a"]', '2: ["b\\rc"]']],
  ['blank lines', '\n\na\n\r\n\nb\n', ['3: ["a"]', '6: ["b"]']],
  ['empty cells', ',\n""\n"",\n,a,', ['1: ["",""]', '2: [""]', '3: ["",""]', '4: ["","a",""]']],
  ['quotes', '"a ""b""","c,d"\n""""\n', ['1: ["a \\"b\\"","c,d"]', '2: ["\\""]']],
  ['lines within quotes', '"a\nb\r\nc",d\ne\n', ['1: ["a\\nb\\r\\nc","d"]', '4: ["e"]']],
  ['a quote within a cell', 'a,12" pipes\nb, "c"\n', ['1: ["a","12\\" pipes"]', '2: ["b"," \\"c\\""]']],
  [
    'text after a closing quote',
    'a,"12" pipes,x\nb\n"c\n" d\ne',
    [
      '1: has text after a closing quote: inside quotes, write a quote twice ("")',
      '2: ["b"]',
      '3: has text after a closing quote on line 4: inside quotes, write a quote twice ("")',
      '5: ["e"]',
    ],
  ],
  [
    'a quote that is never closed',
    'a\n"b\nc\n',
    ['1: ["a"]', '2: has a quote that is never closed: nothing after it can be read'],
  ],
  [
    'a quote that is never closed, further on',
    '"a\nb","c\n',
    ['1: has a quote that is never closed (line 2): nothing after it can be read'],
  ],
  [
    'rows that are too long',
    `a\n${'b'.repeat(101)}\nc\n"${'\n'.repeat(100)}",d\ne\n${','.repeat(101)}\nf\n${'g'.repeat(100)}`,
    [
      '1: ["a"]',
      '2: has 101 characters: at most 100 are allowed',
      '3: ["c"]',
      '4: has 102 characters: at most 100 are allowed',
      '105: ["e"]',
      '106: has 101 characters: at most 100 are allowed',
      '107: ["f"]',
      `108: ["${'g'.repeat(100)}"]`,
    ],
  ],
];

it.each(texts)('%s, wherever the text is cut', (_, text, rows) => {
  expect(read([text])).toEqual(rows);
  expect(read([...text])).toEqual(rows);
  for (let at = 1; at < text.length; at++) {
    expect(read([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toEqual(rows);
  }
});

const delimiter = fc.constantFrom(',', ';', '\t', '|');
const hostile = fc.string({ unit: fc.constantFrom(...'a ,;\t|"\n\r'), maxLength: 40 });

it('reads what a library writes', () => {
  const cell = fc.string({ unit: fc.constantFrom(...'aé ,;\t|"\n\r'), maxLength: 5 });
  const table = fc
    .tuple(fc.integer({ min: 2, max: 4 }), fc.integer({ min: 1, max: 4 }))
    .chain(([width, height]) =>
      fc.array(fc.array(cell, { minLength: width, maxLength: width }), {
        minLength: height,
        maxLength: height,
      }),
    );
  fc.assert(
    fc.property(table, delimiter, fc.constantFrom('\n', '\r\n'), (rows, between, lineEnd) => {
      const style = { delimiter: between, record_delimiter: lineEnd, quoted_match: /[\r\n]/ };
      const reader = createCsvReader(between);
      const found = [...reader.take(stringify(rows, style)), ...reader.end()];
      expect(found.map(({ cells, flaw }) => flaw ?? cells)).toEqual(rows);
    }),
    { numRuns: 500 },
  );
});

it('finds the same in any text, however it is cut', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 5 }), delimiter, (pieces, between) => {
      expect(read(pieces, between)).toEqual(read([pieces.join('')], between));
    }),
    { numRuns: 1000 },
  );
});

it.each([
  ['a,b;c,d', ','],
  ['name;city, street', ';'],
  ['name|a,b,c', '|'],
  ['"name"\tx', '\t'],
  ['name', ','],
  ['', ','],
])('the delimiter of the header %j is %j', (header, expected) => {
  expect(delimiterOf(header, (cell) => cell === 'name')).toBe(expected);
});
