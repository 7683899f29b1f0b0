import { expect, it } from 'vitest';
import { createMachine } from '../helpers/machine.ts';

const { leadpipe, write } = createMachine();

const both = ['Acme, Inc.', 'Beta'];

it.each([
  ['names.txt', 'Acme, Inc.\nBeta\n', both],
  ['names.csv', '\ufeffname,city\r\n"Acme, Inc.",Bern\r\n\r\nBeta\r\n,x\r\n', both],
  ['names.csv', 'name,city\r\n"Acme, Inc.",Bern\nBeta,Bern\r', both],
  ['names.csv', 'City;Name\nBern;Acme, Inc.\nBasel;Beta\n', both],
  ['names.csv', 'NAME,name\nx,"Acme, Inc."\ny,Beta\n', both],
  ['names.tsv', 'name\tcity\nAcme, Inc.\tBern\nBeta\tBasel\n', both],
  ['names.txt', 'id|name\n1|Acme, Inc.\n2|Beta\n', both],
  ['names', 'name,description\n"Acme, Inc.","a, b"\nBeta,\n', both],
  ['names', 'name\nAcme, Inc.\n', ['Acme, Inc.']],
  ['names.json', '{"name":"Acme, Inc."}\n{"name":"Beta"}\n', both],
  ["leadpipe's own.csv", `name,score\r\n'=nord,1\r\n'=x;'-y,\r\n@nord,\r\n`, ['=nord', '=x;-y', '@nord']],
  ['names.json', '["Acme, Inc.",\n"Beta"]', both],
  ['-', '{\n "leads": [\n {"name":"Acme, Inc."},{"name":"Beta"}]}', both],
  ['-', 'Acme, Inc.\nBeta\n', both],
  ['-', 'name\tcity\nAcme, Inc.\t\nBeta\t\n', both],
  ['@/dev/stdin', 'Acme, Inc.\nBeta\n', both],
])('names to leave out in %s: %j', async (name, text, names) => {
  const isPiped = /^(?:-|@.*stdin)$/.test(name);
  if (!isPiped) write(name, text);
  const args = ['search', 'company', 'x', '--dedup-custom-leads', isPiped ? name : `@${name}`];
  const stdin = isPiped ? text : '';
  const { code, stdout, stderr } = await leadpipe([...args, '--local', '--dry-run'], { stdin });
  if (code === 2) return expect(stderr).toContain(names[0]);
  expect(JSON.parse(stdout).body.dedup_custom_leads).toEqual(names);
});

it('columns in a file', async () => {
  write('columns', 'name\r\nlinks.website, score.score\n\nscor,e\n');
  const search = 'search company fintech --limit 1 --local -f csv';
  const { stdout } = await leadpipe(`${search} --columns @columns`);
  expect(stdout).toMatch(/^name,links\.website,score\.score,scor,e\r\n\S/);
});
