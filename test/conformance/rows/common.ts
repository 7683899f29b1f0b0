import { endpoints } from '../../../src/contract/endpoints.ts';
import { limits } from '../../../src/contract/limits.ts';
import { generatedKey, jsonType } from '../checks.ts';
import { type Expectation, mapped, type Row, sequences, table } from '../row.ts';
import type { Request } from '../service.ts';
import { nameOf, ofFinishedTask, type PostEndpoint, post, postEndpoints } from './samples.ts';

/** Rules about all endpoints, or several. */

/** The status for a bad header is not documented: that of a bad request or of a bad key is accepted. */
const badKey = [422, 409];

/** What turns the usual request into another one. */
const others: Readonly<Record<PostEndpoint, object>> = {
  search: { objective: 'fintech companies' },
  createTask: { objective: 'fintech companies' },
  contactSearch: { contact_type: 'phone' },
  deepSearch: { query: 'Who founded Example GmbH?' },
  enrich: { entity_context: 'Example Ltd. City: Hamburg.' },
  extract: { limit: 2 },
};

/** A body with exactly this number of bytes: white space between tokens counts. */
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
  return sequences('', {
    [key]: [
      [first, 200],
      [second, 409],
    ],
  });
}

function rowsOf(one: PostEndpoint): Row[] {
  const { bodyLimit, idempotencyKey, repetition, answer } = endpoints[one];
  const prefix = `common/${nameOf(one)}-`;
  const rows = (expect: Expectation, changes: Readonly<Record<string, Partial<Request>>>): Row[] =>
    table(
      prefix,
      expect,
      mapped(changes, (more) => post(one, {}, more)),
    );
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
    ...sequences(prefix, {
      'refused-key: the Idempotency-Key of a rejected request can be used again': [
        [{ ...again, body: {} }, 422],
        [again, 200],
      ],
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
