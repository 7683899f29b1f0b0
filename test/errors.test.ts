import { isNativeError } from 'node:util/types';
import { describe, expect, it } from 'vitest';
import { KeychainError } from '../src/config/keychain.ts';
import { endpoints } from '../src/contract/endpoints.ts';
import { LeadpipeError, LocalIoError, StoppedError, stoppedBy, UsageError } from '../src/errors.ts';
import { RequestError, ServiceError } from '../src/transport/request-error.ts';

const refusal = new ServiceError('busy', endpoints.balance, 'come back later', {
  requestId: 'req_1',
  retryAfterMs: 2000,
  body: '{"error":{}}',
  cause: new TypeError('fetch failed'),
});

describe('an error of which more is known', () => {
  it.each([
    refusal,
    new RequestError('garbled', endpoints.search, 'brought nonsense', { body: '<html>' }),
    new StoppedError(AbortSignal.abort('interrupted')),
    new UsageError('no such type', { is: 'stream_refused_type', entityType: 'wechat' }),
    new LocalIoError('the disk is full'),
    new KeychainError('silent', 'for 3 seconds'),
    new LeadpipeError('partial', 'cut'),
  ])('is what it was: $name', (error) => {
    const more = error.with({ operationId: 'op_1', charged: 'maybe' });
    expect(more).not.toBe(error);
    expect(isNativeError(more)).toBe(true);
    expect(more.constructor).toBe(error.constructor);
    expect(more.stack).toBe(error.stack);
    expect(more.cause).toBe(error.cause);
    const details = { ...error.details, operationId: 'op_1', charged: 'maybe' };
    expect({ ...more, message: more.message }).toEqual({ ...error, message: error.message, details });
  });

  it('leaves the first one as it was', () => {
    refusal.with({ requestId: 'req_2' });
    expect(refusal.details.requestId).toBe('req_1');
  });

  it('keeps what the request was about', () => {
    const { fault, retryAfterMs, body, details } = refusal.with({ operationId: 'op_1' });
    expect({ fault, retryAfterMs, body, details }).toMatchObject({
      fault: 'busy',
      retryAfterMs: 2000,
      body: '{"error":{}}',
      details: { requestId: 'req_1', operationId: 'op_1' },
    });
  });
});

it.each([
  ['a plain abort()', undefined, 'interrupted'],
  ['Ctrl-C', 'interrupted', 'interrupted'],
  ['SIGTERM', 'terminated', 'terminated'],
  ['a reader that went away', 'reader_closed', 'reader_closed'],
  ['patience that has run out', 'temporary', 'temporary'],
  ['what is no way to end', 'enough', 'interrupted'],
  ['any error', new Error('enough'), 'interrupted'],
])('a stop by %s', (_, reason, outcome) => {
  expect(stoppedBy(AbortSignal.abort(reason))).toBe(outcome);
});
