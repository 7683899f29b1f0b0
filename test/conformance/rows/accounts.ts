import { type EndpointName, endpoints } from '../../../src/contract/endpoints.ts';
import { limits } from '../../../src/contract/limits.ts';
import { bodyLike, jsonType, noStore, unless } from '../checks.ts';
import { problemsOf } from '../interpreter.ts';
import { checks, type Row, type Sample, sampleOf, scenarios, table, unpaid } from '../row.ts';
import { creditsOf, type KeyName, type Request, type TestedService } from '../service.ts';
import { balance } from '../shapes.ts';
import { foundContact } from './lookups.ts';
import { anyRequest, nameOf, ofFinishedTask, post, postEndpoints, shared } from './samples.ts';
import { costOf } from './settlement.ts';

/** Keys, accounts and their errors. */

const all = Object.keys(endpoints) as EndpointName[];

function keyRows(one: EndpointName): Row[] {
  const by = (apiKey: KeyName | 'none' | 'unknown'): Request => ({ ...anyRequest(one), apiKey });
  // Which access Enrich and Deep Search need, and whether reading a task needs any, is not documented.
  const isScoped = endpoints[one].access !== 'any' && endpoints[one].method === 'POST';
  return [
    ...table(`authentication/${nameOf(one)}-`, 401, {
      'without-key: a missing key gives 401': by('none'),
      'unknown-key: an unknown key gives 401': by('unknown'),
    }),
    ...table(`authentication/${nameOf(one)}-`, 403, {
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
  ...table('authentication/', 401, {
    [`bearer-without-a-key: ${malformed}`]: { endpoint: 'balance', authorization: 'Bearer' },
    [`basic: ${malformed}`]: { endpoint: 'balance', authorization: 'Basic bm9ib2R5Om5vdGhpbmc=' },
    [`bearer-with-two-words: ${malformed}`]: { endpoint: 'balance', authorization: 'Bearer not a key' },
  }),
  // The two endpoints that the interface shows with both headers.
  ...table('authentication/', 200, {
    [`fetch-x-api-key: ${plain}`]: ofFinishedTask('fetch', {}, { keyHeader: 'x-api-key' }),
    [`fetch-bearer: ${bearer}`]: ofFinishedTask('fetch', {}, { keyHeader: 'bearer' }),
    [`contact-x-api-key: ${plain}`]: post('contactSearch', {}, { keyHeader: 'x-api-key' }),
    [`contact-bearer: ${bearer}`]: post('contactSearch', {}, { keyHeader: 'bearer' }),
  }),
];

/** What an account without credits gets: 402, unless the same request is free for everybody. */
function poor(rule: string, apiKey: KeyName, request: Request, usual: Request | Sample = request): Row[] {
  const { pays, take } = sampleOf(usual);
  const asked = { ...request, apiKey };
  const run = async (service: TestedService) => {
    await service.accepted({ endpoint: 'balance', apiKey });
    const [cost] = await costOf(service, async () => problemsOf(await take(service), 200));
    const answer = await service.send(asked);
    return [
      ...problemsOf(answer, unpaid),
      ...unless(answer.status === 402 || cost <= 0, `200, although this costs ${cost} or more`),
    ];
  };
  return scenarios('errors/', pays, { [rule]: run });
}

export const errorRows: readonly Row[] = [
  ...postEndpoints.flatMap((one) => {
    const usual = one === 'contactSearch' ? foundContact : post(one);
    const rule = 'an account without enough credits gives 402';
    return poor(`${nameOf(one)}-without-credits: ${rule}`, 'no_credits', post(one), usual);
  }),
  ...poor(
    'too-few-credits: an account that has some credits, but not enough for the request, gives 402',
    'few_credits',
    post('extract', { limit: limits.extractLimit.max }),
    post('extract'),
  ),
  ...postEndpoints.flatMap((one) =>
    table(`errors/${nameOf(one)}-`, 429, {
      'busy: a key that has reached its concurrency limit gives 429': post(one, {}, { apiKey: 'busy' }),
    }),
  ),
  ...all.flatMap((one) =>
    table(
      `errors/${nameOf(one)}-`,
      { status: [401], check: jsonType },
      {
        'media-type: errors are answered as application/json': { ...anyRequest(one), apiKey: 'none' },
      },
    ),
  ),
];

export const balanceRows: readonly Row[] = [
  ...checks('balance/', shared({ endpoint: 'balance' }), {
    'body: the balance has object, available_credits and, if there are any, two date-time texts':
      bodyLike(balance),
    'no-store: the balance must not be cached': noStore,
  }),
  ...table('balance/', 200, {
    'any-active-key: any active key is enough for the balance': { endpoint: 'balance', apiKey: 'no_access' },
  }),
  ...checks(
    'balance/',
    { endpoint: 'balance', apiKey: 'no_credits' },
    {
      'account-of-the-key: the API key decides the account: an account without credits shows none': (
        answer,
      ) => unless(creditsOf(answer) <= 0, `$.available_credits is ${creditsOf(answer)}`),
    },
  ),
];
