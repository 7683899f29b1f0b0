import { all, answers, type Ending, outage, paid, type Row, someOfAll, well } from './row.ts';
import { after, body, envelope, reset, status, through, type Way } from './ways.ts';

const elsewhere = ['Location: https://elsewhere.example/'];

const redirects: readonly Row[] = [301, 302, 303, 307, 308].map((code) => ({
  fault: `${code}`,
  ways: [status(code, elsewhere)],
  endings: {
    G: { exit: 76, charged: 'no', type: 'redirect' },
    ...paid({ exit: 76, charged: 'maybe', type: 'redirect' }),
  },
  says: /the service redirects to another address: https:\/\/elsewhere\.example\/.* \(\w+ \/v1\/\S+: 30\d\)$/,
}));

/** Help for an address that is wrong for ever; a proxy that has lost its service for a moment answers alike. */
const noPage = '; if it always does, check the address: it is the part before /v1';

const page = (code: number): Way => status(code, [], '<html>nginx</html>');

/** Statuses that a proxy gives, without the error envelope: before the service has the request, or after it has done the work. */
const gateways: readonly Row[] = [404, 500, 501, 502, 503, 504, 520, 524, 530, 999]
  .map((code) => [code, code === 524 ? 1 : 0] as const)
  .map(([code, paid]) => ({
    fault: `${code} without the envelope${paid === 1 ? ', after the service has done it' : ''}`,
    ways: [paid === 1 ? after(page(code)) : page(code)],
    endings: {
      G: outage('gateway'),
      C: { exit: 8, charged: 'maybe', type: 'gateway', requests: 5, paid },
      ...answers({ exit: 8, charged: 'maybe', type: 'gateway', requests: 2, paid }),
    },
    says: RegExp(
      `a server in front of the service answered instead${code === 404 ? noPage : ''}.* \\(\\w+ \\/v1\\/\\S+: ${code}\\)$`,
    ),
  }));

/** 404 means "no such task" only for reads of a task; otherwise the address is wrong. */
const missing =
  '(?:the service has no such task for this API key.*/(?:status|fetch)|there is no such service at this address.*/(?!status|fetch)[\\w-]+):';

/** Refusals that no repetition changes. */
const refusals: readonly Row[] = (
  [
    [401, 'authentication_error', 4, 'the service does not know this API key'],
    [402, 'insufficient_credits', 5, 'not enough credits'],
    [403, 'authentication_error', 4, 'the service refused this API key: '],
    [404, 'not_found', 6, missing],
    [422, 'invalid_request_error', 2, 'the service refused the request: as the service says'],
    [503, 'service_unavailable', 9, 'the service does not offer this: as the service says'],
    // From 500 on, the type decides.
    [500, 'service_unavailable', 9, 'the service does not offer this: as the service says'],
    [530, 'insufficient_credits', 5, 'not enough credits'],
  ] as const
).map(([code, type, exit, words]) => ({
  fault: `${code} ${type}`,
  ways: [envelope(code, type)],
  endings: all({ exit, charged: 'no', type }),
  // The cause in plain words, the technical form last.
  says: RegExp(
    code === 404
      ? `^${words} 404 not_found(?:: as the service says)?\\)$`
      : `^${words}.* \\(\\w+ \\/v1\\/\\S+: ${code} ${type}(?:: as the service says)?\\)$`,
  ),
}));

/** Refusals of a firewall: they end as those of the service, and say nothing of the key, the credits or the request. */
const firewalls: readonly Row[] = (
  [
    [401, 4],
    [402, 5],
    [403, 4],
    [422, 2],
    [405, 76],
    [451, 76],
  ] as const
).map(([code, exit]) => ({
  fault: `${code} without the envelope`,
  ways: [page(code)],
  endings: all({ exit, charged: 'no', type: 'gateway_refused' }),
  says: RegExp(`a server in front of the service refused the request.* \\(\\w+ \\/v1\\/\\S+: ${code}\\)$`),
}));

/** Of a 404, only `not_found` is known. fetch would send a 421 again by itself, and keep the answer of a 407 for itself. */
const undocumented: readonly Row[] = [400, 404, 405, 407, 408, 418, 421, 425, 451].map((code) => ({
  fault: `${code}, which the document does not have`,
  ways: [envelope(code, 'whatever', ['X-Request-Id: req_odd'])],
  endings: all({ exit: 76, charged: 'no', type: 'undocumented' }),
  says: RegExp(`leadpipe does not know: as the service says.* \\(\\w+ \\/v1\\/\\S+: ${code}\\)$`),
}));

const busy: Ending = { exit: 75, charged: 'no', type: 'concurrency_limit', requests: 7 };
const wait = (seconds: string) => envelope(429, 'concurrency_limit', [`Retry-After: ${seconds}`]);
const repeated = (times: number, way: Way): [Way, ...Way[]] => [way, ...Array<Way>(times - 1).fill(way)];

const passed = 'Thu, 01 Jan 2026 00:00:00 GMT';
const unreadableWaits = ['soon', '-1', '0.5', '1e9', '0, 0'];
const farDates = [
  'Fri, 31 Dec 9999 23:59:59 GMT',
  'Friday, 31-Dec-49 23:59:59 GMT',
  'Fri Dec 31 23:59:59 9999',
];
const atOnce = { ...busy, requests: 1 };

