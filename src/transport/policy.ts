import type { Endpoint } from '../contract/endpoints.ts';
import type { Charged, Outcome } from '../errors.ts';

/**
 * Everything that can go wrong between a request and its answer.
 * - `unsent`: no connection was made, so nothing was sent.
 * - `certificate`, `not_http`, `redirect`: whoever answers is not the service.
 * - `lost`: the request may have arrived; no head of an answer came.
 * - `gateway`: a status from something in between (502, 504, or 500/503 without the error envelope).
 * - `garbled`: a 2xx whose body is not what the interface promises.
 * - the rest are the service's own refusals, see contract/errors.ts; `undocumented` is any other status.
 */
export type Fault =
  | 'unsent'
  | 'certificate'
  | 'not_http'
  | 'redirect'
  | 'lost'
  | 'gateway'
  | 'garbled'
  | 'internal_error'
  | 'not_enabled'
  | 'busy'
  | 'already_exists'
  | 'conflict'
  | 'no_credits'
  | 'unauthenticated'
  | 'forbidden'
  | 'invalid'
  | 'missing'
  | 'undocumented';

/** Endpoints that fail alike: free reads, create_task, single answers, extract, the stream. */
export type Group = 'read' | 'create' | 'answer' | 'extract' | 'stream';

function groupOf(endpoint: Endpoint): Group {
  switch (endpoint.repetition) {
    case 'free':
      return 'read';
    case 'replays':
      return 'create';
    case 'may-replay':
      return 'extract';
    case 'refused':
      return endpoint.answer === 'text/event-stream' ? 'stream' : 'answer';
  }
}

interface Verdict {
  readonly outcome: Outcome;
  readonly charged: Charged;
  readonly hint: string;
}

interface PolicyRow {
  /** For reads, which never cost anything. */
  readonly read: Outcome;
  /** For create_task, which can be asked again with its key. */
  readonly create: Outcome;
  /** For everything else that is paid. */
  readonly paid: Outcome;
  /** Whether a paid request may have cost credits. */
  readonly charged: Charged;
  /** What to do, one line. */
  readonly hint: string;
}

const notOurs = 'Check the address: whatever answers there is not the service.';
const inDoubt =
  'It may have been charged. Compare `leadpipe balance` before you run it again: a new run is a new purchase.';

/** One row per fault: how the run ends and what it means for money. */
const policy: Readonly<Record<Fault, PolicyRow>> = {
  unsent: row(
    'temporary',
    'temporary',
    'temporary',
    'no',
    'Check the address and the network; running it again is safe.',
  ),
  certificate: row(
    'interface',
    'interface',
    'interface',
    'no',
    'Check the address, the clock, and NODE_EXTRA_CA_CERTS for a private authority.',
  ),
  not_http: row('interface', 'interface', 'interface', 'no', notOurs),
  redirect: row(
    'interface',
    'interface',
    'interface',
    'maybe',
    'Redirects are never followed. Use the address it points to, if you trust it.',
  ),
  lost: row('temporary', 'unknown', 'unknown', 'maybe', inDoubt),
  gateway: row('temporary', 'unknown', 'unknown', 'maybe', inDoubt),
  garbled: row(
    'interface',
    'interface',
    'unknown',
    'yes',
    'The answer can not be had again. Report the request ID.',
  ),
  internal_error: row('temporary', 'temporary', 'unknown', 'maybe', inDoubt),
  not_enabled: row(
    'not_enabled',
    'not_enabled',
    'not_enabled',
    'no',
    'Ask whoever runs the service to enable it, or choose another type.',
  ),
  busy: row(
    'temporary',
    'temporary',
    'temporary',
    'no',
    'Wait for running requests to end, then run it again.',
  ),
  already_exists: row(
    'unknown',
    'unknown',
    'unknown',
    'no',
    'This key was used before; a new purchase needs a new --idempotency-key.',
  ),
  conflict: row(
    'unknown',
    'unknown',
    'unknown',
    'no',
    'This key belongs to another request; a new purchase needs a new --idempotency-key.',
  ),
  no_credits: row(
    'credits',
    'credits',
    'credits',
    'no',
    'See `leadpipe balance`; a smaller --limit reserves less.',
  ),
  unauthenticated: row(
    'authentication',
    'authentication',
    'authentication',
    'no',
    'Check LEADPIPE_API_KEY, and that it belongs to this address.',
  ),
  forbidden: row(
    'authentication',
    'authentication',
    'authentication',
    'no',
    'The key is revoked, expired, or has no access to this operation.',
  ),
  invalid: row('usage', 'usage', 'usage', 'no', 'Change the request as the message says.'),
  missing: row(
    'not_found',
    'not_found',
    'not_found',
    'no',
    'Check the id: a task can be read only with the key and at the address that made it.',
  ),
  undocumented: row('interface', 'interface', 'interface', 'no', notOurs),
};

/** How a run ends after this fault, what it cost and what to do. */
export function verdictOf(fault: Fault, endpoint: Endpoint): Verdict {
  const group = groupOf(endpoint);
  const { read, create, paid, charged, hint } = policy[fault];
  if (group === 'read')
    return {
      outcome: read,
      charged: 'no',
      hint: read === 'temporary' && fault !== 'unsent' ? 'Nothing was charged; run it again.' : hint,
    };
  return { outcome: group === 'create' ? create : paid, charged, hint };
}

function row(read: Outcome, create: Outcome, paid: Outcome, charged: Charged, hint: string): PolicyRow {
  return { read, create, paid, charged, hint };
}
