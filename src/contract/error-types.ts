/** Every error type of the service with the statuses it comes with. */
export const errorRows = [
  // The API key is missing, malformed or unknown.
  { status: 401, type: 'authentication_error' },
  // The account cannot reserve the cost of the request.
  { status: 402, type: 'insufficient_credits' },
  // The API key is revoked, expired, or without access to the operation.
  { status: 403, type: 'authentication_error' },
  // The task is missing, or owned by another key.
  { status: 404, type: 'not_found' },
  // The idempotency key conflicts with an admitted request, or the request duplicates one.
  { status: 409, type: 'idempotency_error' },
  { status: 409, type: 'request_already_exists' },
  // Wrong content type, invalid JSON structure, invalid field value, or body too large.
  { status: 422, type: 'invalid_request_error' },
  // The concurrent request limit was reached.
  { status: 429, type: 'concurrency_limit' },
  // A dependency, upstream, protocol check or settlement failed.
  { status: 500, type: 'internal_error' },
  // The operation, entity type or contact type is not enabled or priced here.
  { status: 503, type: 'service_unavailable' },
] as const;

export type ErrorType = (typeof errorRows)[number]['type'];
