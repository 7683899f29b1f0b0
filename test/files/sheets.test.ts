import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvCell } from '../../src/output/csv.ts';
import { openInput } from '../../src/requests/rows.ts';
import { type MadeCell, type MadeSheet, type MadeWorkbook, makeWorkbook } from '../helpers/workbooks.ts';

const zip = Buffer.from('PK');

async function read(made: MadeWorkbook | Buffer, sheet?: string, headerRow?: number) {
  const bytes = Buffer.isBuffer(made) ? made : makeWorkbook(made);
  async function* pieces() {
    yield bytes;
  }
  const name = bytes.subarray(0, 2).equals(zip) ? 'a.xlsx' : 'a.csv';
  const reading = { name, field: 'text', wanted: ['name'], what: 'a.xlsx', sheet, headerRow };
  const { rows, note, warnings } = await openInput(pieces(), reading);
  const records: Record<string, string>[] = [];
  const lines: number[] = [];
  for await (const { record, line } of rows) {
    records.push(JSON.parse(record ?? 'null'));
    lines.push(line);
  }
  return { records, lines, note, warnings };
}

const number = (value: number | string, style = 0): MadeCell => ({
  attributes: `s="${style}"`,
  xml: `<v>${value}</v>`,
});

/** What each cell of a column shows. */
async function shown(
  cells: readonly MadeCell[],
  more: Partial<MadeWorkbook> = {},
): Promise<(string | undefined)[]> {
  const rows = [['name', 'value'], ...cells.map((cell, at) => [`row ${at}`, cell])];
  const { records } = await read({ sheets: [{ name: 'A', rows }], ...more });
  return records.map(({ value }) => value);
}

const day = 43861;
const at1405 = 43861.586805555555;

