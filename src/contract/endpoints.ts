/** Every endpoint of the service: path, key header, idempotency, effect of a retry, body limit. */

export type KeyHeader = 'x-api-key' | 'bearer';

/**
 * The promise of the document for a repeated request with the same Idempotency-Key:
 * - `free`: a read, repeatable at will.
 * - `replays`: the existing task is returned, without a second charge.
 * - `refused`: 409; the first answer is never replayed.
 * - `may-replay`: a completed answer when there is one, else 409.
 */
export type Repetition = 'free' | 'replays' | 'refused' | 'may-replay';

/** The access a key needs; `any` is an active key. Which scope Enrich and Deep Search need is not documented. */
export type Access = 'entity-search' | 'contact-search' | 'extract' | 'any';

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: `/v1/${string}`;
  /** The form that the document lists first. It does not say which forms an endpoint accepts. */
  readonly keyHeader: KeyHeader;
  readonly idempotencyKey: 'required' | 'recommended' | 'optional' | 'none';
  readonly repetition: Repetition;
  readonly access: Access;
  /** Whether the 1 MiB limit of `limits.requestBody` is stated for it. */
  readonly bodyLimit: boolean;
  readonly answer: 'application/json' | 'text/event-stream';
}

const search = { keyHeader: 'x-api-key', access: 'entity-search', bodyLimit: true } as const;
const read = {
  method: 'GET',
  keyHeader: 'x-api-key',
  idempotencyKey: 'none',
  repetition: 'free',
  bodyLimit: false,
  answer: 'application/json',
} as const;
const lookup = {
  method: 'POST',
  keyHeader: 'bearer',
  idempotencyKey: 'optional',
  repetition: 'refused',
  access: 'any',
  bodyLimit: false,
  answer: 'application/json',
} as const;

export const endpoints = {
  search: {
    ...search,
    method: 'POST',
    path: '/v1/entity-search',
    idempotencyKey: 'recommended',
    repetition: 'refused',
    answer: 'text/event-stream',
  },
  createTask: {
    ...search,
    method: 'POST',
    path: '/v1/entity-search/create_task',
    idempotencyKey: 'required',
    repetition: 'replays',
    answer: 'application/json',
  },
  status: { ...read, path: '/v1/entity-search/status', access: 'entity-search' },
  fetch: { ...read, path: '/v1/entity-search/fetch', access: 'entity-search' },
  contactSearch: { ...lookup, path: '/v1/contact-search', access: 'contact-search', bodyLimit: true },
  deepSearch: { ...lookup, path: '/v1/deep-search' },
  enrich: { ...lookup, path: '/v1/enrich' },
  extract: { ...lookup, path: '/v1/extract', repetition: 'may-replay', access: 'extract' },
  balance: { ...read, path: '/v1/credit/balance', access: 'any' },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;

export const requestHeaders = {
  idempotencyKey: 'Idempotency-Key',
  apiKey: 'x-api-key',
  authorization: 'Authorization',
} as const;

export const responseHeaders = {
  requestId: 'X-Request-Id',
  idempotencyKey: 'Idempotency-Key',
} as const;
