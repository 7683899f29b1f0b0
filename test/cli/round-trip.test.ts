import { createReadStream, existsSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { type JsonText, objectMembers, stringOf } from '../../src/json/text.ts';
import { openInput } from '../../src/requests/rows.ts';
import { createMachine } from '../helpers/machine.ts';
import { readWithPandas } from '../helpers/pandas.ts';
import { needsModules } from '../helpers/parts.ts';
import { startRowService } from '../helpers/row-service.ts';
import { toWords, type Words } from '../helpers/words.ts';

/** The output of one command is the input of the next: every format gives the same records. */

const { leadpipe, pathOf, write } = createMachine((await startRowService()).url);

/** The records of a file, each as the texts or JSON of its members. */
async function read(file: string, isRaw = false): Promise<Map<string, string>[]> {
  const { rows } = await openInput(createReadStream(pathOf(file)), {
    name: pathOf(file),
    field: 'text',
    wanted: ['objective', 'name'],
    what: file,
    isRaw,
  });
  const records: Map<string, string>[] = [];
  for await (const { record = '{}', flaw } of rows) {
    expect(flaw).toBeUndefined();
    records.push(new Map([...objectMembers(record)].map(([name, value]) => [name, textOf(value)])));
  }
  return records;
}

const textOf = (value: JsonText): string => (value === 'null' ? '' : (stringOf(value) ?? value));

/** Values that careless table formats change. All of them are in the columns of the input. */
const values: Readonly<Record<string, JsonText>> = {
  id: '12345678901234567890',
  zip: '"007"',
  phone: '"+4930123456"',
  formula: '"=1+1"',
  quoted: '"\'=1+1"',
  spaces: '" a  b "',
  lines: '"a\\nb\\n\\nc"',
  long: JSON.stringify('x, "y"; z\t'.repeat(3000)),
  date: '"2020-01-31"',
  time: '"2020-01-31T14:05:00"',
  percent: '"5%"',
  number: '0.1',
  fraction: '"1.50"',
  exponent: '"1e5"',
  escape: '"_x0041_ & <b>"',
  truth: '"TRUE"',
  object: '{"url":"https://a.example/?a=1|2","notes":["a\\n*b*\\t","\\u2028",1.10]}',
  markdown: '"| a \\\\| <br> &lt; **b** `c` [d](https://e.example)"',
  emoji: '"👩‍💻 日本 é"',
  sheet: '"@name"',
};
const members = Object.entries(values);

beforeAll(() => {
  const row = (objective: string, more: readonly (readonly [string, JsonText])[]): string =>
    `{"objective":${JSON.stringify(objective)}${more.map(([name, value]) => `,"${name}":${value}`).join('')}}\n`;
  write(
    'rows.jsonl',
    [
      row('Ada', members),
      row(
        'Bob',
        members.map(([name]) => [name, '""']),
      ),
    ].join(''),
  );
  write('targets.csv', 'target\nacme/ada\nacme/bob\n');
});

/** Has a command write its file, if that is not there yet. */
async function made(name: string, format: string, command: Words): Promise<string> {
  const file = `${name.replace(' ', '-')}.${format}`;
  const words = [...toWords(command), '-q', '-o', file];
  if (!existsSync(pathOf(file))) expect(await leadpipe(words)).toMatchObject({ code: 0, stderr: '' });
  return file;
}

const formats = ['csv', 'tsv', 'xlsx', 'jsonl', 'json', 'md', 'db'];
const input = ['--input', 'rows.jsonl'];
const lists: Readonly<Record<string, readonly string[]>> = {
  contact: ['contact', 'email', ...input],
  research: ['research', ...input, '--template', 'fintech in Berlin, {objective}', '--local'],
  enrich: ['enrich', ...input, '--template', '{objective}', '--field', 'city'],
};

describe.each(Object.entries(lists))('the rows of a list of %s', (name, command) => {
  it.each(formats)('are read from its .%s file as they were', async (format) => {
    const file = await made(name, format, command);
    const [ada, bob, ...more] = await read(file);
    expect(more).toEqual([]);
    expect([ada?.get('objective'), bob?.get('objective')]).toEqual(['Ada', 'Bob']);
    for (const [column, value] of members) {
      // People add up the plain numbers of a workbook, so that they are numbers there.
      const expected = format === 'xlsx' && column === 'fraction' ? '1.5' : textOf(value);
      expect({ column, value: ada?.get(column) }).toEqual({ column, value: expected });
      expect({ column, value: bob?.get(column) }).toEqual({ column, value: '' });
    }
    // The answer is a column of tables, and a member of JSON.
    const answered =
      name === 'enrich' && !format.startsWith('json') ? 'city' : ({ contact: 'email' }[name] ?? name);
    expect(ada?.get(answered)).not.toBe('');
  });
});

const leads = 'search company fintech --limit 3 --enrich-fields employees --local';
const records: Readonly<Record<string, readonly [command: string, columns: readonly string[]]>> = {
  search: [
    leads,
    ['name', 'description', 'score', 'score_reason', 'website', 'employees', 'employees_reference'],
  ],
  'task run': [
    leads.replace('search', 'task run --poll-interval 0.05'),
    ['name', 'description', 'score', 'website', 'employees'],
  ],
  extract: ['extract github_repo_stargazers --input targets.csv', ['type', 'target', 'id']],
  balance: ['balance --local', ['available_credits']],
};

describe.each(Object.entries(records))('the records of %s', (name, [command, columns]) => {
  it('are the same from every file', async () => {
    const found: Record<string, unknown> = {};
    for (const format of formats) {
      const chosen = format.startsWith('json') ? ` --columns ${columns.join(',')}` : '';
      const file = await made(name, format, command + chosen);
      found[format] = (await read(file)).map((record) => columns.map((column) => record.get(column)));
    }
    const { csv } = found;
    expect(csv).not.toEqual([]);
    expect(JSON.stringify(csv)).not.toContain('null');
    expect(found).toEqual(Object.fromEntries(formats.map((format) => [format, csv])));
  });
});

it.skipIf(!needsModules('pandas', 'openpyxl'))(
  'pandas reads the same from the tables of every command',
  async () => {
    const commands = [
      ...Object.entries(lists),
      ...Object.entries(records).map(([name, [line]]) => [name, line] as const),
    ];
    const files: string[] = [];
    for (const [name, command] of commands)
      for (const format of ['csv', 'tsv', 'xlsx']) files.push(await made(name, format, command));
    // CSV has the apostrophes before formulas.
    const ours = async (file: string) => (await read(file, true)).map((record) => Object.fromEntries(record));
    const found = readWithPandas(files.map(pathOf)).map((rows, at) => ({ file: files[at], rows }));
    const expected = files.map(async (file) => ({ file, rows: await ours(file) }));
    expect(found).toEqual(await Promise.all(expected));
  },
);
