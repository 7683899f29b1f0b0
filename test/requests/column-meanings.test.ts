import { expect, it } from 'vitest';
import {
  columnsByMeaning,
  contactCandidatesIn,
  contactColumnIn,
  isColumnName,
  isKnownColumn,
  joinName,
  type Meaning,
  nameColumnsOf,
} from '../../src/requests/column-meanings.ts';

it.each<[Meaning, string]>([
  [
    'name',
    'Name|NAME|Full Name|full_name|Contact Name|Person - Name|Contact|Ansprechpartner|Nom complet|Nome|Naam|名称|Channel Name|nameEn',
  ],
  ['first', 'First Name|firstname|FIRST_NAME|First-Name*|Given name|Contact First Name|Vorname|Prénom'],
  ['last', 'Last Name|lastName|Surname|Nachname|Nom de famille|Apellidos|Contact: Last name'],
  ['title', 'Title|Job Title|job-title|Position|Role|Funktion|Poste|Intitulé du poste|Cargo|Puesto'],
  [
    'company',
    'Company|company_name|Account Name|Organization|Org Name|Organisatie|Organisation Name|Account|Employer|Firma|Firmenname|Unternehmen|Société|Raison sociale|Nom de l’entreprise|Entreprise|Empresa|Compañía|Razón social|Associated Company|Primary Company|Associated Company (Primary)|person_institution|Institution|University|Azienda|会社名|Verbundenes Unternehmen|Related Company|Associated Company Name|Kunde|Kundenname|Auftraggeber|Client|Customer Name|Cliente',
  ],
  [
    'website',
    'Website|Website URL|Company Domain|domain|Web page|Company Website|Org Website|officialUrl|Webseite|Homepage|Site web|Página web|Sitio Web|URL|links.website',
  ],
  ['profile', 'LinkedIn|linkedin_url|Person Linkedin Url|LinkedIn-Profil|links.linkedin_url'],
  ['city', 'City|Mailing City|Company City|HQ Location|Ort|Stadt|Ville|Ciudad|Población'],
  ['country', 'Country|Country/Region|Billing Country|Land|Pays|País'],
  ['handle', 'Handle|username|Screen name|Benutzername'],
  ['repository', 'Repository|repo|full_name'],
  ['email', 'Email|Email Address|Email 1|E-mail|E-mail 1 - Value|Contact Email|Correo electrónico'],
  ['phone', 'Phone|Phone Number|Mobile|Portable|Person Phone|Telefon|Telefone'],
  ['text', 'objective|query|entity_context'],
])('the table knows the columns of a %s', (meaning, columns) => {
  const all = columns.split('|');
  expect(all.filter((column) => columnsByMeaning([column])(meaning).length === 0)).toEqual([]);
  expect(all.filter((column) => !isColumnName(column, '@'))).toEqual([]);
});

it('the surest column of a meaning comes first, and no other column has one', () => {
  const columns = [
    'Url',
    'Company City',
    'Website',
    'City',
    'Name of the dog',
    '',
    '価格',
    'id',
    'Company Phone',
  ];
  const find = columnsByMeaning(columns);
  expect(find('website')).toEqual(['Website', 'Url']);
  expect(find('city')).toEqual(['City', 'Company City']);
  expect(columns.filter(isKnownColumn)).toEqual(['Url', 'Company City', 'Website', 'City']);
});

it('a name that is a value of other columns, or a note, is no header', () => {
  expect(['Lead', 'Kunde', 'Customer', 'Contact', 'Business', 'Account:'].filter(isKnownColumn)).toEqual([]);
});

it.each([
  ['email', 'Id|Email 1|Email Address|Email Status', 'Email Address', 'Email 1|Email Address|Email Status'],
  ['phone', 'Mailing City|Mobile|Fax', 'Mobile', 'Mobile'],
  ['phone', 'Company Phone|Tel. (privat)', undefined, 'Company Phone|Tel. (privat)'],
  ['work', 'Email|Phone', undefined, ''],
])('the columns of %s are found in %s', (wanted, columns, column, candidates) => {
  const all = columns.split('|');
  expect(contactColumnIn(all, wanted)).toBe(column);
  expect(contactCandidatesIn(all, wanted).join('|')).toBe(candidates);
});

it.each([
  ['name', 'Full Name|id|name', 'name'],
  ['a whole name beside its parts', 'First Name|Last Name|Full Name', 'Full Name'],
  ['a person', 'Company|Full Name', 'Full Name'],
  ['a person in two columns', 'Company|Last Name|First Name', 'First Name|Last Name'],
  ['a person in two columns, as in France', 'Prénom|Nom', 'Prénom|Nom'],
  ['a person in two columns, as in Germany', 'Name|Vorname|Firma', 'Vorname|Name'],
  ['a person in two columns, as in Spain', 'Nombre|Apellidos', 'Nombre|Apellidos'],
  ['a company', 'Id|Account Name|City', 'Account Name'],
  ['a company that is a client', 'Kundennummer|Kunde|Firmenname', 'Firmenname'],
  ['nothing', 'Id|City', ''],
])('the name of a lead is in the columns of %s', (_, columns, expected) => {
  expect(nameColumnsOf(columns.split('|')).join('|')).toBe(expected);
});

it.each([
  [['Ada', 'Example'], 'Ada Example'],
  [['Ada', 'Ada Example'], 'Ada Example'],
  [['', 'Example'], 'Example'],
  [['Ada', 'ada'], 'Ada'],
  [['Jo', 'Jones'], 'Jo Jones'],
  [['Ada', 'Ada'], 'Ada'],
  [['', ''], ''],
  [['Example'], 'Example'],
])('a name of %j is %j', (parts, expected) => {
  expect(joinName(parts)).toBe(expected);
});
