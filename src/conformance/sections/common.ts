import { type EndpointName, endpoints, type KeyHeader } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import {
  accepted,
  bodyLike,
  conflicting,
  generatedKey,
  header,
  invalid,
  noStore,
  refusal,
} from '../expectations.ts';
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
import {
  anyRequest,
  extraction,
  names,
  type PostEndpoint,
  post,
  postBodies,
  postEndpoints,
} from '../samples.ts';
import { creditsOf, ofFinishedTask, steady } from '../tested-service.ts';
import { paddedTo } from '../wire.ts';
import { foundContact } from './answers.ts';

/** What the document says of all endpoints, or of several. */

const all = Object.keys(endpoints) as EndpointName[];
/** The endpoints that state a body limit, and with it what else a body must not be. */
const limited = postEndpoints.filter((endpoint) => endpoints[endpoint].bodyLimit);
/** Where no Idempotency-Key is needed, and a generated one is returned. */
const optional = postEndpoints.filter((endpoint) => endpoints[endpoint].idempotencyKey === 'optional');
/** Which access Enrich and Deep Search take, and whether reading a task takes any, is not documented. */
const scoped = all.filter((name) => endpoints[name].access !== 'any' && endpoints[name].method === 'POST');

/** The status of a bad header is not documented: what fits a bad request or a bad key will do. */
const badKey: Expectation = { status: [422, 409], types: ['invalid_request_error', 'idempotency_error'] };

const isJson = (value: string) => /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(value);
const jsonType = header('Content-Type', 'application/json', isJson);
const jsonError = (status: number): Expectation => ({
  ...refusal(status),
  says: 'as application/json',
  head: (answer) =>
    isJson(answer.headers.get('content-type') ?? '')
      ? []
      : [`the media type is ${answer.headers.get('content-type') ?? 'missing'}`],
});

function each<Name extends EndpointName>(
  sectionName: string,
  some: readonly Name[],
  name: string,
  rule: string,
  request: (endpoint: Name) => Step,
  expect: Expectation = invalid,
): Row[] {
  return some.map((endpoint) => ({
    id: `${sectionName}/${names[endpoint]}-${name}`,
    rule,
    request: request(endpoint),
    expect,
  }));
}

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

const text = (body: string) => (): Uint8Array => Buffer.from(body);
const bodyText = (endpoint: PostEndpoint): string => JSON.stringify(postBodies[endpoint]);
const { max: largest } = limits.requestBody;
const { max: longest } = limits.idempotencyKey;

/** Requests that differ from the right one in a header or in their bytes. */
function posts(
  some: readonly PostEndpoint[],
  name: string,
  rule: string,
  change: (endpoint: PostEndpoint, right: string) => Partial<Request>,
  expect: Expectation = invalid,
): Row[] {
  return each('common', some, name, rule, (one) => post(one, change(one, bodyText(one))), expect);
}

const other: Readonly<Record<PostEndpoint, object>> = {
  search: { objective: 'fintech companies' },
  createTask: { objective: 'fintech companies' },
  contactSearch: { contact_type: 'phone' },
  deepSearch: { query: 'Who founded Example GmbH?' },
  enrich: { entity_context: 'Example Ltd. City: Hamburg.' },
  extract: { limit: 2 },
};

/** The second request with a key. */
function second(
  endpoint: PostEndpoint,
  name: string,
  rule: string,
  change: object,
  answered?: number[],
): Row {
  const id = `common/${names[endpoint]}-${name}`;
  const request = post(endpoint, { idempotencyKey: id });
  const body = { ...postBodies[endpoint], ...change };
  const first = answered === undefined ? request : { ...request, body: {}, answered };
  const expect = answered === undefined ? conflicting : accepted();
  return { id, rule, before: [first], request: { ...request, body }, expect };
}

const notReplayed = postEndpoints.filter((endpoint) => endpoints[endpoint].repetition === 'refused');
const wrongType = 'a media type other than application/json gives 422';

