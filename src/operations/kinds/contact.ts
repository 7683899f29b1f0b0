import { membersOf } from '../../columns/columns.ts';
import type { Layout } from '../../columns/layout.ts';
import type { ContactSearchRequest, ContactType } from '../../contract/types.ts';
import { type JsonText, type JsonView, objectOf, stringOf } from '../../json/text.ts';
import { toContactSearchRequest } from '../../requests/lookups.ts';
import { createIdentityText } from '../../requests/row-texts.ts';
import { contentOf } from './kinds.ts';
import { joinWith, type Lookup } from './row-kind.ts';

/** The columns of a screen that nearly all email addresses and phone numbers need. */
const longest: Readonly<Record<ContactType, number>> = { email: 38, phone: 18 };

export const contact = {
  layout: () => contactLayout,
  rows: ({ contact_type }) => ({
    field: 'objective',
    toText: createIdentityText(),
    toBody: (objective, names) => toContactSearchRequest({ contact_type, objective }, names),
    sought: contact_type === 'phone' ? 'phone number' : contact_type,
    into: contact_type,
    records: 'contacts',
    ...joinWith(toContact, (into) => [
      [into, [['content']], { keeps: longest[contact_type] }],
      [`${into}_reference`, [['reference']], { isOptional: true }],
    ]),
  }),
} as const satisfies Lookup<ContactSearchRequest, Pick<ContactSearchRequest, 'contact_type'>>;

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
      from: contentOf,
    },
    ...membersOf(['reference'], 'result'),
    ...membersOf(['objective'], 'request'),
  ],
};

function toContact(answer: JsonView): JsonText {
  return objectOf([
    ['content', contentOf(answer) ?? 'null'],
    ['reference', answer.find([['result', 'reference']]) ?? 'null'],
  ]);
}
