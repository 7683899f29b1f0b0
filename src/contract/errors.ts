/** Every error type of the service with the statuses it comes with. */

export type ErrorType =
  | 'authentication_error'
  | 'insufficient_credits'
  | 'not_found'
  | 'idempotency_error'
  | 'request_already_exists'
  | 'invalid_request_error'
  | 'concurrency_limit'
  | 'internal_error'
  | 'service_unavailable';

export interface ServiceErrorRow {
  readonly status: number;
  readonly type: ErrorType;
  readonly condition: string;
}

// rule: errors.402, errors.409, errors.422, errors.429, errors.500
export const errorRows = [
  { status: 401, type: 'authentication_error', condition: 'the API key is missing, malformed or unknown' },
  {
    status: 402,
    type: 'insufficient_credits',
    condition: 'the account cannot reserve the cost of the request',
  },
  {
    status: 403,
    type: 'authentication_error',
    condition: 'the API key is revoked, expired, or without access to the operation',
  },
  { status: 404, type: 'not_found', condition: 'the task is missing, or owned by another key' },
  {
    status: 409,
    type: 'idempotency_error',
    condition: 'the idempotency key conflicts with an admitted request',
  },
  {
    status: 409,
    type: 'request_already_exists',
    condition: 'the idempotency key duplicates an admitted request',
  },
  {
    status: 422,
    type: 'invalid_request_error',
    condition: 'wrong content type, invalid JSON structure, invalid field value, or body too large',
  },
  { status: 429, type: 'concurrency_limit', condition: 'the concurrent request limit was reached' },
  {
    status: 500,
    type: 'internal_error',
    condition: 'a dependency, upstream, protocol check or settlement failed',
  },
  {
    status: 503,
    type: 'service_unavailable',
    condition: 'the operation, entity type or contact type is not enabled or priced here',
  },
] as const satisfies readonly ServiceErrorRow[];
