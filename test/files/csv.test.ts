import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CsvRow, readCsv } from '../../src/files/csv.ts';

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

const unclosed = 'has a cell that begins with a quote but does not end with one';

const texts: readonly [name: string, text: string, rows: readonly string[]][] = [
  ['rows', 'a,b\nc,d', ['1: ["a","b"]', '2: ["c","d"]']],
  ['CRLF', 'a,b\r\nc,d\r\n', ['1: ["a","b"]', '2: ["c","d"]']],
  ['the mark of UTF-8', '\ufeffa,b\n', ['1: ["a","b"]']],
  ['ends of lines of an old Macintosh', 'a,b\rc,d\r', ['1: ["a","b"]', '2: ["c","d"]']],
  ['blank lines', '\n\na\n\n\nb\n', ['3: ["a"]', '6: ["b"]']],
  ['quotes', '"a ""b""","c,d"\n""""\n', ['1: ["a \\"b\\"","c,d"]', '2: ["\\""]']],
  ['lines within quotes', '"a\nb\r\nc",d\ne\n', ['1: ["a\\nb\\r\\nc","d"]', '4: ["e"]']],
  ['a quote within a cell', 'a,12" pipes\nb, "c"\n', ['1: ["a","12\\" pipes"]', '2: ["b"," \\"c\\""]']],
  ['text after a closing quote', 'a,"12" pipes,x\nb\n', [`1: ${unclosed}`, '2: ["b"]']],
  ['a quote that is never closed', 'a\n"b\nc\n', ['1: ["a"]', `2: ${unclosed}`, '3: ["c"]']],
  [
    'a quote that is not closed, before rows with quotes',
    'a\n"b,c\nd,"e, f"\n"g,h\ni,j "k"\n"l\n""""\n',
    [
      '1: ["a"]',
      `2: ${unclosed}`,
      '3: ["d","e, f"]',
      `4: ${unclosed}`,
      '5: ["i","j \\"k\\""]',
      `6: ${unclosed}`,
      '7: ["\\""]',
    ],
  ],
  [
    'all ends of lines',
    'a,b\nc,"d"\r\ne,f\rg,"h"\ri,j\r\r\n"k\r\r\nl"\nm\r\r"n\r"\r\r\no',
    [
      '1: ["a","b"]',
      '2: ["c","d"]',
      '3: ["e","f"]',
      '4: ["g","h"]',
      '5: ["i","j"]',
      '6: ["k\\r\\r\\nl"]',
      '8: ["m"]',
      '10: ["n\\r"]',
      '12: ["o"]',
    ],
  ],
];

it.each(texts)('%s, wherever the text is cut', async (_, text, rows) => {
  expect(await read([text])).toEqual(rows);
  expect(await read([...text])).toEqual(rows);
  for (let at = 0; at < text.length; at++) {
    expect(await read([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toEqual(rows);
  }
});

it('a row that is too long or has an unclosed quote is lost alone; an endless line loses the rest', async () => {
  const much = 'b'.repeat(5 * 1024 * 1024);
  expect(await read([`a\n${much}\n"`, much, '\n",d\ne\n'])).toEqual([
    '1: ["a"]',
    '2: has 5242880 characters: at most 4194304 are allowed',
    '3: has 5242882 characters: at most 4194304 are allowed',
    '5: ["e"]',
  ]);
  // More than is collected in search of the other quote.
  const lines = new Array<string>(17).fill(`${'b'.repeat(4 * 1024 * 1024 - 1)}\n`);
  const [, second, third, ...others] = await read(['a\n"x\n', ...lines]);
  expect([second, third?.slice(0, 10), others.length]).toEqual([`2: ${unclosed}`, '3: ["bbbbb', 16]);
  expect(await read(['a\n', ...new Array<string>(14).fill(much), '\nc\n'])).toEqual([
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
      fc.infiniteStream(fc.constantFrom('\n', '\r\n', '\r', '\r\r\n')),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      async (rows, delimiter, lineEnds, lengths) => {
        const style = { delimiter, eof: false, quoted_match: /[\r\n]/ };
        let text = rows.map((row) => stringify([row], style) + lineEnds.next().value).join('');
        const pieces: string[] = [];
        for (; text !== ''; text = text.slice(pieces.at(-1)?.length)) {
          pieces.push(text.slice(0, lengths.next().value));
        }
        const found = await rowsOf(pieces, delimiter);
        expect(found.map(({ cells, flaw }) => flaw ?? cells)).toEqual(rows);
      },
    ),
    { numRuns: 300 },
  );
});
