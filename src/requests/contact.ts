import { limits } from '../contract/limits.ts';
import { type ContactSearchRequest, type ContactType, contactTypes } from '../contract/types.ts';
import { checkOneOf } from './closed-list.ts';
import type { InputNames } from './input-names.ts';
import { checkText } from './within-limits.ts';

/** Pure: the request of a look-up, checked against the interface's limits. Throws UsageError. */
// rule: contact.objective
export function toContactSearchRequest(
  contactType: string,
  objective: string,
  names: InputNames,
): ContactSearchRequest {
  return {
    contact_type: checkContactType(contactType),
    objective: checkText(limits.contactObjective, names.objective, objective),
  };
}

/** Throws UsageError. */
export function checkContactType(value: string): ContactType {
  return checkOneOf('contact type', value, contactTypes, words);
}

/** What people call these. */
const words = { e: 'email', mail: 'email', telephone: 'phone', tel: 'phone', mobile: 'phone' };
