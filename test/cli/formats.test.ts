import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import readWorkbook from 'read-excel-file/node';
import { beforeAll, describe, expect, it } from 'vitest';
import { ending, failing } from '../helpers/ending.ts';
import { searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { startService } from '../helpers/local-service.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { writeSettings } from '../helpers/settings.ts';

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
      ['CTO of Nobody', null, null, 'not found'],
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

  it.each([
    ['xlsx', 243, 0],
    ['xlsx', 244, 74],
    ['db --append', 243, 0],
    ['db --append', 244, 74],
  ])(
    '%s with a name of %i characters ends with %i, and nothing is bought that can not be made',
    async (end, length, code) => {
      const { requests, ...own } = await machineWith(wholeStream(searchFrames([['{"name":"A"}']])));
      const [extension = ''] = end.split(' ');
      const name = `${'x'.repeat(length - 1 - extension.length)}.${end}`;
      const result = await own.leadpipe(`search company x --limit 1 -o ${name}`);
      expect(result).toMatchObject(ending(code, code === 0 ? '1 lead' : 'the name is too long'));
      expect([requests.length, own.files().length]).toEqual(code === 0 ? [1, 1] : [0, 0]);
    },
  );
});

describe('the cells of CSV', () => {
  const header = ['name', 'score'];
  const line = (delimiter: string, cells = header): string => `${cells.join(delimiter)}\r\n`;

  it('have commas between them, tabs in .tsv, and what --delimiter says', async () => {
    for (const [options, delimiter] of [
      ['-f csv', ','],
      ['-f csv --delimiter ;', ';'],
      ['-f csv --delimiter tab', '\t'],
      ['-f csv --delimiter semicolon', ';'],
      ['-f csv --delimiter comma', ','],
      ['-f csv --delimiter bar', '|'],
      ['-f csv --delimiter |', '|'],
      ['-o a.csv', ','],
      ['-o a.tsv', '\t'],
      ['-o a.tsv --delimiter ;', ';'],
      ['-o a.csv --delimiter ;', ';'],
    ] as const) {
      const { code, stdout } = await at.leadpipe(`${search} --columns ${header} ${options}`);
      const file = /(?<=-o )\S+/.exec(options)?.[0];
      const text = file === undefined ? stdout : at.read(file);
      expect({ options, code, text }).toMatchObject({
        code: 0,
        text: expect.stringMatching(`^${line(delimiter)}`),
      });
      expect(parse(text, { delimiter, columns: true })).toHaveLength(3);
    }
    for (const other of ['-f jsonl', '-o a.json', '-f table', '-o a.xlsx', '']) {
      const refused = ending(2, '--delimiter works only with csv, not with');
      expect(await at.leadpipe(`${search} ${other} --delimiter ;`)).toMatchObject(refused);
    }
    expect(await at.leadpipe(`${search} -f csv --delimiter x`)).toMatchObject(ending(2, 'delimiter "x"'));
  });

  it('that a spreadsheet would run are counted, once and for the CSV alone', async () => {
    const own = createMachine();
    own.write('ids.csv', 'objective,id\nAda,-DHNexample1\nBo,"a\n=1"\n');
    const list = 'contact email --input ids.csv --local';
    const says = /^2 cells got an apostrophe, .* To write them unchanged: --csv-raw\.$/m;
    for (const options of ['-f csv', '-o a.csv', '-o a.csv --append', '-o a.tsv'])
      expect(await own.leadpipe(`${list} ${options}`)).toMatchObject(ending(0, says));
    own.write('one.jsonl', '{"objective":"@a b"}\n');
    const one = await own.leadpipe('contact email --input one.jsonl --local -o b.csv');
    expect(one).toMatchObject(ending(0, '1 cell got an apostrophe, so that no spreadsheet runs it'));
    for (const options of [
      '-f csv -q',
      '-f csv --csv-raw',
      '-o a.xlsx',
      '-f jsonl',
      '-f csv --columns objective',
    ])
      expect((await own.leadpipe(`${list} ${options}`)).stderr).not.toContain('apostrophe');
  });

  // Excel splits where the input was split, and knows UTF-8 by the mark.
  it.each([
    ['semicolons and a mark', '\ufeffobjective;n\r\nÄda;1\r\n', 'utf8', '\ufeff', ';'],
    ['semicolons', 'objective;n\nÄda;1\n', 'utf8', '', ';'],
    ['a mark', '\ufeffobjective,n\nÄda,1\n', 'utf8', '\ufeff', ','],
    ['UTF-16 of Excel, with its mark and tabs', '\ufeffobjective\tn\nÄda\t1\n', 'utf16le', '\ufeff', ','],
    ['commas', 'objective,n\nÄda,1\n', 'utf8', '', ','],
    ['a mark before plain lines', '\ufeffÄda\n', 'utf8', '', ','],
  ] as const)(
    'are like those of the input of a list in its file alone: %s',
    async (_, text, encoding, mark, delimiter) => {
      const own = createMachine();
      writeFileSync(own.pathOf('list.csv'), text, encoding);
      const list = `contact email --input list.csv --local ${text.includes('n') ? '' : '--input-format text'}`;
      const begins = (start: string, between: string) =>
        expect.stringMatching(`^${start}objective${between}`);
      expect((await own.leadpipe(`${list} -o a.csv --errors e.csv`)).code).toBe(0);
      expect(own.read('a.csv')).toEqual(begins(mark, delimiter));
      expect(own.read('a.csv')).toContain(`Äda${delimiter}`);
      for (const [options, start, between] of [
        ['-o b.csv --delimiter ,', mark, ','],
        ['-o c.tsv', mark, '\t'],
      ] as const) {
        await own.leadpipe(`${list} ${options}`);
        expect(own.read(options.slice(3, 8))).toEqual(begins(start, between));
      }
      expect((await own.leadpipe(`${list} -f csv`)).stdout).toEqual(begins('', ','));
      await own.leadpipe(`${list} -o d.jsonl`);
      expect(own.read('d.jsonl')).toMatch(/^{"objective/);
      // Rows that are added go on as the file began, and are read again.
      expect((await own.leadpipe(`${list} -o a.csv --append`)).code).toBe(0);
      const [head, first, second, ...more] = own.read('a.csv').split('\r\n');
      expect([head, second, more]).toEqual([expect.not.stringContaining('Äda'), first, ['']]);
    },
  );

  it('are those of the file that rows are added to; another --delimiter is refused', async () => {
    for (const delimiter of [';', '\t', '|', ',']) {
      const before = `\ufeff${header.join(delimiter)}\nAda;${delimiter}1\n`;
      at.write('added.csv', before);
      const add = `${search} --columns ${header} -o added.csv --append`;
      expect(await at.leadpipe(add)).toMatchObject({ code: 0 });
      const text = at.read('added.csv');
      expect(text.slice(0, before.length)).toBe(before);
      const rows: string[][] = parse(text.slice(before.length), { delimiter });
      expect(rows.map((row) => row.length)).toEqual([2, 2, 2]);
      const other = delimiter === ';' ? 'tab' : ';';
      const refused = ending(2, 'added.csv has the columns', 'but these rows have name, score');
      expect(await at.leadpipe(`${add} --delimiter ${other}`)).toMatchObject(refused);
      expect(at.read('added.csv')).toBe(text);
    }
  });
});

describe('the name of the file and the format', () => {
  it.each([
    ['-o a.csv -f xlsx', 'a.csv was written as xlsx, although its name ends with .csv.'],
    ['-o a.jsonl -f csv', 'a.jsonl was written as csv, although its name ends with .jsonl.'],
    ['-o plain', 'plain was written as jsonl.'],
    ['-o plain -f md', 'plain was written as md.'],
    ['-o a.ndjson', undefined],
    ['-o a.txt -f csv', undefined],
    ['-o a.tsv', undefined],
    ['-o /dev/null', undefined],
  ])('%s: one line says what was written', async (options, says) => {
    const { code, stderr } = await at.leadpipe(`${search} ${options}`);
    expect({ code, lines: stderr.match(/.*was written as.*/g) ?? [] }).toEqual({
      code: 0,
      lines: says ? [says] : [],
    });
    expect((await at.leadpipe(`${search} ${options} -q`)).stderr).not.toContain('was written as');
  });
});

it('a table that the settings name is one on any screen, as with -f', async () => {
  const own = createMachine();
  const screen = { stdoutIsTerminal: true, columns: 20 };
  const asked = await own.leadpipe(`${search} -f table`, screen);
  expect((await own.leadpipe(search, screen)).stdout).not.toBe(asked.stdout);
  writeSettings(own.env, { format: 'table' });
  expect((await own.leadpipe(search, screen)).stdout).toBe(asked.stdout);
});

describe('--columns', () => {
  const items = 'extract github_repo_stargazers acme/rocket --limit 2 --local';
  const columns = (given: string) => `--columns ${JSON.stringify(given)}`;

  it.each([
    ['name,nope,links.web', ['no record has "nope", "links.web".']],
    ['name,k1,k2,k3,k4,k5,k6', ['no record has "k1", "k2", "k3", "k4", "k5" and 1 more.']],
    ['name,website,linkedin_url', []],
    ['name,links.website,Site=links.website,link', []],
  ])('%s: columns that no record has are named at the end', async (names, says) => {
    for (const format of ['csv', 'jsonl', 'table']) {
      const result = await at.leadpipe(`${search} --columns ${names} -f ${format}`);
      expect(result).toMatchObject(ending(0, ...says));
      expect(result.stderr.match(/--columns: /g) ?? []).toHaveLength(says.length);
    }
    expect((await at.leadpipe(`${search} --columns ${names} --json-errors`)).stderr).toBe('');
  });

  it('names the nearest name, and the command that prints the result again, which costs nothing', async () => {
    const { code, stderr } = await at.leadpipe(`${items} -f csv --columns Name=logim,url`);
    const [, says, again = ''] =
      /warning: (.*): leadpipe (history show op_\S+ --columns .*)/.exec(stderr) ?? [];
    expect({ code, says }).toEqual({
      code: 0,
      says: '--columns: no record has "logim". Did you mean "login"? To print it again, for free',
    });
    expect((await at.leadpipe(`${again} -f csv`)).stdout).toMatch(
      /^Name,url\r\n[^,\r]+,.+\r\n[^,\r]+,.+\r\n$/,
    );
  });

  it.each([
    [`${search} --columns name,webiste`, 'no column "webiste". Did you mean "website"?'],
    [`${search} --columns Site=linkedin`, 'no column "linkedin". Did you mean "linkedin_url"?'],
    [`${search} --columns score,nmae --dry-run`, 'no column "nmae". Did you mean "name"?'],
    ['task run company x --local --columns descripton', 'Did you mean "description"?'],
    ['contact email x --local --columns referense', 'Did you mean "reference"?'],
    ['history list --columns tme', 'no column "tme". Did you mean "time"?'],
    ['task list --columns leads_search_id,nope', 'no column "nope"\n'],
    ['balance --local --columns avaiable_credits', 'Did you mean "available_credits"?'],
    ['contact email --input known.csv --local --columns objective,nope', 'no column "nope"\n'],
    ['contact email --input known.csv --local --columns links.website', 'no column "links.website"\n'],
    ['contact email --input known.csv --local --columns emial --dry-run', 'Did you mean "email"?'],
    [`${search} --columns "name=Company name"`, 'goes on the left: "Company name=name"'],
    [`${search} --columns name,`, '--columns has an empty name'],
    [`${search} --columns =name`, '--columns has an empty name'],
    [`${search} --columns A=name,A=score`, '--columns has two columns called "A"'],
    [`${search} ${columns('"A,B"=name,"A,B"=score')}`, '--columns has two columns called "A,B"'],
    [`${search} ${columns('"A,B"=nmae')}`, 'no column "nmae". Did you mean "name"?'],
    [`${items} ${columns('"A,B=login,url')}`, '--columns: a quote is not closed: "A'],
    [`${items} ${columns('A="B" x,url')}`, '--columns: a quote is not closed: A="B" x'],
  ])('%s is refused, and nothing is bought', async (line, says) => {
    at.write('known.csv', 'objective,n\nAda,1\n');
    const bought = await at.history();
    expect(await at.leadpipe(line)).toMatchObject(ending(2, says));
    expect(await at.history()).toEqual(bought);
  });

  it('takes a name with a comma, an equals sign or a quote in quotes, as CSV does', async () => {
    at.write('odd.csv', 'objective,"City, State",a=b,"""q"""\nCTO of Nordlicht Pay,"Bonn, NW",1,2\n');
    const given = columns('"City, State", "A,=B" = "a=b",x="""q""",Place="City, State"');
    const list = await at.leadpipe(`contact email --input odd.csv --local -q ${given}`);
    expect(list).toMatchObject({ code: 0, stderr: '' });
    const place = 'Bonn, NW';
    expect(JSON.parse(list.stdout)).toEqual({ 'City, State': place, 'A,=B': '1', x: '2', Place: place });
    // What is suggested can be typed.
    const { stderr } = await at.leadpipe(`${items} -f csv ${columns('"N,a"=logim,url')}`);
    expect(stderr).toContain(`--columns '"N,a"=login,url'`);
  });

  it('gives each name what a screen shows under it, in every format', async () => {
    at.write('more.csv', 'objective,n\nCTO of Nordlicht Pay,1\n');
    const lead = '--columns Company=name,Score=score,Site=website';
    const cells = ['Nordlicht Pay', '0.99', 'https://www.nordlicht-pay.example'];
    const as = (format: string) => at.leadpipe(`${search} ${lead} -f ${format}`);
    const flat = { Company: cells[0], Score: cells[1], Site: cells[2] };
    expect(JSON.parse((await as('jsonl')).stdout.split('\n')[0] ?? '')).toEqual(flat);
    expect(JSON.parse((await as('json')).stdout)[0]).toEqual(flat);
    expect((await as('csv')).stdout).toMatch(`Company,Score,Site\r\n${cells}\r\n`);
    expect((await as('md')).stdout).toContain(
      `| Company | Score | Site |\n| --- | --- | --- |\n| ${cells[0]} | ${cells[1]} | <${cells[2]}> |`,
    );
    expect((await as('table')).stdout).toMatch(/Company +Score +Site\n.*\nNordlicht Pay +0\.99 +nordlicht/);
    await at.leadpipe(`${search} ${lead} -o chosen.xlsx`);
    expect((await rowsOf('chosen.xlsx')).slice(0, 2)).toEqual([
      ['Company', 'Score', 'Site'],
      [cells[0], 0.99, cells[2]],
    ]);
    // The names of single answers on a screen, and of lists.
    const one = await at.leadpipe(
      'contact email "CTO of Nordlicht Pay" --local --columns Mail=email,objective',
    );
    expect(JSON.parse(one.stdout)).toEqual({
      Mail: expect.stringContaining('@'),
      objective: 'CTO of Nordlicht Pay',
    });
    const none = await at.leadpipe('contact email "CTO of Nobody" --local --columns Mail=email');
    expect(JSON.parse(none.stdout)).toEqual({ Mail: null });
    expect(await at.leadpipe('history show --columns content=Mail')).toMatchObject(
      ending(2, 'goes on the left: "Mail=content"'),
    );
    const list = await at.leadpipe('contact email --input more.csv --local --columns Mail=email,n,nr=n');
    expect(JSON.parse(list.stdout)).toEqual({ Mail: expect.stringContaining('@'), n: '1', nr: '1' });
    const purchases = await at.leadpipe('history list --columns id=operation_id,list --limit 1 -f csv');
    expect(purchases.stdout).toMatch(/^id,list\r\nop_/);
  });
});

describe('--columns takes the headers of CSV, which hold the same cells:', () => {
  beforeAll(() => {
    at.write('rows.jsonl', '{"objective":"CTO of Nordlicht Pay","k":1}\n{"objective":"nobody","more":2}\n');
    at.write('questions.txt', 'fintech in Berlin\n');
    at.write('targets.txt', 'acme/rocket\n');
  });
  it.each<[line: string, changing?: string]>([
    [`${search} --enrich-fields funding_stage`],
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

describe('both parts of a name can be chosen', () => {
  const both = '--columns "First Name=first_name,Last Name=last_name" -f csv --local -q';
  const people = 'search person "CTOs in London" --limit 1 --local -q';

  it.each([
    ['a search for people', `${people.replace('--local -q', both)}`, 'Owen,Sinderby'],
    ['a table of people', `contact email --input people.csv ${both}`, 'Jan,van der Berg'],
    ['a table with the parts', `contact email --input parts.csv ${both}`, 'Ada,B. Example'],
    ['leads of people', `contact email --input leads.csv ${both}`, 'Owen,Sinderby'],
    ['leads of people in JSON lines', `contact email --input leads.jsonl ${both}`, 'Owen,Sinderby'],
  ])('of %s', async (_, line, row) => {
    at.write('people.csv', 'Full Name,Company\nJan van der Berg,Acme\n');
    at.write('parts.csv', 'name,first_name,last_name,company\nAda Example,Ada,B. Example,Acme\n');
    for (const file of ['leads.csv', 'leads.jsonl'])
      expect(await at.leadpipe(`${people} -o ${file}`)).toMatchObject({ code: 0 });
    const { code, stdout } = await at.leadpipe(line);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `First Name,Last Name\r\n${row}\r\n` });
  });

  it.each([
    ['table', /^name {2,}email\b.*\n[─ ]+\nJonas Reuter {2,}jonas\.reuter@/],
    ['cards', /^Jonas Reuter\nemail: jonas\.reuter@[^\n]*\nemail_reference: [^\n]*\nCompany: Nordlicht Pay$/],
  ])('and stand together for people, with -f %s', async (format, expected) => {
    at.write('parts.csv', 'Company,Last Name,First Name\nNordlicht Pay,Reuter,Jonas\n');
    const { stdout } = await at.leadpipe(`contact email --input parts.csv --local -f ${format}`);
    expect(stdout.trimEnd()).toMatch(expected);
  });

  it('of people alone', async () => {
    at.write('companies.csv', 'name,website\nVan Example,van.example\n');
    const list = await at.leadpipe(`contact email --input companies.csv ${both}`);
    expect(list).toMatchObject(failing(2, 'there is no column "first_name"'));
    const search = await at.leadpipe(
      `search company "dentists in Austin" --limit 1 ${both.replace(' -q', '')}`,
    );
    expect(search.stderr).toContain('no record has "first_name", "last_name"');
  });
});

it('a schema is taken with and without its @', async () => {
  at.write('schema.json', '{"type":"object","properties":{"city":{"type":"string"}}}');
  for (const schema of ['schema.json', '@schema.json']) {
    const { code, stdout } = await at.leadpipe(`enrich x --schema ${schema} --local --dry-run`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"properties":{"city"') });
  }
});
