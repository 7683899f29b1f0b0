import { describe, expect, it } from 'vitest';
import { contacts, ending, leadpipe, paid, service, write } from '../helpers/lists.ts';

describe('what is sent for a row', () => {
  const crm =
    'Id,First Name,Last Name,Title,Account Name,Website\n1,Ada,Example,,Acme,acme.example\n2,Bo,,CEO,,\n';
  it.each([
    ['contact email', crm, ['Ada Example, Acme (acme.example)', 'Bo, CEO']],
    ['enrich --field city', crm, ['Ada Example, Acme (acme.example)', 'Bo, CEO']],
    ['extract web2list --instruction x', crm, ['https://acme.example']],
    [
      'contact email',
      'Nr;Kunde;Ansprechpartner;Ort\n1;Acme GmbH;Ada Example;Köln\n2;Beta AG;;Bonn\n',
      ['Ada Example, Acme GmbH, Köln', 'Beta AG, Bonn'],
    ],
    ['extract x_followers', 'name;Twitter\nAcme;@acme\nNASA;nasa\n', ['@acme', 'nasa']],
    ['contact email', 'Company,objective\nAcme,their CTO\n', ['their CTO']],
    ['contact email --template {Id}:{Website}', crm, ['1:acme.example', '2:']],
  ])('by %s is what its columns mean', async (words, csv, sent) => {
    write('list.csv', csv);
    await leadpipe([...words.split(' '), '--input', 'list.csv', '-o', 'out.csv']);
    expect(paid()).toEqual(sent);
  });

  it.each([
    [
      'research',
      'Company,Website\nAcme,acme.example\n',
      'no column "query": leadpipe does not know what to send for a row',
      'for example: --template "What is new at {Company} ({Website})?"',
    ],
    ['research', 'id,mail\n1,x\n', 'no column "query"', 'is the header: --template "What is new at {mail}?"'],
    [
      'contact email',
      'id,city\n1,Oslo\n',
      'no column "objective"',
      'is the header: --template "{city}"',
      'is no header: --header-row 0 --template "{column 2}"',
    ],
    [
      'contact email',
      'id,size\n1,20\n',
      'no column "objective"',
      'is the header: --template "{id}, {size}"',
      '',
    ],
    [
      'extract x_followers',
      'name,site\nAcme,a.example\n',
      'no column "target"',
      'is the header: --template "{name}"',
    ],
  ])('of %s is asked for where %j does not say it', async (words, csv, ...says) => {
    write('list.csv', csv);
    const refused = await leadpipe([...words.split(' '), '--input', 'list.csv']);
    expect(refused).toMatchObject(ending(2, ...says));
    expect(service.requests()).toBe(0);
  });
});

it('what is sent for the first row that is bought is said once, before it is sent, and is no word to the terminal', async () => {
  write(
    'list.csv',
    `id,name,company\n1,,\n2,"Ada\u001b[31m\u202e\nExample ${'x'.repeat(300)}",Acme\n3,Bo,\n`,
  );
  const { stderr } = await contacts('--input', 'list.csv', '--run', 'x');
  const said = stderr.split('\n').filter((line) => line.includes('sent for'));
  expect(said).toEqual([expect.stringMatching(/^sent for row 2: Ada\[31m Example x{100,}…$/)]);
  expect(await contacts('--input', 'list.csv', '--run', 'x')).toMatchObject({
    code: 3,
    stderr: expect.not.stringContaining('sent for'),
  });
  expect((await contacts('--input', 'list.csv', '-q')).stderr).not.toContain('sent for');
});

describe('an argument', () => {
  const table = 'name,website\nAda,a.example\nBo,b.example\n';
  it.each([
    [
      'contact email list.csv',
      2,
      'list.csv is a file, and only its name would be sent, as',
      'To look up each row of the file: --input list.csv',
    ],
    ['contact email @list.csv', 2, 'list.csv has a table in it', '--input list.csv'],
    ['enrich @list.json --field city', 2, 'has a table in it', '--input list.json'],
    [
      'research list.csv',
      2,
      'list.csv is a file, and only its name would be sent, as',
      'To look up each row of the file: --input list.csv',
    ],
    ['contact email @prose.txt', 0, '', ''],
    ['enrich @object.json --field city', 0, '', ''],
    ['contact email nowhere.csv', 0, '', ''],
    ['extract x_followers @nasa', 0, '', ''],
    ['extract x_followers list.csv', 0, '', ''],
  ])('of `%s` ends with %d', async (words, code, why, hint) => {
    write('list.csv', table);
    write('nasa', 'x');
    write('list.json', '[{"name":"Ada"},{"name":"Bo"}]');
    write('object.json', '{\n"people":[{"name":"Ada"},{"name":"Bo"}]\n}');
    write('prose.txt', 'Find the CTO of Acme, the company in Berlin.\nAny of them, please.\n');
    expect(await leadpipe(words.split(' '))).toMatchObject(ending(code, why, hint));
    expect(service.requests()).toBe(code === 0 ? 1 : 0);
    if (words.endsWith('@nasa')) expect(paid()).toEqual(['@nasa']);
  });
});
