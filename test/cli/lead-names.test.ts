import { expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { createMachine } from '../helpers/machine.ts';

const { leadpipe, write } = createMachine();
const excluding = (file: string) =>
  leadpipe(`search company x --dedup-custom-leads @${file} --local --dry-run`);

it.each([
  ['names.csv', 'Company,name\nAcme,Ada\n', ['Ada']],
  ['names.csv', 'Company,Name\nAcme,Ada\n', ['Ada']],
  ['names.csv', 'Firma;Ort\nAcme;Rome\nBeta;Bonn\n', ['Acme', 'Beta']],
  ['names.csv', 'First Name,Last Name,Company\nAda,Example,Acme\nBo,,Beta\n', ['Ada Example', 'Bo']],
  ['names.csv', 'Our leads\n\nid,name\r1,Ada\r\n2,"Bo, Inc."\n', ['Ada', 'Bo, Inc.']],
  ['names.txt', 'Account Name\tCity\nAcme\tRome\n', ['Acme']],
  ['names.txt', 'Acme\nBeta, Inc.\n', ['Acme', 'Beta, Inc.']],
  ['names.csv', 'nasa\nesa\n', ['nasa', 'esa']],
  ['names.json', '[{"company":"Acme"},\n{"organization":"Beta","id":1}]', ['Acme', 'Beta']],
  ['names.json', '{"n": 2, "leads": [\n  {"name": "Acme"}\n]}', ['Acme']],
  ['names.md', '| name | x |\n| --- | --- |\n| A\\|B | 1 |\n', ['A|B']],
])('the names of leads are found in %s: %j', async (file, text, names) => {
  write(file, text);
  const { code, stdout, stderr } = await excluding(file);
  expect(code === 0 ? JSON.parse(stdout).body.dedup_custom_leads : stderr).toEqual(names);
});

it.each([
  [
    'names.csv',
    'Acme,acme.example\nBeta,beta.example\n',
    'has no column "name": its columns are Acme, acme.example',
    '',
  ],
  [
    'names.csv',
    '<html><table></table></html>',
    'is not a list: it looks like an HTML page',
    'or one text per line.',
  ],
  ['names.json', '[{"industry":"x"}]', 'line 1 of names.json has no text "name"', ''],
])('a list that can not be read costs nothing: %s %j', async (file, text, ...says) => {
  write(file, text);
  expect(await excluding(file)).toMatchObject(ending(2, ...says));
});
