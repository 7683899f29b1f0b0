import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import type { Stop } from '../../src/operations/kinds/list-stop.ts';
import { createSlots } from '../../src/operations/kinds/request-slots.ts';
import { machineClock } from '../helpers/clock.ts';
import { recordsIn, runInProcess } from '../helpers/fake-context.ts';
import {
  contacts,
  cwd,
  ending,
  env,
  leadpipe,
  operationsFolder,
  paid,
  read,
  serve,
  service,
  setEnv,
  write,
} from '../helpers/lists.ts';
import { createGate } from '../helpers/row-service.ts';
import { command, resultOf, run, start, temporaryFolder, until } from '../helpers/run.ts';
import { makeWorkbook } from '../helpers/workbooks.ts';

const found = (objective: string) => ({
  content: `${objective.toLowerCase().replace(/\W+/g, '.')}@example.com`,
  reference: null,
});

describe('an input', () => {
  it.each([
    ['csv', 'list.csv', 'objective,id\nAda,1\n"Bo, Berlin",2\n', []],
    ['csv with semicolons', 'list.csv', 'id;objective\n1;Ada\n2;Bo, Berlin\n', []],
    ['csv with another case of letters', 'list.txt', 'ID;Objective\n1;Ada\n2;Bo, Berlin\n', []],
    ['csv with empty lines of a spreadsheet', 'list.csv', 'objective;id\nAda;1\n;\n ;\t\nBo, Berlin;2\n', []],
    ['csv with tabs, by its extension', 'list.tsv', 'id\tobjective\n1\tAda\n2\tBo, Berlin\n', []],
    ['csv whose lines end differently', 'list.csv', 'objective,id\r\nAda,1\n"Bo, Berlin",2\r', []],
    ['csv by its content', 'list', 'id|objective\n1|Ada\n2|Bo, Berlin\n', []],
    [
      'csv with the mark of UTF-8 and CRLF',
      'list.csv',
      '\ufeffobjective,id\r\nAda,1\r\n"Bo, Berlin",2\r\n',
      [],
    ],
    ['jsonl', 'list.jsonl', '{"objective":"Ada","id":"1"}\n\n{"objective":"Bo, Berlin","id":"2"}', []],
    ['an array', 'list.json', '[\n{"objective":"Ada"},\n{"objective":"Bo, Berlin"}]', []],
    ['an array on one line', 'list', '[{"objective":"Ada"},{"objective":"Bo, Berlin"}]\n', []],
    ['an array of texts', 'list', '["Ada", "Bo, Berlin"]\n', []],
    [
      'an object with an array',
      'list.json',
      '{"n":2,"of":[{"objective":"Ada"},{"objective":"Bo, Berlin"}]}',
      [],
    ],
    [
      'an indented one',
      'list',
      '{\n "n": ["x"],\n "of": [\n{"objective":"Ada"},\n{"objective":"Bo, Berlin"}\n]\n}',
      [],
    ],
    ['indented objects', 'list', '{\n  "objective": "Ada"\n}\n{\n  "objective": "Bo, Berlin"\n}\n', []],
    [
      'an array of several',
      'list.json',
      '{"a":[{}],"b":[{"objective":"Ada"},{"objective":"Bo, Berlin"}]}',
      ['--table', 'b'],
    ],
    [
      'the answer of an API on one line',
      'list',
      '{"count":2,"next":null,"results":[{"objective":"Ada"},{"objective":"Bo, Berlin"}]}\n',
      [],
    ],
    [
      'the answer of an API with its array further in',
      'list',
      '{"ok":true,"data":{"page":{"n":1},"items":[{"objective":"Ada"},{"objective":"Bo, Berlin"}]}}\n',
      [],
    ],
    [
      'objects by their keys',
      'list.json',
      '{"a":{"objective":"Ada"},"b":{"objective":"Bo, Berlin","n":1}}',
      [],
    ],
    [
      'objects by their keys on lines of their own',
      'list',
      '{\n "Ada": {"n": 1, "key": 2},\n "Bo, Berlin": {"n": 1}\n}\n',
      ['--template', '{key_2}'],
    ],
    [
      'objects by their keys, which are sent',
      'list',
      '{"Ada":{"n":1},"Bo, Berlin":{"n":2}}',
      ['--template', '{key}'],
    ],
    ['lists of one text', 'list.jsonl', '{"of":["Ada"]}\n{"of":[ "Bo, Berlin" ]}\n', ['--template', '{of}']],
    ['csv below a title', 'list.csv', 'Prospects\n\nobjective;id\nAda;1\nBo, Berlin;2\n', []],
    [
      'a table below a title that is a name of a column',
      'list',
      'Contact\n\nname,objective\nx,Ada\ny,"Bo, Berlin"\n',
      [],
    ],
    ['csv that says its delimiter', 'list', 'sep=;\r\nobjective;id\r\nAda;1\r\nBo, Berlin;2\r\n', []],
    [
      'csv without a header',
      'list.csv',
      'Ada,1\n"Bo, Berlin",2\n',
      ['--header-row', '0', '--template', '{column 1}'],
    ],
    [
      'csv whose header is said',
      'list.csv',
      'x\ny,objective\n1,Ada\n2,"Bo, Berlin"\n',
      ['--header-row', '2'],
    ],
    ['tab-separated text', 'list.txt', 'wer\tNr\nAda\t1\nBo, Berlin\t2\n', ['--template', '{wer}']],
    [
      'csv whose header has odd names, one of which a template names',
      'list.csv',
      '"a""b",Größe (€),name,Name,objective,\nx,1,y,z,Ada,5\nx,2,y,z,"Bo, Berlin",6\n',
      ['--template', '{objective}'],
    ],
    [
      'csv below a title, whose header a template names',
      'list.csv',
      'Liste,\nwer,Nr\nAda,1\n"Bo, Berlin",2\n',
      ['--template', '{wer}'],
    ],
    ['csv of one column without a known name', 'list.csv', 'Ada\n"Bo, Berlin"\n', []],
    [
      'a sheet of one column without a known name',
      'list.xlsx',
      makeWorkbook({ sheets: [{ name: 'L', rows: [['Ada'], ['Bo, Berlin']] }] }),
      [],
    ],
    ['lines', 'list.txt', 'Ada\r\nBo, Berlin\n', []],
    ['lines by its content', 'list', 'Ada\nBo, Berlin\n', []],
    [
      'csv with lines that show nothing',
      'list.csv',
      'objective,id\r\nAda,1\r\n\u00a0,\u200b\r\n\u00ad\r\n"Bo, Berlin",2\r\n\ufeff,\r\n\u001a',
      [],
    ],
    [
      'jsonl with lines that show nothing',
      'list.jsonl',
      '{"objective":"Ada"}\n\u200b\n{"objective":"Bo, Berlin"}\n\u001a',
      [],
    ],
    ['lines with some that show nothing', 'list.txt', 'Ada\n\u2060\n\u200b \nBo, Berlin\n\u001a', []],
    [
      'an array before the mark of the end in old files',
      'list.json',
      '[{"objective":"Ada"},{"objective":"Bo, Berlin"}]\n\u001a',
      [],
    ],
    [
      'several csv files in one',
      'list.csv',
      '\ufeffobjective,id\r\nAda,1\r\n\ufeffobjective,id\r\n"Bo, Berlin",2\r\n"objective","id"\r\n',
      [],
    ],
    [
      'two Markdown tables in one',
      'list.md',
      '| objective | id |\n| --- | --- |\n| Ada | 1 |\n| objective | id |\n| --- | --- |\n| Bo, Berlin | 2 |\n',
      [],
    ],
    ['lines, because it is said', 'list.csv', 'Ada\nBo, Berlin\n', ['--input-format', 'text']],
  ])('is %s', async (_, name, text, more) => {
    write(name, text);
    const { code, stdout } = await contacts('--input', name, ...more);
    expect(code).toBe(0);
    expect(paid()).toEqual(['Ada', 'Bo, Berlin']);
    expect(recordsIn(stdout)).toMatchObject([{ email: found('Ada') }, { email: found('Bo, Berlin') }]);
  });

  it('of indented JSON is read from a pipe, and an item that is no object costs itself alone', async () => {
    const text = '[\n  {\n    "objective": "Ada"\n  },\n  7,\n  {"objective": "Bo"}\n';
    const { code, stdout } = await leadpipe(['contact', 'email', '--input', '-', '-f', 'jsonl'], text);
    expect(code).toBe(3);
    expect(paid()).toEqual(['Ada', 'Bo']);
    expect(recordsIn(stdout)).toMatchObject([
      { email: found('Ada') },
      { email_error: expect.stringContaining('line 5 is not a JSON object') },
      { email: found('Bo') },
      { email_error: expect.stringContaining('line 7 is incomplete') },
    ]);
  });

  it.each<[name: string, text: string, more: readonly string[], sent: string]>([
    ['of one line', '{"name":"Ada","links":[{"url":"https://a.example"}]}\n', [], 'Ada, https://a.example'],
    ['with parts', '{"person":{"n":"Ada"},"firm":{"n":"Acme"}}', ['--template', '{person.n}'], 'Ada'],
    ['with known parts', '{"name":{"name":"Ada"},"company":{"name":"Acme"}}', [], 'Ada, Acme'],
    ['with parts that differ', '{"a":{"n":"Ada"},"b":{"m":1}}', ['--template', '{a.n}{b.m}'], 'Ada1'],
    ['with one link', '{"name":"Ada","links":["https://a.example/b"]}', [], 'Ada, https://a.example/b'],
    ['with one domain', '{"company":"Ada","domains":["a.example"]}', [], 'Ada (a.example)'],
    ['with a list that is named', '{"of":[{"n":"Ada"}]}\n', ['--template', '{of.0.n}'], 'Ada'],
  ])('of a single object is one row: %s', async (_, text, more, sent) => {
    await leadpipe(['contact', 'email', '--input', '-', '-f', 'jsonl', ...more], text);
    expect(paid()).toEqual([sent]);
  });

  it('whose header was found below other lines says how many are not read', async () => {
    write('list.csv', 'Prospects\n\nname,objective\nx,Ada\ny,Bo\n');
    const says = 'The header of list.csv is line 3 (name, objective): 1 line above it is not read.\n';
    expect((await contacts('--input', 'list.csv')).stderr).toContain(says);
    expect((await contacts('--input', 'list.csv', '--header-row', '3')).stderr).not.toContain('not read');
    expect(paid()).toEqual(['Ada', 'Ada', 'Bo', 'Bo']);
  });

  it.each([
    ['--into', 'Arbeit'],
    ['--into', 'Arbeit', '--only-missing'],
    ['--columns', 'Wer=Startup,Arbeit'],
  ])('has its header where %s names a column', async (...more) => {
    write('list.csv', 'Liste,\nStartup,Arbeit\nAda,\n');
    expect(await contacts('--input', 'list.csv', ...more)).toMatchObject(
      ending(0, 'is line 2 (Startup, Arbeit)'),
    );
    expect(paid()).toEqual(['Ada']);
  });

  const people = 'Name,Arbeitet bei,Id\nAda Example,Acme,7\n';
  it.each([
    ['a text without a company', people, [], 'sent for row 1: Ada Example · not used: Arbeitet bei, Id\n'],
    [
      'a template without one',
      people,
      ['--template', '{Name} ({Id})'],
      'Ada Example (7) · not used: Arbeitet bei\n',
    ],
    [
      'a company that is empty',
      'Name,Firma,Ort,Bei\nAda,-,Rom,Acme\n',
      [],
      'sent for row 1: Ada, Rom · not used: Bei\n',
    ],
    ['a dry run', people, ['--dry-run'], 'not used for the first row: Arbeitet bei, Id\n'],
    ['a company', 'Name,Firma,Id\nAda,Acme,7\n', [], 'sent for row 1: Ada, Acme\n'],
    ['a website', 'Name,Web,Id\nAda,acme.example,7\n', [], 'sent for row 1: Ada, acme.example\n'],
    ['a link', people, ['--template', '{Name} https://{Arbeitet bei}.example'], 'https://Acme.example\n'],
    ['no other columns', 'Name\nAda\n', [], 'sent for row 1: Ada\n'],
    ['a text of its own', 'objective,Id\nAda,7\n', [], 'sent for row 1: Ada\n'],
  ])(
    'says in its first line which columns a contact lookup does not use: %s',
    async (_, text, more, says) => {
      write('list.csv', text);
      expect(await contacts('--input', 'list.csv', ...more)).toMatchObject(ending(0, says));
    },
  );

  it.each(['\n', '\r\n', '\r'])('of JSON with the line ends %j is told of by its lines', async (end) => {
    for (const text of [
      '[\n{"objective":"Ada"},\n{"objective":" "}\n]',
      '{"n":1,\n"of":[\n{"objective":" "},{"objective":"Ada"}]}',
    ]) {
      write('list.json', text.replaceAll('\n', end));
      const { stderr } = await contacts('--input', 'list.json', '-o', 'out.jsonl');
      expect(stderr).toContain(', line 3: ');
    }
  });

  it('that repeats its header says how often, once', async () => {
    const note = 'list.csv repeats its header in 2 rows, which were left out.';
    const text = 'name,objective\nx,Ada\nname,objective\ny,Name\nname,objective\n';
    write('list.csv', text);
    for (const more of [[], ['--dry-run']]) {
      const { stderr } = await contacts('--input', 'list.csv', ...more);
      expect(stderr.split(note)).toHaveLength(2);
    }
    expect(paid()).toEqual(['Ada', 'Name']);
    const names = await leadpipe([
      'search',
      'company',
      'x',
      '--dry-run',
      '--dedup-custom-leads',
      '@list.csv',
    ]);
    expect(names.stderr).toContain(`--dedup-custom-leads: ${note}`);
    expect(JSON.parse(names.stdout).body.dedup_custom_leads).toEqual(['x', 'y']);
    write('list.csv', 'objective\nAda\nobjective\n');
    expect(await contacts('--input', 'list.csv')).toMatchObject(
      ending(0, 'list.csv repeats its header in 1 row, which was left out.'),
    );
  });

  it('leaves out comment lines in a table of several columns, and says how many', async () => {
    write(
      'list.csv',
      'id,objective,n\n# old ones\n1,Ada,\n# by x, y\n"#",,\n#1 of all,Bo,\n#2,,\n2,# of all,\n',
    );
    const result = await contacts('--input', 'list.csv', '--template', '{id} {objective}');
    expect(result).toMatchObject(ending(0, 'list.csv has 3 comment lines, which were left out.'));
    expect(paid()).toEqual(['#1 of all Bo', '#2', '1 Ada', '2 # of all']);
    write('list.csv', 'objective\n# 1\n');
    await contacts('--input', 'list.csv');
    expect(paid()).toContain('# 1');
  });

  const header =
    'The first line of standard input is its header, and is not sent. To send it too: --input-format text.';
  it.each(['name', 'Name', 'NAME ', '"name"', 'Company', 'Firma', 'Société', 'Nombre completo', 'objective'])(
    'of lines below the header %s does not send it',
    async (first) => {
      const text = `${first}\nAda, CTO\n"Bo ""B"", Berlin"\n`;
      const { code, stderr } = await leadpipe(['contact', 'email', '--input', '-'], text);
      expect(code).toBe(0);
      expect(paid()).toEqual(['Ada, CTO', 'Bo "B", Berlin']);
      expect(stderr.split(header)).toHaveLength(first === 'objective' ? 1 : 2);
      write('list.txt', text);
      const preview = await contacts('--input', 'list.txt', '--dry-run');
      expect(JSON.parse(preview.stdout).body.objective).toBe('Ada, CTO');
    },
  );

  it.each([
    ['email\nada@acme.example\n', 'no column "objective"'],
    ['query\nWho leads Acme?\n', 'no column "objective"'],
    ['Telefon\n+49 30 1\n', 'no column "objective"'],
  ])('of lines below a header without a usable column (%j) is refused', async (text, message) => {
    const ended = await leadpipe(['contact', 'email', '--input', '-'], text);
    expect(ended).toMatchObject(ending(2, message, 'The first line is its header', '--input-format text'));
    expect(service.requests()).toBe(0);
  });

  it.each([
    ['a line alone', 'name\n', [], ['name']],
    ['a line alone without an end', '\nname', [], ['name']],
    ['lines, because it is said', 'email\nphone\n', ['--input-format', 'text'], ['email', 'phone']],
    ['a line that is more than a name', 'Company of Ada\nName: Ada\n', [], ['Company of Ada', 'Name: Ada']],
    ['a company whose name is one of a column', 'GitHub\nStripe\n', [], ['GitHub', 'Stripe']],
    ['handles of such a company', 'GitHub\nhttps://github.example/ada\n', [], []],
  ])('of %s', async (_, text, more, sent) => {
    const { stderr } = await leadpipe(['contact', 'email', '--input', '-', ...more], text);
    expect(paid()).toEqual(sent);
    expect(stderr).not.toContain(header);
  });

  it('of lines keeps its lines, although the first is damaged', async () => {
    write('list.jsonl', '{"objective":"Ada"\n{"objective":"Bo"}\n');
    expect(await contacts('--input', 'list.jsonl')).toMatchObject({ code: 3 });
    expect(paid()).toEqual(['Bo']);
  });

  it.each(['utf16le', 'utf16be'])('is %s with its mark', async (encoding) => {
    const bytes = Buffer.from('\ufeffobjective,id\nÄda,1\n', 'utf16le');
    write('list.csv', encoding === 'utf16le' ? bytes : bytes.swap16());
    expect(await contacts('--input', 'list.csv')).toMatchObject({ code: 0 });
    expect(paid()).toEqual(['Äda']);
  });

  it.each([
    ['Latin-1', Buffer.from('objective\nJos\xe9\n', 'latin1'), [], 'is not UTF-8 text'],
    ['UTF-16 without its mark', Buffer.from('objective\nAda\n', 'utf16le'), [], 'is not UTF-8 text'],
    [
      'without a column to send',
      Buffer.from('a,b\n1,2\n'),
      ['--input-format', 'csv'],
      'no column "objective"',
    ],
    ['with nothing to send', Buffer.from('{"a":1}\n'), [], 'no field "objective"'],
  ])('that is %s is refused, and costs nothing', async (_, bytes, more, message) => {
    write('list', bytes);
    expect(await contacts('--input', 'list', ...more)).toMatchObject(ending(2, message));
    expect(service.requests()).toBe(0);
  });

  it.each([
    ['', ''],
    [' \n\n', ''],
    ['\ufeffid,objective\r\n', '\ufeffid,objective,'],
    ['name,website,links\n', 'name,website,links,'],
  ])('without rows (%j), like the output of a search without results, is complete', async (text, own) => {
    write('list.csv', text);
    expect(await contacts('--input', 'list.csv', '-o', 'out.csv')).toMatchObject(
      ending(0, 'out.csv: 0 rows'),
    );
    expect(read('out.csv')).toBe(`${own}email,email_reference,email_error\r\n`);
    const piped = await leadpipe(['contact', 'email', '--input', '-'], text);
    expect(piped).toMatchObject({ code: 0, stdout: '' });
    expect(service.requests()).toBe(0);
  });

  it('of leads says by itself what to send, and keeps every number as it is', async () => {
    const lead = '{"name":"Acme","links":{"website":"https://acme.example"},"id":12345678901234567890}';
    const { stdout } = await run(['contact', 'email', '--input', '-'], { env, cwd, stdin: `${lead}\n` });
    expect(paid()).toEqual(['Acme, https://acme.example']);
    expect(stdout).toBe(
      `${lead.slice(0, -1)},"email":{"content":"acme.https.acme.example@example.com","reference":null}}\n`,
    );
  });

  it('has a template for what is sent', async () => {
    write('list.csv', 'who,site\nAda,a.example\n');
    await contacts('--input', 'list.csv', '--template', '{who} at {site} {{x}}');
    expect(paid()).toEqual(['Ada at a.example {x}']);
  });

  it("of leadpipe's own CSV is read as it was found, with the JSON in its cells", async () => {
    const links = JSON.stringify({ website: 'https://nord.example', more: ['a', 'b'] }).replaceAll('"', '""');
    write('list.csv', `name,description,links\n@nord,'=x,"${links}"\n'-ost,"a;'+b",\nC,,{}\n`);
    const template = ['--template', '{Name}: {description} {links.website} {links.more.1}{links.mroe}'];
    const dry = await contacts('--input', 'list.csv', ...template, '--dry-run');
    expect(JSON.parse(dry.stdout).body.objective).toBe('@nord: =x https://nord.example b');
    expect(dry.stderr).toContain('"links.mroe" is empty in every row');
    expect(dry.stderr).not.toContain('"links.website"');
    await contacts('--input', 'list.csv');
    // A name alone is better than nothing.
    expect(paid()).toEqual(['-ost, a;+b', '@nord, https://nord.example', 'C']);
  });

  it('loses no row to one that is not well formed or too long', async () => {
    const long = 'x'.repeat(5_000_000);
    write(
      'list.csv',
      `id,objective\n1,12" pipes\n2,a "b"\n3,${long}\n4,"${long}"\n5,Bo\n6,"Cy\n7,Dee\n8,Eve`,
    );
    const { code, stdout, stderr } = await contacts('--input', 'list.csv', '-f', 'csv');
    expect(code).toBe(3);
    expect(paid()).toEqual(['12" pipes', 'Bo', 'Dee', 'Eve', 'a "b"']);
    const rows = stdout.trimEnd().split('\r\n').slice(1);
    expect(rows.map((row) => /line \d+ has \S+ \S+/.exec(row)?.[0] ?? row.split(',')[0])).toEqual([
      '1',
      '2',
      'line 4 has 5000001 characters:',
      'line 5 has 5000001 characters:',
      '5',
      'line 7 has a cell',
      '7',
      '8',
    ]);
    expect(stderr).toContain('row 3, line 4 has 5000001 characters');
  });

  it('that is a pipe is not read twice', async () => {
    const fifo = join(cwd, 'list.fifo');
    execFileSync('mkfifo', [fifo]);
    await leadpipe(['config', 'set', 'price.contact.email', '2']);
    const ended = contacts('--input', 'list.fifo', '--max-credits', '10');
    await writeFile(fifo, 'Ada\nBo\n');
    expect(await ended).toMatchObject({ code: 0 });
    expect(paid()).toEqual(['Ada', 'Bo']);
  });
});

