import type { Endpoint } from '../contract/endpoints.ts';
import { type Charged, type Facts, noMemory, type Outcome } from '../errors.ts';

/** One value for all requests, or one for a free read, for create_task, for extract, and for every other purchase. */
type ByRequest<T> = T | readonly [free: T, replays: T, mayReplay: T, refused: T];

interface Row {
  /** What happened, in plain words; what the machine says about it follows. */
  readonly words: string;
  /** How the run ends after the last attempt. */
  readonly outcome: ByRequest<Outcome>;
  /** What to do, in one line; facts where the command line or the agent tools need their own words. */
  readonly hint: string | Facts;
  /** What a paid request may have cost. */
  readonly charged: Charged;
  /** How many more times it is sent, with the same key and the same bytes. */
  readonly again: ByRequest<number>;
}

const notOurs =
  'Check the address: the server there may not be the service. If it is, report the request ID.';
const unconnected = 'no connection to the service';
const unknownAnswer = 'the service answered in a way that leadpipe does not know';
/** One more attempt shows whether the service has the request: then it answers 409. */
const once = [4, 4, 1, 1] as const;
/** A read can be done again; everything else stays in doubt. */
const unlessFree = ['temporary', 'unknown', 'unknown', 'unknown'] as const;
/** The interface does not say how long creating a task takes; the time limit in retry.ts decides. */
const untilCreated = 100;

/**
 * Everything that can go wrong between a request and its answer, one row each. The types of the service's own refusals are in
 * contract/error-types.ts.
 */
const policy = {
  // No connection was made, so nothing was sent, and any request may be sent again. Then: this machine refused, a proxy did.
  unsent: row(unconnected, 'temporary', 'Check the address and the network; running it again is safe.', {
    again: 4,
  }),
  not_running: row(unconnected, 'temporary', { is: 'not_running' }, { again: 1 }),
  no_memory: row(noMemory, 'configuration', { is: 'no_memory' }),
  proxy_credentials: row(
    unconnected,
    'configuration',
    'The proxy wants a user name and a password: HTTPS_PROXY=http://user:password@host:port.',
  ),
  proxy_refused: row(
    unconnected,
    'configuration',
    'Check HTTPS_PROXY, or ask whoever runs the proxy to allow the service. To connect without the proxy, put the host in NO_PROXY.',
  ),
  // Something else than the service answered.
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
  lost: doubtful('the connection to the service broke', unlessFree, once),
  // The head of an answer that would be the same the next time.
  unreadable: doubtful(
    "the answer of the service can't be read",
    ['interface', 'unknown', 'unknown', 'unknown'],
    0,
  ),
  // A status from something between: 404, or anything from 500 on, without the error envelope.
  gateway: doubtful('a server in front of the service answered instead', unlessFree, once),
  // A status from 400 on without the error envelope, of a firewall or a proxy: a key that it does not like may be a good one.
  gateway_refused: row(
    'a server in front of the service refused the request',
    'interface',
    'Check the address. If it is right, a firewall or a proxy refused: ask whoever runs this network, or the service.',
  ),
  // A 2xx whose body is not what the interface promises.
  garbled: row(
    unknownAnswer,
    ['interface', 'interface', 'unknown', 'unknown'],
    "The answer can't be fetched again. Report the request ID.",
    { charged: 'yes', again: [3, 3, 1, 0] },
  ),
  internal_error: doubtful('the service failed', ['temporary', 'temporary', 'unknown', 'unknown'], once),
  not_enabled: row(
    'the service does not offer this',
    'not_enabled',
    'Ask whoever runs the service to enable it, or choose another type.',
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
    'The key is revoked, expired, or may not do this. Use another key, or ask whoever runs the service.',
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

/** A fault that costs nothing and would come again, but for what `more` says. */
function row(words: string, outcome: Row['outcome'], hint: Row['hint'], more: Partial<Row> = {}): Row {
  return { words, outcome, hint, charged: 'no', again: 0, ...more };
}

/** A fault after which no one knows whether the service did the work. */
function doubtful(words: string, outcome: Row['outcome'], again: Row['again']): Row {
  return row(words, outcome, { is: 'in_doubt' }, { charged: 'maybe', again });
}
