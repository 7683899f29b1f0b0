import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { strFromU8, unzipSync } from 'fflate';
import readWorkbook, { type Row } from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
import { chosenLayout } from '../../src/columns/columns.ts';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import { toWorkbook, writeWorkbook } from '../../src/output/workbook.ts';
import { columnName } from '../../src/output/workbook-xml.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { written } from './gathering-sink.ts';

async function bytesOf(rows: readonly string[], options?: Parameters<typeof writeWorkbook>[2]) {
  const pieces: Uint8Array[] = [];
  async function* source() {
    yield* rows;
  }
  const unfit = await writeWorkbook(source, async (bytes) => void pieces.push(bytes), options);
  return { bytes: Buffer.concat(pieces), unfit };
}

/** As a reader that others wrote has it. */
async function read(rows: readonly string[]): Promise<Row[]> {
  const [sheet] = await readWorkbook((await bytesOf(rows)).bytes);
  return sheet?.data ?? [];
}

async function partsOf(rows: readonly string[]): Promise<Record<string, string>> {
  const parts = unzipSync((await bytesOf(rows)).bytes);
  return Object.fromEntries(Object.entries(parts).map(([name, bytes]) => [name, strFromU8(bytes)]));
}

const sheet1 = 'xl/worksheets/sheet1.xml';

it.each([
  [0, 'A'],
  [25, 'Z'],
  [26, 'AA'],
  [51, 'AZ'],
  [52, 'BA'],
  [701, 'ZZ'],
  [702, 'AAA'],
])('column %i of a sheet is %s', (index, name) => expect(columnName(index)).toBe(name));

