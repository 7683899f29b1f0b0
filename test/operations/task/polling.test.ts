import { describe, expect, it } from 'vitest';
import { pause } from '../../../src/clock.ts';
import {
  mayTryAgain,
  pollWaitMs,
  type ReadFault,
  retryWaitMs,
} from '../../../src/operations/task/patience.ts';

const poll = { firstMs: 5000, maxMs: 30_000 };

describe('the wait between two looks', () => {
  it.each([
    [0, 500],
    [1, 1000],
    [2, 2000],
    [3, 5000],
    [4, 7500],
    [5, 11_250],
    [6, 16_875],
    [7, 25_312.5],
    [8, 30_000],
    [9, 30_000],
    [1000, 30_000],
  ])('after %i looks is %i ms, give or take a fifth', (looks, ms) => {
    expect(pollWaitMs(looks, poll, 0.5)).toBe(ms);
    expect(pollWaitMs(looks, poll, 0)).toBeCloseTo(0.8 * ms);
    expect(pollWaitMs(looks, poll, 1)).toBeCloseTo(1.2 * ms);
  });

  it('is the usual one for ever where that is above the longest', () => {
    expect([0, 3, 4, 12].map((looks) => pollWaitMs(looks, { firstMs: 60_000, maxMs: 30_000 }, 0.5))).toEqual([
      500, 60_000, 60_000, 60_000,
    ]);
  });

  it('is never longer than was asked for', () => {
    expect([0, 1, 2, 3].map((looks) => pollWaitMs(looks, { firstMs: 800, maxMs: 30_000 }, 0.5))).toEqual([
      500, 800, 800, 800,
    ]);
  });
});

describe('another try', () => {
  const minutes = (count: number): number => count * 60_000;
  const rows: readonly [
    fault: ReadFault,
    tries: number,
    failingMs: number,
    ageMs: number | undefined,
    again: boolean,
  ][] = [
    ['outage', 0, 0, undefined, true],
    ['outage', 500, minutes(10) - 1, undefined, true],
    ['outage', 3, minutes(10), undefined, false],
    ['garbled', 2, 0, undefined, true],
    ['garbled', 3, 0, undefined, false],
    ['empty', 4, minutes(2), undefined, true],
    ['empty', 5, minutes(2), undefined, false],
    ['missing', 0, 0, undefined, false],
    ['missing', 2, 0, 9999, true],
    ['missing', 3, 0, 9999, false],
    ['missing', 0, 0, 10_000, false],
  ];
  it.each(rows)(
    '%s after %i tries, failing for %i ms, %s ms old: %s',
    (fault, tries, failingMs, ageMs, again) => {
      expect(mayTryAgain(fault, tries, { failingMs, ageMs, outageMs: minutes(10) })).toBe(again);
    },
  );

  it('waits longer each time', () => {
    const waits = (fault: ReadFault): number[] =>
      [0, 1, 2, 3, 4].map((tries) => retryWaitMs(fault, tries, poll, 0.5));
    expect(waits('outage')).toEqual([5000, 7500, 11_250, 16_875, 25_312.5]);
    expect(waits('empty')).toEqual([5000, 10_000, 20_000, 40_000, 60_000]);
    expect(waits('garbled').slice(0, 3)).toEqual([1000, 2000, 3000]);
    expect(waits('missing').slice(0, 3)).toEqual([1000, 2000, 3000]);
  });
});

describe('a pause', () => {
  const never = { now: () => new Date(), monotonic: () => 0, after: () => () => {} };

  it.each(['before', 'during'])('ends with the reason of a stop %s it', async (when) => {
    const stop = new AbortController();
    if (when === 'before') stop.abort('terminated');
    const paused = pause(never, 1000, stop.signal);
    stop.abort('terminated');
    await expect(paused).rejects.toMatchObject({ outcome: 'terminated' });
  });
});
