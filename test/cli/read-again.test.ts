import { parse } from 'csv-parse/sync';
import { marked, type Token, type Tokens } from 'marked';
import { beforeAll, expect, it } from 'vitest';
import { createMachine } from '../helpers/machine.ts';

/** The output of any command can be the input of a list: the same records in the same order, in every format. */

const at = createMachine();
const local = '--local --limit 2';

beforeAll(async () => {
  at.write('people.csv', "objective;zip\r\nCTO of Nordlicht Pay;02139\r\n-x;'=1\r\n");
  at.write('leads.jsonl', '{"objective":"Nordlicht Pay","id":12345678901234567890,"more":[{"a":1.10}]}\n');
  await at.leadpipe(`task run company fintech ${local} --list fintechs --poll-interval 0.05 -o task.jsonl`);
});

/** The records that a list reads from a file: each row of its output begins with them. */
async function readAgain(file: string, first: string): Promise<Record<string, unknown>[]> {
  const args = [
    'contact',
    'email',
    '--input',
    file,
    '--template',
    `x {${first}}`,
    '--local',
    '-f',
    'jsonl',
    '-q',
  ];
  const { stdout, stderr } = await at.leadpipe(args);
  expect({ file, stderr }).toEqual({ file, stderr: '' });
  return toRecords(stdout);
}

/** Numbers as they are written: above 2^53, JSON.parse would round them. */
function toRecords(lines: string): Record<string, unknown>[] {
  const exact = (line: string) =>
    line.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
      token.startsWith('"') ? token : `"#${token}"`,
    );
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(exact(line)));
}

/** A table of Markdown, as another reader of it shows its cells. */
function toRows(markdown: string): Record<string, string>[] {
  const textOf = ({ raw, ...token }: Token): string =>
    raw === '<br>' ? '\n' : 'text' in token ? token.text.replace('&lt;', '<').replace('&amp;', '&') : raw;
  const toTexts = (row: readonly Tokens.TableCell[]) => row.map(({ tokens }) => tokens.map(textOf).join(''));
  const { header, rows } = marked.lexer(markdown)[0] as Tokens.Table;
  const names = toTexts(header);
  return rows.map((row) => Object.fromEntries(toTexts(row).map((text, at) => [names[at], text])));
}

it.each([
  `search company "fintech in Berlin" ${local} --enrich-fields funding_stage,=x`,
  `search company "fintech in Berlin" ${local} --columns "Firma=name,Score=score,links"`,
  'task wait --local --poll-interval 0.05',
  'contact email "CTO of Nordlicht Pay" --local',
  'research "fintech in Berlin" --local',
  'enrich "Nordlicht Pay" --field headcount:integer --field city:string --local',
  `extract github_repo_stargazers acme/rocket ${local}`,
  'contact email --input people.csv --local',
  'enrich --input leads.jsonl --field headcount:integer --template {objective} --local',
  `extract github_repo_stargazers ${local} --input people.csv --template acme/rocket{zip}`,
  'history list --limit 3',
  'history lists',
  'task list',
  'balance --local',
])('%s', async (line) => {
  const { stdout: ids } = await at.leadpipe('task list -f jsonl --columns leads_search_id');
  const command = line.replace('task wait', `task wait ${JSON.parse(ids).leads_search_id}`);
  const delimiter = line.includes('people.csv') ? ';' : ',';
  const readers: Record<string, (text: string) => Record<string, unknown>[]> = {
    'a.csv': (text) => parse(text, { bom: true, columns: true, delimiter }),
    'a.jsonl': toRecords,
    'a.json': (text) => toRecords(text.replace(/^\[\n {2}|,(?=\n)|\n]\n$/g, '')),
    // An answer of research is a text with its sources there, and no list.
    ...(line.startsWith('research "') ? {} : { 'a.md': toRows }),
  };
  for (const [file, toExpected] of Object.entries(readers)) {
    const { code, stderr } = await at.leadpipe(`${command} -o ${file}`);
    expect({ file, code, stderr: code === 0 ? '' : stderr }).toEqual({ file, code: 0, stderr: '' });
    const expected = toExpected(at.read(file));
    const [first = ''] = Object.keys(expected[0] ?? {});
    const found = await readAgain(file, first.replace(/^'/, ''));
    expect(found.length, file).toBe(expected.length);
    for (const [at, record] of expected.entries()) {
      const plain = Object.entries(record).map(([name, value]) =>
        file === 'a.csv'
          ? [name.replace(/^'=/, '='), String(value).replace(/^'(?=[=-])/, '')]
          : [name, value],
      );
      expect(Object.entries(found[at] ?? {}).slice(0, plain.length), file).toEqual(plain);
    }
  }
});

it('an empty input leaves a filled output as it is', async () => {
  at.write('empty.csv', 'objective\n');
  at.write('filled.csv', 'yesterday');
  const { code, stderr } = await at.leadpipe('contact email --input empty.csv --local -o filled.csv');
  const says = 'filled.csv was not changed, because this run received no records';
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(says) });
  expect(at.read('filled.csv')).toBe('yesterday');
});

// To the byte: apostrophes, controls, and headers that are repeated, empty or have spaces around them.
it('--csv-raw gives back what was read, and sends it without the apostrophes', async () => {
  const input = [
    " name ,,name,'=sum,objective",
    "Ada \u0007,'=1,-5,''=2,'=x",
    "' ,\u202e=1;'-2,@SUM(1),'x,Bo",
  ].map((row) => row.split(','));
  at.write('raw.csv', input.map((row) => `${row.join(',')}\n`).join(''));
  const contacts = 'contact email --input raw.csv --local -q';
  const { stdout } = await at.leadpipe(`${contacts} --csv-raw -f csv`);
  const rows: string[][] = parse(stdout);
  expect(rows.map((row) => row.slice(0, 5))).toEqual(input);
  const dry = await at.leadpipe(`${contacts} --csv-raw --dry-run`);
  expect(JSON.parse(dry.stdout).body.objective).toBe('=x');
  at.write('raw.md', "| objective |\n| --- |\n| '=x |\n");
  const markdown = await at.leadpipe('contact email --input raw.md --local -q --csv-raw --dry-run');
  expect(JSON.parse(markdown.stdout).body.objective).toBe("'=x");
  // Rows are added under the same header.
  for (const name of ['once.csv', 'twice.csv']) await at.leadpipe(`${contacts} --csv-raw -o ${name}`);
  expect((await at.leadpipe(`${contacts} --csv-raw -o twice.csv --append`)).code).toBe(0);
  const [head, ...body] = at.read('once.csv').split(/(?<=\n)/);
  expect(at.read('twice.csv')).toBe([head, ...body, ...body].join(''));
});
