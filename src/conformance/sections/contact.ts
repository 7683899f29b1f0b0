import { limits } from '../../contract/limits.ts';
import { accepted, bodyLike, memberOf, noStore, requestId, section } from '../expectations.ts';
import { contactResult } from '../resources.ts';
import type { Expectation, Row } from '../row.ts';
import { contact, post, sentence } from '../samples.ts';
import { quoted } from '../shapes.ts';

const { max } = limits.contactObjective;
const send = (change: object) => post('contactSearch', { body: { ...contact, ...change } });
const { row, wrong, right } = section('contact', send, (service) => service.once('contact', send({})));

function echoes(field: 'contact_type' | 'objective', wanted: string): Expectation {
  return accepted(`request.${field} as it was sent`, (answer) => {
    const found = memberOf(answer, `request.${field}`);
    // How else an objective is normalized is not documented.
    return typeof found === 'string' && found.trim() === wanted
      ? []
      : [`request.${field} is ${quoted(found)}`];
  });
}

/** One character of two UTF-16 units and four bytes. */
const astral = '🙂';

export const contactRows: readonly Row[] = [
  row(
    'body',
    'the answer is a contact_search_result without other fields',
    bodyLike('a contact_search_result', contactResult),
  ),
  row(
    'body-phone',
    'the answer is a contact_search_result for a phone number too',
    bodyLike('a contact_search_result', contactResult),
    send({ contact_type: 'phone' }),
  ),
  row('request-id', 'the answer has a request ID', requestId),
  row('no-store', 'the answer must not be cached', noStore),
  row('echo-type', 'request.contact_type repeats the type', echoes('contact_type', 'email')),
  row('echo-objective', 'request.objective repeats the objective', echoes('objective', contact.objective)),
  row(
    'echo-trimmed',
    'request.objective repeats the objective without the white space around it',
    accepted('request.objective without white space around it', (answer) => {
      const found = memberOf(answer, 'request.objective');
      return typeof found === 'string' && found === found.trim()
        ? []
        : [`request.objective is ${quoted(found)}`];
    }),
    send({ objective: ` \t${contact.objective} \n` }),
  ),
  row(
    'echo-phone',
    'request.contact_type repeats the type',
    echoes('contact_type', 'phone'),
    send({ contact_type: 'phone' }),
  ),
  wrong('type-missing', 'contact_type is required', { contact_type: undefined }),
  wrong('type-unknown', 'contact_type is email or phone', { contact_type: 'fax' }),
  wrong('type-a-number', 'contact_type is a string', { contact_type: 1 }),
  wrong('objective-missing', 'objective is required', { objective: undefined }),
  wrong('objective-null', 'objective is a string', { objective: null }),
  wrong('objective-a-number', 'objective is a string', { objective: 42 }),
  wrong('objective-empty', 'objective has at least 1 character', { objective: '' }),
  wrong('objective-white-space', 'objective has at least 1 character after trimming', { objective: ' \n ' }),
  right('objective-4000', 'objective has at most 4000 characters', { objective: sentence(max) }),
  wrong('objective-4001', 'objective has at most 4000 characters', { objective: sentence(max + 1) }),
  right('objective-4000-of-two-bytes', 'objective is counted in characters, not in bytes', {
    objective: 'é'.repeat(max),
  }),
  right('objective-4000-of-four-bytes', 'objective is counted in Unicode characters', {
    objective: astral.repeat(max),
  }),
  wrong('objective-4001-of-four-bytes', 'objective has at most 4000 Unicode characters', {
    objective: astral.repeat(max + 1),
  }),
  right('objective-trimmed', 'objective is counted after trimming', { objective: ` ${sentence(max)}\n` }),
];
