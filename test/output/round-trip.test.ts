import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memberLayout } from '../../src/columns/columns.ts';
import type { Format } from '../../src/output/writer.ts';
import { openInput } from '../../src/requests/rows.ts';
import { written } from './gathering-sink.ts';

/** Every output can be read as an input, with the same records. */

const names = ['name', 'website', 'n'];
type Row = readonly [string, string, string];

async function readAgain(text: string, extension: string, isRaw = false): Promise<string[]> {
  const name = `file.${extension}`;
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  const { rows } = await openInput(bytes, { name, field: 'text', wanted: ['name'], what: name, isRaw });
  const records: string[] = [];
  for await (const { record, flaw, line } of rows) records.push(flaw ?? record ?? `line ${line}`);
  return records;
}

const toRecord = (row: Row): string =>
  JSON.stringify(Object.fromEntries(names.map((name, at) => [name, row[at]])));

async function text(format: Format, records: readonly string[], more = {}): Promise<string> {
  return (await written(format, { layout: memberLayout(names), shape: 'list', ...more }, [...records])).text;
}

const hard: Row[] = [
  ['=1+1', "'=1", "''=HYPERLINK(1)"],
  ['-5', '+493012345678', '@name'],
  ['a;=1;\t-x', "a;'=1", '"quoted", said "she"'],
  ['one\n- two\r\n= three\rfour', '  spaces  ', '0123'],
  ['12345678901234567890.10', '1e400', '00'],
  ['x'.repeat(50_000), '漢字 👩‍👩‍👧', 'a|b\\|c'],
  ['{"a":1}', '[1]', 'sep=;'],
  ['\u2028\u00a0', 'null', ''],
];

const part = fc.oneof(
  fc.constantFrom(...'=+-@\'";,|\t \n\r0123ab漢'.split(''), '\r\n', '""', "'="),
  fc.string({ unit: 'grapheme', maxLength: 2 }),
);
const cell = fc.array(part, { maxLength: 8 }).map((parts) =>
  parts
    .join('')
    .toWellFormed()
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, ''),
);
/** A row without any text is an empty line of a spreadsheet. */
const row = fc.tuple(
  cell.map((text) => `a${text}`),
  cell,
  cell,
);

describe.each([
  ['csv', ',', {}],
  ['csv', ';', { mark: true }],
  ['tsv', '\t', {}],
  ['csv', ',', { lineEnd: '\n' }],
  ['csv', ';', { csvRaw: true }],
])('%s with %j and %j', (extension, delimiter, options) => {
  const isRaw = 'csvRaw' in options;
  const again = async (rows: Row[]): Promise<void> => {
    const file = await text('csv', rows.map(toRecord), { delimiter, ...options });
    expect(await readAgain(file, extension, isRaw)).toEqual(rows.map(toRecord));
  };

  it('is read as it was', async () => {
    await again(hard);
    await fc.assert(fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 4 }), again), { numRuns: 100 });
  });
});

it.each(['jsonl', 'json'] as const)('%s is read as it was, with every digit of a number', async (format) => {
  const numbers = '{"name":12345678901234567890,"website":[1.10,{"a":1e400}],"n":-0.0}';
  const records = [...hard.map(toRecord), numbers];
  const lines = (texts: readonly string[]) => texts.map((one) => one.replaceAll('\\u2028', '\u2028'));
  expect(lines(await readAgain(await text(format, records), format))).toEqual(lines(records));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.dictionary(cell, fc.jsonValue()), { minLength: 1, maxLength: 4 }),
      async (all) => {
        const file = await text(
          format,
          all.map((one) => JSON.stringify(one, null, 1)),
        );
        expect((await readAgain(file, format)).map((one) => JSON.parse(one))).toEqual(
          all.map((one) => JSON.parse(JSON.stringify(one))),
        );
      },
    ),
    { numRuns: 100 },
  );
});

// A line of a cell ends in one way alone.
it('a Markdown table is read as it was, but for the ends of lines', async () => {
  const lines = (one: string) => one.replace(/\\r\\n|\\r/g, '\\n');
  const again = async (rows: Row[]): Promise<void> => {
    const records = rows.map(toRecord);
    expect(await readAgain(await text('md', records), 'md')).toEqual(records.map(lines));
  };
  await again(hard);
  await fc.assert(fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 4 }), again), { numRuns: 100 });
  const odd = JSON.stringify({ name: "'=1", "'=1": 'x' });
  const { text: table } = await written('md', { layout: memberLayout(['name', "'=1"]), shape: 'list' }, [
    odd,
  ]);
  expect(await readAgain(table, 'md')).toEqual([odd]);
});