describe('the output', () => {
  it('as CSV has the columns of the input, then those of the answer', async () => {
    write('list.csv', 'id,objective\n007,Ada\n');
    const { stdout } = await contacts('--input', 'list.csv', '-f', 'csv', '--into', 'work');
    expect(stdout).toBe('id,objective,work,work_reference,work_error\r\n007,Ada,ada@example.com,,\r\n');
  });

  it('has every row once, in the order of the input, with the reason where there is no answer', async () => {
    write('list.csv', `objective,id\nAda,1\n${'x'.repeat(6000)},2\nBo,3,4\n,5\nCy,6\n`);
    const { code, stdout, stderr } = await contacts('--input', 'list.csv', '--errors', 'failed.csv');
    expect(code).toBe(3);
    expect(stderr).toContain('3 of 5 rows have no answer');
    expect(recordsIn(stdout)).toMatchObject([
      { objective: 'Ada', email: found('Ada') },
      { email: null, email_error: expect.stringContaining('line 3') },
      { objective: 'Bo', id: '3', email: null, email_error: 'line 4 has 3 cells, but the header has 2' },
      { id: '5', email: null, email_error: expect.stringContaining('line 5') },
      { objective: 'Cy', email: found('Cy') },
    ]);
    const [header, , second] = read('failed.csv').split('\r\n');
    expect(header).toBe('objective,id,line,error,request_id,charged');
    expect(second).toBe('Bo,3,4,"line 4 has 3 cells, but the header has 2",,no');
  });

  it.each([
    [['enrich', '--field', 'size', '--field', 'city'], 'size,city\r\n3,Berlin\r\n,Berlin\r\n'],
    [['extract', 'x_followers'], 'id,other\r\n1,\r\n1,\r\n'],
  ])('of %s is shown again with the columns of its answers', async (words, csv) => {
    write('list.txt', 'Ada\nx\n');
    await leadpipe([...words, '--input', 'list.txt', '-o', 'out.csv']);
    expect(await leadpipe(['history', 'show', '-f', 'csv'])).toMatchObject({ code: 0, stdout: csv });
  });

  it('begins before the input has ended', async () => {
    const piped = spawn(process.execPath, [command, 'contact', 'email', '--input', '-'], { env, cwd });
    piped.stdin.write('Ada\n');
    const first = await new Promise<string>((resolve) =>
      piped.stdout.once('data', (piece) => resolve(String(piece))),
    );
    expect(JSON.parse(first)).toMatchObject({ objective: 'Ada' });
    piped.stdin.end('Bo\n');
    expect(await new Promise((resolve) => piped.on('close', resolve))).toBe(0);
    expect(paid()).toEqual(['Ada', 'Bo']);
  });
});

