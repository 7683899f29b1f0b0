import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import readWorkbook from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { startService } from '../helpers/local-service.ts';
import { bareEnvironment, temporaryFolder } from '../helpers/run.ts';

const env = bareEnvironment();
const folder = temporaryFolder();
const file = (name: string): string => join(folder, name);
let purchases = 0;
/** In one process all runs would have the same generated key. */
const leadpipe = (args: string[]) =>
  runInProcess(
    args.includes('--local') && !args.includes('--input')
      ? [...args, '--idempotency-key', `purchase-${++purchases}`]
      : args,
    {
      env,
    },
  );
const search = ['search', 'company', 'fintech in Berlin', '--limit', '3', '--local'];

async function rowsOf(name: string) {
  const [sheet] = await readWorkbook(readFileSync(file(name)));
  return sheet?.data ?? [];
}

describe('a workbook', () => {
  it('holds the leads of a search, and history shows the same one again', async () => {
    expect(await leadpipe([...search, '-o', file('leads.xlsx')])).toMatchObject({ code: 0, stdout: '' });
    const [header, ...rows] = await rowsOf('leads.xlsx');
    expect(header?.slice(0, 3)).toEqual(['name', 'description', 'score']);
    expect(rows).toHaveLength(3);
    const [{ operation_id: operation }] = JSON.parse(
      (await leadpipe(['history', 'list', '-f', 'json'])).stdout,
    );
    await leadpipe(['history', 'show', operation, '-o', file('again.xlsx')]);
    expect(readFileSync(file('again.xlsx')).equals(readFileSync(file('leads.xlsx')))).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(['again.xlsx', 'leads.xlsx']);
  });

  it('holds a list, one answer, and a task', async () => {
    writeFileSync(file('people.txt'), 'CTO of Nordlicht Pay\nCTO of Nobody\n');
    const list = ['contact', 'email', '--input', file('people.txt'), '--local', '-q'];
    expect(await leadpipe([...list, '-o', file('list.xlsx')])).toMatchObject({ code: 0, stderr: '' });
    expect(await rowsOf('list.xlsx')).toMatchObject([
      ['objective', 'email', 'email_reference', 'email_error'],
      ['CTO of Nordlicht Pay', expect.stringContaining('@'), expect.stringContaining('https:'), null],
      ['CTO of Nobody', null, null, null],
    ]);
    const one = ['contact', 'email', 'CTO of Nordlicht Pay', '--local', '-o', file('one.xlsx')];
    expect(await leadpipe(one)).toMatchObject({ code: 0 });
    expect((await rowsOf('one.xlsx'))[0]?.slice(0, 2)).toEqual(['contact_type', 'objective']);
    const task = ['task', 'run', 'company', 'fintech', '--limit', '2', '--poll-interval', '0.05', '--local'];
    expect(await leadpipe([...task, '-o', file('task.xlsx')])).toMatchObject({ code: 0 });
    expect(await rowsOf('task.xlsx')).toHaveLength(3);
  });

  it('is not added to, and a text that is too long for it is cut with a warning', async () => {
    const refused = await leadpipe([...search, '-o', file('leads.xlsx'), '--append']);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--append works only with csv and jsonl files, not with xlsx'),
    });
    const lead = { name: 'Acme', description: `fintech ${'x'.repeat(40_000)}` };
    const service = await startService({ leads: [JSON.stringify(lead)] });
    const { code, stderr } = await runInProcess(['search', 'company', 'fintech', '-o', file('long.xlsx')], {
      env: service.env(),
    });
    await service.close();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('32767 characters: longer texts were cut'),
    });
    expect(String((await rowsOf('long.xlsx'))[1]?.[1])).toHaveLength(32_767);
  });

  it('that can not be made leaves its rows, and says where they are', async () => {
    const target = file('blocked.xlsx');
    // A folder in the place of what is made.
    const { mkdirSync } = await import('node:fs');
    mkdirSync(join(`${target}.part.made`, 'x'), { recursive: true });
    const { code, stderr } = await leadpipe([...search, '-o', target]);
    expect({ code, stderr }).toEqual({
      code: 74,
      stderr: expect.stringContaining(`The rows are in ${target}.part.`),
    });
    expect(existsSync(target)).toBe(false);
    expect(readFileSync(`${target}.part`, 'utf8').split('\n')).toHaveLength(5);
  });
});

