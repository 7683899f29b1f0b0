import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openInput } from '../../src/requests/rows.ts';
import { needsModules, python } from '../helpers/parts.ts';
import { temporaryFolder } from '../helpers/run.ts';

/** Files of other programs are read correctly: the same random tables, written by each program. */

const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const header = ['name', 'company', 'note', 'zip'];

const unit = fc.constantFrom(
  ...'aé漢 ,;\t|"\n=+-@#_&<>\\'.split(''),
  ...['👩‍💻', "it's", '02139', '\u00a0', '\u2028', '1e5', 'NULL', '{"a":1}'],
);
const text = fc.array(unit, { maxLength: 6 }).map((parts) => parts.join(''));
const filled = text.map((one) => `x${one}x`);
const cell = fc.oneof(
  text,
  fc.integer(),
  fc.maxSafeInteger().map((one) => one % 10 ** 15),
  fc.constant(null),
);
const tables = fc.array(fc.tuple(filled, filled, cell, cell), { minLength: 1, maxLength: 8 });
type Table = readonly (readonly (string | number | null)[])[];

async function read(name: string, pieces: AsyncIterable<Uint8Array>): Promise<string[][]> {
  const { rows } = await openInput(pieces, { name, field: 'objective', wanted: ['objective'], what: name });
  const found: string[][] = [];
  for await (const { record, flaw } of rows) {
    expect(flaw).toBeUndefined();
    found.push(Object.values(JSON.parse(record ?? '{}')));
  }
  return found;
}

const textsOf = (table: Table): string[][] =>
  table.map((cells) => cells.map((one) => (one === null ? '' : String(one))));

it('a table of CSV with any cells, delimiter and line ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      tables,
      fc.constantFrom(',', ';', '\t', '|'),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.boolean(),
      async (table, delimiter, record_delimiter, quoted) => {
        const style = { delimiter, record_delimiter, quoted, bom: quoted, quoted_match: /[\r\n]/ };
        const bytes = Buffer.from(stringify([header, ...textsOf(table)], style));
        async function* pieces() {
          for (let at = 0; at < bytes.length; at += 50) yield bytes.subarray(at, at + 50);
        }
        expect(await read('a.csv', pieces())).toEqual(textsOf(table));
      },
    ),
    { numRuns: 400 },
  );
});

/** Writes each table as CSV, as a database and as a workbook, the cells of which are texts and numbers. */
const script = `
import csv, json, sqlite3, sys, openpyxl
folder, = sys.argv[1:]
header, *tables = json.load(sys.stdin)
for at, table in enumerate(tables):
    with open(f'{folder}/{at}.csv', 'w', newline='', encoding='utf-8-sig' if at % 3 == 0 else 'utf-8') as file:
        quoting = csv.QUOTE_ALL if at % 5 == 0 else csv.QUOTE_MINIMAL
        writer = csv.writer(file, delimiter=',;\\t|'[at % 4], quoting=quoting, lineterminator='\\r\\n' if at % 2 else '\\n')
        writer.writerow(header)
        writer.writerows(table)
    database = sqlite3.connect(f'{folder}/{at}.db')
    database.execute(f"PRAGMA encoding = '{['UTF-8', 'UTF-16le', 'UTF-16be'][at % 3]}'")
    database.execute(f'CREATE TABLE rows ({", ".join(header)})')
    database.executemany('INSERT INTO rows VALUES (?, ?, ?, ?)', table)
    database.commit()
    database.close()
    workbook = openpyxl.Workbook()
    for row in [header, *table]:
        workbook.active.append(row)
    for cell in [cell for row in workbook.active for cell in row if cell.data_type == 'f']:
        cell.data_type = 's'
    workbook.save(f'{folder}/{at}.xlsx')
`;

it.runIf(exhaustive && needsModules('openpyxl'))(
  'and what csv, sqlite3 and openpyxl of Python write',
  async () => {
    const folder = temporaryFolder();
    const all = fc.sample(tables, { numRuns: 400, seed: 7 });
    const made = spawnSync(python, ['-c', script, folder], { input: JSON.stringify([header, ...all]) });
    expect(String(made.stderr)).toBe('');
    for (const [at, table] of all.entries()) {
      for (const kind of ['csv', 'db', 'xlsx']) {
        const path = join(folder, `${at}.${kind}`);
        expect(await read(path, createReadStream(path)), path).toEqual(textsOf(table));
      }
    }
  },
  600_000,
);
