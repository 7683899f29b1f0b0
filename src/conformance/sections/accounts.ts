import { type EndpointName, endpoints, type KeyHeader } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import {
  accepted,
  bodyLike,
  each,
  isJson,
  noStore,
  refusal,
  table,
  unless,
  unpaid,
} from '../expectations.ts';
import {
  type Answer,
  type Check,
  type Expectation,
  free,
  type KeyName,
  type Request,
  type Row,
  type Step,
  shared,
} from '../row.ts';
import { anyRequest, extraction, names, post, postEndpoints } from '../samples.ts';
import { balance } from '../shapes.ts';
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
    unless(
      isJson(answer.headers.get('content-type') ?? ''),
      `the media type is ${answer.headers.get('content-type') ?? 'missing'}`,
    ),
});

type ApiKey = NonNullable<Request['apiKey']>;
const keyed = (status: number, some: readonly EndpointName[], keys: Readonly<Record<string, ApiKey>>) =>
  Object.entries(keys).flatMap(([key, apiKey]) =>
    each('authentication', some, refusal(status), { [key]: (one) => ({ ...anyRequest(one), apiKey }) }),
  );

const malformed = (name: string, authorization: string): Row[] =>
  table(
    'authentication',
    { endpoint: 'balance', authorization },
    { [`${name}: a malformed key gives 401`]: refusal(401) },
  );

/** The two endpoints that the interface shows with both headers. */
const forms = (['x-api-key', 'bearer'] as KeyHeader[]).flatMap((keyHeader) => {
  const key = `${keyHeader}: shown with ${keyHeader === 'bearer' ? 'Authorization: Bearer' : 'x-api-key'}`;
  return [
    ...each('authentication', ['fetch'], accepted(), {
      [key]: () => ofFinishedTask('fetch', {}, { keyHeader }),
    }),
    ...each('authentication', ['contactSearch'], accepted(), {
      [key]: (one) => post(one, { keyHeader }),
    }),
  ];
});

export const authenticationRows: readonly Row[] = [
  ...keyed(401, all, {
    'without-key: a missing key gives 401': 'none',
    'unknown-key: an unknown key gives 401': 'unknown',
  }),
  ...malformed('bearer-without-a-key', 'Bearer'),
  ...malformed('basic', 'Basic bm9ib2R5Om5vdGhpbmc='),
  ...malformed('bearer-with-two-words', 'Bearer not a key'),
  ...keyed(403, all, {
    'revoked: a revoked key gives 403': 'revoked',
    'expired: an expired key gives 403': 'expired',
  }),
  ...keyed(403, scoped, { 'no-access: a key without access to the operation gives 403': 'no_access' }),
  ...forms,
];

/** What an account that can't pay gets: 402, unless the same costs nobody anything. */
function poor(apiKey: KeyName, request: Request, usual: Step = request) {
  const funds = free((service) => service.send({ endpoint: 'balance', apiKey }));
  const check: Check = (_, earlier) => {
    const [before, after] = [earlier.at(1), earlier.at(-1)] as [Answer, Answer];
    const cost = creditsOf(before) - creditsOf(after);
    return unless(cost <= 0, `200, although this costs ${cost} or more`);
  };
  const expect: Expectation = { ...unpaid, check };
  return { before: [funds, steady, usual, steady], request: { ...request, apiKey }, expect };
}

const mostItems = post('extract', { body: { ...extraction, limit: limits.extractLimit.max } });

export const errorRows: readonly Row[] = [
  ...postEndpoints.flatMap((one) => {
    const usual = one === 'contactSearch' ? foundContact : post(one);
    const key = `${names[one]}-without-credits: an account without enough credits gives 402`;
    return table('errors', post(one), { [key]: poor('no_credits', post(one), usual) });
  }),
  ...table('errors', mostItems, {
    'too-few-credits: an account that has some credits, but not enough for the request, gives 402': poor(
      'few_credits',
      mostItems,
      post('extract'),
    ),
  }),
  ...each('errors', postEndpoints, refusal(429), {
    'busy: a key that has reached its concurrency limit gives 429': (one) => post(one, { apiKey: 'busy' }),
  }),
  ...each('errors', all, jsonError(401), {
    'media-type: errors are answered as application/json': (one) => ({ ...anyRequest(one), apiKey: 'none' }),
  }),
];

export const balanceRows: readonly Row[] = table('balance', shared('balance', { endpoint: 'balance' }), {
  'body: the balance has object, available_credits and, if there are any, two date-time texts': bodyLike(
    'a credit_balance',
    balance,
  ),
  'no-store: the balance must not be cached': noStore,
  'any-active-key: any active key is enough for the balance': {
    request: { endpoint: 'balance', apiKey: 'no_access' },
    expect: accepted(),
  },
  'account-of-the-key: the API key decides the account: an account without credits shows none': {
    request: { endpoint: 'balance', apiKey: 'no_credits' },
    expect: accepted('no available_credits', (answer) =>
      unless(creditsOf(answer) <= 0, `$.available_credits is ${creditsOf(answer)}`),
    ),
  },
});

const foreign = { user_id: 'conformance', account_id: 'conformance' };
/** After something was spent: an account that nobody knows has as much as a new one. */
export const foreignRows: readonly Row[] = table(
  'balance',
  { endpoint: 'balance', query: foreign },
  {
    'foreign-user: the API key alone decides the account: no identifier is accepted': {
      before: [steady],
      expect: accepted('the same balance as without it', (answer, [own]) => {
        const credits = creditsOf(answer);
        return unless(credits === creditsOf(own as Answer), `$.available_credits is ${credits}`);
      }),
    },
  },
);
