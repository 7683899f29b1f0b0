import { isPaid, rowsOf } from '../kinds.ts';
import { exact, toCostAtMost, toWorstCase } from '../spending.ts';
import type { KnownPurchase } from './history.ts';

/** What purchases can be added up by. */
export const totalsBy = ['day', 'command', 'list', 'profile'] as const;
export type TotalsBy = (typeof totalsBy)[number];

/** Purchases that have something in common. */
export interface Total {
  /** What they have in common; null where this machine does not know. */
  readonly of: string | null;
  readonly purchases: number;
  readonly leads: number;
  readonly charged: number;
  /** Those of which this machine does not know whether they were charged. */
  readonly maybe_charged: number;
  /** What they cost at most together, as far as that is known. */
  readonly credits_at_most: number;
  /** Those of them that may have been charged, and of which the price was not known. */
  readonly unpriced: number;
}

/** Pure: what was bought, added up: days in their order, all else with the dearest first. */
export function toTotals(purchases: readonly KnownPurchase[], by: TotalsBy): Total[] {
  const totals = new Map<string | null, Total>();
  for (const purchase of purchases) {
    const of = groupOf[by](purchase);
    const { purchases: before = 0, ...sums } = totals.get(of) ?? nothing;
    const { charged, leads } = purchase.record;
    const cost = costOf(purchase);
    totals.set(of, {
      of,
      purchases: before + 1,
      leads: sums.leads + (leads ?? 0),
      charged: sums.charged + (charged === 'yes' ? 1 : 0),
      maybe_charged: sums.maybe_charged + (charged === 'maybe' || charged === null ? 1 : 0),
      credits_at_most: exact(sums.credits_at_most + (cost ?? 0)),
      unpriced: sums.unpriced + (cost === null ? 1 : 0),
    });
  }
  const inOrder = [...totals.values()];
  return by === 'day'
    ? inOrder.sort((a, b) => (String(a.of) < String(b.of) ? -1 : 1))
    : inOrder.sort((a, b) => b.credits_at_most - a.credits_at_most || b.purchases - a.purchases);
}

const nothing = { purchases: 0, leads: 0, charged: 0, maybe_charged: 0, credits_at_most: 0, unpriced: 0 };

const groupOf: { readonly [By in TotalsBy]: (purchase: KnownPurchase) => string | null } = {
  day: ({ intent }) => toDay(new Date(intent.time)),
  command: ({ record }) => record.command,
  list: ({ record }) => record.list,
  profile: ({ intent }) => intent.profile,
};

/** The day where this machine is, as people count days. */
function toDay(time: Date): string {
  const [year, month, day] = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

/** Null where no price was known. */
function costOf({ record, intent }: KnownPurchase): number | null {
  const { command, body = '{}', worst_case } = intent;
  const { charged, excluded, leads, state } = record;
  // Each row has cost what one costs at most.
  if (rowsOf(command) !== undefined) return worst_case == null ? null : exact(worst_case * (leads ?? 0));
  if (!isPaid(command)) return null;
  const request = JSON.parse(body);
  // Journals of earlier versions have no worst case; that of a plain search needs no price.
  const worst = worst_case === undefined ? toWorstCase(command, request, {}).credits : worst_case;
  // What was dropped here arrived, and is paid for.
  const arrived = leads === null ? null : leads + (excluded ?? 0);
  return toCostAtMost(command, request, worst, { charged, leads: arrived, complete: state === 'complete' });
}
