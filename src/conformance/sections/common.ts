import { endpoints } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import {
  accepted,
  conflicting,
  each,
  generatedKey,
  header,
  invalid,
  isJson,
  table,
} from '../expectations.ts';
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

/** The second request with a key; the first was refused where `answered` says so. */
function second(endpoint: PostEndpoint, key: string, change: object, answered?: number[]): Row[] {
  const id = `${names[endpoint]}-${key}`;
  const request = post(endpoint, { idempotencyKey: `common/${id.split(': ', 1)}` });
  const body = { ...postBodies[endpoint], ...change };
  const first = answered === undefined ? request : { ...request, body: {}, answered };
  const expect = answered === undefined ? conflicting : accepted();
  return table('common', { ...request, body }, { [id]: { before: [first], expect } });
}

/** Right requests, in which something is changed. */
function posts(
  some: readonly PostEndpoint[],
  expect: Expectation,
  changes: Readonly<Record<string, (right: string, endpoint: PostEndpoint) => Partial<Request>>>,
): Row[] {
  return Object.entries(changes).flatMap(([key, change]) =>
    each('common', some, expect, { [key]: (one) => post(one, change(bodyText(one), one)) }),
  );
}

const wrongType = 'a media type other than application/json gives 422';
const noObject = 'a body that is not an object gives 422';
const severalObjects = 'one JSON object stands in a body, and nothing after it';
const mostBytes = 'a body has at most 1 MiB';
const mostOfKey = 'an Idempotency-Key has at most 128 characters';
const jsonRule = 'media-type: JSON is answered as application/json';
/** A lone continuation byte in place of the first space of a text. */
const notUtf8 = (right: string) => {
  const body = Buffer.from(right);
  body[body.indexOf(0x20)] = 0x80;
  return body;
};

const notReplayed = postEndpoints.filter((endpoint) => endpoints[endpoint].repetition === 'refused');
const notStreamed = postEndpoints.filter((one) => one !== 'search');
const same = 'duplicate: the same request with the same Idempotency-Key gives 409 and not the first answer';
const another = 'conflict: another request with the same Idempotency-Key gives 409';
const reusable = 'refused-key: the Idempotency-Key of a rejected request can be used again';

export const postRows: readonly Row[] = [
  ...posts(postEndpoints, invalid, {
    [`text-plain: ${wrongType}`]: () => ({ contentType: 'text/plain' }),
    [`form: ${wrongType}`]: () => ({ contentType: 'application/x-www-form-urlencoded' }),
    [`no-media-type: ${wrongType}`]: () => ({ contentType: null }),
    [`malformed-json: ${noObject}`]: (right) => ({ bytes: text(right.slice(0, -1)) }),
    [`empty-body: ${noObject}`]: () => ({ bytes: text('') }),
    [`array: ${noObject}`]: (right) => ({ bytes: text(`[${right}]`) }),
  }),
  ...posts(limited, invalid, {
    [`null: ${noObject}`]: () => ({ bytes: text('null') }),
    [`two-objects: ${severalObjects}`]: (right) => ({ bytes: text(right + right) }),
    [`trailing-text: ${severalObjects}`]: (right) => ({ bytes: text(`${right} x`) }),
    'invalid-utf-8: a body is UTF-8': (right) => ({ bytes: () => notUtf8(right) }),
    [`body-over-1-mib: ${mostBytes}`]: (_, one) => ({ bytes: paddedTo(largest + 1, postBodies[one]) }),
  }),
  ...posts(['contactSearch'], invalid, {
    'unknown-field: unknown fields are rejected': () => ({ body: { ...postBodies.contactSearch, more: 1 } }),
  }),
  ...posts(limited, accepted(), {
    [`body-of-1-mib: ${mostBytes}`]: (_, one) => ({ bytes: paddedTo(largest, postBodies[one]) }),
    'charset: a media type may have a charset': () => ({ contentType: 'application/json; charset=utf-8' }),
  }),
  ...posts(postEndpoints, accepted(), {
    [`key-of-128: ${mostOfKey}`]: () => ({ idempotencyKeyLength: longest }),
  }),
  ...posts(['search'], accepted(), {
    'without-key: a streaming search needs no Idempotency-Key': () => ({ idempotencyKey: null }),
  }),
  ...posts(postEndpoints, badKey, {
    [`key-of-129: ${mostOfKey}`]: () => ({ idempotencyKeyLength: longest + 1 }),
  }),
  ...posts(['createTask'], badKey, {
    'without-key: create_task requires an Idempotency-Key': () => ({ idempotencyKey: null }),
  }),
  ...posts(optional, generatedKey, {
    'generated-key: a key that is left out is generated and returned': () => ({ idempotencyKey: null }),
  }),
  ...notReplayed.flatMap((one) => second(one, same, {})),
  ...postEndpoints.flatMap((one) => second(one, another, other[one])),
  ...postEndpoints.flatMap((one) => second(one, reusable, {}, [422])),
  ...each('common', notStreamed, jsonType, { [jsonRule]: (one) => shared(`usual ${one}`, post(one)) }),
  ...each('common', ['status', 'fetch'], jsonType, { [jsonRule]: (one) => ofFinishedTask(one) }),
  ...each('common', ['balance'], jsonType, { [jsonRule]: anyRequest }),
];
