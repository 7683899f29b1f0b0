import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { openFileRecords } from '../../src/files/file-records.ts';
import type { ReadOptions } from '../../src/files/reading.ts';
import { objectMembers } from '../../src/json/text.ts';
import { isColumnName, isKnownColumn } from '../../src/requests/column-meanings.ts';

const reading: ReadOptions = {
  extension: '.csv',
  field: 'objective',
  wanted: ['objective'],
  isKnown: isKnownColumn,
  what: 'list.csv',
};

/** The columns, and the values of the first record; or what is refused. */
async function read(text: string, more: Partial<ReadOptions> = {}): Promise<string> {
  async function* bytes() {
    yield text;
  }
  try {
    const { format, columns, rows } = await openFileRecords(bytes(), { ...reading, ...more });
    const lines: string[] = [];
    for await (const { line, record, flaw } of rows) {
      lines.push(
        `${line}: ${flaw ?? [...objectMembers(record ?? '{}').values()].map((value) => JSON.parse(value)).join('|')}`,
      );
    }
    return `${columns?.join('|') ?? format} / ${lines[0] ?? 'no rows'} (${lines.length})`;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
}

const linkedIn = `Notes:
"When exporting your connection data, you may notice that some of the email addresses are missing. You will only see email addresses for connections who have allowed their connections to see or download their email address."

First Name,Last Name,URL,Email Address,Company,Position,Connected On
Ada,Example,https://www.linkedin.com/in/ada,,Acme,CTO,01 Jan 2024
Bo,Test,https://www.linkedin.com/in/bo,bo@beta.example,Beta,CEO,02 Jan 2024
`;

const tables: readonly [name: string, text: string, expected: string][] = [
  // The first row with a known name.
  ['known names', 'name,website\nAcme,acme.example\n', 'name|website / 2: Acme|acme.example (1)'],
  ['a header alone', 'name,website,links\n', 'name|website|links / no rows (0)'],
  ['a column without a name', ',name\n0,Acme\n1,Beta\n', 'column 1|name / 2: 0|Acme (2)'],
  ['a row with a cell too many', 'objective,id\nAda,1\nBo,3,4\nCy,5\n', 'objective|id / 2: Ada|1 (3)'],
  [
    'a row with a cell too many below names that are all known',
    'name,city\nAcme,Rome,x\n',
    'name|city / 2: has 3 cells, but the header has 2 (1)',
  ],
  ['empty cells at the end of each row', 'name,id\nAcme,1,\nBeta,2,\n', 'name|id / 2: Acme|1 (2)'],
  [
    'a column that is called like a domain',
    'name,links.website\nAcme,acme.example\n',
    'name|links.website / 2: Acme|acme.example (1)',
  ],
  ['years as names', 'Company,2021,2022\nAcme,10,20\nBeta,30,40\n', 'Company|2021|2022 / 2: Acme|10|20 (2)'],
  [
    'a first row that is like a header',
    'name,title,company\nTitle,Name,Company Name\nAda,CTO,Acme\n',
    'name|title|company / 2: Title|Name|Company Name (2)',
  ],
  ['sparse rows', 'name,a,b,c,d,e\nAcme,,,,,\nBeta,,1,,,\nCe,2,,,,5\n', 'name|a|b|c|d|e / 2: Acme||||| (3)'],
  [
    'a quote too many in the header',
    '"Name" ,"City"\nAcme,Rome\n',
    "the header of list.csv can't be read: line 1 has a cell that begins with a quote but does not end with one",
  ],
  [
    'a quote too many above it',
    'The "best\n"5" firms\nname,city\nAcme,Rome\n',
    'name|city / 4: Acme|Rome (1)',
  ],
  ['one column', 'name\nAcme\nBeta\n', 'name / 2: Acme (2)'],
  [
    'one column of texts with commas',
    'objective\nAda, CTO\nBo, CEO, Berlin\n',
    'objective / 2: Ada, CTO (2)',
  ],
  ['names twice', 'name,name,name (2)\na,b,c\n', 'name|name (2)|name (2) (2) / 2: a|b|c (1)'],
  [
    'odd names',
    '"a""b",Größe (€),name,Name,objective,\n1,2,3,4,Ada,5\n',
    'a"b|Größe (€)|name|Name|objective|column 6 / 2: 1|2|3|4|Ada|5 (1)',
  ],
  [
    'an empty first row',
    ',,\nName,Website,City\nAcme,acme.example,Rome\n',
    'Name|Website|City / 3: Acme|acme.example|Rome (1)',
  ],
  [
    'a title, and a name that is known',
    'Prospects\nCompany,Rang\nAcme,IT\nBeta,DE\n',
    'Company|Rang / 3: Acme|IT (2)',
  ],
  [
    'a title in a row of its width',
    'Prospects,,\n,,\nName,Website,City\nAcme,acme.example,Rome\n',
    'Name|Website|City / 4: Acme|acme.example|Rome (1)',
  ],
  [
    'names and values above',
    'Account:,Acme\nExported:,2024-01-01\n\nName,Website\nAcme,acme.example\n',
    'Name|Website / 5: Acme|acme.example (1)',
  ],
  [
    'the notes of LinkedIn',
    linkedIn,
    'First Name|Last Name|URL|Email Address|Company|Position|Connected On / 5: Ada|Example|https://www.linkedin.com/in/ada||Acme|CTO|01 Jan 2024 (2)',
  ],
  [
    'a sentence with many commas',
    'Exported by Ada, for Acme, on Monday, all of it, 1,234 rows\nName,Website,City\nAcme,acme.example,Rome\nBeta,beta.example,Bonn\n',
    'Name|Website|City / 3: Acme|acme.example|Rome (2)',
  ],
  ['a title above one column', 'Prospects\n\nWebsite\nacme.example\n', 'Website / 4: acme.example (1)'],
  ['nine lines above', `${'note\n\n'.repeat(9)}Name,Rang\nAcme,1\n`, 'Name|Rang / 20: Acme|1 (1)'],
  [
    'the delimiter, as Excel says it',
    'sep=;\nName;Wert, netto\nAcme;1,5\n',
    'Name|Wert, netto / 3: Acme|1,5 (1)',
  ],
  [
    'the delimiter, and a title',
    'sep=\t\r\nBericht\r\nName\tOrt\r\nAcme\tRome\r\n',
    'Name|Ort / 4: Acme|Rome (1)',
  ],
  [
    'a table that begins in its second column',
    ',,\n,Name,Website\n,Acme,acme.example\n',
    'column 1|Name|Website / 3: |Acme|acme.example (1)',
  ],
  // Without one, the first row.
  ['names that are not known', 'Kunde;Umsatz\nAcme;100\nBeta;200\n', 'Kunde|Umsatz / 2: Acme|100 (2)'],
  [
    'names that are not known, above values that are names elsewhere',
    'Kunde;Status\nAcme;Lead\nBeta;Business\n',
    'Kunde|Status / 2: Acme|Lead (2)',
  ],
  [
    'commas in the cells of a few rows',
    'wo;was\nRom, Lazio, IT;5\nParis;6\nOslo;7\n',
    'wo|was / 2: Rom, Lazio, IT|5 (3)',
  ],
  [
    'ten lines above',
    `${'note\n'.repeat(10)}Name,Rang\nAcme,1\n`,
    'note / 11: has 2 cells, but the header has 1 (2)',
  ],
  [
    'data in its first row',
    'Ada Example,ada@acme.example,Acme\nBo Test,bo@beta.example,Beta\n',
    'Ada Example|ada@acme.example|Acme / 2: Bo Test|bo@beta.example|Beta (1)',
  ],
  // One column without a known name: lines.
  ['one column of unknown texts', 'nasa\nesa\njaxa\n', 'text / 1: nasa (3)'],
  ['domains', 'acme.com\n\n"beta.example"\n', 'text / 1: acme.com (2)'],
  ['one column, and more cells far below', `${'x,\n'.repeat(150)}y,z\n`, 'text / 1: x (151)'],
];

describe('the header of a table', () => {
  it.each(tables)('%s', async (_, text, expected) => {
    expect(await read(text)).toBe(expected);
  });

  it.each([
    ['Prospects\nKunde,Stadt\nAcme,Rome\n', 2, 'Kunde|Stadt / 3: Acme|Rome (1)'],
    [
      'Ada,ada@acme.example\nBo,bo@beta.example,x\n',
      0,
      'column 1|column 2|column 3 / 1: Ada|ada@acme.example| (2)',
    ],
    ['sep=;\nAda;1\nBo;2\n', 0, 'column 1|column 2 / 2: Ada|1 (2)'],
    ['acme.com\nbeta.example\n', 1, 'acme.com / 2: beta.example (1)'],
    ['"a title\nof two lines"\nname\nAcme\n', 2, 'list.csv has no header in line 2: no row begins there'],
    ['name\nAcme\n', 9, 'list.csv has no header in line 9: no row begins there'],
    ['{"a":1}\n{"a":2}\n', 1, "the header of list.csv can't be chosen: it has JSON"],
  ])('of %j is in the given line: %i', async (text, headerRow, expected) => {
    expect(await read(text, { headerRow })).toBe(expected);
  });

  it('is the row with a column that is wanted, in any of its parts', async () => {
    const found = await read('Prospects\n\nKunde,data\nAcme,x\n', { wanted: ['data.site'] });
    expect(found).toBe('Kunde|data / 4: Acme|x (1)');
  });
});

describe('a text without an extension', () => {
  it.each([
    ['names', 'Ada Example\nBo Test\n', 'text / 1: Ada Example (2)'],
    ['domains', 'acme.com\nbeta.com\n', 'text / 1: acme.com (2)'],
    ['addresses', 'ada@acme.example\nbo@beta.example\n', 'text / 1: ada@acme.example (2)'],
    ['names with what identifies them', 'Ada, CTO, Acme\nBo, CEO, Beta\n', 'text / 1: Ada, CTO, Acme (2)'],
    [
      'names with words that are names of columns',
      'Acme\nBeta\nBusiness, Enterprise, Startup\nCe\n',
      'text / 1: Acme (4)',
    ],
    ['questions', 'Who owns Acme?\nWhat does Beta sell, and where?\n', 'text / 1: Who owns Acme? (2)'],
    ['a header that is wanted', 'id|objective\n1|Ada\n', 'id|objective / 2: 1|Ada (1)'],
    ['a header that is known', 'Company,City\nAcme,Rome\n', 'Company|City / 2: Acme|Rome (1)'],
    [
      'a title and a header that is known',
      'Prospects\n\nCompany;City\nAcme;Rome\n',
      'Company|City / 4: Acme|Rome (1)',
    ],
    [
      'tabs and a header that is not known',
      'Kunde\tUmsatz\nAcme\t100\nBeta\t200\n',
      'Kunde|Umsatz / 2: Acme|100 (2)',
    ],
    [
      'tabs without a header',
      'Acme\tacme.example\nBeta\tbeta.example\n',
      'Acme|acme.example / 2: Beta|beta.example (1)',
    ],
    ['a tab in one of its lines', 'Ada\nBo\tBeta\nCy\n', 'text / 1: Ada (3)'],
    ['a delimiter that is said', 'sep=;\nKunde;Wert\nAcme;1\n', 'Kunde|Wert / 3: Acme|1 (1)'],
  ])('with %s', async (_, text, expected) => {
    expect(await read(text, { extension: '' })).toBe(expected);
  });

  it('with a column of which a part is wanted', async () => {
    const found = await read('id,data\n1,x\n', { extension: '', wanted: ['data.site'] });
    expect(found).toBe('id|data / 2: 1|x (1)');
  });
});

it.each([
  ['a,b;c,d', 'a|b;c|d'],
  ['name;city, street', 'name|city, street'],
  ['name|a,b,c', 'name|a,b,c'],
  ['"name"\tx', 'name|x'],
  ['a;b, c', 'a|b, c'],
  ['name', 'name'],
])('the header %j is read as %j', async (header, columns) => {
  expect(await read(header)).toBe(`${columns} / no rows (0)`);
});

it('any mix of line ends, quotes, delimiters, marks and titles gives the same records', async () => {
  const cell = fc.stringMatching(/^[a-zé,;|"= ]{0,6}$/).map((text) => `x${text}x`);
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.constantFrom(',', ';', '\t', '|'),
      fc.infiniteStream(fc.constantFrom('\n', '\r\n', '\r', '\r\r\n')),
      fc.constantFrom('', '\ufeff'),
      fc.constantFrom('', 'title', 'empty', 'said'),
      fc.boolean(),
      async (all, delimiter, ends, mark, above, isQuoted) => {
        const end = (): string => ends.next().value;
        const first = { '': '', title: 'Prospects', empty: delimiter.repeat(2), said: `sep=${delimiter}` }[
          above
        ];
        const quoted = (text: string): string =>
          isQuoted || /["\t,;|]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        const lines = [['name', 'city', 'website'], ...all].map((cells) => cells.map(quoted).join(delimiter));
        const text = mark + [...(first === '' ? [] : [first]), ...lines].map((line) => line + end()).join('');
        expect(await records(text)).toEqual(all);
      },
    ),
    { numRuns: 300 },
  );
});

async function records(text: string): Promise<unknown[]> {
  async function* bytes() {
    yield text;
  }
  const found: unknown[] = [];
  for await (const { record, flaw } of (await openFileRecords(bytes(), reading)).rows) {
    found.push(flaw ?? [...objectMembers(record ?? '{}').values()].map((value) => JSON.parse(value)));
  }
  return found;
}

it.each([
  [['name\n', 'Ada\n'], 'name'],
  [['name\n', '\n', 'Ada'], 'name'],
  [['"na', 'me"\r\n', 'Ada\r\n'], 'name'],
  [['name\n'], undefined],
  [['name'], undefined],
  [['Ada\n', 'Bo\n'], undefined],
])('the pieces %j of a pipe are one column under the name %s', async (pieces, name) => {
  async function* bytes() {
    yield* pieces;
  }
  const found = await openFileRecords(bytes(), { ...reading, extension: '', isColumnName });
  expect(found.columns?.join('|')).toBe(name);
});