describe('money', () => {
  it('is spent once for rows that ask for the same', async () => {
    write('list.txt', 'Ada\nBo\nAda\nAda\n');
    const { stdout, stderr } = await contacts('--input', 'list.txt', '--concurrency', '4');
    expect(service.requests()).toBe(2);
    expect(recordsIn(stdout)).toHaveLength(4);
    expect(stderr).toContain('4 emails found · 2 duplicate rows, bought once');
  });

  it('is not spent again for rows that stayed, where others have changed', async () => {
    write('list.txt', 'Ada\nBo\nCy\n');
    await serve({ credits: 1 });
    const args = ['--input', 'list.txt', '-o', 'all.jsonl', '--concurrency', '1'];
    const cut = await contacts(...args);
    expect(cut).toMatchObject(ending(5, 'same command again'));
    expect(recordsIn(read('all.jsonl.part'))).toHaveLength(1);
    expect(service.requests()).toBe(2);
    write('list.txt', 'Dee\nBo\nAda\n');
    expect((await contacts(...args)).stderr).toContain('Resuming op_');
    expect(paid()).toEqual(['Ada']);
  });

  it('of a row whose answer was lost does not count it as done where the list is stopped', async () => {
    await serve({ lost: new Set(['Bo']), credits: 2 });
    write('list.txt', 'Ada\nBo\nCy\n');
    const stopped = await contacts('--input', 'list.txt', '-o', 'out.jsonl', '--concurrency', '1');
    expect(stopped).toMatchObject(ending(5, '. 1 row is done, 1 failed (', 'charged: yes'));
  });

  it('of rows that fail is in the file of --errors, also after `resume`', async () => {
    const refused = new Set(['Bo']);
    await serve({ refused });
    write('list.txt', 'Ada\nBo\nCy\n');
    const args = ['--input', 'list.txt', '-o', 'out.csv', '--errors', 'failed.csv'];
    expect(await contacts(...args, '--first', '2')).toMatchObject({ code: 3 });
    expect(read('failed.csv')).toContain('Bo');
    refused.clear();
    refused.add('Cy');
    const elsewhere = { env, cwd: temporaryFolder() };
    expect(await runInProcess('resume', elsewhere)).toMatchObject(ending(3, join(cwd, 'failed.csv')));
    expect(read('failed.csv')).toMatch(/^[^\n]*\r\nCy,[^\n]*422[^\n]*\r\n$/);
    expect(paid()).toEqual(['Ada', 'Bo']);
  });

  it('of a row whose answer was lost is not spent again, unless it is asked for', async () => {
    const lost = new Set(['Bo', 'Cy']);
    await serve({ lost });
    write('list.txt', 'Ada\nBo\nCy\nDee\n');
    const args = ['--input', 'list.txt', '-o', 'out.jsonl'];
    const doubt =
      /^warning: row 2 .*its answer was lost, and the row may have been charged: .* · charged: maybe$/m;
    const all = '2 of them may have been charged';
    const first = await contacts(...args, '--errors', 'failed.csv');
    expect(first).toMatchObject(ending(3, all));
    expect(read('failed.csv').match(/,maybe$/gm)).toHaveLength(2);
    expect(await contacts(...args)).toMatchObject(ending(3, all, doubt));
    expect(paid()).toEqual(['Ada', 'Bo', 'Cy', 'Dee']);
    lost.clear();
    const requests = service.requests();
    expect(await contacts(...args)).toMatchObject(ending(3, '2 of 4 rows have no answer'));
    expect(service.requests()).toBe(requests);
    expect(await contacts(...args, '--retry-unknown')).toMatchObject({ code: 0 });
    expect(paid()).toEqual(['Ada', 'Bo', 'Bo', 'Cy', 'Cy', 'Dee']);
    expect(recordsIn(read('out.jsonl'))).toHaveLength(4);
  });
});