describe('a cell has what it shows', () => {
  it.each<[format: string | number, value: number | string, shows: string]>([
    ['yyyy-mm-dd hh:mm:ss', at1405, '2020-01-31T14:05:00'],
    [22, at1405, '2020-01-31T14:05:00'],
    ['dd/mm/yyyy', day, '2020-01-31'],
    [14, at1405, '2020-01-31'],
    ['[$-409]d\\-mmm\\-yy;@', day, '2020-01-31'],
    ['[$-411]ge.m.d', day, '2020-01-31'],
    ['mmm-yy', day, '2020-01'],
    ['yyyy', day, '2020'],
    ['dd.mm.yyyy\\ hh:mm', 43861.99999999, '2020-02-01T00:00:00'],
    ['hh:mm:ss.000', 0.586793981, '14:04:59.000'],
    [20, 0.395833333333333, '09:30:00'],
    ['m/d/yy h:mm AM/PM', 0.395833333333333, '09:30:00'],
    ['h:mm', at1405, '14:05:00'],
    [45, 0.0035069444, '00:05:03'],
    ['[h]:mm:ss', 1.50347222222222, '36:05:00'],
    ['[mm]:ss', -0.0625, '-01:30:00'],
    ['yyyy-mm-dd', 59, '1900-02-28'],
    ['yyyy-mm-dd', 61, '1900-03-01'],
    ['yyyy-mm-dd', -1, '-1'],
    ['yyyy-mm-dd', 9e9, '9000000000'],
    ['00000', 2139, '02139'],
    ['00000', -42, '-00042'],
    ['00000-0000', 21391234, '02139-1234'],
    ['000-00-0000', 12345678, '012-34-5678'],
    ['"ID-"0000', 42, 'ID-0042'],
    ['+0', 493012345678, '+493012345678'],
    ['[<=9999999]###-####;(###) ###-####', 5551234567, '(555) 123-4567'],
    ['[<=9999999]###-####;(###) ###-####', 5551234, '555-1234'],
    [9, 0.07, '7%'],
    ['0.0%', 0.1234, '12.34%'],
    ['0.0"%"', 12.5, '12.5%'],
    ['#,##0.00', 1234.5, '1234.5'],
    ['#,##0.00\\ "€"', 1234.5, '1234.5'],
    ['"$"#,##0_);[Red]("$"#,##0)', -3, '-3'],
    ['# ##0', 1234567, '1234567'],
    ['0000.0', 42.5, '0042.5'],
    ['0.00E+00', 12345, '12345'],
    ['# ?/?', 0.5, '0.5'],
    ['General', 0.30000000000000004, '0.3'],
    ['General', '1.5E+3', '1500'],
    ['@', 12, '12'],
  ])('%s: %s', async (format, value, shows) => {
    expect(await shown([number(value, 1)], { formats: [format] })).toEqual([shows]);
  });

  it('counts days from 1904 where the workbook does', async () => {
    const formats = ['yyyy-mm-dd hh:mm:ss', 'hh:mm'];
    const cells = [number(at1405 - 1462, 1), number(0, 1), number(0.5, 2)];
    const texts = ['2020-01-31T14:05:00', '1904-01-01T00:00:00', '12:00:00'];
    expect(await shown(cells, { formats, is1904: true })).toEqual(texts);
  });

  it.each<[name: string, cell: MadeCell, shows: string]>([
    ['a shared text', { attributes: 't="s"', xml: '<v>0</v>' }, 'plain & "more" 😀'],
    ['rich text, without how it is read', { attributes: 't="s"', xml: '<v>1</v>' }, 'bold and thin'],
    [
      'text in the cell',
      { attributes: 't="inlineStr"', xml: '<is><r><t>a</t></r><r><t> b</t></r></is>' },
      'a b',
    ],
    [
      'lines',
      { attributes: 't="inlineStr"', xml: '<is><t xml:space="preserve">a_x000D_\nb _x005F_x</t></is>' },
      'a\nb _x',
    ],
    ['a formula of a text', { attributes: 't="str"', xml: '<f>A1&amp;""</f><v>a&lt;b</v>' }, 'a<b'],
    ['a formula of a number', { xml: '<f>1+1</f><v>2</v>' }, '2'],
    ['truth', { attributes: 't="b"', xml: '<v>1</v>' }, 'true'],
    ['an error', { attributes: 't="e"', xml: '<v>#N/A</v>' }, '#N/A'],
    [
      'a date in ISO form',
      { attributes: 't="d"', xml: '<v>2020-01-31T14:05:00Z</v>' },
      '2020-01-31T14:05:00',
    ],
    ['CDATA', { attributes: 't="str"', xml: '<v><![CDATA[a & b]]></v>' }, 'a & b'],
  ])('%s', async (_, cell, shows) => {
    const strings = [
      '<t>plain &amp; &quot;more&quot; &#128512;</t>',
      '<r><t>bold</t></r><r><t xml:space="preserve"> and thin</t></r><rPh sb="0" eb="1"><t>reading</t></rPh>',
    ];
    for (const more of [{}, { isStrict: true }, { prefix: 'x' }]) {
      expect(await shown([cell], { strings, ...more })).toEqual([shows]);
    }
  });

  it('an oddity is counted, and the first one is named', async () => {
    const noResult: MadeCell = { xml: '<f>SUM(A1)</f>' };
    const rows = [
      ['name', 'value'],
      ['a', number('12345678901234567890')],
      ['b', number('1.2345678901234E+19')],
      ['c', noResult],
      ['d', { attributes: 't="e"', xml: '<v>#REF!</v>' }],
      ['e', number('900719925474099')],
      ['f', number('1000000000000000')],
    ];
    const { records, warnings } = await read({ sheets: [{ name: 'A', rows }] });
    expect(records.map(({ value }) => value)).toEqual([
      '12345678901234567890',
      '12345678901234000000',
      '',
      '#REF!',
      '900719925474099',
      '1000000000000000',
    ]);
    expect(warnings).toEqual([
      'a.xlsx: 3 numbers have over 15 digits, the first in B2: 12345678901234567890. Excel keeps 15, so its last digits are probably wrong.',
      'a.xlsx: a formula has no stored result and counts as empty, in B4. Open the file in Excel, and save it.',
      'a.xlsx: a cell has an error, in B5: #REF!',
    ]);
  });
});

