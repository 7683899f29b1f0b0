import { describe, expect, it } from 'vitest';
import type { ExtractionType } from '../../src/contract/types.ts';
import { createIdentityText, createTargetText, toIdentityTemplate } from '../../src/requests/row-texts.ts';

describe('the identity of a record', () => {
  it.each<[object, string]>([
    [
      { 'First Name': 'Ada', 'Last Name': 'Example', Title: 'CTO', Company: 'Acme', Website: 'acme.example' },
      'Ada Example, CTO, Acme (acme.example)',
    ],
    [{ Id: '7', Name: 'Ada Example', 'Account Name': 'Acme', Email: '' }, 'Ada Example, Acme'],
    [{ full_name: 'Ada Example', title: '', company: 'Acme' }, 'Ada Example, Acme'],
    [
      { name: 'Ada Example', Organization: 'Acme', City: 'Oslo', country: 'Norway' },
      'Ada Example, Acme, Oslo, Norway',
    ],
    [
      { Vorname: 'Ada', Name: 'Example', Firma: 'Acme', Webseite: '-', Ort: 'Köln' },
      'Ada Example, Acme, Köln',
    ],
    [{ Prénom: 'Ada', Nom: 'Example', Société: 'Acme', Ville: 'n/a' }, 'Ada Example, Acme'],
    [{ Name: '#N/A', Website: '#REF!' }, ''],
    [{ Nombre: 'Ada', Apellidos: 'Example', Cargo: 'CTO', Empresa: 'Acme' }, 'Ada Example, CTO, Acme'],
    [{ Name: 'Ada Example', 'First Name': 'Ada', 'Last Name': 'Example' }, 'Ada Example'],
    // The two parts of a name are next to the name of the company.
    [{ Name: 'Acme', 'First Name': 'Ada', 'Last Name': 'Example' }, 'Ada Example, Acme'],
    [{ Company: 'Acme', Domain: 'acme.example', Title: 'About us', City: 'Oslo' }, 'Acme (acme.example)'],
    [{ company_name: 'Acme', city: 'Oslo' }, 'Acme, Oslo'],
    [{ domain: 'acme.example' }, 'acme.example'],
    [{ Company: 'Acme', Name: 'ACME', Website: 'acme.example' }, 'ACME, acme.example'],
    [{ name: 'Dr. A. Example', first_name: 'Ada', last_name: 'Example' }, 'Ada Dr. A. Example'],
    [{ name: 'Ada E.', first_name: 'Ada', last_name: 'Example' }, 'Ada E. Example'],
    [{ name: 'Ada', linkedin_url: 'https://li.example/ada', city: 'Oslo' }, 'Ada, https://li.example/ada'],
    // Leads, as a search writes them.
    [{ name: 'Acme', links: { website: 'https://acme.example' } }, 'Acme, https://acme.example'],
    [{ name: 'Acme', links: '{"website":"https://acme.example"}' }, 'Acme, https://acme.example'],
    [{ name: 'Acme', links: { website: ['https://acme.example'] } }, 'Acme, https://acme.example'],
    [{ name: 'Acme', links: '{"website":[{"url":"https://acme.example"}]}' }, 'Acme, https://acme.example'],
    [{ name: 'Ada', links: { linkedin_url: ['https://li.example/ada'] } }, 'Ada, https://li.example/ada'],
    [{ name: 'Ada', Links: ['https://ada.example'], city: 'Oslo' }, 'Ada, https://ada.example'],
    [{ name: 'Ada', links: '["https://ada.example"]' }, 'Ada, https://ada.example'],
    [{ name: 'Ada', links: { social: { x: 'https://x.example/ada' } } }, 'Ada, https://x.example/ada'],
    [{ name: 'Ada', links: [{ type: 'x', url: 'https://x.example/ada' }] }, 'Ada, https://x.example/ada'],
    [{ name: 'Ada', company: 'Acme', links: [{ url: 'https://a.example' }] }, 'Ada, Acme, https://a.example'],
    [{ name: 'Ada', links: 'see below', city: 'Oslo' }, 'Ada, Oslo'],
    [{ name: 'Acme', description: 'makes\n rockets', links: {} }, 'Acme, makes rockets'],
    [{ person: { name: 'Ada' }, company: { name: 'Acme', id: 7 }, title: ['x', 'y'] }, 'Ada, Acme'],
    [{ name: ['Ada'], company: 'Acme', domains: ['acme.example'] }, 'Ada, Acme (acme.example)'],
    [{ Title: 'CTO', City: 'Oslo', Email: 'ada@acme.example' }, ''],
    [{ Name: ' ', Company: '' }, ''],
  ])('%j is %j', (record, expected) => {
    const toText = createIdentityText();
    expect(toText(JSON.stringify(record))).toBe(expected);
    expect(toText('{"company":"Other"}')).toBe('Other');
    expect(toText(JSON.stringify(record))).toBe(expected);
  });
});

it.each([
  [
    'Id|First Name|Last Name|Title|Company|Website',
    '{First Name} {Last Name}, {Title}, {Company} ({Website})',
  ],
  ['Name|Account Name', '{Name}, {Account Name}'],
  ['Title|Company', '{Company}'],
  ['name|links', '{name}, {links.website}'],
  ['{name}|Domain', '{Domain}'],
  ['Id|Email', undefined],
])('the template for the columns %s is %s', (columns, expected) => {
  expect(toIdentityTemplate(columns.split('|'))).toBe(expected);
});

it.each<[ExtractionType, object, string]>([
  ['x_followers', { handle: '@acme', twitter: '@nasa' }, '@nasa'],
  ['x_following', { Username: 'nasa', Name: 'NASA' }, 'nasa'],
  ['github_user_followers', { login: 'ada', repo: 'acme/rocket' }, 'ada'],
  ['github_repo_stargazers', { login: 'ada', repo: 'acme/rocket' }, 'acme/rocket'],
  ['github_repo_contributors', { full_name: 'acme/rocket', html_url: 'https://x.example' }, 'acme/rocket'],
  ['ins_followers', { 'Instagram Handle': 'acme', Website: 'acme.example' }, 'acme'],
  ['tiktok_following', { Website: 'acme.example' }, ''],
  ['web2list', { Name: 'Acme', Website: 'https://acme.example/team' }, 'https://acme.example/team'],
  ['web2list', { domain: 'acme.example' }, 'https://acme.example'],
  ['web2list', { domain: '', url: 'https://acme.example' }, ''],
  ['web2list', { Name: 'Acme' }, ''],
])('the target of %s in %j is %j', (type, record, expected) => {
  expect(createTargetText(type)(JSON.stringify(record))).toBe(expected);
});