it('a list costs a request for each row and nothing else, over connections that are kept', async () => {
  await serve({ latencyMs: 20 });
  write('list.txt', Array.from({ length: 200 }, (_, at) => `p${at}`).join('\n'));
  const { code } = await contacts('--input', 'list.txt', '--concurrency', '8', '-o', 'out.jsonl');
  expect(code).toBe(0);
  expect(service.requestsOfAll()).toBe(200);
  expect(service.most()).toBe(8);
  // One that has just brought an answer is not used again at once; on a slow machine that takes a few more.
  expect(service.connections()).toBeLessThanOrEqual(4 * 8);
});

describe('a list that is stopped says of each row', () => {
  /** The last that is known of each row, by what would be sent. */
  function statesOf(): Record<string, string> {
    const [operation = ''] = readdirSync(operationsFolder());
    const names: Record<string, string> = {};
    const states: Record<string, string> = {};
    for (const line of recordsIn(read(join(operationsFolder(), operation, 'rows.jsonl')))) {
      const [[state, entry]] = Object.entries(line).slice(1) as [[string, Entry]];
      names[entry.digest] ??= entry.body?.objective ?? '';
      states[names[entry.digest] ?? ''] = state;
    }
    return states;
  }
  type Entry = { readonly digest: string; readonly body?: { readonly objective: string } };

  it.each([
    ['two Ctrl-C', Number.POSITIVE_INFINITY],
    ['an account without credits', 0],
  ])('whether it may have been bought: %s', async (_, credits) => {
    const { gate, open } = createGate();
    await serve({ gate, credits });
    const rows = Array.from({ length: 20 }, (_, at) => `p${String(at).padStart(2, '0')}`);
    write('list.txt', rows.join('\n'));
    const args = ['contact', 'email', '--input', 'list.txt', '--concurrency', '4', '-o', 'out.jsonl'];
    const child = start(args, { env, cwd });
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
    });
    const ended = resultOf(child);
    await expect.poll(() => service.requests()).toBe(4);
    // The intents of the next rows are on the disk before there is room for them.
    await expect.poll(() => Object.keys(statesOf()).length).toBe(8);
    const isStopped = credits > 0;
    if (isStopped) {
      child.kill('SIGINT');
      await until(() => said.includes('waiting up to'));
      // One that comes at once is the same, so it is sent until it counts.
      const interrupt = () => {
        child.kill('SIGINT');
        return child.exitCode;
      };
      await expect.poll(interrupt).toBe(130);
    } else open();
    const { code, stderr } = await ended;
    expect({ code, stderr }).toMatchObject({
      code: isStopped ? 130 : 5,
      stderr: expect.stringContaining(isStopped ? 'waiting up to 10 s for 4 pending answers' : 'charged: no'),
    });
    expect(service.requests()).toBe(4);
    const state = (at: number): string => (isStopped && at < 4 ? 'sent' : 'failed');
    expect(statesOf()).toEqual(Object.fromEntries(rows.slice(0, 8).map((row, at) => [row, state(at)])));
    if (!isStopped) return;
    open();
    const again = await leadpipe([...args, '--concurrency', '16']);
    expect(again).toMatchObject(ending(3, '4 of 20 rows have no answer'));
    expect(paid()).toEqual(rows);
  });
});

