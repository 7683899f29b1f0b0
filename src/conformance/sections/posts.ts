import { endpoints } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import { accepted, conflicting, generatedKey, invalid, refused } from '../expectations.ts';
import type { Expectation, Request, Row } from '../row.ts';
import { names, type PostEndpoint, post, postBodies, postEndpoints } from '../samples.ts';
import { paddedTo } from '../wire.ts';

/** The endpoints that state a body limit, and with it what else a body must not be. */
const limited = postEndpoints.filter((endpoint) => endpoints[endpoint].bodyLimit);
/** Where no Idempotency-Key is needed, and a generated one is returned. */
const optional = postEndpoints.filter((endpoint) => endpoints[endpoint].idempotencyKey === 'optional');

/** The status of a bad header is not documented: what fits a bad request or a bad key will do. */
const badKey: Expectation = {
  status: [422, 409],
  types: ['invalid_request_error', 'idempotency_error'],
};

function each(
  some: readonly PostEndpoint[],
  name: string,
  rule: string,
  request: (endpoint: PostEndpoint) => Partial<Request>,
  expect: Expectation = invalid,
): Row[] {
  return some.map((endpoint) => ({
    id: `common/${names[endpoint]}-${name}`,
    rule,
    request: post(endpoint, request(endpoint)),
    expect,
    ...(expect.status.includes(200) ? { costs: true as const } : {}),
  }));
}

const bytes = (text: string) => (): Uint8Array => Buffer.from(text);
const bodyText = (endpoint: PostEndpoint): string => JSON.stringify(postBodies[endpoint]);
const { max: largest } = limits.requestBody;
const { max: longest } = limits.idempotencyKey;

const other: Readonly<Record<PostEndpoint, object>> = {
  search: { ...postBodies.search, objective: 'fintech companies' },
  createTask: { ...postBodies.createTask, objective: 'fintech companies' },
  contactSearch: { ...postBodies.contactSearch, contact_type: 'phone' },
  deepSearch: { query: 'Who founded Example GmbH?' },
  enrich: { ...postBodies.enrich, entity_context: 'Example Ltd. City: Hamburg.' },
  extract: { ...postBodies.extract, limit: 2 },
};

export const postRows: readonly Row[] = [
  ...each(postEndpoints, 'text-plain', 'a media type other than application/json gives 422', () => ({
    contentType: 'text/plain',
  })),
  ...each(postEndpoints, 'form', 'a media type other than application/json gives 422', () => ({
    contentType: 'application/x-www-form-urlencoded',
  })),
  ...each(postEndpoints, 'no-media-type', 'a body without a media type gives 422', () => ({
    contentType: null,
  })),
  ...each(postEndpoints, 'malformed-json', 'malformed JSON gives 422', (endpoint) => ({
    body: bytes(bodyText(endpoint).slice(0, -1)),
  })),
  ...each(postEndpoints, 'empty-body', 'an empty body gives 422', () => ({ body: bytes('') })),
  ...each(postEndpoints, 'array', 'a body that is not an object gives 422', (endpoint) => ({
    body: bytes(`[${bodyText(endpoint)}]`),
  })),
  ...each(limited, 'null', 'a body that is not an object gives 422', () => ({ body: bytes('null') })),
  ...each(limited, 'two-objects', 'two JSON objects in one body give 422', (endpoint) => ({
    body: bytes(`${bodyText(endpoint)}${bodyText(endpoint)}`),
  })),
  ...each(limited, 'trailing-text', 'text after the JSON object gives 422', (endpoint) => ({
    body: bytes(`${bodyText(endpoint)} x`),
  })),
  ...each(limited, 'invalid-utf-8', 'a body that is not UTF-8 gives 422', (endpoint) => ({
    // A lone continuation byte in place of the first space of a text.
    body: () => {
      const body = Buffer.from(bodyText(endpoint));
      body[body.indexOf(0x20)] = 0x80;
      return body;
    },
  })),
  ...each(
    limited,
    'body-of-1-mib',
    'a body has at most 1 MiB',
    (endpoint) => ({ body: paddedTo(largest, postBodies[endpoint]) }),
    accepted(),
  ),
  ...each(limited, 'body-over-1-mib', 'a body has at most 1 MiB', (endpoint) => ({
    body: paddedTo(largest + 1, postBodies[endpoint]),
  })),
  ...each(
    limited,
    'charset',
    'application/json may have a charset parameter',
    () => ({ contentType: 'application/json; charset=utf-8' }),
    accepted(),
  ),
  ...each(
    postEndpoints,
    'key-of-128',
    'an Idempotency-Key has at most 128 characters',
    () => ({ idempotencyKeyLength: longest }),
    accepted(),
  ),
  ...each(
    postEndpoints,
    'key-of-129',
    'an Idempotency-Key has at most 128 characters',
    () => ({ idempotencyKeyLength: longest + 1 }),
    badKey,
  ),
  ...each(
    optional,
    'generated-key',
    'without an Idempotency-Key, the service generates one and returns it',
    () => ({ idempotencyKey: null }),
    generatedKey,
  ),
  {
    id: 'common/create_task-without-key',
    rule: 'create_task requires an Idempotency-Key',
    request: post('createTask', { idempotencyKey: null }),
    expect: badKey,
  },
  {
    id: 'common/search-without-key',
    rule: 'a streaming search needs no Idempotency-Key',
    costs: true,
    request: post('search', { idempotencyKey: null }),
    expect: accepted(),
  },
  refused('common/extract-unknown-field', 'extract rejects unknown fields', extra('extract')),
  refused('common/contact-unknown-field', 'unknown fields are rejected', extra('contactSearch')),
  ...(['search', 'contactSearch', 'deepSearch', 'enrich'] as const).map(duplicate),
  ...postEndpoints.map(conflict),
  {
    id: 'common/key-of-a-refused-request',
    rule: 'the Idempotency-Key of a rejected request can be used again',
    costs: true,
    before: [post('search', { body: {}, idempotencyKey: 'common/key-of-a-refused-request' })],
    beforeStatus: [422],
    request: post('search', { idempotencyKey: 'common/key-of-a-refused-request' }),
    expect: accepted(),
  },
];

function extra(endpoint: PostEndpoint): Request {
  return post(endpoint, { body: { ...postBodies[endpoint], conformance: true } });
}

/** The answer of a previous request is not replayed. */
function duplicate(endpoint: PostEndpoint): Row {
  const id = `common/${names[endpoint]}-duplicate`;
  const request = post(endpoint, { idempotencyKey: id });
  return {
    id,
    rule: 'the same request with the same Idempotency-Key gives 409 and not the first answer',
    costs: true,
    before: [request],
    request,
    expect: conflicting,
  };
}

function conflict(endpoint: PostEndpoint): Row {
  const id = `common/${names[endpoint]}-conflict`;
  return {
    id,
    rule: 'another request with the same Idempotency-Key gives 409',
    costs: true,
    before: [post(endpoint, { idempotencyKey: id })],
    request: post(endpoint, { idempotencyKey: id, body: other[endpoint] }),
    expect: conflicting,
  };
}
