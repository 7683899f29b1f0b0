import { describe, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { LeadpipeError, StoppedError } from '../../src/errors.ts';
import type { Fault } from '../../src/transport/policy.ts';
import { RequestError } from '../../src/transport/request-error.ts';
import { toRetryAfter, withRetries } from '../../src/transport/retry.ts';
import { createLeapingClock } from '../helpers/clock.ts';

async function tryOut(
  name: EndpointName,
  faults: readonly (Fault | LeadpipeError)[],
  options: { random?: number; budgetMs?: number; mostAttempts?: number; stopAfter?: number } = {},
): Promise<{ tries: number; waits: readonly number[]; error: RequestError }> {
  const clock = createLeapingClock();
  const endpoint = endpoints[name];
  let tries = 0;
  const retrying = {
    clock,
    random: () => options.random ?? 1,
    retryBudgetMs: options.budgetMs ?? Number.POSITIVE_INFINITY,
    retryAttempts: options.mostAttempts ?? 1000,
    waits: () => void (tries === options.stopAfter && stop.abort()),
  };
  const stop = new AbortController();
  const error = await withRetries(retrying, endpoint, stop.signal, async () => {
    const fault = faults[Math.min(tries++, faults.length - 1)] as Fault | LeadpipeError;
    throw fault instanceof LeadpipeError ? fault : new RequestError(fault, endpoint, fault);
  }).catch((thrown: RequestError) => thrown);
  return { tries, waits: clock.waits, error: error as RequestError };
}

it('attempts are as many as retry.attempts allows', async () => {
  for (const most of [0, 2])
    expect(await tryOut('balance', ['lost'], { mostAttempts: most })).toMatchObject({ tries: most + 1 });
});

describe('waits', () => {
  it('double up to 30 s, with full jitter', async () => {
    expect((await tryOut('balance', ['busy'])).waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000]);
    expect((await tryOut('balance', ['busy'], { random: 0.5 })).waits).toEqual([
      500, 1000, 2000, 4000, 8000, 15_000,
    ]);
    expect((await tryOut('balance', ['busy'], { random: 0 })).waits).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('are short for what starts on this machine', async () => {
    expect((await tryOut('balance', ['not_running'])).waits).toEqual([300]);
  });

  it('are what the service asked for', async () => {
    const busy = new RequestError('busy', endpoints.search, 'busy', { retryAfterMs: 7000 });
    expect((await tryOut('search', [busy])).waits).toEqual(Array(6).fill(7000));
  });

  it.each([
    [999, []],
    [1000, [1000]],
    [2999, [1000]],
    [3000, [1000, 2000]],
    // Enough for each of the waits that follow, and too little for it and those before.
    [4000, [1000, 2000]],
    [6999, [1000, 2000]],
    [7000, [1000, 2000, 4000]],
    [14_999, [1000, 2000, 4000]],
    [15_000, [1000, 2000, 4000, 8000]],
  ])('stay together inside a budget of %i ms', async (budgetMs, waits) => {
    expect(await tryOut('balance', ['busy'], { budgetMs })).toMatchObject({ tries: waits.length + 1, waits });
  });

  it('stay inside the budget where the service says how long to wait', async () => {
    const again = new RequestError('busy', endpoints.search, 'busy', { retryAfterMs: 2000 });
    expect((await tryOut('search', [again], { budgetMs: 5000 })).waits).toEqual([2000, 2000]);
    const late = new RequestError('busy', endpoints.search, 'busy', { retryAfterMs: 60_001 });
    expect(await tryOut('search', [late], { budgetMs: 60_000 })).toMatchObject({
      tries: 1,
      waits: [],
      error: {
        outcome: 'temporary',
        details: { charged: 'no', facts: { is: 'busy_until', until: '2026-01-01T00:01:00.001Z' } },
      },
    });
  });

  it('for a task that is being created go on for two minutes, whatever the budget', async () => {
    const { waits } = await tryOut('createTask', ['already_exists'], { budgetMs: 0 });
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThanOrEqual(120_000);
    expect(waits.length).toBeGreaterThan(5);
    const faults = ['already_exists', 'already_exists', 'already_exists', 'busy'] as const;
    const later = await tryOut('createTask', faults, { budgetMs: 8000 });
    expect(later.waits).toEqual([1000, 2000, 4000, 8000]);
  });
});

describe('doubt', () => {
  const cases: readonly [first: Fault, last: Fault, outcome: string, charged: string][] = [
    ['lost', 'already_exists', 'unknown', 'maybe'],
    ['lost', 'conflict', 'unknown', 'maybe'],
    ['lost', 'unsent', 'unknown', 'maybe'],
    ['lost', 'not_enabled', 'unknown', 'maybe'],
    ['lost', 'unauthenticated', 'unknown', 'maybe'],
    ['gateway', 'already_exists', 'unknown', 'maybe'],
    ['internal_error', 'already_exists', 'unknown', 'maybe'],
    ['lost', 'lost', 'unknown', 'maybe'],
    ['lost', 'no_credits', 'credits', 'maybe'],
    ['lost', 'invalid', 'usage', 'maybe'],
    ['unsent', 'unauthenticated', 'authentication', 'no'],
    ['busy', 'already_exists', 'unknown', 'no'],
  ];
  it.each(cases)('%s, then %s: %s, charged %s', async (first, last, outcome, charged) => {
    const { error } = await tryOut('contactSearch', [first, last]);
    expect({ outcome: error.outcome, charged: error.details.charged }).toEqual({ outcome, charged });
  });

  it.each([
    [['lost'], 'maybe'],
    [['busy'], 'no'],
    [['lost', 'busy'], 'maybe'],
  ] as const)('stays where it is stopped before another attempt, after %j: %s', async (faults, charged) => {
    const { error } = await tryOut('contactSearch', faults, { stopAfter: faults.length });
    expect({ outcome: error.outcome, charged: error.details.charged }).toEqual({
      outcome: 'interrupted',
      charged,
    });
  });

  it.each([
    ['lost', 'maybe'],
    ['busy', 'no'],
  ] as const)(
    'stays where the next attempt is stopped before it is sent, after %s: %s',
    async (first, charged) => {
      const stop = new AbortController();
      const error = await tryOut('createTask', [first, new StoppedError(stop.signal, { charged: 'no' })]);
      expect(error).toMatchObject({ tries: 2, error: { outcome: 'interrupted', details: { charged } } });
    },
  );

  it('is told with what the last attempt was called: support finds that one', async () => {
    const lost = new RequestError('gateway', endpoints.contactSearch, 'lost', {
      requestId: 'req_1',
      status: 502,
    });
    const last = new RequestError('already_exists', endpoints.contactSearch, 'there', {
      requestId: 'req_2',
      status: 409,
    });
    const { error } = await tryOut('contactSearch', [lost, last]);
    expect(error.details).toMatchObject({ requestId: 'req_2', status: 409, charged: 'maybe' });
  });

  it('does not arise from free reads', async () => {
    const { error } = await tryOut('status', ['lost', 'missing']);
    expect(error).toMatchObject({ outcome: 'not_found', details: { charged: 'no' } });
  });
});

describe('Retry-After', () => {
  const clock = createLeapingClock();
  it.each([
    [undefined, undefined],
    ['0', 0],
    ['12', 12_000],
    [' 3 ', 3000],
    ['Thu, 01 Jan 2026 00:00:10 GMT', 10_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1e9', undefined],
    ['9999999999', 31_622_400_000],
    ['9'.repeat(400), 31_622_400_000],
    ['Thursday, 01-Jan-26 00:00:10 GMT', 10_000],
    ['Thu Jan  1 00:00:10 2026', 10_000],
    ['', undefined],
  ])('%s is %s ms', (header, ms) => {
    expect(toRetryAfter(header, clock)).toBe(ms);
  });
});