it('a list that is stopped has as long to tell how it ended, however long it waited for answers, and leaves no timer', async () => {
  const { gate, open } = createGate();
  await serve({ gate });
  write('list.txt', 'Ada\n');
  const stop = new AbortController();
  const patience = { ms: 900 };
  // A timer would keep the process alive.
  const grace = new Set<object>();
  const clock: Context['clock'] = {
    ...machineClock,
    after(ms, callback) {
      const cancel = machineClock.after(ms, callback);
      const timer = {};
      if (ms === 10_000) grace.add(timer);
      return () => {
        grace.delete(timer);
        cancel();
      };
    },
  };
  let waiting = 0;
  const ended = runInProcess('contact email --input list.txt -o out.csv', {
    ...{ env, cwd, context: { clock, signal: stop.signal, patience } },
    heard(_, text) {
      if (!text.includes('1 pending answer')) return;
      waiting = grace.size;
      open();
    },
  });
  await until(() => service.requests() === 1);
  stop.abort('interrupted');
  expect(await ended).toMatchObject(ending(130, 'Stopped by Ctrl-C. 1 row is done'));
  expect(patience.ms).toBeGreaterThan(900);
  expect([waiting, grace.size]).toEqual([1, 0]);
});

it('a service that has no room for more is asked for less at once', async () => {
  await serve({ latencyMs: 20, mostAtOnce: 3 });
  write('list.txt', Array.from({ length: 60 }, (_, at) => `p${at}`).join('\n'));
  const { code } = await contacts('--input', 'list.txt', '--concurrency', '16', '-o', 'out.jsonl');
  expect(code).toBe(0);
  expect(service.charged.size).toBe(60);
  expect(service.most()).toBe(3);
  expect(service.refusals.get(429)).toBeLessThan(60);
});

it('a service that was busy is asked for more again: for one each two seconds, up to --concurrency', async () => {
  let now = 0;
  const stop = { because: () => {}, halt: new AbortController().signal } as unknown as Stop;
  const slots = createSlots({ ...machineClock, monotonic: () => now }, 4, stop);
  const pending: (() => void)[] = [];
  for (const _ of Array(20)) void slots.use(() => new Promise<void>((resolve) => pending.push(resolve)));
  /** How many requests are pending after this many have ended. */
  const left = async (ended: number) => {
    for (const end of pending.splice(0, ended)) end();
    await new Promise(setImmediate);
    return slots.used();
  };
  expect(await left(0)).toBe(4);
  slots.busy(now);
  const counts = [await left(4)];
  for (now of [1999, 2000, 3999, 4000, 6000]) counts.push(await left(1));
  expect(counts).toEqual([2, 2, 3, 3, 4, 4]);
});

