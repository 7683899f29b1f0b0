import { endpoints } from '../../contract/endpoints.ts';
import { limits } from '../../contract/limits.ts';
import {
  accepted,
  type Expectation,
  generatedKey,
  invalid,
  jsonType,
  type Row,
  refusal,
  table,
} from '../row.ts';
import { nameOf, ofFinishedTask, type PostEndpoint, post, postEndpoints } from '../samples.ts';
import type { Request } from '../service.ts';

/** What the document says of all endpoints, or of several. */

/** The status of a bad header is not documented: what fits a bad request or a bad key will do. */
const badKey: Expectation = { status: [422, 409], types: ['invalid_request_error', 'idempotency_error'] };

/** What makes another request of the usual one. */
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
const keyRequired = 'without-key: create_task requires an Idempotency-Key';
const keyGenerated = 'generated-key: a key that is left out is generated and returned';
const jsonRule = 'media-type: JSON is answered as application/json';

function rowsOf(one: PostEndpoint): Row[] {
  const { bodyLimit, idempotencyKey, repetition, answer } = endpoints[one];
  const name = nameOf(one);
  const rows = (expect: Expectation, changes: Readonly<Record<string, Partial<Request>>>): Row[] =>
    Object.entries(changes).flatMap(([key, more]) =>
      table(`common/${name}-`, expect, { [key]: post(one, {}, more) }),
    );
  /** The second request with a key. */
  const withKey = (of: string, change: object = {}, more: Partial<Request> = {}): Request =>
    post(one, change, { idempotencyKey: `common/${name}-${of}`, ...more });
  return [
    ...rows(invalid, {
      [`text-plain: ${wrongType}`]: { contentType: 'text/plain' },
      [`form: ${wrongType}`]: { contentType: 'application/x-www-form-urlencoded' },
      [`no-media-type: ${wrongType}`]: { contentType: null },
      [`malformed-json: ${noObject}`]: { bytes: (json) => json.slice(0, -1) },
      [`empty-body: ${noObject}`]: { bytes: () => '' },
      [`array: ${noObject}`]: { bytes: (json) => `[${json}]` },
      // What else a body must not be stands in the document beside the limit of its size.
      ...(bodyLimit && {
        [`null: ${noObject}`]: { bytes: () => 'null' },
        [`two-objects: ${oneObject}`]: { bytes: (json) => json + json },
        [`trailing-text: ${oneObject}`]: { bytes: (json) => `${json} x` },
        'invalid-utf-8: a body is UTF-8': { bytes: notUtf8 },
        [`body-over-1-mib: ${mostBytes}`]: { bytes: paddedTo(largest + 1) },
      }),
    }),
    ...rows(accepted, {
      ...(bodyLimit && {
        [`body-of-1-mib: ${mostBytes}`]: { bytes: paddedTo(largest) },
        'charset: a media type may have a charset': { contentType: 'application/json; charset=utf-8' },
      }),
      [`key-of-128: ${mostOfKey}`]: { idempotencyKey: longest },
    }),
    ...rows(badKey, {
      [`key-of-129: ${mostOfKey}`]: { idempotencyKey: longest + 1 },
      ...(idempotencyKey === 'required' && { [keyRequired]: { idempotencyKey: null } }),
    }),
    ...table(`common/${name}-`, post(one, {}, { idempotencyKey: null }), {
      ...(idempotencyKey === 'optional' && { [keyGenerated]: generatedKey }),
      ...(idempotencyKey === 'recommended' && {
        'without-key: a streaming search needs no Idempotency-Key': accepted,
      }),
    }),
    ...table(`common/${name}-`, refusal(409), {
      ...(repetition === 'refused' && {
        'duplicate: the same request with the same Idempotency-Key gives 409 and not the first answer': [
          withKey('duplicate'),
          withKey('duplicate'),
        ],
      }),
      'conflict: another request with the same Idempotency-Key gives 409': [
        withKey('conflict'),
        withKey('conflict', others[one]),
      ],
    }),
    ...table(`common/${name}-`, accepted, {
      'refused-key: the Idempotency-Key of a rejected request can be used again': [
        { ...withKey('refused-key'), body: {}, answered: [422] },
        withKey('refused-key'),
      ],
      ...(answer === 'application/json' && { [jsonRule]: [post(one), jsonType] }),
    }),
  ];
}

export const postRows: readonly Row[] = [
  ...postEndpoints.flatMap(rowsOf),
  ...table('common/', invalid, {
    'contact-unknown-field: unknown fields are rejected': post('contactSearch', { more: 1 }),
  }),
  ...table('common/', jsonType, {
    [`status-${jsonRule}`]: ofFinishedTask('status'),
    [`fetch-${jsonRule}`]: ofFinishedTask('fetch'),
    [`balance-${jsonRule}`]: { endpoint: 'balance' },
  }),
];
