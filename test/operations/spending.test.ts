import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EntityType, StreamEntityType } from '../../src/contract/types.ts';
import { LeadpipeError } from '../../src/errors.ts';
import type { BodyOf, PaidKind } from '../../src/operations/kinds/kinds.ts';
import {
  type Priced,
  toCostAtMost,
  toNotCovered,
  toOverLimit,
  toUnknownPrice,
  toWorstCase,
} from '../../src/operations/money.ts';
import { createSpending } from '../../src/operations/spending.ts';

const company: { entity_type: StreamEntityType; objective: string } = {
  entity_type: 'company',
  objective: 'x',
};
const wechat: { entity_type: EntityType; objective: string } = { entity_type: 'wechat', objective: 'x' };
const schema = { type: 'object', properties: { city: { type: 'string' } } };

type Row = {
  [Kind in PaidKind]: readonly [
    kind: Kind,
    body: BodyOf<Kind>,
    prices: Priced['settings'],
    worst: number | `price.${string}`,
  ];
}[PaidKind];

const rows: readonly Row[] = [
  // A plain search costs at most its limit, whatever is known of prices.
  ['search', { ...company, limit: 20 }, {}, 20],
  ['search', company, {}, 100],
  ['search', { ...company, limit: 20, enrich_fields: [], dedup_custom_leads: ['a'] }, {}, 20],
  ['search', { ...company, limit: 20 }, { 'price.search': 0.5 }, 20],
  ['search', { ...company, limit: 20 }, { 'price.search': 3 }, 60],
  ['search', { ...company, limit: 20, enrich_fields: ['headcount'] }, {}, 'price.search'],
  ['search', { ...company, limit: 20, enrich_fields: ['headcount'] }, { 'price.task': 2 }, 'price.search'],
  ['search', { ...company, limit: 20, enrich_fields: ['headcount'] }, { 'price.search': 2 }, 40],
  ['search', { ...company, limit: 3, enrich_fields: ['headcount'] }, { 'price.search': 0.1 }, 0.3],
  ['task run', { ...company, limit: 20 }, {}, 20],
  ['task run', { ...company, limit: 20, enable_web_search: false }, {}, 20],
  ['task run', { ...company, limit: 20, enrich_fields: ['headcount'] }, { 'price.search': 2 }, 'price.task'],
  ['task run', { ...wechat, enable_web_search: true }, {}, 'price.task'],
  ['task run', { ...wechat, enable_web_search: true }, { 'price.task': 2.5 }, 250],
  ['task create', { ...wechat, limit: 7, enable_web_search: true }, { 'price.task': 2 }, 14],
  ['task create', { ...company, limit: 7 }, {}, 7],
  ['contact', { contact_type: 'email', objective: 'x' }, {}, 'price.contact.email'],
  ['contact', { contact_type: 'phone', objective: 'x' }, { 'price.contact.email': 5 }, 'price.contact.phone'],
  ['contact', { contact_type: 'phone', objective: 'x' }, { 'price.contact.phone': 10 }, 10],
  ['contact', { contact_type: 'email', objective: 'x' }, { 'price.contact.email': 0 }, 0],
  ['research', { query: 'x' }, {}, 'price.research'],
  ['research', { query: 'x' }, { 'price.research': 20 }, 20],
  ['enrich', { entity_context: 'x', enrich_fields: schema }, {}, 'price.enrich'],
  ['enrich', { entity_context: 'x', enrich_fields: schema }, { 'price.enrich': 2 }, 2],
  ['extract', { type: 'x_followers', target: 'ada' }, {}, 'price.extract'],
  ['extract', { type: 'x_followers', target: 'ada' }, { 'price.extract': 0.2 }, 20],
  ['extract', { type: 'x_followers', target: 'ada', limit: 5000 }, { 'price.extract': 1 }, 5000],
  // It ignores a limit.
  ['extract', { type: 'web2list', target: 'https://a.example', limit: 5 }, { 'price.extract': 1 }, 100],
];

it.each(rows)('the worst case of %s %j at %j is %s', (kind, body, prices, worst) => {
  const at = (origin: string) => toWorstCase(kind, body as BodyOf<typeof kind>, { origin, settings: prices });
  expect(at('https://a.example')).toMatchObject(
    typeof worst === 'number' ? { credits: worst } : { credits: null, setting: worst },
  );
  expect(at('local')).toEqual({ credits: 0 });
});

const yes = { charged: 'yes', complete: true } as const;
it.each([
  ['a refused one nothing', 'search', 20, { charged: 'no', complete: false, leads: 0 }, 0],
  ['a whole search what it brought', 'search', 20, { ...yes, leads: 3 }, 3],
  ['an enriched one too', 'search', 40, { ...yes, leads: 3 }, 6],
  ['a search that found nothing, nothing', 'task run', 20, { ...yes, leads: 0 }, 0],
  ['one that brought more than it may, its worst case', 'search', 20, { ...yes, leads: 30 }, 20],
  ['a cut one its worst case', 'search', 20, { charged: 'yes', complete: false, leads: 3 }, 20],
  ['a created task its worst case', 'task create', 20, { charged: null, complete: true, leads: null }, 20],
  ['a contact its price', 'contact', 5, { ...yes, leads: null }, 5],
  ['an extraction its worst case', 'extract', 100, { ...yes, leads: 3 }, 100],
  ['what has no known worst case is not known', 'search', null, { ...yes, leads: 3 }, null],
  ['unless nothing was found', 'search', null, { ...yes, leads: 0 }, 0],
  ['unless nothing was charged', 'contact', null, { charged: 'no', complete: false, leads: null }, 0],
] as const)('what it has cost at most, once it is over: %s', (_, kind, worst, ended, cost) => {
  expect(toCostAtMost(kind, { limit: 20 }, worst, ended)).toBe(cost);
});

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
    // Nobody knows what this one cost.
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

  it('lets nothing through that costs, where it is 0', () => {
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
  const balance = 'this can cost 20 credits, but 1 is available; nothing was bought';
  it.each([
    [toUnknownPrice('price.extract'), 'price_unknown', unknown],
    [toOverLimit(20, spending), 'over_limit', limit],
    [toOverLimit(1.5, partly), 'over_limit', left],
    [toNotCovered(20, 1), 'insufficient_credits', balance],
  ])('%s', (error, type, message) => {
    expect(error).toBeInstanceOf(LeadpipeError);
    expect(error).toMatchObject({ outcome: 'credits', message, details: { type, charged: 'no' } });
  });
});