it.each([
  ['list.csv', 'objective,note\rAda,"a\n\n\nb"\rBo,\r'],
  ['list.json', '[{"objective":"Ada"},{"objective":"Bo"}]'],
])('the progress of %s counts its rows', async (name, text) => {
  await serve({ latencyMs: 700 });
  write(name, text);
  const args = ['contact', 'email', '--input', name, '-o', 'out.jsonl', '--concurrency', '1'];
  const { code, stderr } = await runInProcess(args, { env, cwd, stderrIsTerminal: true, columns: 120 });
  expect({ code, of: /1 of \d+/.exec(stderr)?.[0] }).toEqual({ code: 0, of: '1 of 2' });
});

it('a named list that is added once more buys its new rows alone, and adds all of them', async () => {
  const named = ['--input', 'list.txt', '--run', 'x', '-o', 'days.csv', '--append'];
  write('list.txt', 'Ada\nBo\n');
  expect((await contacts(...named)).stderr).toContain('added to days.csv: 2 emails found');
  write('list.txt', 'Ada\nBo\nCy\n');
  expect((await contacts(...named)).stderr).toContain(
    'added to days.csv: 3 emails found · 2 already bought, not charged again',
  );
  expect(
    read('days.csv')
      .match(/^\w+(?=,)/gm)
      ?.slice(1),
  ).toEqual(['Ada', 'Bo', 'Ada', 'Bo', 'Cy']);
  expect(paid()).toEqual(['Ada', 'Bo', 'Cy']);
});

it('a named list whose rows another run has says when their answers are free', async () => {
  write('list.txt', 'Ada\nBo\n');
  const named = ['--input', 'list.txt', '--run', 'x', '-o', 'out.csv'];
  expect(await contacts(...named)).toMatchObject({ code: 0 });
  setEnv({ LEADPIPE_STATE_DIR: temporaryFolder() });
  const { code, stderr } = await contacts(...named.slice(0, -1), 'other.csv');
  expect(code).toBe(3);
  expect(stderr).toContain(
    'If another run named x was active at the same time, run the same command again when it',
  );
  expect(service.charged.size).toBe(2);
});

it('a named list whose output can not be written keeps what it has bought, for another output', async () => {
  await serve({ latencyMs: 50 });
  write('list.txt', Array.from({ length: 24 }, (_, at) => `p${at}`).join('\n'));
  const cut = await contacts('--input', 'list.txt', '--concurrency', '8', '-o', '/dev/full', '--run', 'x');
  expect(cut).toMatchObject(ending(74, 'charged: yes'));
  expect(await contacts('--input', 'list.txt', '-f', 'csv', '-o', 'out.csv', '--run', 'x')).toMatchObject(
    ending(0, /^sent for row \d+: p\d+\nout.csv: 24 emails found · \d+ already bought, not charged again/),
  );
  expect(service.charged.size).toBe(24);
  expect(service.refusals.get(409)).toBeUndefined();
  expect(read('out.csv').trimEnd().split('\r\n')).toHaveLength(25);
});

it('an answer that is only called something else is the answer of its row', async () => {
  await serve({ contentType: 'text/plain' });
  write('list.txt', 'Ada\nBea\n');
  expect(await contacts('--input', 'list.txt', '-f', 'jsonl')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ada@example.com.*\n.*bea@example.com/),
  });
  expect(paid()).toEqual(['Ada', 'Bea']);
});

it('an unreadable response is saved', async () => {
  await serve({ garbled: true });
  write('list.txt', 'Ada\n');
  expect(await contacts('--input', 'list.txt')).toMatchObject(
    ending(3, 'its answer was lost, but the row was charged: ', 'charged: yes'),
  );
  const [operation = ''] = readdirSync(operationsFolder());
  expect(read(join(operationsFolder(), operation, 'rows.jsonl'))).toContain('"body":"<paid for>"');
});

it.each([
  [['--run', 'x', 'Ada'], '--run works only with --input'],
  [['--shard', '0/2', 'Ada'], '--shard works only with --input'],
  [['--input', 'list.csv', '-o', './list.csv'], 'the same file'],
  [['--input', 'list.txt', '-o', 'a.jsonl', '--errors', 'a.jsonl'], 'the same file'],
  [['--input', 'list.csv', '--errors', './list.csv'], 'the same file'],
  [['--input', 'out.csv.abcdef.part', '-o', 'out.csv'], '--input is a temporary file of -o'],
  [['--input', 'arrays.json'], 'has several arrays: leads, others'],
  [['--input', 'arrays.json', '--table', 'x'], 'It has leads, others.'],
  [['--input', 'list.csv', '--table', 'x'], 'list.csv has no tables to choose from'],
  [['--input', 'list.jsonl', '--table', 'x'], 'list.jsonl has no tables to choose from'],
  [['--input', 'list.csv', '--sheet', '2'], 'list.csv is not a workbook: it has no sheets'],
  [['--input', 'titled.csv'], /Its first rows are:\n +Prospects, \n +Kunde, Rang\n +Ada, x\n/],
  [
    ['--input', 'bare.csv'],
    /rows are:\n +Ada, ada@a\.example\n +Bo, bo@b\.example\n.* is the header: --template "\{Ada\}, \{ada@a\.example\}"\n *If there is no header: --header-row 0 --template "\{column 1\}, \{column 2\}"/,
  ],
  [['--input', 'bare.csv', '--template', '{column 1}'], 'If there is no header: --header-row 0 --template'],
  [
    ['--input', 'bare.csv', '--header-row', '0'],
    /Its first rows are:\n +Ada, .*\n +Bo, .*\n *For example: --template "\{column 1\}, \{column 2\}"/,
  ],
  [['--input', 'bare.csv', '--header-row', '3'], 'has no header in line 3'],
  [['--input', 'list.jsonl', '--header-row', '1'], "can't be chosen: it has JSON"],
  [['--input', 'list.csv', '--template', '{nmae}'], 'no column "nmae"'],
  [['--input', 'list.csv', '--template', '{links.website}'], 'no column "links.website"'],
  [['--input', 'list.csv', '--template', '{site.a}'], 'no column "site.a"'],
  [['--input', 'cells.csv', '--template', '{of.0}{x}'], 'no column "x"'],
  [['--input', 'list.txt', '--template', '{nam}'], '--template: there is no field "nam"'],
  [['--input', 'list.jsonl', '--template', '{firm}, {site}'], 'there is no field "site"'],
  [['--input', 'list.jsonl', '--template', '{firm}, {links.site}'], 'there is no field "links.site"'],
  [
    ['--input', 'unknown.jsonl'],
    'Name the fields to send with --template, in braces. The fields are id, mail. For example: --template "{id}, {mail}"',
  ],
  [['--input', 'deep.json'], 'The fields are id, a.0.b, a.0.more.c, tags.0, one, none, cell.x.'],
  [['--input', 'deep.json'], '--template "{id}, {a.0.b}, {a.0.more.c}, {tags.0}, {one}"'],
  [['--input', 'deep.json', '--template', '{b}'], 'The fields are id, a.0.b, a.0.more.c, tags.0, one'],
  [['--input', 'pairs.csv'], 'Its first rows are:\n  Ada, Acme\n'],
  [['--input', 'x', 'Ada'], 'leave out the argument'],
  [[], 'the objective is missing'],
  [['--input', 'x', '--idempotency-key', 'k'], '--run'],
  [['--input', 'x', '--no-history'], '--no-history'],
  [['--input', 'nowhere'], 'there is no such file'],
  [['--input', 'list.txt', '--template', '{a'], 'unmatched brace'],
  [['--input', 'list.txt', '--template', 'a'], 'uses no column or field'],
  [['--input', 'list.txt', '--concurrency', '0'], '--concurrency is 0'],
])('%j is refused before anything is sent', async (args, message) => {
  write('list.txt', 'Ada\n');
  write('list.csv', 'name,site\nAda,a\n');
  write('arrays.json', '{"leads":[{"objective":"Ada"}],"others":[{"objective":"Bo"}],"tags":["x"]}');
  write('titled.csv', 'Prospects,\nKunde,Rang\nAda,x\nBo,y\n');
  write('bare.csv', 'Ada,ada@a.example\nBo,bo@b.example\n');
  write('pairs.csv', 'Ada,Acme\nBo,Foo\n');
  const deep =
    '{"id":1,"a":[{"b":1,"more":{"c":2}}],"tags":["x","y"],"one":["x"],"none":[],"cell":"{\\"x\\":1}"}';
  write('cells.csv', 'of\n"[""x""]"\n');
  write('deep.json', `[${deep}]`);
  write('unknown.jsonl', '{"id":1,"mail":"x"}\n');
  write('list.jsonl', '{"firm":"A","company_name":"B","homepage_url":"c","links":{}}\n');
  expect(await contacts(...args)).toMatchObject(ending(2, message));
  expect(service.requests()).toBe(0);
});

