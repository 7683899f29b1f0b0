import { describe, expect, it } from 'vitest';
import { pause } from '../../../src/clock.ts';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { runToEnd } from '../../../src/operations/events.ts';
import { PageError } from '../../../src/operations/kinds/task-page.ts';
import { createReadRetry, pollWaitMs } from '../../../src/operations/kinds/task-patience.ts';
import { RequestError } from '../../../src/transport/request-error.ts';
import { createLeapingClock } from '../../helpers/clock.ts';

const poll = { firstMs: 5000, maxMs: 30_000 };

describe('the polling interval', () => {
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

  it('stays at the default if that exceeds the maximum', () => {
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
  const faults = {
    outage: new RequestError('lost', endpoints.status, 'x'),
    garbled: new PageError('x', false, undefined),
    empty: new PageError('x', true, undefined),
    missing: new RequestError('missing', endpoints.status, 'x'),
    refused: new RequestError('forbidden', endpoints.status, 'x'),
  };

  /** The waits between the tries, on a clock on which they take no time. */
  async function waitsOf(fault: keyof typeof faults, outageMs: number, isOurs = false): Promise<number[]> {
    const clock = createLeapingClock();
    const waiting = { clock, random: () => 0.5, signal: new AbortController().signal };
    const asking = createReadRetry(waiting, { poll, outageMs, isOurs })(() => Promise.reject(faults[fault]));
    await expect(runToEnd(asking, () => {})).rejects.toBe(faults[fault]);
    return clock.waits;
  }

  it.each<[fault: keyof typeof faults, isOurs: boolean, waits: readonly number[]]>([
    ['garbled', false, [1000, 2000, 3000]],
    ['empty', false, [5000, 10_000, 20_000, 40_000, 60_000]],
    ['missing', false, []],
    ['missing', true, [1000, 2000, 3000]],
    ['refused', true, []],
  ])('%s, of a task of this machine: %s, comes after %j ms', async (fault, isOurs, waits) => {
    expect(await waitsOf(fault, 600_000, isOurs)).toEqual(waits);
  });

  it('comes for as long as an outage may last, later each time', async () => {
    expect(await waitsOf('outage', 60_000)).toEqual([5000, 7500, 11_250, 16_875, 25_312.5]);
    expect(await waitsOf('outage', 5001)).toEqual([5000, 7500]);
    expect(await waitsOf('outage', 5000)).toEqual([5000]);
    expect(await waitsOf('outage', 0)).toEqual([]);
  });
});

const never = { now: () => new Date(), monotonic: () => 0, after: () => () => {} };

it.each(['before', 'during'])('a pause ends with the reason of a stop %s it', async (when) => {
  const stop = new AbortController();
  if (when === 'before') stop.abort('terminated');
  const paused = pause(never, 1000, stop.signal);
  stop.abort('terminated');
  await expect(paused).rejects.toMatchObject({ outcome: 'terminated' });
});
