import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import { bodyLike, generatedKey, jsonType, noStore, unless } from '../checks.ts';
import {
  checks,
  type Expectation,
  problemsOf,
  type Row,
  type Sample,
  sampleOf,
  scenarios,
  table,
  unpaid,
} from '../row.ts';
import {
  anyRequest,
  nameOf,
  ofFinishedTask,
  type PostEndpoint,
  post,
  postEndpoints,
  shared,
} from '../samples.ts';
import { creditsOf, type KeyName, type Request, type TestedService } from '../service.ts';
import { balance } from '../shapes.ts';
import { foundContact } from './answers.ts';
import { costOf } from './settlement.ts';

/** Rules about all endpoints, or several. */

/** The status for a bad header is not documented: that of a bad request or of a bad key is accepted. */
const badKey: Expectation = { status: [422, 409], types: ['invalid_request_error', 'idempotency_error'] };

/** What turns the usual request into another one. */
const others: Readonly<Record<PostEndpoint, object>> = {
  search: { objective: 'fintech companies' },
  createTask: { objective: 'fintech companies' },
  contactSearch: { contact_type: 'phone' },
  deepSearch: { query: 'Who founded Example GmbH?' },
  enrich: { entity_context: 'Example Ltd. City: Hamburg.' },
  extract: { limit: 2 },
};

/** A body of exactly so many bytes: white space between tokens counts. */
const paddedTo = (bytes: number) => (json: string) =>
  `${json.slice(0, -1)}${' '.repeat(bytes - Buffer.byteLength(json))}}`;

/** A lone continuation byte in place of the first space of a text. */
function notUtf8(json: string): Uint8Array {
  const body = Buffer.from(json);
  body[body.indexOf(0x20)] = 0x80;
  return body;
}

const { max: largest } = limits.requestBody;
const { max: longest } = limits.idempotencyKey;
const wrongType = 'a media type other than application/json gives 422';
const noObject = 'a body that is not an object gives 422';
const oneObject = 'one JSON object stands in a body, and nothing after it';
const mostBytes = 'a body has at most 1 MiB';
const mostOfKey = 'an Idempotency-Key has at most 128 characters';
const jsonRule = 'media-type: JSON is answered as application/json';
/** What the interface says about a missing key: the expected answer, and the row. */
const withoutKey = {
  required: [badKey, 'without-key: create_task requires an Idempotency-Key'],
  optional: [generatedKey, 'generated-key: a key that is left out is generated and returned'],
  recommended: [200, 'without-key: a streaming search needs no Idempotency-Key'],
} as const;

/** Rows for a request with the Idempotency-Key of an earlier one. `change` makes it another request. */
function repeated(one: PostEndpoint, rule: string, change: object = {}): Row[] {
  const key = `common/${nameOf(one)}-${rule}`;
  const first = post(one, {}, { idempotencyKey: key });
  const second = post(one, change, { idempotencyKey: key });
  const run = async (service: TestedService) => {
    await service.accepted(first);
    return problemsOf(await service.send(second), 409);
  };
  return scenarios('', [first], { [key]: run }, 409);
}

function rowsOf(one: PostEndpoint): Row[] {
  const { bodyLimit, idempotencyKey, repetition, answer } = endpoints[one];
  const prefix = `common/${nameOf(one)}-`;
  const rows = (expect: Expectation, changes: Readonly<Record<string, Partial<Request>>>): Row[] =>
    Object.entries(changes).flatMap(([key, more]) => table(prefix, expect, { [key]: post(one, {}, more) }));
  const again = post(one, {}, { idempotencyKey: `${prefix}refused-key` });
  const [keyless, keylessRule] = withoutKey[idempotencyKey];
  return [
    ...rows(422, {
      [`text-plain: ${wrongType}`]: { contentType: 'text/plain' },
      [`form: ${wrongType}`]: { contentType: 'application/x-www-form-urlencoded' },
      [`no-media-type: ${wrongType}`]: { contentType: null },
      [`malformed-json: ${noObject}`]: { bytes: (json) => json.slice(0, -1) },
      [`empty-body: ${noObject}`]: { bytes: () => '' },
      [`array: ${noObject}`]: { bytes: (json) => `[${json}]` },
      // Where the interface limits the size of a body, it also says what else a body must not be.
      ...(bodyLimit && {
        [`null: ${noObject}`]: { bytes: () => 'null' },
        [`two-objects: ${oneObject}`]: { bytes: (json) => json + json },
        [`trailing-text: ${oneObject}`]: { bytes: (json) => `${json} x` },
        'invalid-utf-8: a body is UTF-8': { bytes: notUtf8 },
        [`body-over-1-mib: ${mostBytes}`]: { bytes: paddedTo(largest + 1) },
      }),
    }),
    ...rows(200, {
      ...(bodyLimit && {
        [`body-of-1-mib: ${mostBytes}`]: { bytes: paddedTo(largest) },
        'charset: a media type may have a charset': { contentType: 'application/json; charset=utf-8' },
      }),
      [`key-of-128: ${mostOfKey}`]: { idempotencyKey: longest },
    }),
    ...rows(badKey, { [`key-of-129: ${mostOfKey}`]: { idempotencyKey: longest + 1 } }),
    ...rows(keyless, { [keylessRule]: { idempotencyKey: null } }),
    ...(repetition === 'refused'
      ? repeated(
          one,
          'duplicate: the same request with the same Idempotency-Key gives 409 and not the first answer',
        )
      : []),
    ...repeated(one, 'conflict: another request with the same Idempotency-Key gives 409', others[one]),
    ...scenarios(prefix, [again], {
      'refused-key: the Idempotency-Key of a rejected request can be used again': async (service) => {
        await service.accepted({ ...again, body: {} }, 422);
        return problemsOf(await service.send(again), 200);
      },
    }),
    ...(answer === 'application/json' ? table(prefix, jsonType, { [jsonRule]: post(one) }) : []),
  ];
}

export const postRows: readonly Row[] = [
  ...postEndpoints.flatMap(rowsOf),
  ...table('common/', 422, {
    'contact-unknown-field: unknown fields are rejected': post('contactSearch', { more: 1 }),
  }),
  ...table('common/', jsonType, {
    [`status-${jsonRule}`]: ofFinishedTask('status'),
    [`fetch-${jsonRule}`]: ofFinishedTask('fetch'),
    [`balance-${jsonRule}`]: { endpoint: 'balance' },
  }),
];

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
  const { sends, take } = sampleOf(usual);
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
  return scenarios('errors/', [...sends, asked], { [rule]: run }, unpaid);
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
