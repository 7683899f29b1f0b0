import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { check } from './check.ts';
import { rows } from './rows/index.ts';

/** What a service answers to the one request of a row; without a status the connection breaks instead. */
interface Canned {
  readonly status?: number;
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
}

beforeAll(() => nock.disableNetConnect());
afterEach(() => nock.cleanAll());
afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

const origin = 'https://service.example';

/** The verdict on a row by one exchange, through Node's own fetch, and what went out. */
async function judge(id: string, { status, body = '', headers = {}, delayMs = 0 }: Canned) {
  const sent: { headers: Readonly<Record<string, string>>; body: string }[] = [];
  // Whether there is anybody is asked before the first row.
  nock(origin).get('/v1/credit/balance').reply(200, {});
  const row = nock(origin);
  row.on('request', (request, _, text) => sent.push({ headers: request.headers, body: text }));
  for (const method of ['GET', 'POST'] as const) {
    const asked = row.intercept(/.*/, method);
    if (status === undefined) asked.replyWithError('broken');
    else asked.delay(delayMs).reply(status, body, { 'Content-Type': 'application/json', ...headers });
  }
  const options = {
    baseUrl: new URL(origin),
    keys: { main: 'main-key', revoked: 'revoked-key' },
    pollMs: 1,
    answerMs: 500,
  };
  const one = rows.filter((row) => row.id === id);
  const results = await check(options, one);
  expect(results).toMatchObject([{ row: id }]);
  expect(results[0]?.got.length).toBeLessThanOrEqual(400);
  return { verdict: `${results[0]?.result}: ${results[0]?.got}`, sent };
}

const ok = (body: unknown, headers = {}): Canned => ({ status: 200, body: body as object, headers });
const error = (status: number, type: string, message: unknown = 'no'): Canned => ({
  status,
  body: { error: { type, message } },
});
const balance = { object: 'credit_balance', available_credits: 5, updated_at: '2026-01-31 09:00:00' };
const contact = {
  object: 'contact_search_result',
  request: { contact_type: 'email', objective: 'x' },
  result: { content: '', reference: '' },
  created_at: '2026-01-31T09:00:00Z',
};
const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`member ${at}`, 1]));
const contrary = '503, although the same was answered otherwise in this run';
const besides = { error: { message: 'no' }, type: 'authentication_error' };
const redirect = { Location: `${origin}/v1/credit/balance` };

type Case = readonly [what: string, canned: Canned, begins: string, says?: string];

