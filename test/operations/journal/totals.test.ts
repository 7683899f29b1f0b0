import { describe, expect, it } from 'vitest';
import { type Cost, entry, type Intent, type JournalEntry } from '../../../src/operations/journal/entries.ts';
import { fold } from '../../../src/operations/operation.ts';
import { type KnownPurchase, readHistoryRecord } from '../../../src/operations/report/history.ts';
import { toPastPurchase } from '../../../src/operations/report/remember.ts';
import { addUp, type Total, type TotalsBy } from '../../../src/operations/report/totals.ts';
import { intentOf } from '../../helpers/journals.ts';
import { temporaryFolder } from '../../helpers/run.ts';

async function toTotals(purchases: readonly KnownPurchase[], by: TotalsBy, minutes = 0): Promise<Total[]> {
  return await addUp(purchases.map(toPastPurchase), by, { minutesFromUtc: () => minutes });
}

const noFolder = `${temporaryFolder()}/op_1`;

/** A purchase as the history tells it; nothing but its journal is left of it. */
async function purchase(
  intent: Partial<Intent>,
  entries: readonly JournalEntry[],
  body: object = { limit: 10 },
): Promise<KnownPurchase> {
  const all = intentOf({
    time: '2026-01-31T12:00:00.000Z',
    command: 'search',
    profile: 'default',
    idempotency_key: 'k',
    body: JSON.stringify(body),
    ...intent,
  });
  return { record: await readHistoryRecord(fold(noFolder, [all, ...entries])), intent: all };
}

const sent = entry.sent(new Date(0));
const created = entry.created('ls_1', 'req_1');
const complete = (leads?: number) =>
  entry.terminal('complete', { charged: 'yes', ...(leads === undefined ? {} : { leads }) });
const cut = entry.terminal('partial', { charged: 'yes', leads: 4 });
const lost = entry.failed({ outcome: 'unknown', message: 'lost', request_id: null, charged: 'maybe' });
const rest = entry.rest({
  ...{ time: '2026-01-31T13:00:00.000Z', idempotency_key: 'k2', body: '{"limit":6}' },
  ...{ worst_case: { credits: 6 }, delivered: 4, excluded: 0 },
});
const unpriced: Cost = { credits: 0, unknown: { setting: 'price.contact.email', units: 1 } };

const nothing = {
  purchases: 0,
  leads: 0,
  found: 0,
  not_found: 0,
  credits_at_most: 0,
  unpriced: 0,
  unsettled: 0,
  balance_fell: null,
};

const rows: readonly [
  name: string,
  intent: Partial<Intent>,
  entries: readonly JournalEntry[],
  expected: Partial<Total>,
][] = [
  [
    'a whole search costs what it brought',
    { worst_case: { credits: 10 } },
    [sent, complete(4)],
    { leads: 4, credits_at_most: 4 },
  ],
  [
    'an enriched one as much more',
    { worst_case: { credits: 25 } },
    [sent, complete(4)],
    { leads: 4, credits_at_most: 10 },
  ],
  [
    'a cut one its worst case',
    { worst_case: { credits: 10 } },
    [sent, cut],
    { leads: 4, credits_at_most: 10, unsettled: 10 },
  ],
  [
    'one that was resumed both of its parts',
    { worst_case: { credits: 10 } },
    [sent, cut, rest, sent, complete(7)],
    { leads: 7, credits_at_most: 13 },
  ],
  [
    'one in doubt its worst case',
    { command: 'contact', worst_case: { credits: 5 } },
    [sent, lost],
    { credits_at_most: 5, unsettled: 5 },
  ],
  [
    'one of unknown price is counted',
    { command: 'contact', worst_case: unpriced },
    [sent, complete()],
    { credits_at_most: null, unpriced: 1 },
  ],
  [
    'one whose price is known in part, too',
    { command: 'contact', worst_case: { ...unpriced, credits: 2 } },
    [sent, complete()],
    { credits_at_most: null, unpriced: 1 },
  ],
  [
    'a created task whose end was not seen costs its worst case',
    { command: 'task create', worst_case: { credits: 10 } },
    [sent, created, entry.terminal('complete')],
    { credits_at_most: 10, unsettled: 10 },
  ],
  [
    'a list costs its rows that were sent',
    { command: 'contact list', worst_case: { credits: 5 } },
    [sent, entry.terminal('complete', { charged: 'yes', leads: 3, found: 2, not_found: 1, sent_rows: 3 })],
    { found: 2, not_found: 1, credits_at_most: 15 },
  ],
  [
    'items of an extraction are leads, and its answers were found',
    { command: 'extract list', worst_case: { credits: 5 } },
    [sent, entry.terminal('complete', { charged: 'yes', leads: 30, found: 2, not_found: 1, sent_rows: 3 })],
    { leads: 30, found: 2, not_found: 1, credits_at_most: 15 },
  ],
  [
    'the balance fell where it was asked for before and after',
    { command: 'contact', worst_case: { credits: 5 }, credits_before: 100 },
    [sent, entry.balance(95.5), entry.terminal('complete', { charged: 'maybe', found: 0, not_found: 1 })],
    { not_found: 1, credits_at_most: 5, balance_fell: 4.5 },
  ],
  [
    'one of the local service nothing',
    { origin: 'local', worst_case: { credits: 0 } },
    [sent, complete(4)],
    { leads: 4 },
  ],
  [
    'a kind of a later version is counted, with its worst case',
    { command: 'divine', worst_case: { credits: 10 } },
    [sent, complete()],
    { credits_at_most: 10 },
  ],
];
it.each(rows)('%s', async (_, intent, entries, expected) => {
  expect(await toTotals([await purchase(intent, entries)], 'profile')).toEqual([
    { of: 'default', ...nothing, purchases: 1, ...expected },
  ]);
});

describe('many', async () => {
  const of = (totals: readonly Total[]) =>
    totals.map((total) => [total.of, total.purchases, total.credits_at_most]);
  const contacts = await Promise.all(
    Array.from({ length: 10 }, () =>
      purchase({ command: 'contact', worst_case: { credits: 0.1 }, profile: 'work' }, [sent, complete()], {
        contact_type: 'email',
      }),
    ),
  );
  const late = await purchase({ time: '2026-01-31T23:30:00.000Z', worst_case: { credits: 3 } }, [sent, cut]);
  const early = await purchase({ time: '2025-12-31T12:00:00.000Z', worst_case: { credits: 0.5 } }, [
    sent,
    cut,
  ]);

  it('are sorted by cost, the highest first, and decimals add up', async () => {
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
  ])('days are sorted, and are those of a place %d minutes ahead of UTC', async (minutes, day) => {
    expect(of(await toTotals([late, early], 'day', minutes))).toEqual([
      ['2025-12-31', 1, 0.5],
      [day, 1, 3],
    ]);
  });

  it('none are none, and so is what was refused, whatever its price', async () => {
    const refusal = [sent, entry.terminal('credits', { charged: 'no' })];
    expect(await toTotals([await purchase({ worst_case: unpriced }, refusal)], 'day')).toEqual([]);
  });
});
