import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CsvRow, delimiterOf, readCsv } from '../../src/files/csv.ts';

async function rowsOf(pieces: readonly string[], delimiter = ','): Promise<CsvRow[]> {
  async function* text() {
    yield* pieces;
  }
  const rows: CsvRow[] = [];
  for await (const row of readCsv(text(), delimiter)) rows.push(row);
  return rows;
}

/** Rows as `line: cells`, or what is wrong with them. */
async function read(pieces: readonly string[], delimiter = ','): Promise<string[]> {
  const rows = await rowsOf(pieces, delimiter);
  return rows.map(({ line, cells, flaw }) => `${line}: ${flaw ?? JSON.stringify(cells)}`);
}

const texts: readonly [name: string, text: string, rows: readonly string[]][] = [
  ['rows', 'a,b\nc,d', ['1: ["a","b"]', '2: ["c","d"]']],
  ['CRLF', 'a,b\r\nc,d\r\n', ['1: ["a","b"]', '2: ["c","d"]']],
  ['the mark of UTF-8', '\ufeffa,b\n', ['1: ["a","b"]']],
  ['ends of lines of an old Macintosh', 'a,b\rc,d\r', ['1: ["a","b"]', '2: ["c","d"]']],
  ['blank lines', '\n\na\n\n\nb\n', ['3: ["a"]', '6: ["b"]']],
  ['quotes', '"a ""b""","c,d"\n""""\n', ['1: ["a \\"b\\"","c,d"]', '2: ["\\""]']],
  ['lines within quotes', '"a\nb\r\nc",d\ne\n', ['1: ["a\\nb\\r\\nc","d"]', '4: ["e"]']],
  ['a quote within a cell', 'a,12" pipes\nb, "c"\n', ['1: ["a","12\\" pipes"]', '2: ["b"," \\"c\\""]']],
  ['text after a closing quote', 'a,"12" pipes,x\nb\n', ['1: ["a","\\"12\\" pipes","x"]', '2: ["b"]']],
  [
    'a quote that is never closed',
    'a\n"b\nc\n',
    ['1: ["a"]', '2: has a quote that is never closed: nothing after it can be read'],
  ],
];

it.each(texts)('%s, wherever the text is cut', async (_, text, rows) => {
  expect(await read([text])).toEqual(rows);
  expect(await read([...text])).toEqual(rows);
  for (let at = 1; at < text.length; at++) {
    expect(await read([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toEqual(rows);
  }
});

it('a row that is too long costs itself alone, and one without an end all that follows', async () => {
  const much = 'b'.repeat(5 * 1024 * 1024);
  expect(await read([`a\n${much}\n"`, much, '\n",d\ne\n'])).toEqual([
    '1: ["a"]',
    '2: has 5242880 characters: at most 4194304 are allowed',
    '3: has 5242882 characters: at most 4194304 are allowed',
    '5: ["e"]',
  ]);
  expect(await read(['a\n"', ...new Array<string>(14).fill(much)])).toEqual([
    '1: ["a"]',
    '2: begins a row of over 67108864 characters: nothing after it can be read',
  ]);
});

it('reads what is written', async () => {
  const cell = fc.string({ unit: fc.constantFrom(...'aé ,;\t|"\n\r'), maxLength: 5 });
  const table = fc
    .tuple(fc.integer({ min: 2, max: 4 }), fc.integer({ min: 1, max: 4 }))
    .chain(([width, height]) =>
      fc.array(fc.array(cell, { minLength: width, maxLength: width }), {
        minLength: height,
        maxLength: height,
      }),
    );
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom(',', ';', '\t', '|'),
      fc.constantFrom('\n', '\r\n'),
      async (rows, delimiter, lineEnd) => {
        const style = { delimiter, record_delimiter: lineEnd, quoted_match: /[\r\n]/ };
        const found = await rowsOf([stringify(rows, style)], delimiter);
        expect(found.map(({ cells, flaw }) => flaw ?? cells)).toEqual(rows);
      },
    ),
    { numRuns: 300 },
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
