import { expect, it } from 'vitest';
import { toTemplate } from '../../src/requests/template.ts';

const ada = { first: 'Ada', last: 'Example', title: 'CTO', company: 'Acme, Inc.', site: 'acme.example' };
const identity = '{first} {last}, {title}, {company} ({site})';

it.each<[string, object, string]>([
  [identity, ada, 'Ada Example, CTO, Acme, Inc. (acme.example)'],
  [identity, { ...ada, title: '' }, 'Ada Example, Acme, Inc. (acme.example)'],
  [identity, { ...ada, title: null, site: ' ' }, 'Ada Example, Acme, Inc.'],
  [identity, { ...ada, first: '' }, 'Example, CTO, Acme, Inc. (acme.example)'],
  [identity, { ...ada, last: '' }, 'Ada, CTO, Acme, Inc. (acme.example)'],
  [identity, { company: 'Acme' }, 'Acme'],
  [identity, { other: 'Acme' }, ''],
  ['{company},{title},{first}', { first: 'Ada', company: 'Acme' }, 'Acme,Ada'],
  ['({company}, {title})', { company: 'Acme' }, '(Acme)'],
  ['Who is {first} at {company}?', { first: 'Ada' }, 'Who is Ada at ?'],
  ['Who runs {company}, a firm?', { first: 'Ada', company: '' }, ''],
  ['Who runs {company} in {site}, say?', { company: 'Acme' }, 'Who runs Acme in, say?'],
  // A list of one text is that text, in a cell too; of more, it is their list.
  ['{title} {company}', { title: '["CTO"]', company: ['Acme'] }, 'CTO Acme'],
  ['{company}', { company: ['Acme', 'Bolt'] }, '["Acme","Bolt"]'],
  // What is no value stays as it is.
  ['{company} ():), , ({{x}})', { company: 'Acme' }, 'Acme ():), , ({x})'],
  ['  {company}  ', { company: 'Acme' }, '  Acme  '],
  ['({company}', { company: 'Acme' }, '(Acme'],
  [`${'('.repeat(5000)}{company}`, { company: 'Acme' }, `${'('.repeat(5000)}Acme`],
])('%.60s of %j is %.60j', (template, record, expected) => {
  expect(toTemplate(template, '--template').fill(JSON.stringify(record))).toBe(expected);
});