describe('--columns', () => {
  it.each([
    [['name,nope,score.scor'], ['no record has "nope"\n', 'no record has "score.scor"\n']],
    [['name,website,linkedin_url'], []],
    [['name,links.website'], []],
  ])('%j: what no record has is named at the end', async ([paths = ''], says) => {
    for (const format of ['csv', 'jsonl', 'table']) {
      const { code, stderr } = await leadpipe([...search, '--columns', paths, '-f', format]);
      expect(code).toBe(0);
      expect(stderr.match(/--columns: /g) ?? []).toHaveLength(says.length);
      for (const words of says) expect(stderr).toContain(words);
    }
    expect((await leadpipe([...search, '--columns', paths, '--json-errors'])).stderr).toBe('');
  });
});

describe('--columns takes the headers of CSV, which hold the same cells:', () => {
  const inputs = temporaryFolder();
  const rows = join(inputs, 'rows.jsonl');
  writeFileSync(rows, '{"objective":"CTO of Nordlicht Pay","k":1}\n{"objective":"nobody","more":2}\n');
  writeFileSync(join(inputs, 'questions.txt'), 'fintech in Berlin\n');
  writeFileSync(join(inputs, 'targets.txt'), 'acme/rocket\n');
  const field = ['--field', 'headcount:integer'];
  it.each([
    // `score` is a path too, of the whole object.
    ['search', [...search, '--enrich-fields', 'funding_stage'], ['score']],
    ['contact', ['contact', 'email', 'CTO of Nordlicht Pay', '--local'], ['created_at']],
    ['research', ['research', 'fintech in Berlin', '--local'], []],
    ['enrich', ['enrich', 'Nordlicht Pay', ...field, '--local'], []],
    ['extract', ['extract', 'x_followers', 'zzz', '--limit', '2', '--local'], []],
    ['a list of contacts', ['contact', 'email', '--input', rows, '--local'], []],
    ['a list of questions', ['research', '--input', join(inputs, 'questions.txt'), '--local'], []],
    ['a list to enrich', ['enrich', '--template', '{objective}', '--input', rows, ...field, '--local'], []],
    [
      'a list of targets',
      [
        'extract',
        'github_repo_stargazers',
        '--limit',
        '2',
        '--input',
        join(inputs, 'targets.txt'),
        '--local',
      ],
      [],
    ],
  ])('%s', async (_, args, changing: readonly string[]) => {
    const { parse } = await import('csv-parse/sync');
    const [header, ...usual] = parse(
      (await leadpipe([...args, '-f', 'csv', '--csv-raw'])).stdout,
    ) as string[][];
    const names = header?.filter((name) => !changing.includes(name)).toReversed() ?? [];
    const chosen = ['--columns', names.join(','), '--csv-raw'];
    const { stdout, stderr } = await leadpipe([...args, ...chosen, '-f', 'csv']);
    expect(stderr).not.toContain('--columns');
    const cells = usual.map((row) => names.map((name) => row[header?.indexOf(name) ?? 0]));
    expect(parse(stdout)).toEqual([names, ...cells]);
    const [first] = (await leadpipe([...args, ...chosen, '-f', 'jsonl'])).stdout.split('\n');
    const flat = JSON.parse(first ?? '', (_key, value, context?: { source?: string }) =>
      typeof value === 'number' ? (context?.source ?? value) : value,
    );
    expect(Object.keys(flat)).toEqual(names);
    for (const [at, value] of Object.values(flat).entries()) {
      if (typeof value === 'string') expect(value).toBe(cells[0]?.[at]);
    }
  });
});

it('a schema is taken with and without its @', async () => {
  writeFileSync(file('schema.json'), '{"type":"object","properties":{"city":{"type":"string"}}}');
  for (const schema of [file('schema.json'), `@${file('schema.json')}`]) {
    const { code, stdout } = await leadpipe(['enrich', 'x', '--schema', schema, '--local', '--dry-run']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"properties":{"city"') });
  }
});
