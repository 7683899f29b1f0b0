import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createClock } from '../../src/clock.ts';
import type { RowResult, Verdict } from '../../src/conformance/row.ts';
import { rows } from '../../src/conformance/rows.ts';
import { runRows } from '../../src/conformance/run.ts';

/** What a service answers to the one request of a row; `lost` is a connection that breaks instead. */
interface Canned {
  readonly status?: number;
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly lost?: true;
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const origin = 'https://service.example';

beforeAll(() => nock.disableNetConnect());
afterEach(() => nock.cleanAll());
afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

/** The verdict on a row by one exchange, through Node's own fetch, and what went out. */
async function judge(
  id: string,
  canned: Canned,
): Promise<{ result: RowResult | undefined; sent: readonly Sent[] }> {
  const { status = 200, body = '', headers = {}, lost } = canned;
  const sent: Sent[] = [];
  // Whether there is anybody is asked before the first row.
  nock(origin).get('/v1/credit/balance').reply(200, {});
  const row = nock(origin);
  row.on('request', (request, _, text) => sent.push({ headers: request.headers, body: text }));
  for (const method of ['GET', 'POST'] as const) {
    const asked = row.intercept(/.*/, method);
    if (lost) asked.replyWithError('broken');
    else asked.reply(status, body, { 'Content-Type': 'application/json', ...headers });
  }
  let made = 0;
  const results: RowResult[] = [];
  const run = runRows(
    rows.filter((one) => one.id === id),
    {
      fetch: globalThis.fetch,
      clock: createClock(),
      signal: new AbortController().signal,
      newKey: () => `key-${++made}`,
      userAgent: 'test',
      secondsFor: () => 30,
      baseUrl: new URL(origin),
      keys: { main: 'main-key', revoked: 'revoked-key' },
      free: false,
      pollMs: 1,
      mask: (text) => text,
    },
  );
  for await (const result of run) results.push(result);
  expect(results).toHaveLength(1);
  return { result: results[0], sent };
}

const error = (type: string, message: unknown = 'no'): object => ({ error: { type, message } });
const balance = { object: 'credit_balance', available_credits: 5, updated_at: '2026-01-31 09:00:00' };
const contact = {
  object: 'contact_search_result',
  request: { contact_type: 'email', objective: 'x' },
  result: { content: '', reference: '' },
  created_at: '2026-01-31T09:00:00Z',
};

describe('a canned exchange gives a row its verdict', () => {
  const withoutKey = 'authentication/balance-without-key';
  it.each<readonly [row: string, what: string, canned: Canned, result: Verdict, got: string]>([
    [
      withoutKey,
      'the envelope',
      { status: 401, body: error('authentication_error') },
      'passed',
      '401 authentication_error',
    ],
    [withoutKey, 'no type in it', { status: 401, body: { error: { message: 'no' } } }, 'passed', '401'],
    [
      withoutKey,
      'the type beside it',
      { status: 401, body: { error: { message: 'no' }, type: 'authentication_error' } },
      'passed',
      '401 authentication_error',
    ],
    [
      withoutKey,
      'the type of another error',
      { status: 401, body: error('not_found') },
      'failed',
      'not_found',
    ],
    [withoutKey, 'a message that is none', { status: 401, body: error('x', 1) }, 'failed', 'message'],
    [withoutKey, 'no JSON', { status: 401, body: '<html>' }, 'failed', '401'],
    [withoutKey, 'another refusal', { status: 403, body: error('authentication_error') }, 'failed', '403'],
    [withoutKey, 'what was asked for', { body: balance }, 'failed', '200 instead of 401'],
    [
      withoutKey,
      'no room now',
      { status: 429, body: error('concurrency_limit') },
      'failed',
      '429 instead of 401',
    ],
    [
      withoutKey,
      'not enabled',
      { status: 503, body: error('service_unavailable') },
      'failed',
      '503, although the same was answered otherwise in this run',
    ],
    [
      'deep-search/body',
      'never enabled',
      { status: 503, body: error('service_unavailable') },
      'skipped',
      '503: not enabled here',
    ],
    [
      'deep-search/body',
      'no credits',
      { status: 402, body: error('insufficient_credits') },
      'skipped',
      'no credits left for this',
    ],
    [
      withoutKey,
      'a 503 for another reason',
      { status: 503, body: error('internal_error') },
      'failed',
      '503 instead of 401',
    ],
    [withoutKey, 'a gateway that speaks', { status: 503, body: '<html>' }, 'failed', '503 instead of 401'],
    [
      withoutKey,
      'a redirect, which is not followed',
      { status: 302, headers: { Location: `${origin}/v1/credit/balance` } },
      'failed',
      '302 instead of 401',
    ],
    [withoutKey, 'a connection that breaks', { lost: true }, 'failed', 'no complete answer: broken'],
    ['balance/body', 'a balance', { body: balance }, 'passed', '200'],
    ['balance/body', 'more than the document has', { body: { ...balance, plan: 'pro' } }, 'passed', '200'],
    [
      'balance/body',
      'a text for a number',
      { body: { ...balance, available_credits: '5' } },
      'failed',
      'available_credits',
    ],
    ['balance/body', 'nothing in it', { body: {} }, 'failed', 'available_credits'],
    ['balance/body', 'a list', { body: [balance] }, 'failed', '200'],
    ['balance/body', 'a body that is cut', { body: '{"object":"credit_bal' }, 'failed', '200'],
    ['contact/not-found', 'nothing found', { body: contact }, 'passed', '200'],
    [
      'contact/not-found',
      'nothing, as null',
      { body: { ...contact, result: { content: null, reference: null } } },
      'passed',
      '200',
    ],
    [
      'contact/not-found',
      'no result at all',
      { body: { ...contact, result: undefined } },
      'failed',
      'result',
    ],
    ['contact/not-found', 'a list as result', { body: { ...contact, result: [] } }, 'failed', 'result'],
    ['deep-search/body', 'an answer', { body: { success: true, answer: { Result: 'x' } } }, 'passed', '200'],
    [
      'deep-search/body',
      'an answer that is null',
      { body: { success: true, answer: null } },
      'failed',
      'answer',
    ],
    ['deep-search/body', 'success as a text', { body: { success: 'true', answer: {} } }, 'failed', 'success'],
    ['contact/request-id', 'an ID', { body: contact, headers: { 'X-Request-Id': 'r' } }, 'passed', '200'],
    ['contact/request-id', 'none', { body: contact }, 'failed', 'the header X-Request-Id is missing'],
    [
      'contact/request-id',
      'an empty one',
      { body: contact, headers: { 'X-Request-Id': ' ' } },
      'failed',
      'X-Request-Id',
    ],
    [
      'common/contact-generated-key',
      'a generated key',
      { body: contact, headers: { 'Idempotency-Key': 'k' } },
      'passed',
      '200',
    ],
    [
      'common/contact-generated-key',
      'none',
      { body: contact },
      'failed',
      'the header Idempotency-Key is missing',
    ],
    ['common/contact-text-plain', 'acceptance', { body: contact }, 'failed', '200 instead of 422'],
    [
      'common/contact-text-plain',
      'the status of HTTP for it',
      { status: 415, body: error('invalid_request_error') },
      'failed',
      '415 instead of 422',
    ],
    [
      'authentication/fetch-revoked',
      'a refusal as if it were unknown',
      { status: 401, body: error('authentication_error') },
      'failed',
      '401 instead of 403',
    ],
  ])('%s: %s', async (id, _, canned, result, got) => {
    const judged = await judge(id, canned);
    expect(judged.result).toMatchObject({ row: id, result, got: expect.stringContaining(got) });
  });

  it('a key that is missing here leaves the row out, and asks for nothing', async () => {
    const { result, sent } = await judge('authentication/status-expired', {});
    expect(result).toMatchObject({ result: 'left_out', got: 'needs the API key "expired"' });
    expect(sent).toEqual([]);
  });
});

describe('what goes out is what the row is about', () => {
  const json = /^application\/json$/;
  /** Of each header, how it must be; undefined where it must not be there. */
  it.each<readonly [row: string, headers: Readonly<Record<string, RegExp | undefined>>, body: RegExp]>([
    ['authentication/balance-without-key', { 'x-api-key': undefined, authorization: undefined }, /^/],
    ['authentication/fetch-unknown-key', { 'x-api-key': /^unknown-key-\d+$/, authorization: undefined }, /^/],
    ['authentication/fetch-revoked', { 'x-api-key': /^revoked-key$/, authorization: undefined }, /^/],
    [
      'common/contact-text-plain',
      { 'content-type': /^text\/plain$/, authorization: /^Bearer main-key$/ },
      /^/,
    ],
    [
      'common/create_task-no-media-type',
      { 'content-type': undefined, 'x-api-key': /^main-key$/ },
      /^\{.*\}$/,
    ],
    ['common/contact-malformed-json', { 'content-type': json }, /^\{.*[^}]$/],
    ['common/create_task-empty-body', { 'content-type': json }, /^$/],
    ['common/contact-two-objects', { 'content-type': json }, /\}\s*\{/],
    ['common/create_task-without-key', { 'idempotency-key': undefined }, /^\{.*\}$/],
    ['common/contact-key-of-129', { 'idempotency-key': /^key-.{125}$/ }, /^/],
    ['common/contact-body-over-1-mib', { 'content-type': json }, /^\{.*\}$/s],
    ['contact/contact-type-a-number', { accept: json, 'user-agent': /^test$/ }, /"contact_type":\d/],
  ])('%s', async (id, headers, body) => {
    const { sent } = await judge(id, { status: 422, body: error('invalid_request_error') });
    expect(sent).toHaveLength(1);
    for (const [name, wanted] of Object.entries(headers)) {
      const found = sent[0]?.headers[name];
      if (wanted === undefined) expect({ name, found }).toEqual({ name, found: undefined });
      else expect(found).toMatch(wanted);
    }
    expect(sent[0]?.body).toMatch(body);
    if (id.endsWith('over-1-mib')) expect(sent[0]?.body).toHaveLength(1024 * 1024 + 1);
  });
});
