import type { ContactSearchRequest } from '../../contract/types.ts';
import type { Kind } from './kind.ts';

export const contact = {
  endpoint: 'contactSearch',
  keeps: 'answer',
  isResumable: false,
  prints: 'single',
  subject: 'contact_type',
  about: 'objective',
  tariff: ({ contact_type }) => ({ setting: `price.contact.${contact_type}`, units: 1 }),
} as const satisfies Kind<ContactSearchRequest>;
