import { endpoints } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import { accepted, conflicting, each, generatedKey, header, invalid, isJson } from '../expectations.ts';
import { type Expectation, type Request, type Row, shared } from '../row.ts';
import { anyRequest, names, type PostEndpoint, post, postBodies, postEndpoints } from '../samples.ts';
import { ofFinishedTask } from '../tested-service.ts';
import { paddedTo } from '../wire.ts';

/** What the document says of all endpoints, or of several. */

/** The endpoints that state a body limit, and with it what else a body must not be. */
const limited = postEndpoints.filter((endpoint) => endpoints[endpoint].bodyLimit);
/** Where no Idempotency-Key is needed, and a generated one is returned. */
const optional = postEndpoints.filter((endpoint) => endpoints[endpoint].idempotencyKey === 'optional');
/** The status of a bad header is not documented: what fits a bad request or a bad key will do. */
const badKey: Expectation = { status: [422, 409], types: ['invalid_request_error', 'idempotency_error'] };

const jsonType = header('Content-Type', 'application/json', isJson);
const text = (body: string) => (): Uint8Array => Buffer.from(body);
const bodyText = (endpoint: PostEndpoint): string => JSON.stringify(postBodies[endpoint]);
const { max: largest } = limits.requestBody;
const { max: longest } = limits.idempotencyKey;

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

type PostTable = readonly (readonly [
  some: readonly PostEndpoint[],
  name: string,
  rule: string,
  change: (endpoint: PostEndpoint, right: string) => Partial<Request>,
])[];

const wrongType = 'a media type other than application/json gives 422';
const noObject = 'a body that is not an object gives 422';
const severalObjects = 'one JSON object stands in a body, and nothing after it';
const mostBytes = 'a body has at most 1 MiB';
const mostOfKey = 'an Idempotency-Key has at most 128 characters';
/** A lone continuation byte in place of the first space of a text. */
const notUtf8 = (right: string) => {
  const body = Buffer.from(right);
  body[body.indexOf(0x20)] = 0x80;
  return body;
};

const refusedPosts: PostTable = [
  [postEndpoints, 'text-plain', wrongType, () => ({ contentType: 'text/plain' })],
  [postEndpoints, 'form', wrongType, () => ({ contentType: 'application/x-www-form-urlencoded' })],
  [postEndpoints, 'no-media-type', wrongType, () => ({ contentType: null })],
  [postEndpoints, 'malformed-json', noObject, (_, right) => ({ bytes: text(right.slice(0, -1)) })],
  [postEndpoints, 'empty-body', noObject, () => ({ bytes: text('') })],
  [postEndpoints, 'array', noObject, (_, right) => ({ bytes: text(`[${right}]`) })],
  [limited, 'null', noObject, () => ({ bytes: text('null') })],
  [limited, 'two-objects', severalObjects, (_, right) => ({ bytes: text(right + right) })],
  [limited, 'trailing-text', severalObjects, (_, right) => ({ bytes: text(`${right} x`) })],
  [limited, 'invalid-utf-8', 'a body is UTF-8', (_, right) => ({ bytes: () => notUtf8(right) })],
  [limited, 'body-over-1-mib', mostBytes, (one) => ({ bytes: paddedTo(largest + 1, postBodies[one]) })],
  [
    ['contactSearch'],
    'unknown-field',
    'unknown fields are rejected',
    (one) => ({ body: { ...postBodies[one], more: 1 } }),
  ],
];
const acceptedPosts: PostTable = [
  [limited, 'body-of-1-mib', mostBytes, (one) => ({ bytes: paddedTo(largest, postBodies[one]) })],
  [
    limited,
    'charset',
    'a media type may have a charset',
    () => ({ contentType: 'application/json; charset=utf-8' }),
  ],
  [postEndpoints, 'key-of-128', mostOfKey, () => ({ idempotencyKeyLength: longest })],
  [
    ['search'],
    'without-key',
    'a streaming search needs no Idempotency-Key',
    () => ({ idempotencyKey: null }),
  ],
];
const badKeys: PostTable = [
  [postEndpoints, 'key-of-129', mostOfKey, () => ({ idempotencyKeyLength: longest + 1 })],
  [
    ['createTask'],
    'without-key',
    'create_task requires an Idempotency-Key',
    () => ({ idempotencyKey: null }),
  ],
];
const generated: PostTable = [
  [
    optional,
    'generated-key',
    'a key that is left out is generated and returned',
    () => ({ idempotencyKey: null }),
  ],
];
const ofTable = (table: PostTable, expect: Expectation): Row[] =>
  table.flatMap(([some, name, rule, change]) =>
    each('common', some, name, rule, (one) => post(one, change(one, bodyText(one))), expect),
  );

const notReplayed = postEndpoints.filter((endpoint) => endpoints[endpoint].repetition === 'refused');
const same = 'the same request with the same Idempotency-Key gives 409 and not the first answer';
const another = 'another request with the same Idempotency-Key gives 409';
const free422 = 'the Idempotency-Key of a rejected request can be used again';
const jsonRule = 'JSON is answered as application/json';
const notStreamed = postEndpoints.filter((one) => one !== 'search');

export const postRows: readonly Row[] = [
  ...ofTable(refusedPosts, invalid),
  ...ofTable(acceptedPosts, accepted()),
  ...ofTable(badKeys, badKey),
  ...ofTable(generated, generatedKey),
  ...notReplayed.map((one) => second(one, 'duplicate', same, {})),
  ...postEndpoints.map((one) => second(one, 'conflict', another, other[one])),
  ...postEndpoints.map((one) => second(one, 'refused-key', free422, {}, [422])),
  ...each(
    'common',
    notStreamed,
    'media-type',
    jsonRule,
    (one) => shared(`usual ${one}`, post(one)),
    jsonType,
  ),
  ...each(
    'common',
    ['status', 'fetch'] as const,
    'media-type',
    jsonRule,
    (one) => ofFinishedTask(one),
    jsonType,
  ),
  ...each('common', ['balance'], 'media-type', jsonRule, anyRequest, jsonType),
];
