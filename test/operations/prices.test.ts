import { describe, expect, it } from 'vitest';
import type { EntityType, StreamEntityType } from '../../src/contract/types.ts';
import type { BodyOf, PaidKind } from '../../src/operations/kinds/kinds.ts';
import {
  type Cost,
  creditsOf,
  exact,
  missingPrice,
  type PriceName,
  type Prices,
  priced,
  sumOf,
  times,
  toWorstCase,
} from '../../src/operations/prices.ts';

const company: { entity_type: StreamEntityType; objective: string } = {
  entity_type: 'company',
  objective: 'x',
};
const wechat: { entity_type: EntityType; objective: string } = { entity_type: 'wechat', objective: 'x' };
const schema = { type: 'object', properties: { city: { type: 'string' } } };

/** A cost that depends on a price, which is not set. */
const unpriced = (setting: PriceName, units: number, credits = 0): Cost => ({
  credits,
  unknown: { setting, units },
});

type Row = {
  [Kind in PaidKind]: readonly [
    kind: Kind,
    body: BodyOf<Kind>,
    prices: Prices,
    worst: number | readonly [setting: PriceName, units: number],
  ];
}[PaidKind];

const rows: readonly Row[] = [
  // A plain search costs at most its limit, whatever is known of prices.
  ['search', { ...company, limit: 20 }, {}, 20],
  ['search', company, {}, 100],
  ['search', { ...company, limit: 20, enrich_fields: [], dedup_custom_leads: ['a'] }, {}, 20],
  ['search', { ...company, limit: 20 }, { 'price.search': 0.5 }, 20],
  ['search', { ...company, limit: 20 }, { 'price.search': 3 }, 60],
  ['search', { ...company, limit: 20, enrich_fields: ['size'] }, {}, ['price.search', 20]],
  ['search', { ...company, enrich_fields: ['size'] }, { 'price.task': 2 }, ['price.search', 100]],
  ['search', { ...company, limit: 20, enrich_fields: ['size'] }, { 'price.search': 2 }, 40],
  ['search', { ...company, limit: 3, enrich_fields: ['size'] }, { 'price.search': 0.1 }, 0.3],
  ['task run', { ...company, limit: 20 }, {}, 20],
  ['task run', { ...company, limit: 20, enable_web_search: false }, {}, 20],
  ['task run', { ...company, limit: 20, enrich_fields: ['size'] }, { 'price.search': 2 }, ['price.task', 20]],
  ['task run', { ...wechat, enable_web_search: true }, {}, ['price.task', 100]],
  ['task run', { ...wechat, enable_web_search: true }, { 'price.task': 2.5 }, 250],
  ['task create', { ...wechat, limit: 7, enable_web_search: true }, { 'price.task': 2 }, 14],
  ['task create', { ...company, limit: 7 }, {}, 7],
  ['contact', { contact_type: 'email', objective: 'x' }, {}, ['price.contact.email', 1]],
  [
    'contact',
    { contact_type: 'phone', objective: 'x' },
    { 'price.contact.email': 5 },
    ['price.contact.phone', 1],
  ],
  ['contact', { contact_type: 'phone', objective: 'x' }, { 'price.contact.phone': 10 }, 10],
  ['contact', { contact_type: 'email', objective: 'x' }, { 'price.contact.email': 0 }, 0],
  ['research', { query: 'x' }, {}, ['price.research', 1]],
  ['research', { query: 'x' }, { 'price.research': 20 }, 20],
  ['enrich', { entity_context: 'x', enrich_fields: schema }, {}, ['price.enrich', 1]],
  ['enrich', { entity_context: 'x', enrich_fields: schema }, { 'price.enrich': 2 }, 2],
  ['extract', { type: 'x_followers', target: 'ada' }, {}, ['price.extract', 100]],
  ['extract', { type: 'x_followers', target: 'ada' }, { 'price.extract': 0.2 }, 20],
  ['extract', { type: 'x_followers', target: 'ada', limit: 5000 }, { 'price.extract': 1 }, 5000],
  // It ignores a limit.
  ['extract', { type: 'web2list', target: 'https://a.example', limit: 5 }, { 'price.extract': 1 }, 100],
];

