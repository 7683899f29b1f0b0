import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeadpipeError } from '../../src/errors.ts';
import type { Buyer } from '../../src/operations/buyer.ts';
import { toUnknownPrice } from '../../src/operations/day-limit.ts';
import type { Cost } from '../../src/operations/prices.ts';
import {
  type Costs,
  checkCovered,
  toCounted,
  toOverLimit,
  worstOf,
} from '../../src/operations/reservation.ts';
import { createSpending, type Spending } from '../../src/operations/spending.ts';

describe('a limit', () => {
  it('covers what fits, to the last credit', () => {
    const spending = createSpending(12);
    expect([spending.reserve(5), spending.reserve(5), spending.reserve(5), spending.reserve(2)]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(spending).toMatchObject({ limit: 12, spent: 0, reserved: 12 });
    spending.settle(5, 0);
    expect(spending).toMatchObject({ spent: 0, reserved: 7 });
    // The cost of this one is unknown.
    spending.settle(5);
    expect(spending).toMatchObject({ spent: 5, reserved: 2 });
    expect([spending.reserve(6), spending.reserve(5)]).toEqual([false, true]);
  });

  it('counts in decimals: ten times 0.1 is 1', () => {
    const spending = createSpending(1);
    for (let each = 0; each < 10; each++) expect(spending.reserve(0.1)).toBe(true);
    expect(spending.reserve(0.000_001)).toBe(false);
    for (let each = 0; each < 10; each++) spending.settle(0.1);
    expect(spending).toMatchObject({ spent: 1, reserved: 0 });
  });

  it('covers in decimals what it is the sum of', () => {
    const spending = createSpending(0.3);
    expect([spending.reserve(0.1), spending.reserve(0.2)]).toEqual([true, true]);
    expect(spending.reserve(0.000_001)).toBe(false);
  });

  it('of 0 allows only what is free', () => {
    const spending = createSpending(0);
    expect([spending.reserve(0), spending.reserve(0.000_001)]).toEqual([true, false]);
  });

  /** Rows in any order, each of which begins, or ends at some cost up to its worst case. */
  it('holds at every moment, and refuses nothing that it covers', () => {
    const millionths = fc.integer({ min: 0, max: 30_000_000 });
    const steps = fc.array(fc.tuple(fc.boolean(), millionths, fc.nat()), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 }), steps, (limit, moves) => {
        const spending = createSpending(limit);
        const underWay: number[] = [];
        // The same in whole millionths.
        let spent = 0;
        for (const [begins, worst, some] of moves) {
          if (begins) {
            const taken = spent + underWay.reduce((sum, one) => sum + one, 0);
            const fits = taken + worst <= limit * 1e6;
            expect(spending.reserve(worst / 1e6)).toBe(fits);
            if (fits) underWay.push(worst);
          } else if (underWay.length > 0) {
            const [ended = 0] = underWay.splice(some % underWay.length, 1);
            const cost = some % 3 === 0 ? undefined : some % (ended + 1);
            spent += cost ?? ended;
            spending.settle(ended / 1e6, cost === undefined ? undefined : cost / 1e6);
          }
          expect(spending.spent + spending.reserved).toBeLessThanOrEqual(limit);
          expect(Math.round(spending.spent * 1e6)).toBe(spent);
        }
      }),
    );
  });
});

describe('a refusal', () => {
  const spending = createSpending(10);
  const partly = createSpending(10);
  partly.reserve(4);
  partly.settle(4, 3);
  partly.reserve(6);
  const unknown =
    "nothing was bought: leadpipe can't tell what this costs, because the setting price.extract is not set";
  const left = 'this can cost 1.5 credits, but only 1 is left of the limit of 10; nothing was bought';
  const limit = 'this can cost 20 credits, but the limit is 10; nothing was bought';
  it.each([
    [toUnknownPrice('price.extract'), 'price_unknown', unknown],
    [toOverLimit(20, spending), 'over_limit', limit],
    [toOverLimit(1.5, partly), 'over_limit', left],
  ])('%s', (error, type, message) => {
    expect(error).toBeInstanceOf(LeadpipeError);
    expect(error).toMatchObject({ outcome: 'credits', message, details: { type, charged: 'no' } });
  });
});

const unpriced: Cost = { credits: 0, unknown: { setting: 'price.extract', units: 1 } };
const once = (worst: Cost): Costs => ({ is: 'once', worst });
const rows = (each: Cost, sent: number, rest: number | undefined, again = 0, limit?: number): Costs => ({
  ...{ is: 'rows', each, sent, rest, again },
  limit: limit === undefined ? undefined : createSpending(limit),
});

