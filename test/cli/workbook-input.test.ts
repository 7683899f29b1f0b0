import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeWorkbook } from '../../src/output/workbook.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, temporaryFolder } from '../helpers/run.ts';

const folder = temporaryFolder();
const env = bareEnvironment(folder);

async function workbook(name: string, rows: readonly string[], most?: object): Promise<string> {
  const path = join(folder, name);
  const pieces: Uint8Array[] = [];
  async function* source() {
    yield* rows;
  }
  const options = most === undefined ? {} : { most: { rows: 3, columns: 9, links: 9 } };
  await writeWorkbook(source, async (bytes) => void pieces.push(bytes), options);
  writeFileSync(path, Buffer.concat(pieces));
  return path;
}

const rows = [
  '["name","id","zip"]',
  '["CTO of Nordlicht Pay",12,"01067"]',
  '["",null,""]',
  '["nobody",13,"+1"]',
];
const contact = ['contact', 'email', '--template', '{name}', '--local', '-f', 'jsonl', '--input'];

it.each(['rows.xlsx', 'rows'])('a workbook is read as CSV is: %s', async (name) => {
  const path = await workbook(name, rows);
  const { stdout } = await runInProcess([...contact, path], { env });
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(records.map(({ name: one, id, zip }) => ({ name: one, id, zip }))).toEqual([
    { name: 'CTO of Nordlicht Pay', id: '12', zip: '01067' },
    { name: 'nobody', id: '13', zip: '+1' },
  ]);
});

it('goes on with the next sheet, as the workbooks of leadpipe do', async () => {
  const many = Array.from({ length: 5 }, (_, at) => `["n${at}"]`);
  const path = await workbook('sheets.xlsx', ['["name"]', ...many], {});
  const { stdout } = await runInProcess(
    ['search', 'company', 'x', '--dedup-custom-leads', `@${path}`, '--local', '--dry-run'],
    { env },
  );
  expect(JSON.parse(stdout).body.dedup_custom_leads).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
});

it.each([
  ['PK\u0003\u0004 is all', "can't be read as an Excel workbook"],
  ['name\nAda\n', 'is no Excel workbook'],
])('%j that is called a workbook is refused before anything is sent', async (text, message) => {
  const path = join(folder, 'bad.xlsx');
  writeFileSync(path, text);
  const { code, stderr } = await runInProcess([...contact, path], { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