it.each(rows)('the worst case of %s %j at %j is %s', (kind, body, prices, worst) => {
  const at = (origin: string) => toWorstCase(kind, body as BodyOf<typeof kind>, { origin, settings: prices });
  expect(at('https://a.example')).toEqual(
    typeof worst === 'number' ? { credits: worst } : unpriced(...worst),
  );
  expect(at('local')).toEqual({ credits: 0 });
});

const email = 'price.contact.email';
const rowsOnly: Cost = { credits: 2, unknown: 'rows' };

describe('costs', () => {
  it.each<[says: string, cost: Cost, count: number, all: Cost]>([
    ['several purchases', { credits: 5 }, 3, { credits: 15 }],
    ['a part of one', { credits: 10 }, 0.4, { credits: 4 }],
    ['decimals', { credits: 0.1 }, 3, { credits: 0.3 }],
    ['none', { credits: 5 }, 0, { credits: 0 }],
    ['some without a price', unpriced(email, 2, 1), 3, unpriced(email, 6, 3)],
    ['decimal units', unpriced(email, 0.1), 3, unpriced(email, 0.3)],
    // What was not bought has no price to be missed.
    ['none without a price', unpriced(email, 2, 1), 0, { credits: 0 }],
    ['rows that were not counted', rowsOnly, 3, { credits: 6, unknown: 'rows' }],
    ['no such rows', rowsOnly, 0, { credits: 0 }],
    ['what is taken away', unpriced(email, 2, 1), -1, unpriced(email, -2, -1)],
  ])('multiply: %s', (_, cost, count, all) => expect(times(cost, count)).toEqual(all));

  it.each<[says: string, costs: readonly Cost[], sum: Cost]>([
    ['nothing', [], { credits: 0 }],
    ['decimals', [{ credits: 0.1 }, { credits: 0.2 }], { credits: 0.3 }],
    ['one without a price', [{ credits: 1 }, unpriced(email, 2), { credits: 3 }], unpriced(email, 2, 4)],
    ['several without one', [unpriced(email, 0.1, 1), unpriced(email, 0.2, 1)], unpriced(email, 0.3, 2)],
    ['one taken from another', [unpriced(email, 5, 4), unpriced(email, -2, -1)], unpriced(email, 3, 3)],
    ['rows that were not counted', [unpriced(email, 2), rowsOnly], rowsOnly],
    ['the same, the other way round', [rowsOnly, unpriced(email, 2)], rowsOnly],
  ])('add up: %s', (_, costs, sum) => expect(sumOf(costs)).toEqual(sum));

  it.each<[says: string, cost: Cost, prices: Prices, now: Cost]>([
    ['whose price is set now', unpriced(email, 2, 0.1), { [email]: 0.1 }, { credits: 0.3 }],
    ['that are free now', unpriced(email, 3, 2), { [email]: 0 }, { credits: 2 }],
    ['whose price is not set', unpriced(email, 3, 2), { 'price.search': 5 }, unpriced(email, 3, 2)],
    // It was paid by the prices of that time.
    ['that are known', { credits: 2 }, { [email]: 5 }, { credits: 2 }],
    ['of rows that were not counted', rowsOnly, { [email]: 5 }, rowsOnly],
  ])('by the prices of today: those %s', (_, cost, prices, now) => expect(priced(cost, prices)).toEqual(now));

  it.each<[cost: Cost, credits: number | null, setting: PriceName | undefined]>([
    [{ credits: 2 }, 2, undefined],
    [{ credits: 0 }, 0, undefined],
    [unpriced(email, 3, 2), null, email],
    // No setting says how many they are.
    [rowsOnly, null, undefined],
  ])('%j is %s credits, and lacks %s', (cost, credits, setting) => {
    expect([creditsOf(cost), missingPrice(cost)]).toEqual([credits, setting]);
  });

  it.each([
    [0.1 + 0.2, 0.3],
    [1.000_000_4, 1],
    [2.999_999_6, 3],
  ])('%d is exactly %d', (sum, credits) => expect(exact(sum)).toBe(credits));
});
