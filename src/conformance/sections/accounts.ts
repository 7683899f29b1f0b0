import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import {
  accepted,
  bodyLike,
  type Check,
  jsonType,
  noStore,
  type Row,
  refusal,
  same,
  table,
  unless,
  unpaid,
} from '../row.ts';
import { anyRequest, nameOf, ofFinishedTask, post, postEndpoints, shared, steady } from '../samples.ts';
import { creditsOf, type KeyName, type Request, type Step } from '../service.ts';
import { balance } from '../shapes.ts';
import { foundContact } from './answers.ts';

/** Keys, accounts and their errors. */

const all = Object.keys(endpoints) as EndpointName[];

function keyRows(one: EndpointName): Row[] {
  const by = (apiKey: KeyName | 'none' | 'unknown'): Request => ({ ...anyRequest(one), apiKey });
  // Which access Enrich and Deep Search take, and whether reading a task takes any, is not documented.
  const isScoped = endpoints[one].access !== 'any' && endpoints[one].method === 'POST';
  return [
    ...table(`authentication/${nameOf(one)}-`, refusal(401), {
      'without-key: a missing key gives 401': by('none'),
      'unknown-key: an unknown key gives 401': by('unknown'),
    }),
    ...table(`authentication/${nameOf(one)}-`, refusal(403), {
      'revoked: a revoked key gives 403': by('revoked'),
      'expired: an expired key gives 403': by('expired'),
      ...(isScoped && { 'no-access: a key without access to the operation gives 403': by('no_access') }),
    }),
  ];
}

const malformed = 'a malformed key gives 401';
const plain = 'shown with x-api-key';
const bearer = 'shown with Authorization: Bearer';

export const authenticationRows: readonly Row[] = [
  ...all.flatMap(keyRows),
  ...table('authentication/', refusal(401), {
    [`bearer-without-a-key: ${malformed}`]: { endpoint: 'balance', authorization: 'Bearer' },
    [`basic: ${malformed}`]: { endpoint: 'balance', authorization: 'Basic bm9ib2R5Om5vdGhpbmc=' },
    [`bearer-with-two-words: ${malformed}`]: { endpoint: 'balance', authorization: 'Bearer not a key' },
  }),
  // The two endpoints that the interface shows with both headers.
  ...table('authentication/', accepted, {
    [`fetch-x-api-key: ${plain}`]: ofFinishedTask('fetch', {}, { keyHeader: 'x-api-key' }),
    [`fetch-bearer: ${bearer}`]: ofFinishedTask('fetch', {}, { keyHeader: 'bearer' }),
    [`contact-x-api-key: ${plain}`]: post('contactSearch', {}, { keyHeader: 'x-api-key' }),
    [`contact-bearer: ${bearer}`]: post('contactSearch', {}, { keyHeader: 'bearer' }),
  }),
];

/** What an account that can't pay gets: 402, unless the same costs nobody anything. */
function poor(key: string, apiKey: KeyName, request: Request, usual: Step = request): Row[] {
  const funds: Request = { endpoint: 'balance', apiKey };
  const check: Check = (_, before, __, after, { status }) => {
    const cost = creditsOf(before) - creditsOf(after);
    return unless(status === 402 || cost <= 0, `200, although this costs ${cost} or more`);
  };
  const steps = [funds, steady, usual, steady, { ...request, apiKey }];
  return table('errors/', { ...unpaid, check }, { [key]: steps });
}

const mostItems = post('extract', { limit: limits.extractLimit.max });

export const errorRows: readonly Row[] = [
  ...postEndpoints.flatMap((one) => {
    const usual = one === 'contactSearch' ? foundContact : post(one);
    const rule = 'an account without enough credits gives 402';
    return poor(`${nameOf(one)}-without-credits: ${rule}`, 'no_credits', post(one), usual);
  }),
  ...poor(
    'too-few-credits: an account that has some credits, but not enough for the request, gives 402',
    'few_credits',
    mostItems,
    post('extract'),
  ),
  ...postEndpoints.flatMap((one) =>
    table(`errors/${nameOf(one)}-`, refusal(429), {
      'busy: a key that has reached its concurrency limit gives 429': post(one, {}, { apiKey: 'busy' }),
    }),
  ),
  ...all.flatMap((one) =>
    table(`errors/${nameOf(one)}-`, refusal(401, jsonType), {
      'media-type: errors are answered as application/json': { ...anyRequest(one), apiKey: 'none' },
    }),
  ),
];

export const balanceRows: readonly Row[] = table('balance/', shared({ endpoint: 'balance' }), {
  'body: the balance has object, available_credits and, if there are any, two date-time texts':
    bodyLike(balance),
  'no-store: the balance must not be cached': noStore,
  'any-active-key: any active key is enough for the balance': [
    { endpoint: 'balance', apiKey: 'no_access' },
    accepted,
  ],
  'account-of-the-key: the API key decides the account: an account without credits shows none': [
    { endpoint: 'balance', apiKey: 'no_credits' },
    (answer) => unless(creditsOf(answer) <= 0, `$.available_credits is ${creditsOf(answer)}`),
  ],
});

const foreign = { user_id: 'conformance', account_id: 'conformance' };
/** After something was spent: an account that nobody knows has as much as a new one. */
export const foreignRows: readonly Row[] = table('balance/', steady, {
  'foreign-user: the API key alone decides the account: no identifier is accepted': [
    steady,
    { endpoint: 'balance', query: foreign },
    (own, answer) => same('$.available_credits', creditsOf(answer), creditsOf(own)),
  ],
});
