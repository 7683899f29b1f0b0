import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { writeWorkbook } from '../../src/output/workbook.ts';
import { ending } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { createMachine } from '../helpers/machine.ts';

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

it('goes on with the next sheet, as the workbooks of leadpipe do', async () => {
  const many = Array.from({ length: 5 }, (_, nth) => `["n${nth}"]`);
  await workbook('sheets.xlsx', ['["name"]', ...many], {});
  const search = 'search company x --dedup-custom-leads @sheets.xlsx --local --dry-run';
  const { body } = JSON.parse((await leadpipe(search)).stdout);
  expect(body.dedup_custom_leads).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
});

it.each([
  ['PK\u0003\u0004 is all', "can't be read as an Excel workbook"],
  ['name\nAda\n', 'is no Excel workbook'],
])('%j that is called a workbook is refused before anything is sent', async (text, says) => {
  write('bad.xlsx', text);
  expect(await leadpipe(`${contact} bad.xlsx`)).toMatchObject(ending(2, says));
});