export const postRows: readonly Row[] = [
  ...posts(postEndpoints, 'text-plain', wrongType, () => ({ contentType: 'text/plain' })),
  ...posts(postEndpoints, 'form', wrongType, () => ({ contentType: 'application/x-www-form-urlencoded' })),
  ...posts(postEndpoints, 'no-media-type', 'a body without a media type gives 422', () => ({
    contentType: null,
  })),
  ...posts(postEndpoints, 'malformed-json', 'malformed JSON gives 422', (_, right) => ({
    bytes: text(right.slice(0, -1)),
  })),
  ...posts(postEndpoints, 'empty-body', 'an empty body gives 422', () => ({ bytes: text('') })),
  ...posts(postEndpoints, 'array', 'a body that is not an object gives 422', (_, right) => ({
    bytes: text(`[${right}]`),
  })),
  ...posts(limited, 'null', 'a body that is not an object gives 422', () => ({ bytes: text('null') })),
  ...posts(limited, 'two-objects', 'two JSON objects in one body give 422', (_, right) => ({
    bytes: text(right + right),
  })),
  ...posts(limited, 'trailing-text', 'text after the JSON object gives 422', (_, right) => ({
    bytes: text(`${right} x`),
  })),
  ...posts(limited, 'invalid-utf-8', 'a body that is not UTF-8 gives 422', (_, right) => ({
    // A lone continuation byte in place of the first space of a text.
    bytes: () => {
      const body = Buffer.from(right);
      body[body.indexOf(0x20)] = 0x80;
      return body;
    },
  })),
  ...posts(
    limited,
    'body-of-1-mib',
    'a body has at most 1 MiB',
    (one) => ({ bytes: paddedTo(largest, postBodies[one]) }),
    accepted(),
  ),
  ...posts(limited, 'body-over-1-mib', 'a body has at most 1 MiB', (one) => ({
    bytes: paddedTo(largest + 1, postBodies[one]),
  })),
  ...posts(
    limited,
    'charset',
    'application/json may have a charset',
    () => ({ contentType: 'application/json; charset=utf-8' }),
    accepted(),
  ),
  ...posts(
    postEndpoints,
    'key-of-128',
    'an Idempotency-Key has at most 128 characters',
    () => ({ idempotencyKeyLength: longest }),
    accepted(),
  ),
  ...posts(
    postEndpoints,
    'key-of-129',
    'an Idempotency-Key has at most 128 characters',
    () => ({ idempotencyKeyLength: longest + 1 }),
    badKey,
  ),
  ...posts(
    optional,
    'generated-key',
    'without an Idempotency-Key, the service generates one and returns it',
    () => ({ idempotencyKey: null }),
    generatedKey,
  ),
  ...posts(
    ['createTask'],
    'without-key',
    'create_task requires an Idempotency-Key',
    () => ({ idempotencyKey: null }),
    badKey,
  ),
  ...posts(
    ['search'],
    'without-key',
    'a streaming search needs no Idempotency-Key',
    () => ({ idempotencyKey: null }),
    accepted(),
  ),
  ...posts(['contactSearch'], 'unknown-field', 'unknown fields are rejected', (one) => ({
    body: { ...postBodies[one], conformance: true },
  })),
  ...notReplayed.map((one) =>
    second(
      one,
      'duplicate',
      'the same request with the same Idempotency-Key gives 409 and not the first answer',
      {},
    ),
  ),
  ...postEndpoints.map((one) =>
    second(one, 'conflict', 'another request with the same Idempotency-Key gives 409', other[one]),
  ),
  ...postEndpoints.map((one) =>
    second(one, 'refused-key', 'the Idempotency-Key of a rejected request can be used again', {}, [422]),
  ),
  ...each(
    'common',
    postEndpoints.filter((one) => one !== 'search'),
    'media-type',
    'JSON is answered as application/json',
    (one) => shared(`usual ${one}`, post(one)),
    jsonType,
  ),
  ...each(
    'common',
    ['status', 'fetch'],
    'media-type',
    'JSON is answered as application/json',
    (one) => ofFinishedTask(one as 'fetch'),
    jsonType,
  ),
  ...each('common', ['balance'], 'media-type', 'JSON is answered as application/json', anyRequest, jsonType),
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