const busyRows: readonly Row[] = [
  {
    fault: '429',
    ways: [envelope(429, 'concurrency_limit')],
    endings: all(busy),
    says: /too many requests are running.* \(\w+ \/v1\/\S+: 429 concurrency_limit/,
  },
  { fault: '429, Retry-After: 0', ways: [wait('0')], endings: all(busy) },
  { fault: '429, Retry-After: a date that has passed', ways: [wait(passed)], endings: all(busy) },
  ...unreadableWaits.map((value) => ({
    fault: `429, Retry-After: ${value}, which nobody can read`,
    ways: [wait(value)] as const,
    endings: all(busy),
    only: someOfAll,
  })),
  { fault: '429, Retry-After beyond the budget', ways: [wait('61')], endings: all(atOnce) },
  ...['9999999999', '9'.repeat(400), ...farDates].map((value) => ({
    fault: `429, Retry-After far beyond the budget: ${value.slice(0, 40)}`,
    ways: [wait(value)] as const,
    endings: all(atOnce),
    only: someOfAll,
  })),
  { fault: '429 once', ways: [envelope(429, 'concurrency_limit'), through], endings: well(2) },
  {
    fault: '429 six times',
    ways: [...repeated(6, envelope(429, 'concurrency_limit')), through],
    endings: well(7),
  },
  {
    fault: 'a lost request, then 429',
    ways: [reset, envelope(429, 'concurrency_limit')],
    // Six more tries belong to a busy service, one is gone.
    endings: { G: busy, ...paid({ exit: 8, charged: 'maybe', type: 'lost', requests: 7 }) },
  },
];

const exists = { exit: 8, charged: 'no', type: 'request_already_exists' } as const;
const unreadable = { ...exists, type: 'unknown' } as const;
/** With waits of no time two minutes have room for all of `retry.attempts`. */
const untilCreated = 21;

const conflictRows: readonly Row[] = [
  {
    fault: '409 request_already_exists',
    ways: [envelope(409, 'request_already_exists')],
    endings: {
      C: { ...exists, requests: untilCreated },
      X: { ...exists, requests: 6 },
      P: exists,
      S: exists,
    },
    says: /^this request was already sent with this idempotency key.* \(\w+ \/v1\/\S+: 409 request_already_exists/,
  },
  {
    fault: '409 whose type nobody can read',
    ways: [status(409, [], '<html>')],
    endings: {
      C: { ...unreadable, requests: untilCreated },
      X: { ...unreadable, requests: 6 },
      P: unreadable,
      S: unreadable,
    },
  },
  {
    fault: '409 while the first is still under way',
    ways: [envelope(409, 'request_already_exists'), envelope(409, 'request_already_exists'), through],
    endings: { C: { exit: 0, requests: 3, paid: 1 }, X: { exit: 0, requests: 3, paid: 1 } },
  },
  {
    fault: '409 idempotency_error',
    ways: [envelope(409, 'idempotency_error')],
    endings: paid({ exit: 8, charged: 'no', type: 'idempotency_error' }),
    says: /^this idempotency key was used for another request.* \(\w+ \/v1\/\S+: 409 idempotency_error/,
  },
  {
    fault: 'a key that the same request has used',
    usedBy: 'the same',
    endings: { C: { exit: 0 }, X: { exit: 0 }, P: exists, S: exists },
  },
  {
    fault: 'a key that another request has used',
    usedBy: 'another',
    endings: paid({ exit: 8, charged: 'no', type: 'idempotency_error' }),
  },
];

const internalRows: readonly Row[] = [
  ...[500, 503, 520].map(
    (code): Row => ({
      fault: `${code} internal_error`,
      ways: [envelope(code, 'internal_error')],
      endings: {
        G: outage('internal_error'),
        C: { exit: 75, charged: 'maybe', type: 'internal_error', requests: 5 },
        ...answers({ exit: 8, charged: 'maybe', type: 'internal_error', requests: 2 }),
      },
      says: RegExp(
        `the service failed: as the service says.* \\(\\w+ \\/v1\\/\\S+: ${code} internal_error\\)$`,
      ),
    }),
  ),
  {
    fault: '500 internal_error, once',
    ways: [envelope(500, 'internal_error'), through],
    endings: well(2),
  },
];

const unknownKey = all({ exit: 4, charged: 'no', type: 'authentication_error' });
/** What the service itself says to keys of that kind. */
const keyRows: readonly Row[] = (
  [
    ['nobody', unknownKey],
    ['revoked', unknownKey],
    ['expired', unknownKey],
    ['broke', paid({ exit: 5, charged: 'no', type: 'insufficient_credits' })],
    ['busy', paid(busy)],
  ] as const
).map(([name, endings]) => ({ fault: `the key ${name}`, apiKey: `lp_local_${name}`, endings }));

const nothing = { answer: 'No result generated' };
const noResult: Row = {
  fault: 'success: false',
  ways: [body(JSON.stringify({ success: false, answer: nothing, data: nothing.answer }))],
  only: ['research', 'enrich', 'extract'],
  endings: answers({ exit: 7, charged: 'maybe', type: 'no_result' }),
  says: nothing.answer,
};

export const statusRows: readonly Row[] = [
  ...redirects,
  ...gateways,
  ...refusals,
  ...firewalls,
  ...undocumented,
  ...busyRows,
  ...conflictRows,
  ...internalRows,
  ...keyRows,
  noResult,
];