describe('the worst case of a run', () => {
  it.each<[says: string, costs: Costs, counted: Cost, worst: Cost]>([
    ['nothing', { is: 'nothing' }, { credits: 0 }, { credits: 0 }],
    ['one purchase', once({ credits: 20 }), { credits: 20 }, { credits: 20 }],
    ['one without a price', once(unpriced), unpriced, unpriced],
    // Rows that were sent are counted already, those that are sent again are not.
    ['the rows that are left', rows({ credits: 5 }, 2, 3), { credits: 15 }, { credits: 5 }],
    ['rows that are sent again today', rows({ credits: 5 }, 2, 3, 2), { credits: 25 }, { credits: 5 }],
    [
      'rows without a price',
      rows(unpriced, 2, 3),
      { credits: 0, unknown: { setting: 'price.extract', units: 3 } },
      unpriced,
    ],
    // Rows that can't be counted: what is left of the limit that they share.
    ['uncounted rows', rows({ credits: 5 }, 2, undefined, 0, 30), { credits: 20 }, { credits: 5 }],
    [
      'more of them than it covers',
      rows({ credits: 5 }, 9, undefined, 0, 30),
      { credits: 0 },
      { credits: 5 },
    ],
    [
      'uncounted rows without a limit',
      rows({ credits: 5 }, 2, undefined),
      { credits: 0, unknown: 'rows' },
      { credits: 5 },
    ],
    ['uncounted rows that are free', rows({ credits: 0 }, 2, undefined), { credits: 0 }, { credits: 0 }],
    [
      'uncounted rows without a price',
      rows(unpriced, 2, undefined),
      { credits: 0, unknown: 'rows' },
      unpriced,
    ],
  ])('counts for the day: %s', (_, costs, counted, worst) => {
    expect([toCounted(costs), worstOf(costs)]).toEqual([counted, worst]);
  });

  /** Undefined where it is covered. */
  async function refusalOf(costs: Costs, limit: number | undefined, available: number | undefined) {
    const spending: Spending | undefined = limit === undefined ? undefined : createSpending(limit);
    const buyer = { spending, connection: { settings: {} } } as Buyer;
    const error = await checkCovered(buyer, costs, available, undefined).then(
      () => undefined,
      (thrown: LeadpipeError) => thrown,
    );
    // Nothing is reserved.
    expect(spending?.reserved ?? 0).toBe(0);
    return error && [error.outcome, error.details.type, error.message];
  }

  const over = (words: string) => ['credits', 'over_limit', `${words}; nothing was bought`];
  const short = (words: string) => ['credits', 'insufficient_credits', `${words}; nothing was bought`];
  it.each<
    [says: string, costs: Costs, limit: number | undefined, available: number | undefined, refusal: unknown]
  >([
    ['what the limit and the balance cover', once({ credits: 20 }), 20, 20, undefined],
    ['nothing', { is: 'nothing' }, 0, 0, undefined],
    [
      'what is above the limit',
      once({ credits: 20 }),
      10,
      50,
      over('this can cost 20 credits, but the limit is 10'),
    ],
    [
      'what the balance does not cover',
      once({ credits: 20 }),
      30,
      1,
      short('this can cost 20 credits, but 1 is available'),
    ],
    ['a balance that is not known', once({ credits: 20 }), 30, undefined, undefined],
    // Without a limit, the service says what it refuses.
    ['anything without a limit', once({ credits: 20 }), undefined, 1, undefined],
    [
      'no price',
      once(unpriced),
      10,
      50,
      ['credits', 'price_unknown', toUnknownPrice('price.extract').message],
    ],
  ])('is refused beforehand: %s', async (_, costs, limit, available, refusal) => {
    expect(await refusalOf(costs, limit, available)).toEqual(refusal);
  });

  it('is refused beforehand for a list with what its rows have cost, and only the rest of it needs a balance', async () => {
    const list = (limit: number): Costs => rows({ credits: 5 }, 2, 3, 0, limit);
    const whole = over('the limit is 20 credits, 10 are used, and the rest can cost 15');
    expect(await refusalOf(list(20), 20, 50)).toEqual(whole);
    expect(await refusalOf(list(25), 25, 15)).toBeUndefined();
    expect(await refusalOf(list(25), 25, 14)).toEqual(
      short('this can cost 15 credits, but 14 are available'),
    );
  });
});
