import type { Endpoint } from '../contract/endpoints.ts';
import type { Charged, Facts, Outcome } from '../errors.ts';

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
  readonly hint: string | Facts;
}

interface PolicyRow {
  /** How often to send it again, with the same key and the same bytes, by group. */
  readonly again: Readonly<Record<Group, number>>;
  /** How the run ends after the last attempt: of a free read; of create_task, which replays; of all that is paid. */
  readonly read: Outcome;
  readonly create: Outcome;
  readonly paid: Outcome;
  /** Whether a paid request may have cost credits. */
  readonly charged: Charged;
  /** What to do, one line; facts where that needs the words of whoever prints it. */
  readonly hint: string | Facts;
}

const notOurs =
  'Check the address: the server there may not be the service. If it is, report the request ID.';
const inDoubt: Facts = { is: 'in_doubt' };

const never = again(0, 0, 0, 0, 0);
/** Nothing was sent, so everything may be sent again. */
const always = again(4, 4, 4, 4, 4);
/** One more try tells whether the service has the request: it answers 409 then. */
const once = again(4, 4, 1, 1, 1);
/** How long the creation of a task takes is not documented; in effect the time limit in retry.ts decides. */
const untilCreated = 100;

/**
 * Everything that can go wrong between a request and its answer, a row each: how often to try again, how the run ends, and
 * what it means for money. What nothing else is said of is the service's own refusal, see contract/errors.ts.
 */
const policy = {
  // No connection was made, so nothing was sent; with the next two, a proxy does not let us through.
  unsent: row(always, 'temporary', 'no', 'Check the address and the network; running it again is safe.'),
  proxy_credentials: row(
    never,
    'configuration',
    'no',
    'The proxy wants a user name and a password: HTTPS_PROXY=http://user:password@host:port.',
  ),
  proxy_refused: row(
    never,
    'configuration',
    'no',
    'Check HTTPS_PROXY, or ask whoever runs the proxy to allow the service. To connect without the proxy, put the host in NO_PROXY.',
  ),
  // Whoever answers is not the service.
  certificate: row(never, 'interface', 'no', 'Check the address and the clock of this machine.'),
  not_http: row(never, 'interface', 'no', notOurs),
  redirect: row(
    never,
    'interface',
    'maybe',
    'Redirects are never followed. Use the address it points to, if you trust it.',
  ),
  // The request may have arrived; no head of an answer came.
  lost: row(once, ['temporary', 'unknown', 'unknown'], 'maybe', inDoubt),
  // A status from something in between: 502, 504, or 500 and 503 without the error envelope.
  gateway: row(once, ['temporary', 'unknown', 'unknown'], 'maybe', inDoubt),
  // A 2xx whose body is not what the interface promises.
  garbled: row(
    again(3, 3, 0, 1, 0),
    ['interface', 'interface', 'unknown'],
    'yes',
    "The answer can't be fetched again. Report the request ID.",
  ),
  // Any other status from 500 on. Whoever says it may stand in front of a service that has done the work.
  unexplained: row(never, 'interface', 'maybe', inDoubt),
  // rule: contact.released
  internal_error: row(once, ['temporary', 'temporary', 'unknown'], 'maybe', inDoubt),
  // rule: general.rollout
  not_enabled: row(
    never,
    'not_enabled',
    'no',
    'Ask whoever runs the service to enable it, or choose another type.',
  ),
  busy: row(again(6, 6, 6, 6, 6), 'temporary', 'no', 'Wait for running requests to end, then run it again.'),
  already_exists: row(again(0, untilCreated, 0, 5, 0), 'unknown', 'no', { is: 'key_used' }),
  conflict: row(never, 'unknown', 'no', { is: 'key_of_other_request' }),
  no_credits: row(never, 'credits', 'no', { is: 'no_credits' }),
  unauthenticated: row(never, 'authentication', 'no', { is: 'unauthenticated' }),
  forbidden: row(
    never,
    'authentication',
    'no',
    'The key is revoked, expired, or may not do this. Use another key, or ask whoever runs the service.',
  ),
  // rule: credits.invalid
  invalid: row(never, 'usage', 'no', 'Change the request as the message says.'),
  missing: row(
    never,
    'not_found',
    'no',
    'Check the ID: a task can be read only with the API key and the address that created it.',
  ),
  no_endpoint: row(
    never,
    'not_found',
    'no',
    'Check the address: it is what stands before /v1, such as https://host.',
  ),
  // Any other status.
  undocumented: row(never, 'interface', 'no', notOurs),
};

export type Fault = keyof typeof policy;

const clockOrRenewal =
  'If the clock of this machine is right, whoever runs the service has to renew its certificate.';
const privateAuthority: Facts = { is: 'private_authority' };

/** What to do about a certificate, by the code that Node gives its refusal; other codes have the hint of the row. */
const certificateHints: Readonly<Record<string, string | Facts>> = {
  CERT_HAS_EXPIRED: clockOrRenewal,
  CERT_NOT_YET_VALID: clockOrRenewal,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Check the address: the certificate there is for other names.',
  DEPTH_ZERO_SELF_SIGNED_CERT: privateAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: privateAuthority,
  UNABLE_TO_GET_ISSUER_CERT: privateAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: privateAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: privateAuthority,
};

export function certificateHint(code = ''): string | Facts {
  return certificateHints[code] ?? policy.certificate.hint;
}

/** Further attempts after the first. */
export function attemptsOf(fault: Fault, endpoint: Endpoint): number {
  return policy[fault].again[groupOf(endpoint)];
}

/** Whether a paid request may have been carried out although it failed like this. */
export function isDoubtful(fault: Fault, endpoint: Endpoint): boolean {
  return groupOf(endpoint) !== 'read' && policy[fault].charged !== 'no';
}

export function verdictOf(fault: Fault, endpoint: Endpoint): Verdict {
  const group = groupOf(endpoint);
  const { read, create, paid, charged, hint } = policy[fault];
  if (group === 'read') return { outcome: read, charged: 'no', hint: readHint(fault, policy[fault]) };
  return { outcome: group === 'create' ? create : paid, charged, hint };
}

/** Reading is free and can be repeated, so its hints differ. */
function readHint(fault: Fault, { read, hint }: PolicyRow): string | Facts {
  if (fault === 'garbled' || fault === 'unexplained') return notOurs;
  return read === 'temporary' && fault !== 'unsent' ? 'Nothing was charged; run it again.' : hint;
}

function again(read: number, create: number, answer: number, extract: number, stream: number) {
  return { read, create, answer, extract, stream };
}

function row(
  attempts: PolicyRow['again'],
  outcome: Outcome | readonly [read: Outcome, create: Outcome, paid: Outcome],
  charged: Charged,
  hint: string | Facts,
): PolicyRow {
  const [read, create, paid] = typeof outcome === 'string' ? [outcome, outcome, outcome] : outcome;
  return { again: attempts, read, create, paid, charged, hint };
}