describe('a limit on credits', () => {
  const many = Array.from({ length: 60 }, (_, at) => `p${at}`).join('\n');
  const limited = async (credits: number) => {
    await serve({ latencyMs: 5 });
    await leadpipe(['config', 'set', 'price.contact.email', '2']);
    return ['--max-credits', String(credits), '--concurrency', '32', '-o', 'out.jsonl'];
  };

  it('refuses a file that can cost more, before anything is sent', async () => {
    const args = await limited(119);
    write('list.txt', many);
    expect(await contacts('--input', 'list.txt', ...args)).toMatchObject(
      ending(5, 'this can cost 120 credits', 'or buy what fits with --first 59.'),
    );
    expect(service.charged.size).toBe(0);
    // What was refused was never begun: nothing buys it later.
    const resumed = await leadpipe(['resume']);
    expect(resumed).toMatchObject({ code: 0, stderr: 'There is nothing to resume.\n' });
    expect(service.charged.size).toBe(0);
  });

  it('says in one line what of it is used, what the rest costs and what would fit, and that can be bought', async () => {
    await leadpipe(['config', 'set', 'price.contact.email', '10']);
    // Two rows ask for the same, and one can't be sent.
    write('list.csv', `objective\np0\np1\np0\n${'x'.repeat(5000)}\np2\np3\np4\np5\np6\n`);
    const limit = ['--max-credits', '60'];
    const args = ['--input', 'list.csv', ...limit, '--concurrency', '1', '-o', 'out.jsonl'];
    expect((await contacts(...args, '--first', '1')).code).toBe(0);
    const [operation = ''] = readdirSync(operationsFolder());
    for (const line of [
      ['contact', 'email', ...args],
      ['resume', operation, ...limit],
    ]) {
      const { code, stderr } = await leadpipe(line);
      expect({ code, lines: stderr.split('\n').slice(0, 2) }).toEqual({
        code: 5,
        lines: [
          'error: the limit is 60 credits, 10 are used, and the rest can cost 60; nothing was bought',
          'To allow it: --max-credits 70, or buy what fits with --first 8.',
        ],
      });
    }
    expect(service.charged.size).toBe(1);
    expect((await leadpipe(['resume', operation, ...limit, '--first', '8'])).code).toBe(3);
    expect(paid()).toEqual(['p0', 'p1', 'p2', 'p3', 'p4', 'p5']);
    expect(await leadpipe(['resume', operation, ...limit])).toMatchObject(
      ending(5, 'the limit is 60 credits, 60 are used'),
    );
  });

  it('holds at every row of standard input, and a higher one goes on', async () => {
    const args = await limited(41);
    const cut = await leadpipe(['contact', 'email', '--input', '-', ...args], many);
    expect(cut).toMatchObject(ending(5, 'with a higher --max-credits'));
    expect(service.charged.size).toBe(20);
    const again = await leadpipe(['contact', 'email', '--input', '-', ...args], many);
    expect(again.code).toBe(5);
    expect(service.charged.size).toBe(20);
    const rest = await leadpipe(['contact', 'email', '--input', '-', ...args, '--max-credits', '120'], many);
    expect(rest.code).toBe(0);
    expect(service.charged.size).toBe(60);
    expect(recordsIn(read('out.jsonl'))).toHaveLength(60);
  });

  it('needs a balance for the rows that are left, and not for those that were bought', async () => {
    await serve({ credits: 4 });
    await leadpipe(['config', 'set', 'price.contact.email', '1']);
    write('list.txt', 'a\nb\nc\nd\n');
    const args = ['--input', 'list.txt', '-o', 'out.jsonl', '--max-credits', '4'];
    expect(await contacts(...args, '--first', '2')).toMatchObject({ code: 0 });
    expect(await contacts(...args)).toMatchObject({ code: 0 });
    expect(service.charged.size).toBe(4);
  });

  it('covers all rows where one of them was killed with the run, and is sent again', async () => {
    const { gate, open } = createGate('p2');
    await serve({ gate });
    await leadpipe(['config', 'set', 'price.contact.email', '1']);
    write('list.txt', 'p1\np2\np3\np4\n');
    const args = ['--input', 'list.txt', '-o', 'out.jsonl', '--max-credits', '4', '--concurrency', '1'];
    const child = start(['contact', 'email', ...args], { env, cwd });
    await until(() => service.requests() === 2);
    child.kill('SIGKILL');
    await resultOf(child);
    open();
    await until(() => service.charged.size === 2);
    // Only p2 was sent before. p3 may have been recorded, but is bought now.
    expect(await contacts(...args)).toMatchObject(
      ending(
        3,
        'cost at most 4 credits (2 of them now)',
        '1 of 4 rows has no answer; it may have been charged',
      ),
    );
    expect(paid()).toEqual(['p1', 'p2', 'p3', 'p4']);
  });

  it('needs to know what a row costs', async () => {
    write('list.txt', many);
    expect(await contacts('--input', 'list.txt', '--max-credits', '100')).toMatchObject(
      ending(5, 'price.contact.email'),
    );
    expect(service.requests()).toBe(0);
  });

  it('has its worst case in a dry run, which sends nothing', async () => {
    await limited(1000);
    write('list.txt', `${many}\np1\n`);
    const { code, stdout, stderr } = await contacts('--input', 'list.txt', '--dry-run');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 120, body: { objective: 'p0' } });
    expect(stderr).toContain('60 rows would be sent');
    expect(service.charged.size).toBe(0);
  });
});