describe('a workbook', () => {
  it.each<[name: string, written: string, read: string | number | boolean | null, type: string]>([
    ['an ID beyond 2^53', '12345678901234567890', '12345678901234567890', 'inlineStr'],
    ['the longest number that Excel keeps', '900719925474099', 900719925474099, 'n'],
    ['the first that it does not', '9007199254740991', '9007199254740991', 'inlineStr'],
    ['a number that is a text', '"0.93"', 0.93, 'n'],
    ['a number with a plus', '"+3"', '+3', 'inlineStr'],
    ['a negative one', '-12', -12, 'n'],
    ['a fraction', '0.25', 0.25, 'n'],
    ['more digits than a double has', '0.12345678901234567890', '0.12345678901234567890', 'inlineStr'],
    ['an exponent', '1e3', 1000, 'n'],
    ['a huge one', '1e400', '1e400', 'inlineStr'],
    ['leading zeros', '"007"', '007', 'inlineStr'],
    ['a phone number', '"+4930123456"', '+4930123456', 'inlineStr'],
    ['a date', '"2026-01-31"', '2026-01-31', 'inlineStr'],
    [
      'a formula',
      '"=HYPERLINK(\\"https://evil.example\\",\\"x\\")"',
      '=HYPERLINK("https://evil.example","x")',
      'inlineStr',
    ],
    ['a command', '"@SUM(1+1)*cmd|\' /C calc\'!A0"', "@SUM(1+1)*cmd|' /C calc'!A0", 'inlineStr'],
    ['markup', '"<b>&amp;]]></t>"', '<b>&amp;]]></t>', 'inlineStr'],
    ['lines', '"a\\r\\nb\\nc"', 'a\nb\nc', 'inlineStr'],
    ['controls', '"a\\u0000\\u001b[31mb\\u202ec\\uffff\\ud800"', 'a[31mbc\ufffd', 'inlineStr'],
    ['emoji', '"👩‍💻 日本"', '👩‍💻 日本', 'inlineStr'],
    ['truth', 'true', true, 'b'],
    ['nothing', 'null', null, ''],
    ['an object', '{"id":12345678901234567890}', '{"id":12345678901234567890}', 'inlineStr'],
  ])('has %s as it is', async (_, written, expected, type) => {
    const rows = ['["first","value"]', `["x",${written}]`];
    expect(await read(rows)).toEqual([
      ['first', 'value'],
      ['x', expected],
    ]);
    const cell = /<c r="B2"[^>]*>/.exec((await partsOf(rows))[sheet1] ?? '')?.[0] ?? '';
    expect(/ t="(\w+)"/.exec(cell)?.[1] ?? (cell === '' ? '' : 'n')).toBe(type);
  });

  it('has a header that stays, a filter, columns that can be read, and no formula', async () => {
    const parts = await partsOf([
      '["name","日本","long"]',
      `["=1+1","日本語",${JSON.stringify('x'.repeat(500))}]`,
    ]);
    expect(Object.keys(parts)).toEqual([
      '[Content_Types].xml',
      '_rels/.rels',
      'xl/styles.xml',
      sheet1,
      'xl/workbook.xml',
      'xl/_rels/workbook.xml.rels',
    ]);
    const xml = parts[sheet1] ?? '';
    expect(xml).toMatch(/<\/sheetData><autoFilter ref="A1:C2"\/><\/worksheet>$/);
    expect(xml).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
    expect([...xml.matchAll(/<col [^>]*width="(\d+)"/g)].map(([, width]) => Number(width))).toEqual([
      8, 8, 60,
    ]);
    expect(Object.values(parts).join('')).not.toContain('<f>');
  });

  it.each<[name: string, values: readonly string[], types: readonly string[]]>([
    ['plain numbers', ['"1"', '2', '""', 'null', '"-3.5"'], ['n', 'n', '', '', 'n']],
    ['one of them no number', ['"1"', '"n/a"'], ['inlineStr', 'inlineStr']],
    ['one with a leading zero', ['"10115"', '"01067"'], ['inlineStr', 'inlineStr']],
    ['an ID among them', ['12', '12345678901234567890'], ['inlineStr', 'inlineStr']],
    ['one of many no number', [...Array(9).fill('"1"'), '"n/a"'], [...Array(9).fill('n'), 'inlineStr']],
    [
      'a long one among many',
      [...Array(9).fill('7'), '12345678901234567890'],
      [...Array(9).fill('n'), 'inlineStr'],
    ],
    ['a zip code among many', [...Array(9).fill('"10115"'), '"01067"'], Array(10).fill('inlineStr')],
    ['numbers and texts', ['12', '"about 20"'], ['n', 'inlineStr']],
  ])('decides for the whole column: %s', async (_, values, types) => {
    const xml = (await partsOf(['["value","x"]', ...values.map((value) => `[${value},1]`)]))[sheet1] ?? '';
    const found = values.map((_value, at) => {
      const cell = RegExp(`<c r="A${at + 2}"[^>]*>`).exec(xml)?.[0] ?? '';
      return / t="(\w+)"/.exec(cell)?.[1] ?? (cell === '' ? '' : 'n');
    });
    expect(found).toEqual(types);
  });

  it('has scores as numbers, also beside one that is none', async () => {
    expect(await read(['["score"]', '["0.93"]', '["n/a"]'])).toEqual([['score'], [0.93], ['n/a']]);
  });

  it('has a column for each kind of link, and none twice', async () => {
    const sites = '"https://a.example","https://l.example/a"';
    expect(
      await read([
        '["name","website","linkedin_url","links"]',
        `["A",${sites},{"website":"https://a.example","linkedin_url":"https://l.example/a","x":"https://x.example/a"}]`,
        '["B",null,null,{"blog":"https://b.example"}]',
        '["C",null,null,null]',
      ]),
    ).toEqual([
      ['name', 'website', 'linkedin_url', 'x', 'blog'],
      ['A', 'https://a.example', 'https://l.example/a', 'https://x.example/a', null],
      ['B', null, null, null, 'https://b.example'],
      ['C', null, null, null, null],
    ]);
    const other = '["A","https://other.example",{"website":"https://a.example"}]';
    expect(await read(['["name","website","links"]', other])).toEqual([
      ['name', 'website', 'links.website'],
      ['A', 'https://other.example', 'https://a.example'],
    ]);
    expect((await read(['["links"]', '[{"a":{"b":1}}]']))[1]).toEqual(['{"a":{"b":1}}']);
  });

  it('has links that lead where they say, and no others', async () => {
    const links = [
      'https://a.example/?a=1&b="',
      'http://ä.example',
      'javascript:alert(1)',
      'see https://a.example',
    ];
    const parts = await partsOf(['["link"]', ...links.map((link) => `[${JSON.stringify(link)}]`)]);
    expect(parts[sheet1]).toContain('<hyperlinks><hyperlink ref="A3" r:id="A3"/></hyperlinks>');
    expect(parts['xl/worksheets/_rels/sheet1.xml.rels']).toContain(
      'Target="http://xn--4ca.example/" TargetMode="External"',
    );
  });

  it('cuts a text that no cell takes, between two characters, and says so', async () => {
    const rows = ['["a","b"]', JSON.stringify(['x'.repeat(32_767), `x${'👩'.repeat(20_000)}`])];
    const [, [whole, cut] = []] = await read(rows);
    expect(whole).toHaveLength(32_767);
    expect(String(cut)).toMatch(/^x(?:👩)+…$/u);
    expect(String(cut).length).toBeLessThanOrEqual(32_767);
    expect((await bytesOf(rows)).unfit).toEqual({ cells: 1, columns: 0 });
  });

  it('goes on with another sheet, and has no more links and columns than a sheet takes', async () => {
    const many = Array.from({ length: 9 }, (_, at) => `[${at},"https://a.example/${at}","left out"]`);
    const { bytes, unfit } = await bytesOf(['["number","link","more"]', ...many], {
      maxSize: { rows: 5, columns: 2, links: 3 },
    });
    const sheets = await readWorkbook(bytes);
    expect(
      sheets.map(({ sheet, data }) => [sheet, data[0], data.slice(1).map(([number]) => number)]),
    ).toEqual([
      ['leadpipe', ['number', 'link'], [0, 1, 2, 3]],
      ['leadpipe 2', ['number', 'link'], [4, 5, 6, 7]],
      ['leadpipe 3', ['number', 'link'], [8]],
    ]);
    const relations = strFromU8(unzipSync(bytes)['xl/worksheets/_rels/sheet1.xml.rels'] ?? new Uint8Array());
    expect(relations.match(/https:\/\/a.example\/\d/g)).toEqual(
      [0, 1, 2].map((at) => `https://a.example/${at}`),
    );
    expect(unfit).toEqual({ cells: 0, columns: 1 });
  });

  it('of no rows has the header, and of nothing is empty', async () => {
    expect(await read(['["a","b"]'])).toEqual([['a', 'b']]);
    expect(await read([])).toEqual([]);
  });

  it('stops between two rows when it is told to', async () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => `["${'x'.repeat(50)}",${at}]`);
    await expect(bytesOf(rows, { signal: AbortSignal.abort('interrupted') })).rejects.toMatchObject({
      outcome: 'interrupted',
    });
  });

  it('holds any text, read again by another reader', async () => {
    const safe = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => !/[\p{C}_\r]|^-?\d+$/u.test(text) && text.trim() === text);
    await fc.assert(
      fc.asyncProperty(fc.array(safe, { minLength: 1, maxLength: 5 }), async (cells) => {
        const head = JSON.stringify(cells.map((_cell, at) => `h${at}`));
        expect((await read([head, JSON.stringify(cells)]))[1]).toEqual(cells);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the rows of a workbook', () => {
  const options = { layout: chosenLayout(['id', 'text']), shape: 'list' } as const;

  it('are a header and a line for each, of which it is made', async () => {
    const { writes, text } = await written(
      'xlsx',
      options,
      ['{"id":12345678901234567890,"text":"a\\nb\u2028c"}', '{"id":3}'],
      ['{"id":2}'],
    );
    expect(writes).toEqual([
      '["id","text"]\n[12345678901234567890,"a\\nb\\u2028c"]\n[3,null]\n',
      '[2,null]\n',
    ]);
    expect(await made(text)).toEqual({
      rows: [
        ['id', 'text'],
        ['12345678901234567890', 'a\nb\u2028c'],
        ['3', null],
        ['2', null],
      ],
      notes: [],
    });
  });

  it.each<[says: string, rows: readonly string[], note: string]>([
    [
      'long texts',
      ['["a"]', JSON.stringify(['x'.repeat(32_768)]), JSON.stringify(['x'.repeat(32_769)])],
      'a cell of a workbook holds up to 32767 characters: longer texts were cut (2); csv and jsonl keep them whole',
    ],
    [
      'many columns',
      [JSON.stringify(Array.from({ length: 16_386 }, (_, at) => `c${at}`))],
      'a workbook has up to 16384 columns: 2 were left out; csv and jsonl keep all of them',
    ],
  ])('that a workbook has no room for are told: %s', async (_, rows, note) => {
    expect((await made(`${rows.join('\n')}\n`)).notes).toEqual([note]);
  });

  it('stop where they are told to', async () => {
    const rows = `["a"]\n${`["${'x'.repeat(50)}"]\n`.repeat(50_000)}`;
    const aborted = AbortSignal.abort('interrupted');
    await expect(made(rows, aborted)).rejects.toMatchObject({ outcome: 'interrupted' });
  });

  it('are the header where nothing was found', async () => {
    expect((await written('xlsx', { layout: entityLayout(), shape: 'list' })).text).toMatch(
      /^\["name","description",.*\]\n$/,
    );
  });

  /** The workbook that is made of these rows in a file, and what is told about it. */
  async function made(text: string, signal = new AbortController().signal) {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'rows'), text);
    const [rows, to] = [await open(join(folder, 'rows')), await open(join(folder, 'x.xlsx'), 'ax+')];
    try {
      const notes = await toWorkbook(signal).write(rows, to);
      const [sheet] = await readWorkbook(readFileSync(join(folder, 'x.xlsx')));
      return { notes, rows: sheet?.data };
    } finally {
      await rows.close();
      await to.close();
    }
  }
});
