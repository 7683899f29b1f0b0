import type { Endpoint } from '../contract/endpoints.ts';
import { type Charged, type Facts, noMemoryMessage, type Outcome } from '../errors.ts';

/** One value for all requests, or one for a free read, for create_task, for extract, and for every other purchase. */
type ByRequest<T> = T | readonly [free: T, replays: T, mayReplay: T, refused: T];

interface Row {
  /** What happened, in plain words; the technical cause is added to it. */
  readonly words: string;
  /** How the run ends after the last attempt. */
  readonly outcome: ByRequest<Outcome>;
  /** What to do, in one line; facts where the command line or the agent tools need their own words. */
  readonly hint: string | Facts;
  /** Whether a paid request may have been charged. */
  readonly charged: Charged;
  /** Maximum retries, with the same key and the same bytes. */
  readonly again: ByRequest<number>;
}

const notOurs =
  'Check the address: the server there may not be the service. If it is, report the request ID.';
const unconnected = 'no connection to the service';
const unknownAnswer = 'the service answered in a way that leadpipe does not know';
/** A purchase is retried once: the service then answers 409 if it has the request. */
const once = [4, 4, 1, 1] as const;
/** A read can be repeated; any other request may have been charged. */
const unlessFree = ['temporary', 'unknown', 'unknown', 'unknown'] as const;
/** No limit in practice: the interface does not say how long creating a task takes, and retry.ts has a time limit. */
const untilCreated = 100;

/**
 * Everything that can go wrong between a request and its answer, one row each. The types of the service's own refusals are in
 * contract/error-types.ts.
 */
const policy = {
  // No connection was made: nothing was sent, and any request may be retried. Next: refused by this machine, refused by a proxy.
  unsent: row(unconnected, 'temporary', 'Check the address and the network; running it again is safe.', {
    again: 4,
  }),
  not_running: row(unconnected, 'temporary', { is: 'not_running' }, { again: 1 }),
  no_memory: row(noMemoryMessage, 'configuration', { is: 'no_memory' }),
  proxy_credentials: row(
    unconnected,
    'configuration',
    'The proxy wants a user name and a password: HTTPS_PROXY=http://user:password@host:port.',
  ),
  proxy_refused: row(
    unconnected,
    'configuration',
    'Check HTTPS_PROXY, or ask the administrator of the proxy to allow the service. To connect without the proxy, put the host in NO_PROXY.',
  ),
  // Another server than the service answered.
  certificate: row(
    'this machine does not accept the certificate of the service',
    'interface',
    'Check the address and the clock of this machine.',
  ),
  not_http: row('the server at this address does not answer like the service', 'interface', notOurs),
  redirect: row(
    'the service redirects to another address',
    'interface',
    'Redirects are never followed. Use the address it points to, if you trust it.',
    { charged: 'maybe' },
  ),
  // The request may have arrived, but no head of an answer came.
  lost: uncertain('the connection to the service broke', unlessFree, once),
  // The head of the answer is invalid, and would be so again.
  unreadable: uncertain(
    "the answer of the service can't be read",
    ['interface', 'unknown', 'unknown', 'unknown'],
    0,
  ),
  // A 404 or 5xx without the error envelope: it comes from a proxy, not from the service.
  gateway: uncertain('a server in front of the service answered instead', unlessFree, once),
  // A 4xx without the error envelope, from a firewall or proxy: the API key may be valid all the same.
  gateway_refused: row(
    'a server in front of the service refused the request',
    'interface',
    'Check the address. If it is right, a firewall or a proxy refused: ask the administrator of this network or of the service.',
  ),
  // A 2xx whose body is not what the interface promises.
  garbled: row(
    unknownAnswer,
    ['interface', 'interface', 'unknown', 'unknown'],
    "The answer can't be fetched again. Report the request ID.",
    { charged: 'yes', again: [3, 3, 1, 0] },
  ),
  internal_error: uncertain('the service failed', ['temporary', 'temporary', 'unknown', 'unknown'], once),
  not_enabled: row(
    'the service does not offer this',
    'not_enabled',
    'Ask the administrator of the service to enable it, or choose another type.',
  ),
  busy: row(
    'too many requests are running',
    'temporary',
    'Wait for running requests to end, then run it again.',
    { again: 6 },
  ),
  already_exists: row(
    'this request was already sent with this idempotency key',
    'unknown',
    { is: 'key_used' },
    { again: [0, untilCreated, 5, 0] },
  ),
  conflict: row('this idempotency key was used for another request', 'unknown', {
    is: 'key_of_other_request',
  }),
  no_credits: row('not enough credits', 'credits', { is: 'no_credits' }),
  unauthenticated: row('the service does not know this API key', 'authentication', { is: 'unauthenticated' }),
  forbidden: row(
    'the service refused this API key',
    'authentication',
    'The key is revoked or expired, or may not do this. Use another key, or ask the administrator of the service.',
  ),
  invalid: row('the service refused the request', 'usage', 'Change the request as the message says.'),
  missing: row(
    'the service has no such task for this API key',
    'not_found',
    'Check the ID: a task can be read only with the API key and the address that created it.',
  ),
  no_endpoint: row(
    'there is no such service at this address',
    'not_found',
    'Check the address: it is the part before /v1, such as https://host.',
  ),
  // Any other status below 500.
  undocumented: row(unknownAnswer, 'interface', notOurs),
};

export type Fault = keyof typeof policy;

/** What a fault means for a request to an endpoint. Reading is free and can be repeated, so its hints differ. */
export function verdictOf(fault: Fault, { repetition }: Endpoint) {
  const { words, outcome: outcomes, charged, hint, again } = policy[fault];
  const outcome = valueFor(repetition, outcomes);
  const verdict = { words, outcome, charged, hint, again: valueFor(repetition, again) };
  if (repetition !== 'free') return verdict;
  const isPassing = outcome === 'temporary' && words !== unconnected;
  const own =
    fault === 'garbled' || fault === 'unreadable'
      ? notOurs
      : isPassing
        ? 'Nothing was charged; run it again.'
        : hint;
  return { ...verdict, charged: 'no', hint: own } as const;
}

function valueFor<T extends string | number>(repetition: Endpoint['repetition'], values: ByRequest<T>): T {
  if (typeof values !== 'object') return values;
  return values[{ free: 0, replays: 1, 'may-replay': 2, refused: 3 }[repetition]] as T;
}

/** A fault that costs nothing and is not retried, unless `more` says otherwise. */
function row(words: string, outcome: Row['outcome'], hint: Row['hint'], more: Partial<Row> = {}): Row {
  return { words, outcome, hint, charged: 'no', again: 0, ...more };
}

/** A fault after which it is unknown whether the service did the work. */
function uncertain(words: string, outcome: Row['outcome'], again: Row['again']): Row {
  return row(words, outcome, { is: 'in_doubt' }, { charged: 'maybe', again });
}