describe('a sheet', () => {
  const leads: MadeSheet = {
    name: 'Leads',
    rows: [
      ['name', 'city'],
      ['Ada', 'Rome'],
      ['Bob', 'Bonn'],
    ],
  };
  const notes: MadeSheet = { name: 'Notes', rows: [['Made by hand']] };
  const secret: MadeSheet = { name: 'Do not contact', state: 'hidden', rows: leads.rows };
  const cover: MadeSheet = { name: 'Cover', rows: [['Leads of May'], ['do not share']] };
  const gone: MadeSheet = {
    name: '2',
    state: 'veryHidden',
    rows: [
      ['name', 'x'],
      ['Eve', '1'],
    ],
  };

  it.each<
    [
      name: string,
      sheets: readonly MadeSheet[],
      wanted: string | undefined,
      first: string,
      note: string | undefined,
    ]
  >([
    ['alone', [leads], undefined, 'Ada', undefined],
    [
      'the first visible one',
      [secret, leads, notes],
      undefined,
      'Ada',
      '"Leads" of a.xlsx is read, not "Do not contact" (hidden), "Notes"',
    ],
    [
      'the first with a table',
      [notes, cover, leads],
      undefined,
      'Ada',
      '"Leads" of a.xlsx is read, not "Notes", "Cover"',
    ],
    [
      'with one column',
      [notes, { name: 'L', rows: [['name'], ['Ada']] }, { ...leads, state: 'hidden' }],
      undefined,
      'Ada',
      '"L"',
    ],
    ['by name', [leads, gone], 'leads', 'Ada', '"Leads" of a.xlsx is read, not "2" (hidden)'],
    ['by a number, with hidden ones', [secret, leads], '2', 'Ada', '"Leads"'],
    ['by a name that is a number', [leads, leads, gone], '2', 'Eve', '"2"'],
  ])('is read: %s', async (_, sheets, wanted, first, note) => {
    const found = await read({ sheets }, wanted);
    expect(found.records[0]?.name).toBe(first);
    if (note === undefined) expect(found.note).toBeUndefined();
    else expect(found.note).toContain(note);
  });

  it.each<[hiddenRows: readonly number[], says: readonly string[], hides: string | undefined]>([
    [[], [], undefined],
    [[4], ['row 4 is hidden, but it is read too'], undefined],
    [[3, 5, 6], ['2 rows are hidden, and are read too; the first is row 3'], undefined],
    [[3, 5], ['2 rows are hidden, and are read too; the first is row 3'], 'ht="0" customHeight="1"'],
    [[3, 5], [], 'ht="15" hidden="0"'],
    // The header is not read as a row.
    [[1], [], undefined],
    [[1, 2], ['row 2 is hidden, but it is read too'], undefined],
  ])('has a warning for hidden rows: %j', async (hiddenRows, says, hides) => {
    const rows = [['name', 'city'], ['Ada', 'Rome'], ['Bob', 'Bonn'], ['Eve', 'Oslo'], ['Kim', 'Bern'], ['']];
    // Where empty rows are hidden by default, those with cells are shown.
    const before = '<sheetFormatPr defaultRowHeight="15" zeroHeight="1"/>';
    const sheet = { name: 'A', rows, hiddenRows, before, ...(hides === undefined ? {} : { hides }) };
    const { records, warnings } = await read({ sheets: [sheet] });
    expect(records).toHaveLength(4);
    const what = 'To leave out what a filter hides, copy the visible rows to another sheet.';
    expect(warnings).toEqual(says.map((one) => `a.xlsx: ${one}. ${what}`));
  });

  it('that is not there is refused with the names of those that are', async () => {
    await expect(read({ sheets: [leads, secret] }, 'X')).rejects.toMatchObject({
      message: 'a.xlsx has no sheet "X"',
      details: { hint: 'It has "Leads", "Do not contact" (hidden).' },
    });
  });

  it('is read from its own cells, whatever it says of its size, with a merged cell for each row beside it', async () => {
    const before = '<dimension ref="A1"/>';
    const after = '<mergeCells count="1"><mergeCell ref="B3:B4"/></mergeCells>';
    const rows = [['company', 'name'], ['Acme', 'Ada'], [null, 'Bob'], [], [null, 'Eve']];
    const { records, lines } = await read({
      sheets: [{ name: 'A', rows, before, after, firstRow: 2, firstColumn: 'B' }],
    });
    expect(records).toEqual([
      { company: 'Acme', name: 'Ada' },
      { company: 'Acme', name: 'Bob' },
      { company: '', name: 'Eve' },
    ]);
    expect(lines).toEqual([3, 4, 6]);
  });

  it.each<[name: string, rows: MadeSheet['rows'], more: Partial<MadeSheet>]>([
    [
      'below titles',
      [['Leads of May'], [], ['name', 'city', 'size'], ['Ada', 'Rome', '1'], ['Bob', 'Bonn', '2']],
      {},
    ],
    [
      'in B3',
      [
        ['name', 'city', 'size'],
        ['Ada', 'Rome', '1'],
        ['Bob', 'Bonn', '2'],
      ],
      { firstRow: 3, firstColumn: 'B' },
    ],
    [
      'in the second of two rows with merged cells',
      [
        ['name', 'city', 'All'],
        ['', '', 'size'],
        ['Ada', 'Rome', '1'],
        ['Bob', 'Bonn', '2'],
      ],
      { after: '<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:B2"/></mergeCells>' },
    ],
  ])('has its header %s', async (_, rows, more) => {
    const { records } = await read(
      { sheets: [{ name: 'A', rows, ...more }] },
      undefined,
      more.after === undefined ? undefined : 2,
    );
    expect(records).toEqual([
      { name: 'Ada', city: 'Rome', size: '1' },
      { name: 'Bob', city: 'Bonn', size: '2' },
    ]);
  });

  it('gives its texts, in whatever way its cells store them', async () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((one) => !/[\p{C}\r]/u.test(one) && one.trim() === one);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(text, fc.boolean()), { minLength: 1, maxLength: 8 }),
        fc.record({ isStrict: fc.boolean(), prefix: fc.constantFrom('', 'x') }),
        async (texts, more) => {
          const strings: string[] = [];
          const escaped = (one: string): string =>
            one
              .replaceAll('&', '&amp;')
              .replaceAll('<', '&lt;')
              .replace(/_(?=x)/g, '_x005F_');
          const cells = texts.map(
            ([one, isShared]): MadeCell =>
              isShared
                ? { attributes: 't="s"', xml: `<v>${strings.push(`<t>${escaped(one)}</t>`) - 1}</v>` }
                : { attributes: 't="inlineStr"', xml: `<is><t>${escaped(one)}</t></is>` },
          );
          expect(await shown(cells, { strings, ...more })).toEqual(texts.map(([one]) => one));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is by default the first visible one with a table, and has the same records as a CSV file', async () => {
    const text = fc
      .array(fc.constantFrom(...'aé漢 &<>",;|\n=-+0'.split(''), '👩‍💻', "'="), { maxLength: 6 })
      .map((parts) => `x${parts.join('').trimEnd()}`);
    const cell = fc.oneof(text, fc.constantFrom('', '7', '02139', '12345678901234567890'));
    const row = fc.tuple(text, text, cell.filter(Boolean), fc.constant(''), cell);
    const below = fc.array(fc.oneof({ weight: 4, arbitrary: row }, fc.constant([])), { maxLength: 6 });
    const table = fc.tuple(row, below).map(([first, others]) => [first, ...others]);
    const header = ['name', 'company', 'note', '', 'zip'];
    // Above few rows, more of them would be refused: it is not clear then what they are.
    const title = fc.constantFrom([], ['Leads of May'], ['', 'do not share']);
    const state = fc.constantFrom<MadeSheet['state']>('hidden', 'veryHidden');
    const hidden = fc.record({ state, rows: table.map((rows) => [header, ...rows]) });
    const seen = fc.record({ rows: table.map((rows) => [header, ...rows]) });
    const cover = fc.record({ rows: fc.constantFrom([], [['Made by hand']], [['Made by'], [], ['hand']]) });
    const made = fc.record({
      titles: fc.array(title, { maxLength: 2 }),
      rows: table,
      before: fc.array(fc.oneof(hidden, cover), { maxLength: 2 }),
      behind: fc.array(fc.oneof(hidden, cover, seen), { maxLength: 2 }),
      firstRow: fc.integer({ min: 1, max: 4 }),
      firstColumn: fc.constantFrom('A', 'B', 'D'),
      isShared: fc.boolean(),
    });
    const again = fc.asyncProperty(made, async ({ titles, rows, before, behind, isShared, ...place }) => {
      const strings: string[] = [];
      const toCell = (one: string): MadeCell => {
        if (one === '') return null;
        if (one === '7') return { xml: '<v>7</v>' };
        const xml = `<t>${one.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</t>`;
        return isShared ? { attributes: 't="s"', xml: `<v>${strings.push(xml) - 1}</v>` } : one;
      };
      const grid = [...titles, header, ...rows];
      const sheet = { ...place, rows: grid.map((cells) => cells.map(toCell)) };
      const sheets = [...before, sheet, ...behind].map((one, at) => ({ ...one, name: `Sheet ${at}` }));
      const found = await read({ sheets, strings });
      const filled = [...rows.entries()].filter(([, cells]) => cells.length > 0);
      const names = header.map((name, at) => name || `column ${at + 1}`);
      const toRecord = (cells: readonly string[]) =>
        Object.fromEntries(names.map((name, at) => [name, cells[at]]));
      const records = filled.map(([, cells]) => toRecord(cells));
      expect(found.records).toEqual(records);
      expect(found.lines).toEqual(filled.map(([at]) => place.firstRow + titles.length + 1 + at));
      const csv = grid.map((cells) => cells.map((one) => csvCell(JSON.stringify(one), false)));
      expect((await read(Buffer.from(stringify(csv)))).records).toEqual(records);
    });
    await fc.assert(again, { numRuns: 50 });
  });

  const filled = (count: number, cells: string): string =>
    Array.from({ length: count }, () => `<row>${cells}</row>`).join('');
  const text = (length: number, between = ''): string =>
    `<row><c t="inlineStr"><is>${`<t>${'x'.repeat(length)}</t>`.repeat(between === '' ? 1 : 5)}</is></c></row>`;
  it.each<[name: string, xml: string, says: string, more?: Partial<MadeWorkbook>]>([
    [
      'a row that no sheet has',
      '<row r="99999999999999999999"/>',
      'a row 99999999999999999999, and the last',
    ],
    ['a row 0', '<row r="0"/>', 'a row 0, and the last one of a sheet is 1048576'],
    ['a column that no sheet has', filled(1, '<c r="XFE1"/>'), 'a column 16385, and the last one of a sheet'],
    [
      'a last column in many rows',
      filled(1221, '<c r="XFD1"><v>1</v></c>'),
      'more than 20000000 cells, with',
    ],
    [
      'a cell far from many rows',
      `${filled(1, '<c r="XFD1"><v>1</v></c>')}${filled(1300, '<c r="A1"><v>1</v></c>')}`,
      '1304 rows of 16384 columns, most of them empty',
    ],
    ['a text that is long', text(5_000_000), 'a text or a tag of over 4194304 bytes'],
    ['a text of many parts', text(1_000_000, 'parts'), 'a text of over 4194304 characters'],
    ['many attributes', `<row ${'a="1" '.repeat(1_000_000)}/>`, 'a text or a tag of over 4194304 bytes'],
    ['many levels', '<a>'.repeat(101), 'elements that are nested over 100 deep'],
    [
      'a long text many times',
      filled(360, '<c t="s"><v>0</v></c>'),
      'more than 1073741824 characters in its cells',
      { strings: [`<t>${'x'.repeat(3_000_000)}</t>`] },
    ],
  ])(
    'with more than a sheet can have, or than can be read in seconds, is refused: %s',
    async (_, before, says, more) => {
      const message = expect.stringMatching(`^a\\.xlsx has ${says}`);
      const reading = read({ sheets: [{ ...leads, before }], ...more });
      await expect(reading).rejects.toMatchObject({ outcome: 'usage', message });
    },
  );

  it('has columns of any number with the same name', async () => {
    const names = Array.from({ length: 16_383 }, () => '<c><v>7</v></c>').join('');
    const before = filled(1, `<c t="str"><v>name</v></c>${names}`);
    const { records } = await read({ sheets: [{ name: 'A', rows: [['Ada', 'x']], firstRow: 2, before }] });
    expect(Object.keys(records[0] ?? {})).toContain('7 (16383)');
  });

  it('of any bytes is read or refused', async () => {
    const good = makeWorkbook({ sheets: [leads] });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        async (changes) => {
          const bytes = Buffer.from(good);
          for (const [at, byte] of changes) bytes[at] = byte;
          bytes.write('PK\u0003\u0004', 'latin1');
          await read(bytes).catch((error) => expect(error).toMatchObject({ outcome: 'usage' }));
        },
      ),
      { numRuns: 200 },
    );
  });
});
