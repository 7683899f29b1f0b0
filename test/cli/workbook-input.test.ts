import { writeFileSync } from 'node:fs';
import { strToU8, zipSync } from 'fflate';
import { expect, it } from 'vitest';
import { writeWorkbook } from '../../src/output/workbook.ts';
import { ending } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { createMachine } from '../helpers/machine.ts';
import { startRowService } from '../helpers/row-service.ts';
import { makeWorkbook } from '../helpers/workbooks.ts';

const { leadpipe, pathOf, write } = createMachine();

async function workbook(name: string, rows: readonly string[], maxSize?: object): Promise<void> {
  const pieces: Uint8Array[] = [];
  async function* source() {
    yield* rows;
  }
  const options = maxSize === undefined ? {} : { maxSize: { rows: 3, columns: 9, links: 9 } };
  await writeWorkbook(source, async (bytes) => void pieces.push(bytes), options);
  writeFileSync(pathOf(name), Buffer.concat(pieces));
}

const rows = [
  '["name","id","zip"]',
  '["CTO of Nordlicht Pay",12,"01067"]',
  '["",null,""]',
  '["nobody",13,"+1"]',
];
const contact = 'contact email --template {name} --local -f jsonl --input';

it.each(['rows.xlsx', 'rows'])('a workbook is read as CSV is: %s', async (name) => {
  await workbook(name, rows);
  const { stdout } = await leadpipe(`${contact} ${name}`);
  expect(recordsIn(stdout)).toMatchObject([
    { name: 'CTO of Nordlicht Pay', id: '12', zip: '01067' },
    { name: 'nobody', id: '13', zip: '+1' },
  ]);
});

const several = makeWorkbook({
  sheets: [
    { name: 'Do not contact', state: 'hidden', rows: [['name'], ['Mallory']] },
    {
      name: 'Leads',
      rows: [
        ['name', 'city'],
        ['Ada', 'Rome'],
      ],
    },
    { name: 'Others', rows: [['objective'], ['CTO of Nordlicht Pay'], ['Bob']] },
  ],
});

it('of several sheets one is read, by every option that takes a list, and the others are named', async () => {
  writeFileSync(pathOf('sheets.xlsx'), several);
  const search = await leadpipe('search company x --dedup-custom-leads @sheets.xlsx --local --dry-run');
  expect(JSON.parse(search.stdout).body.dedup_custom_leads).toEqual(['Ada']);
  const note =
    /^Only the sheet "Leads" of .*sheets\.xlsx is read, not "Do not contact" \(hidden\), "Others"\.$/m;
  expect(search.stderr).toMatch(note);
  const list = await leadpipe('contact email --local -f jsonl --input sheets.xlsx --template {name}');
  expect(recordsIn(list.stdout)).toMatchObject([{ name: 'Ada' }]);
  expect(list.stderr).toMatch(note);
  expect(await leadpipe('contact email --local --input sheets.xlsx --sheet 9')).toMatchObject(
    ending(2, 'sheets.xlsx has no sheet "9"', 'It has "Do not contact" (hidden), "Leads", "Others".'),
  );
});

it('resume reads the sheet that the list was begun with', async () => {
  const refused = new Set(['Bob']);
  const machine = createMachine((await startRowService({ refused })).url);
  writeFileSync(machine.pathOf('sheets.xlsx'), several);
  const begun = await machine.leadpipe('contact email --input sheets.xlsx --sheet 3 -o out.jsonl');
  expect(begun).toMatchObject(ending(3, '1 failed'));
  refused.clear();
  const [operation] = await machine.history('list');
  expect(await machine.leadpipe(`resume ${operation?.operation_id}`)).toMatchObject(ending(0, '"Others"'));
  expect(recordsIn(machine.read('out.jsonl'))).toMatchObject([
    { objective: 'CTO of Nordlicht Pay', email: { content: 'cto.of.nordlicht.pay@example.com' } },
    { objective: 'Bob', email: { content: 'bob@example.com' } },
  ]);
});

it('says in which row of the sheet something is wrong', async () => {
  const machine = createMachine((await startRowService()).url);
  const rows = [
    ['objective', 'n'],
    ['Ada', '1'],
    ['', '2'],
    ['', '3'],
  ];
  writeFileSync(machine.pathOf('rows.xlsx'), makeWorkbook({ sheets: [{ name: 'A', rows }] }));
  const list = await machine.leadpipe('contact email -f jsonl --input rows.xlsx');
  expect(list).toMatchObject(
    ending(3, 'warning: row 3: the objective is empty', 'correct rows 3 and 4 of the input'),
  );
});

it('warns of values that a workbook has lost before anything is bought', async () => {
  const rows = [
    ['name', 'id'],
    ['Ada', { xml: '<v>12345678901234567</v>' }],
  ];
  writeFileSync(pathOf('lost.xlsx'), makeWorkbook({ sheets: [{ name: 'A', rows }] }));
  const says = /warning: lost\.xlsx: a number has over 15 digits, in B2: 12345678901234567\./;
  expect(await leadpipe(`${contact} lost.xlsx --dry-run`)).toMatchObject(ending(0, says));
});

const zipOf = (...names: readonly string[]): Buffer =>
  Buffer.from(zipSync(Object.fromEntries(names.map((name) => [name, strToU8('x')]))));
const old = Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1');

it.each<[name: string, bytes: Buffer, says: string, hint: string]>([
  ['a.ods', zipOf('mimetype', 'content.xml'), 'is an OpenDocument file (.ods)', 'Save it as CSV or xlsx'],
  ['a.xlsx', zipOf('xl/workbook.bin'), 'is a binary workbook (.xlsb)', 'Save it as CSV or xlsx'],
  ['a', zipOf('Index/Document.iwa'), 'is a Numbers or Pages file', 'Save it as CSV or xlsx'],
  ['a.docx', zipOf('word/document.xml'), 'is a Word document (.docx)', 'Save it as CSV or xlsx'],
  ['a.zip', zipOf('leads.csv'), 'is a zip file with leads.csv', 'Unpack it'],
  ['a.xls', Buffer.concat([old, Buffer.alloc(600)]), 'is an old Office file', 'CSV or xlsx'],
  [
    'a.xlsx',
    Buffer.concat([old, Buffer.alloc(70_000), Buffer.from('EncryptedPackage', 'utf16le')]),
    'a.xlsx has a password',
    'remove the password',
  ],
])('what else is called a workbook is refused by its name: %s', async (name, bytes, says, hint) => {
  writeFileSync(pathOf(name), bytes);
  expect(await leadpipe(`${contact} ${name}`)).toMatchObject(ending(2, says, hint));
});

it.each([
  ['PK\u0003\u0004 is all', "can't be read as an Excel workbook"],
  ['name\nAda\n', 'is not an Excel workbook'],
])('%j that is called a workbook is refused before anything is sent', async (text, says) => {
  write('bad.xlsx', text);
  expect(await leadpipe(`${contact} bad.xlsx`)).toMatchObject(ending(2, says));
});
