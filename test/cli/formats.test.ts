import { mkdirSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import readWorkbook from 'read-excel-file/node';
import { beforeAll, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { startService } from '../helpers/local-service.ts';
import { createMachine } from '../helpers/machine.ts';

const at = createMachine();
const search = 'search company "fintech in Berlin" --limit 3 --local';

async function rowsOf(name: string) {
  const [sheet] = await readWorkbook(readFileSync(at.pathOf(name)));
  return sheet?.data ?? [];
}

describe('a workbook', () => {
  it('holds the leads of a search, and history shows the same one again', async () => {
    expect(await at.leadpipe(`${search} -o leads.xlsx`)).toMatchObject({ code: 0, stdout: '' });
    const [header, ...rows] = await rowsOf('leads.xlsx');
    expect(header?.slice(0, 3)).toEqual(['name', 'description', 'score']);
    expect(rows).toHaveLength(3);
    await at.leadpipe('history show -o again.xlsx');
    expect(readFileSync(at.pathOf('again.xlsx')).equals(readFileSync(at.pathOf('leads.xlsx')))).toBe(true);
    expect(at.files()).toEqual(['again.xlsx', 'leads.xlsx']);
  });

  it('holds a list, one answer, and a task', async () => {
    at.write('people.txt', 'CTO of Nordlicht Pay\nCTO of Nobody\n');
    const list = await at.leadpipe('contact email --input people.txt --local -q -o list.xlsx');
    expect(list).toMatchObject({ code: 0, stderr: '' });
    expect(await rowsOf('list.xlsx')).toMatchObject([
      ['objective', 'email', 'email_reference', 'email_error'],
      ['CTO of Nordlicht Pay', expect.stringContaining('@'), expect.stringContaining('https:'), null],
      ['CTO of Nobody', null, null, null],
    ]);
    const one = await at.leadpipe('contact email "CTO of Nordlicht Pay" --local -o one.xlsx');
    expect(one).toMatchObject({ code: 0 });
    expect((await rowsOf('one.xlsx'))[0]?.slice(0, 2)).toEqual(['contact_type', 'objective']);
    const task = 'task run company fintech --limit 2 --poll-interval 0.05 --local -o task.xlsx';
    expect(await at.leadpipe(task)).toMatchObject({ code: 0 });
    expect(await rowsOf('task.xlsx')).toHaveLength(3);
  });

  it('has a text that is too long for it cut, with a warning', async () => {
    const lead = { name: 'Acme', description: `fintech ${'x'.repeat(40_000)}` };
    const service = await startService({ leads: [JSON.stringify(lead)] });
    const result = await at.leadpipe('search company fintech -o long.xlsx', { env: service.env() });
    expect(result).toMatchObject(ending(0, '32767 characters: longer texts were cut'));
    expect(String((await rowsOf('long.xlsx'))[1]?.[1])).toHaveLength(32_767);
  });

  it('that can not be made leaves its rows, and says where they are', async () => {
    // A folder in the place of what is made.
    mkdirSync(at.pathOf('blocked.xlsx.part.made/x'), { recursive: true });
    const says = 'The rows are in blocked.xlsx.part.';
    expect(await at.leadpipe(`${search} -o blocked.xlsx`)).toMatchObject(ending(74, says));
    expect(at.files()).not.toContain('blocked.xlsx');
    expect(at.read('blocked.xlsx.part').split('\n')).toHaveLength(5);
  });
});

describe('--columns', () => {
  it.each([
    ['name,nope,score.scor', ['no record has "nope"\n', 'no record has "score.scor"\n']],
    ['name,website,linkedin_url', []],
    ['name,links.website', []],
  ])('%s: what no record has is named at the end', async (paths, says) => {
    for (const format of ['csv', 'jsonl', 'table']) {
      const result = await at.leadpipe(`${search} --columns ${paths} -f ${format}`);
      expect(result).toMatchObject(ending(0, ...says));
      expect(result.stderr.match(/--columns: /g) ?? []).toHaveLength(says.length);
    }
    expect((await at.leadpipe(`${search} --columns ${paths} --json-errors`)).stderr).toBe('');
  });
});

describe('--columns takes the headers of CSV, which hold the same cells:', () => {
  beforeAll(() => {
    at.write('rows.jsonl', '{"objective":"CTO of Nordlicht Pay","k":1}\n{"objective":"nobody","more":2}\n');
    at.write('questions.txt', 'fintech in Berlin\n');
    at.write('targets.txt', 'acme/rocket\n');
  });
  it.each<[line: string, changing?: string]>([
    // `score` is a path too, of the whole object.
    [`${search} --enrich-fields funding_stage`, 'score'],
    ['contact email "CTO of Nordlicht Pay" --local', 'created_at'],
    ['research "fintech in Berlin" --local'],
    ['enrich "Nordlicht Pay" --field headcount:integer --local'],
    ['extract x_followers zzz --limit 2 --local'],
    ['contact email --input rows.jsonl --local'],
    ['research --input questions.txt --local'],
    ['enrich --template {objective} --input rows.jsonl --field headcount:integer --local'],
    ['extract github_repo_stargazers --limit 2 --input targets.txt --local'],
  ])('%s', async (line, changing) => {
    const rowsAs = (more: string) => at.leadpipe(`${line} --csv-raw ${more}`);
    const [header = [], ...usual]: string[][] = parse((await rowsAs('-f csv')).stdout);
    const names = header.filter((name) => name !== changing).toReversed();
    const chosen = await rowsAs(`--columns ${names} -f csv`);
    expect(chosen.stderr).not.toContain('--columns');
    const cells = usual.map((row) => names.map((name) => row[header.indexOf(name)]));
    expect(parse(chosen.stdout)).toEqual([names, ...cells]);
    const [first = ''] = (await rowsAs(`--columns ${names} -f jsonl`)).stdout.split('\n');
    const flat = Object.entries(JSON.parse(first));
    expect(flat.map(([name]) => name)).toEqual(names);
    for (const [at, [, value]] of flat.entries()) {
      if (typeof value === 'string') expect(value).toBe(cells[0]?.[at]);
    }
  });
});

it('a schema is taken with and without its @', async () => {
  at.write('schema.json', '{"type":"object","properties":{"city":{"type":"string"}}}');
  for (const schema of ['schema.json', '@schema.json']) {
    const { code, stdout } = await at.leadpipe(`enrich x --schema ${schema} --local --dry-run`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"properties":{"city"') });
  }
});
