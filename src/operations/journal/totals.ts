import { toMinutes, type Zone } from '../../clock.ts';
import { exact } from '../spending.ts';
import type { KnownPurchase } from './history.ts';

export const totalsBy = ['day', 'command', 'list', 'profile'] as const;
export type TotalsBy = (typeof totalsBy)[number];

export interface Total {
  /** What they have in common; null where this machine does not know. */
  readonly of: string | null;
  readonly purchases: number;
  readonly leads: number;
  readonly charged: number;
  /** Those of which this machine does not know whether they were charged. */
  readonly maybe_charged: number;
  /** What they cost at most together, as far as that is known; null where it is of none of them. */
  readonly credits_at_most: number | null;
  /** Those of them that may have been charged, and of which the price was not known. */
  readonly unpriced: number;
  /** Of `credits_at_most`, those of purchases that did not come to their end: nobody here knows how much of it was charged. */
  readonly unsettled: number;
}

export function createTotals(by: TotalsBy, zone: Zone) {
  const totals = new Map<string | null, Total>();
  return {
    add(purchase: KnownPurchase): void {
      const of = groupOf[by](purchase, zone);
      const sums = totals.get(of) ?? nothing;
      const { charged, leads, state } = purchase.record;
      // What a task costs is known when it has ended.
      const isSettled = charged === 'no' || (state === 'complete' && charged !== null);
      const cost = purchase.record.credits_at_most;
      totals.set(of, {
        of,
        purchases: sums.purchases + 1,
        leads: sums.leads + (leads ?? 0),
        charged: sums.charged + (charged === 'yes' ? 1 : 0),
        maybe_charged: sums.maybe_charged + (charged === 'maybe' || charged === null ? 1 : 0),
        credits_at_most: cost === null ? sums.credits_at_most : exact((sums.credits_at_most ?? 0) + cost),
        unpriced: sums.unpriced + (cost === null ? 1 : 0),
        unsettled: exact(sums.unsettled + (isSettled ? 0 : (cost ?? 0))),
      });
    },
    sums(): Total[] {
      const inOrder = [...totals.values()];
      return by === 'day'
        ? inOrder.sort((a, b) => (String(a.of) < String(b.of) ? -1 : 1))
        : inOrder.sort(
            (a, b) => (b.credits_at_most ?? 0) - (a.credits_at_most ?? 0) || b.purchases - a.purchases,
          );
    },
  };
}

const nothing: Omit<Total, 'of'> = {
  purchases: 0,
  leads: 0,
  charged: 0,
  maybe_charged: 0,
  credits_at_most: null,
  unpriced: 0,
  unsettled: 0,
};

const groupOf: { readonly [By in TotalsBy]: (purchase: KnownPurchase, zone: Zone) => string | null } = {
  // The day where this machine is, as people count days.
  day: ({ intent }, zone) => toMinutes(new Date(intent.time), zone).slice(0, 10),
  command: ({ record }) => record.command,
  list: ({ record }) => record.list,
  profile: ({ intent }) => intent.profile,
};
