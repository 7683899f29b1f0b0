import { type EndpointName, endpoints, type KeyHeader } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import { accepted, bodyLike, each, isJson, noStore, refusal } from '../expectations.ts';
import { balance } from '../resources.ts';
import {
  type Answer,
  type Expectation,
  free,
  type KeyName,
  type Request,
  type Row,
  type Step,
  shared,
} from '../row.ts';
import { anyRequest, extraction, names, post, postEndpoints } from '../samples.ts';
import { creditsOf, ofFinishedTask, steady } from '../tested-service.ts';
import { foundContact } from './answers.ts';

/** Keys, accounts and their errors. */

const all = Object.keys(endpoints) as EndpointName[];
/** Which access Enrich and Deep Search take, and whether reading a task takes any, is not documented. */
const scoped = all.filter((name) => endpoints[name].access !== 'any' && endpoints[name].method === 'POST');

const jsonError = (status: number): Expectation => ({
  ...refusal(status),
  says: 'as application/json',
  head: (answer) =>
    isJson(answer.headers.get('content-type') ?? '')
      ? []
      : [`the media type is ${answer.headers.get('content-type') ?? 'missing'}`],
});

const keyed = (
  name: string,
  rule: string,
  status: number,
  apiKey: NonNullable<Request['apiKey']>,
  some = all,
) =>
  each(
    'authentication',
    some,
    name,
    rule,
    (endpoint) => ({ ...anyRequest(endpoint), apiKey }),
    refusal(status),
  );

const malformed = (name: string, authorization: string): Row => ({
  id: `authentication/${name}`,
  rule: 'a malformed key gives 401',
  request: { endpoint: 'balance', authorization },
  expect: refusal(401),
});

/** The two endpoints that the interface shows with both headers. */
const forms = (['x-api-key', 'bearer'] as KeyHeader[]).flatMap((keyHeader) => {
  const rule = `shown with ${keyHeader === 'bearer' ? 'Authorization: Bearer' : 'x-api-key'}`;
  return [
    ...each(
      'authentication',
      ['fetch'],
      keyHeader,
      rule,
      () => ofFinishedTask('fetch', {}, { keyHeader }),
      accepted(),
    ),
    ...each(
      'authentication',
      ['contactSearch'],
      keyHeader,
      rule,
      (name) => post(name as 'contactSearch', { keyHeader }),
      accepted(),
    ),
  ];
});

export const authenticationRows: readonly Row[] = [
  ...keyed('without-key', 'a missing key gives 401', 401, 'none'),
  ...keyed('unknown-key', 'an unknown key gives 401', 401, 'unknown'),
  malformed('bearer-without-a-key', 'Bearer'),
  malformed('basic', 'Basic bm9ib2R5Om5vdGhpbmc='),
  malformed('bearer-with-two-words', 'Bearer not a key'),
  ...keyed('revoked', 'a revoked key gives 403', 403, 'revoked'),
  ...keyed('expired', 'an expired key gives 403', 403, 'expired'),
  ...keyed('no-access', 'a key without access to the operation gives 403', 403, 'no_access', scoped),
  ...forms,
];

/** What an account that can't pay gets: 402, unless the same costs nobody anything. */
function poor(id: string, rule: string, apiKey: KeyName, request: Request, usual: Step): Row {
  const funds = free((service) => service.send({ endpoint: 'balance', apiKey }));
  const check = (_: Answer, earlier: readonly Answer[]): string[] => {
    const [before, after] = [earlier.at(1), earlier.at(-1)] as [Answer, Answer];
    const cost = creditsOf(before) - creditsOf(after);
    return cost > 0 ? [`200, although this costs ${cost} or more`] : [];
  };
  const expect = { ...refusal(402), status: [402, 200], check };
  return {
    id: `errors/${id}`,
    rule,
    before: [funds, steady, usual, steady],
    request: { ...request, apiKey },
    expect,
  };
}

export const errorRows: readonly Row[] = [
  ...postEndpoints.map((one) =>
    poor(
      `${names[one]}-without-credits`,
      'an account without enough credits gives 402',
      'no_credits',
      post(one),
      one === 'contactSearch' ? foundContact : post(one),
    ),
  ),
  poor(
    'too-few-credits',
    'an account that has some credits, but not enough for the request, gives 402',
    'few_credits',
    post('extract', { body: { ...extraction, limit: limits.extractLimit.max } }),
    post('extract'),
  ),
  ...each(
    'errors',
    postEndpoints,
    'busy',
    'a key that has reached its concurrency limit gives 429',
    (one) => post(one, { apiKey: 'busy' }),
    refusal(429),
  ),
  ...each(
    'errors',
    all,
    'media-type',
    'errors are answered as application/json',
    (one) => ({ ...anyRequest(one), apiKey: 'none' }),
    jsonError(401),
  ),
];

const read = shared('balance', { endpoint: 'balance' });

export const balanceRows: readonly Row[] = [
  {
    id: 'balance/body',
    rule: 'the balance has object, available_credits and, if there are any, two date-time texts',
    request: read,
    expect: bodyLike('a credit_balance', balance),
  },
  { id: 'balance/no-store', rule: 'the balance must not be cached', request: read, expect: noStore },
  {
    id: 'balance/any-active-key',
    rule: 'any active key is enough for the balance',
    request: { endpoint: 'balance', apiKey: 'no_access' },
    expect: accepted(),
  },
  {
    id: 'balance/account-of-the-key',
    rule: 'the API key decides the account: an account without credits shows none',
    request: { endpoint: 'balance', apiKey: 'no_credits' },
    expect: accepted('no available_credits', (answer) =>
      creditsOf(answer) <= 0 ? [] : [`$.available_credits is ${creditsOf(answer)}`],
    ),
  },
];

/** After something was spent: an account that nobody knows has as much as a new one. */
export const foreignRow: Row = {
  id: 'balance/foreign-user',
  rule: 'the API key alone decides the account: no identifier is accepted',
  before: [steady],
  request: { endpoint: 'balance', query: { user_id: 'conformance', account_id: 'conformance' } },
  expect: accepted('the same balance as without it', (answer, [own]) =>
    creditsOf(answer) === creditsOf(own as Answer) ? [] : [`$.available_credits is ${creditsOf(answer)}`],
  ),
};
