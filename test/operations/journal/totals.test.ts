import { describe, expect, it } from 'vitest';
import type { Intent } from '../../../src/operations/journal/entries.ts';
import { fold } from '../../../src/operations/operation.ts';
import type { HistoryRecord, KnownPurchase } from '../../../src/operations/report/history.ts';
import { costOf } from '../../../src/operations/report/history.ts';
import { addUp, type Total, type TotalsBy } from '../../../src/operations/report/totals.ts';
import { intentOf } from '../../helpers/journals.ts';

async function toTotals(purchases: readonly KnownPurchase[], by: TotalsBy, minutes = 0): Promise<Total[]> {
  return await addUp(purchases, by, { minutesFromUtc: () => minutes });
}

function purchase(
  intent: Partial<Intent>,
  record: Partial<HistoryRecord> = {},
  body: object = { limit: 10 },
): KnownPurchase {
  const all = intentOf({
    time: '2026-01-31T12:00:00.000Z',
    command: 'search',
    profile: 'default',
    idempotency_key: 'k',
    body: JSON.stringify(body),
    ...intent,
  });
  const known = {
    operation_id: 'op_1',
    time: all.time,
    command: all.command,
    state: 'complete',
    leads: null,
    leads_search_id: null,
    request_id: null,
    idempotency_key: 'k',
    charged: 'yes',
    credits_before: null,
    credits_after: null,
    output: null,
    list: null,
    excluded: null,
    subject: null,
    service: all.origin,
    stop_reason: null,
    ...record,
  } as const;
  const { charged, excluded, leads, state } = known;
  const cost = costOf(fold('op_1', [all]), charged, leads, excluded ?? 0, state === 'complete', leads ?? 0);
  return { record: { ...known, credits_at_most: cost }, intent: all };
}

const nothing = {
  purchases: 0,
  leads: 0,
  charged: 0,
  maybe_charged: 0,
  credits_at_most: 0,
  unpriced: 0,
  unsettled: 0,
};

const rows: readonly [name: string, purchase: KnownPurchase, expected: Partial<Total>][] = [
  [
    'a whole search costs what it brought',
    purchase({ worst_case: 10 }, { leads: 4 }),
    { leads: 4, charged: 1, credits_at_most: 4 },
  ],
  [
    'an enriched one as much more',
    purchase({ worst_case: 25 }, { leads: 4 }),
    { leads: 4, charged: 1, credits_at_most: 10 },
  ],
  [
    'a cut one its worst case',
    purchase({ worst_case: 10 }, { leads: 4, state: 'partial' }),
    { leads: 4, charged: 1, credits_at_most: 10, unsettled: 10 },
  ],
  [
    'one that was refused nothing, whatever its price',
    purchase({ worst_case: null }, { charged: 'no', state: 'failed' }),
    {},
  ],
  [
    'one in doubt its worst case',
    purchase({ command: 'contact', worst_case: 5 }, { charged: 'maybe', state: 'unknown' }),
    { maybe_charged: 1, credits_at_most: 5, unsettled: 5 },
  ],
  [
    'one of unknown price is counted',
    purchase({ command: 'contact', worst_case: null }),
    { charged: 1, credits_at_most: null, unpriced: 1 },
  ],
  [
    'a created task whose end was not seen costs its worst case',
    purchase({ command: 'task create', worst_case: 10 }, { charged: null }),
    { maybe_charged: 1, credits_at_most: 10, unsettled: 10 },
  ],
  [
    'a kind of a later version is counted, without a price',
    purchase({ command: 'divine', worst_case: 10 }),
    { charged: 1, credits_at_most: null, unpriced: 1 },
  ],
];
it.each(rows)('%s', async (_, one, expected) => {
  expect(await toTotals([one], 'profile')).toEqual([
    { of: 'default', ...nothing, purchases: 1, ...expected },
  ]);
});

describe('many', () => {
  const of = (totals: readonly Total[]) =>
    totals.map((total) => [total.of, total.purchases, total.credits_at_most]);
  const contacts = Array.from({ length: 10 }, () =>
    purchase({ command: 'contact', worst_case: 0.1, profile: 'work' }, { command: 'contact email' }),
  );
  const late = purchase({ time: '2026-01-31T23:30:00.000Z', worst_case: 3 }, { state: 'partial' });
  const early = purchase({ time: '2025-12-31T12:00:00.000Z', worst_case: 0.5 }, { state: 'partial' });

  it('stand with the dearest first, and decimals add up', async () => {
    expect(of(await toTotals([...contacts, late], 'command'))).toEqual([
      ['search', 1, 3],
      ['contact email', 10, 1],
    ]);
    expect(of(await toTotals([late, early, ...contacts], 'profile'))).toEqual([
      ['default', 2, 3.5],
      ['work', 10, 1],
    ]);
  });

  it.each([
    [0, '2026-01-31'],
    [540, '2026-02-01'],
  ])('days stand in their order, and are those of a place %d minutes ahead of UTC', async (minutes, day) => {
    expect(of(await toTotals([late, early], 'day', minutes))).toEqual([
      ['2025-12-31', 1, 0.5],
      [day, 1, 3],
    ]);
  });

  it('none are none', async () => {
    expect(await toTotals([], 'day')).toEqual([]);
  });
});
