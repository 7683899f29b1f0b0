import { expect, it } from 'vitest';
import { contactFieldsIn } from '../../src/requests/entity-search.ts';

it.each([
  ['email', true],
  ['E-Mail', true],
  ['emailAddress', true],
  ['email_addresses', true],
  ['CEO email', true],
  ['phone', true],
  ['telephone number', true],
  ['mobile-phones', true],
  ['headphones', false],
  ['headcount', false],
  ['mailing list size', false],
  ['funding stage', false],
])('%s asks for contacts: %s', (field, asks) => {
  expect(contactFieldsIn(['industry', field])).toEqual(asks ? [field] : []);
});
