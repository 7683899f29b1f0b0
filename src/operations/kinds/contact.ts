import { membersOf } from '../../columns/columns.ts';
import type { Layout } from '../../columns/layout.ts';
import { isContactFound } from '../../columns/record-parts.ts';
import type { ContactSearchRequest, ContactType } from '../../contract/types.ts';
import { type JsonText, type JsonView, objectOf, stringOf } from '../../json/text.ts';
import { toContactSearchRequest } from '../../requests/lookups.ts';
import { createIdentityText } from '../../requests/row-texts.ts';
import type { Kind } from './kind.ts';
import { joinWith } from './row-kind.ts';

/** The columns of a screen that nearly all email addresses and phone numbers need. */
const longest: Readonly<Record<ContactType, number>> = { email: 38, phone: 18 };

export const contact = {
  endpoint: 'contactSearch',
  keeps: 'answer',
  isResumable: false,
  prints: 'single',
  subject: 'contact_type',
  about: 'objective',
  tariff: ({ contact_type }) => ({ setting: `price.contact.${contact_type}`, units: 1 }),
  // rule: contact.charged
  mayBeFree: (answer) => !isContactFound(answer),
  layout: () => contactLayout,
  rows: ({ contact_type }) => ({
    field: 'objective',
    toText: createIdentityText(),
    toBody: (objective, names) => toContactSearchRequest({ contact_type, objective }, names),
    isFound: isContactFound,
    into: contact_type,
    records: 'contacts',
    ...joinWith(toContact, (into) => [
      [into, [['content']], { keeps: longest[contact_type] }],
      [`${into}_reference`, [['reference']], { isAside: true }],
    ]),
  }),
} as const satisfies Kind<ContactSearchRequest, { readonly contact_type: ContactType }>;

const contactLayout: Layout = {
  records: 'contacts',
  columns: [
    ...membersOf(['contact_type', 'objective'], 'request'),
    ...membersOf(['content', 'reference'], 'result'),
    ...membersOf(['created_at']),
  ],
  sheet: (record) => [
    {
      header: stringOf(record.inner('request')?.member('contact_type')) ?? 'content',
      none: 'not found',
      from: (answer) => (isContactFound(answer) ? answer.inner('result')?.member('content') : undefined),
    },
    ...membersOf(['reference'], 'result'),
    ...membersOf(['objective'], 'request'),
  ],
};

function toContact(answer: JsonView): JsonText {
  const result = answer.inner('result');
  const content = isContactFound(answer) ? result?.member('content') : undefined;
  return objectOf([
    ['content', content ?? 'null'],
    ['reference', result?.member('reference') ?? 'null'],
  ]);
}
