import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import { expect, it } from 'vitest';
import { csvCell } from '../../src/output/csv.ts';
import { createMachine } from '../helpers/machine.ts';
import { readWithPandas } from '../helpers/pandas.ts';
import { needs, needsModules } from '../helpers/parts.ts';
import { notRun, run } from '../output/formula-cells.ts';

const at = createMachine();

it.skipIf(!needsModules('pandas', 'openpyxl'))(
  'pandas reads the same rows from CSV and from a workbook',
  async () => {
    const rows = [
      { name: 'Ada Example', zip: '02139', id: '12345678901234567890', note: 'one\n- two\n+ three' },
      { name: 'Bö "B" Ltd, Paris; London', zip: '+493012345678', id: '-5', note: '@name' },
      { name: 'x'.repeat(30_000), zip: '', id: '1e5', note: '漢字 👩' },
    ];
    at.write('rows.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const list = 'contact email --input rows.jsonl --template {id} --columns name,zip,id,note --local -q';
    const files = ['a.csv', 'a.tsv', 'a.xlsx'];
    for (const file of files)
      expect(await at.leadpipe(`${list} -o ${file}`)).toMatchObject({ code: 0, stderr: '' });
    at.write('rows.csv', `\ufeff${stringify(rows, { header: true, delimiter: ';' })}`);
    await at.leadpipe(`${list.replace('rows.jsonl', 'rows.csv')} -o semicolons.csv`);
    const paths = [...files, 'semicolons.csv'].map(at.pathOf);
    expect(readWithPandas(paths)).toEqual(paths.map(() => rows));
  },
);

it.skipIf(!needs('ssconvert'))('Gnumeric finds no formula in any cell of the table', () => {
  const cells = [...run, ...notRun].map((text) => [csvCell(JSON.stringify(text), false), 'end']);
  // What is not guarded is one: the check can find it.
  writeFileSync(at.pathOf('cells.csv'), stringify([...cells, ['=1+1', 'end']], { quoted: true }));
  const out = at.pathOf('cells.gnumeric');
  const convert = [
    '-I',
    'Gnumeric_stf:stf_csvtab',
    '-T',
    'Gnumeric_XmlIO:sax:0',
    at.pathOf('cells.csv'),
    out,
  ];
  execFileSync('ssconvert', convert, { stdio: 'ignore' });
  const xml = readFileSync(out, 'utf8');
  // A cell with a value has its type; a formula has none.
  const formulas = [...xml.matchAll(/<gnm:Cell Row="(\d+)" Col="0"(?![^>]* ValueType)[^>]*>/g)];
  expect(xml.match(/<gnm:Cell /g)?.length).toBeGreaterThan(2 * cells.length - 20);
  expect(formulas.map(([, row]) => Number(row))).toEqual([cells.length]);
});