describe('rows that are added to a file', () => {
  const refused = new Set<string>();
  const lost = new Set<string>();
  const add = (...more: string[]) =>
    contacts('--input', 'list.txt', '-o', 'out.csv', '--append', '--concurrency', '1', ...more);
  const rowsIn = (name: string): string[] => read(name).trimEnd().split('\r\n').slice(1);
  const begin = async (failing = refused): Promise<string> => {
    await serve({ refused, lost });
    refused.clear();
    failing.add('Bo');
    write('list.txt', 'Ada\nBo\nCy\n');
    const some = await add();
    expect(some).toMatchObject(ending(3, 'the rows are added in one step, when no row can be bought again'));
    expect(rowsIn('out.csv.part')).toEqual([
      found('Ada'),
      expect.stringMatching(/^Bo,,,.*(422|lost)/),
      found('Cy'),
    ]);
    expect(existsSync(join(cwd, 'out.csv'))).toBe(false);
    return toNewFile(some.stderr);
  };
  const toNewFile = (stderr: string): string =>
    /leadpipe ((?:resume|history show) op_\w+ -o) <file>/.exec(stderr)?.[1] ?? '';
  const found = (name: string): string => `${name},${name.toLowerCase()}@example.com,,`;

  it('are added with those that can never be sent', async () => {
    await serve({});
    write('list.jsonl', '{"objective":"Ada"}\n{"objective":""}\n');
    write('out.jsonl', '{"old":1}\n');
    const args = ['--input', 'list.jsonl', '-o', 'out.jsonl', '--append'];
    expect(await contacts(...args)).toMatchObject(ending(3, 'correct line 2'));
    expect(recordsIn(read('out.jsonl'))).toHaveLength(3);
    // What is corrected later comes too late for that file.
    write('list.jsonl', '{"objective":"Ada"}\n{"objective":"Bo"}\n');
    expect(await contacts(...args)).toMatchObject(ending(3, 'nothing was added to', '-o <file>'));
    expect(recordsIn(read('out.jsonl'))).toHaveLength(3);
    expect(paid()).toEqual(['Ada', 'Bo']);
  });

  it('are added once, in order, when none is missing', async () => {
    write('out.csv', `objective,email,email_reference,email_error\r\n${found('Old')}\r\n`);
    await serve({ refused });
    refused.clear();
    refused.add('Bo');
    write('list.txt', 'Ada\nBo\nCy\n');
    expect(await add()).toMatchObject(ending(3));
    expect(rowsIn('out.csv')).toEqual([found('Old')]);
    write('out.csv', `${read('out.csv')}${found('meanwhile')}\r\n`);
    refused.clear();
    expect(await add()).toMatchObject({ code: 0 });
    expect(rowsIn('out.csv')).toEqual(['Old', 'meanwhile', 'Ada', 'Bo', 'Cy'].map(found));
    expect(paid()).toEqual(['Ada', 'Bo', 'Cy']);
    expect(readdirSync(cwd).filter((name) => name.startsWith('out'))).toEqual(['out.csv']);
  });

  it('are all in another file, by the command that the run before has named', async () => {
    const command = await begin(lost);
    lost.clear();
    expect(await leadpipe([...command.split(' '), 'new.csv', '--retry-unknown'])).toMatchObject({ code: 0 });
    expect(rowsIn('new.csv')).toEqual(['Ada', 'Bo', 'Cy'].map(found));
    expect(existsSync(join(cwd, 'out.csv'))).toBe(false);
    expect(paid()).toEqual(['Ada', 'Bo', 'Bo', 'Cy']);
  });

  it.each(['refused', 'first'])('are written to another file for free: %s', async (reason) => {
    let command: string;
    if (reason === 'refused') {
      command = await begin();
      refused.clear();
    } else {
      write('list.txt', 'Ada\nCy\nDee\n');
      command = toNewFile((await add('--first', '2')).stderr);
    }
    expect(await leadpipe([...command.split(' '), 'new.csv'])).toMatchObject({ code: 0 });
    expect(rowsIn('new.csv')).toHaveLength(2);
    expect(paid()).toEqual(['Ada', 'Cy']);
  });

  it('are left where another list adds its own to the file', async () => {
    await begin();
    write('list.txt', 'Dee\nEd\n');
    expect(await contacts('--input', 'list.txt', '-o', 'out.csv', '--append')).toMatchObject({ code: 0 });
    expect(rowsIn('out.csv')).toEqual([found('Dee'), found('Ed')]);
    expect(paid()).toEqual(['Ada', 'Cy', 'Dee', 'Ed']);
  });
});

it('a server in front that answers 520 to 530 loses no more rows than one that answers 504', async () => {
  const objectives = Array.from({ length: 24 }, (_, row) => `Person ${row}`);
  write('list.txt', objectives.join('\n'));
  const ends: unknown[] = [];
  for (const front of [[504], Array.from({ length: 11 }, (_, nth) => 520 + nth)]) {
    await serve({ front });
    const { code, stdout } = await contacts('--input', 'list.txt', '-f', 'jsonl', '--concurrency', '1');
    const found = stdout.split('\n').filter((line) => line.includes('@example.com'));
    ends.push({ code, found: found.length, requests: service.requests() });
    expect(paid()).toEqual(objectives.toSorted());
  }
  // A row whose answer the service does not repeat is lost, and charged once.
  expect(ends).toEqual(Array(2).fill({ code: 3, found: 18, requests: 48 }));
});

it('a head that can not be read would come with every row: the list stops at the first, and buys the rest later', async () => {
  write('list.txt', 'Ada\nBea\nCid');
  const options = { announces: true };
  await serve(options);
  const line = ['--input', 'list.txt', '--concurrency', '1', '-o', 'out.jsonl'];
  const stopped = await contacts(...line);
  expect(stopped).toMatchObject(ending(8, 'an unexpected "100 Continue"', 'charged: maybe'));
  expect(paid()).toEqual(['Ada']);
  options.announces = false;
  expect(await contacts(...line)).toMatchObject(ending(3, '1 of 3 rows has no answer'));
  expect(paid()).toEqual(['Ada', 'Bea', 'Cid']);
  const emails = recordsIn(read('out.jsonl')).map(({ email }) => email);
  expect(emails).toEqual([null, found('Bea'), found('Cid')]);
});

it('a firewall that refuses one row refuses all: the list stops, and no key is blamed', async () => {
  write('list.txt', 'Ada\nBea\nCid');
  await serve({ front: [403] });
  const { code, stderr } = await contacts('--input', 'list.txt', '--concurrency', '1');
  expect({ code, requests: service.requests() }).toEqual({ code: 4, requests: 1 });
  expect(stderr).toContain('a server in front of the service refused the request');
  expect(stderr).not.toMatch(/\bkey\b/);
});
