import type { Endpoint } from '../contract/endpoints.ts';
import type { Charged, Facts, Outcome } from '../errors.ts';

/** How many more times a request is sent, with the same key and the same bytes: a free read, create_task, extract, another purchase. */
type Again = readonly [free: number, replays: number, mayReplay: number, refused: number];

interface Row {
  readonly again: Again;
  /** How the run ends after the last attempt: one for all, or for a free read, for create_task, and for what is paid. */
  readonly outcome: Outcome | readonly [free: Outcome, replays: Outcome, paid: Outcome];
  /** What a paid request may have cost. */
  readonly charged: Charged;
  /** What to do, in one line; facts where the command line or the agent tools need their own words. */
  readonly hint: string | Facts;
}

const notOurs =
  'Check the address: the server there may not be the service. If it is, report the request ID.';
const inDoubt: Facts = { is: 'in_doubt' };

const never: Again = [0, 0, 0, 0];
/** Nothing was sent, so any request may be sent again. */
const always: Again = [4, 4, 4, 4];
/** One more attempt shows whether the service has the request: then it answers 409. */
const once: Again = [4, 4, 1, 1];
/** The interface does not say how long creating a task takes; the time limit in retry.ts decides. */
const untilCreated = 100;

/**
 * Everything that can go wrong between a request and its answer, one row each: how often to try again, how the run ends, and whether it may
 * have cost money. Refusals of the service itself are in contract/errors.ts.
 */
const policy = {
  // No connection was made, so nothing was sent. For the next two, a proxy refused.
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
  // Something else than the service answered.
  certificate: row(never, 'interface', 'no', 'Check the address and the clock of this machine.'),
  not_http: row(never, 'interface', 'no', notOurs),
  redirect: row(
    never,
    'interface',
    'maybe',
    'Redirects are never followed. Use the address it points to, if you trust it.',
  ),
  // The request may have arrived, but no head of an answer came.
  lost: row(once, ['temporary', 'unknown', 'unknown'], 'maybe', inDoubt),
  // A status from something between: 502, 504, or 500 and 503 without the error envelope.
  gateway: row(once, ['temporary', 'unknown', 'unknown'], 'maybe', inDoubt),
  // A 2xx whose body is not what the interface promises.
  garbled: row(
    [3, 3, 1, 0],
    ['interface', 'interface', 'unknown'],
    'yes',
    "The answer can't be fetched again. Report the request ID.",
  ),
  // Any other status from 500 on. It may come from a server in front of a service that has done the work.
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
  busy: row([6, 6, 6, 6], 'temporary', 'no', 'Wait for running requests to end, then run it again.'),
  already_exists: row([0, untilCreated, 5, 0], 'unknown', 'no', { is: 'key_used' }),
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

/** The columns of a row for each kind of repetition: in `again`, and in `outcome`. */
const columns = { free: [0, 0], replays: [1, 1], 'may-replay': [2, 2], refused: [3, 2] } as const;

/** What a fault means for a request to an endpoint. Reading is free and can be repeated, so its hints differ. */
export function verdictOf(fault: Fault, { repetition }: Endpoint) {
  const { again, outcome, charged, hint } = policy[fault];
  const [nth, which] = columns[repetition];
  const end = typeof outcome === 'string' ? outcome : outcome[which];
  const verdict = { again: again[nth], outcome: end, charged, hint };
  if (repetition !== 'free') return verdict;
  const isOdd = fault === 'garbled' || fault === 'unexplained';
  const isPassing = end === 'temporary' && fault !== 'unsent';
  const own = isOdd ? notOurs : isPassing ? 'Nothing was charged; run it again.' : hint;
  return { ...verdict, charged: 'no', hint: own } as const;
}

function row(again: Again, outcome: Row['outcome'], charged: Charged, hint: string | Facts): Row {
  return { again, outcome, charged, hint };
}