/** By rows: what is answered, with what the verdict begins and what it says. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  'authentication/balance-without-key': [
    ['the envelope', error(401, 'authentication_error'), 'passed: 401 authentication_error'],
    ['no type in it', { status: 401, body: { error: { message: 'no' } } }, 'passed: 401'],
    ['the type beside it', { status: 401, body: besides }, 'passed: 401 authentication_error'],
    ['the type of another error', error(401, 'not_found'), 'failed: ', 'not_found'],
    ['a message that is none', error(401, 'x', 1), 'failed: ', 'message'],
    ['no JSON', { status: 401, body: '<html>' }, 'failed: ', '401'],
    ['another refusal', error(403, 'authentication_error'), 'failed: ', '403'],
    ['what was asked for', ok(balance), 'failed: 200 instead of 401'],
    ['no room now', error(429, 'concurrency_limit'), 'failed: 429 instead of 401'],
    ['not enabled', error(503, 'service_unavailable'), `failed: ${contrary}`],
    ['a 503 for another reason', error(503, 'internal_error'), 'failed: 503 instead of 401'],
    ['a gateway that speaks', { status: 503, body: '<html>' }, 'failed: 503 instead of 401'],
    ['a redirect, not followed', { status: 302, headers: redirect }, 'failed: 302 instead of 401'],
    ['a connection that breaks', {}, 'failed: no complete answer: broken'],
    [
      'an answer that takes too long',
      { status: 401, delayMs: 5000 },
      'failed: no complete answer within 0.5 seconds',
    ],
  ],
  'authentication/fetch-revoked': [
    ['a refusal as of an unknown key', error(401, 'authentication_error'), 'failed: 401 instead of 403'],
  ],
  'balance/body': [
    ['a balance', ok(balance), 'passed: 200'],
    ['more than the document has', ok({ ...balance, plan: 'pro' }), 'passed: 200'],
    ['a text for a number', ok({ ...balance, available_credits: '5' }), 'failed: ', 'available_credits'],
    ['nothing in it', ok({}), 'failed: ', 'available_credits'],
    ['a list', ok([balance]), 'failed: 200'],
    ['a body that is cut', ok('{"object":"credit_bal'), 'failed: 200'],
  ],
  'contact/not-found': [
    ['nothing found', ok(contact), 'passed: 200'],
    ['null', ok({ ...contact, result: { content: null, reference: null } }), 'passed: 200'],
    ['no result at all', ok({ ...contact, result: undefined }), 'failed: ', 'result'],
    ['many other members', ok({ ...contact, ...many }), 'failed: ', 'also has'],
    ['a list as result', ok({ ...contact, result: [] }), 'failed: ', 'result'],
  ],
  'deep-search/body': [
    ['an answer', ok({ success: true, answer: { Result: 'x' } }), 'passed: 200'],
    ['an answer that is null', ok({ success: true, answer: null }), 'failed: ', 'answer'],
    ['success as a text', ok({ success: 'true', answer: {} }), 'failed: ', 'success'],
    ['never enabled', error(503, 'service_unavailable'), 'skipped: 503: not enabled here'],
    ['no credits', error(402, 'insufficient_credits'), 'failed: 402 instead of 200'],
  ],
  'contact/request-id': [
    ['an ID', ok(contact, { 'X-Request-Id': 'r' }), 'passed: 200'],
    ['none', ok(contact), 'failed: ', 'the header X-Request-Id is missing'],
    ['an empty one', ok(contact, { 'X-Request-Id': ' ' }), 'failed: ', 'X-Request-Id'],
  ],
  'common/contact-generated-key': [
    ['a generated key', ok(contact, { 'Idempotency-Key': 'k' }), 'passed: 200'],
    ['none', ok(contact), 'failed: ', 'the header Idempotency-Key is missing'],
  ],
  'common/contact-text-plain': [
    ['acceptance', ok(contact), 'failed: 200 instead of 422'],
    ['the status of HTTP for it', error(415, 'invalid_request_error'), 'failed: 415 instead of 422'],
  ],
};

describe('a canned exchange gives a row its verdict', () => {
  const all = Object.entries(cases).flatMap(([id, some]) => some.map((one) => [id, one[0], one] as const));
  it.each(all)('%s: %s', async (id, _, [, canned, begins, says = '']) => {
    const { verdict } = await judge(id, canned);
    expect(verdict.slice(0, begins.length)).toBe(begins);
    expect(verdict).toContain(says);
  });

  it('a key that is missing here skips the row, and nothing is sent', async () => {
    const { verdict, sent } = await judge('authentication/status-expired', {});
    expect({ verdict, sent }).toEqual({ verdict: 'skipped: needs the API key "expired"', sent: [] });
  });
});

const json = /^application\/json$/;
/** Of each header, how it must be; undefined where it must not be there. */
it.each<readonly [row: string, headers: Readonly<Record<string, RegExp | undefined>>, body: RegExp]>([
  ['authentication/balance-without-key', { 'x-api-key': undefined, authorization: undefined }, /^/],
  ['authentication/fetch-unknown-key', { 'x-api-key': /^unknown-.{36}$/, authorization: undefined }, /^/],
  ['authentication/fetch-revoked', { 'x-api-key': /^revoked-key$/, authorization: undefined }, /^/],
  ['common/contact-text-plain', { 'content-type': /^text\/plain$/, authorization: /^Bearer main-key$/ }, /^/],
  ['common/create_task-no-media-type', { 'content-type': undefined, 'x-api-key': /^main-key$/ }, /^\{.*\}$/],
  ['common/contact-malformed-json', { 'content-type': json }, /^\{.*[^}]$/],
  ['common/create_task-empty-body', { 'content-type': json }, /^$/],
  ['common/contact-two-objects', { 'content-type': json }, /\}\s*\{/],
  ['common/create_task-without-key', { 'idempotency-key': undefined }, /^\{.*\}$/],
  ['common/contact-key-of-129', { 'idempotency-key': /^[\da-f-]{36}x{93}$/ }, /^/],
  ['common/contact-body-over-1-mib', { 'content-type': json }, /^\{.*\}$/s],
  ['contact/contact-type-a-number', { accept: json }, /"contact_type":\d/],
])('what goes out is what the row is about: %s', async (id, headers, body) => {
  const { sent } = await judge(id, error(422, 'invalid_request_error'));
  expect(sent).toHaveLength(1);
  for (const [name, wanted] of Object.entries(headers)) {
    const found = sent[0]?.headers[name];
    if (wanted === undefined) expect({ name, found }).toEqual({ name, found: undefined });
    else expect(found).toMatch(wanted);
  }
  expect(sent[0]?.body).toMatch(body);
  if (id.endsWith('over-1-mib')) expect(sent[0]?.body).toHaveLength(1024 * 1024 + 1);
});
