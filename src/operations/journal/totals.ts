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
      const sums = totals.get(of) ?? { of, ...nothing };
      const { charged, credits_at_most: cost, leads, state } = purchase.record;
      // What a task costs is known when it has ended.
      const isSettled = charged === 'no' || (state === 'complete' && charged !== null);
      totals.set(of, {
        of,
        purchases: sums.purchases + 1,
        leads: sums.leads + (leads ?? 0),
        charged: sums.charged + Number(charged === 'yes'),
        maybe_charged: sums.maybe_charged + Number(charged === 'maybe' || charged === null),
        credits_at_most: cost === null ? sums.credits_at_most : exact((sums.credits_at_most ?? 0) + cost),
        unpriced: sums.unpriced + Number(cost === null),
        unsettled: exact(sums.unsettled + (isSettled ? 0 : (cost ?? 0))),
      });
    },
    /** By day in their order, else the dearest first. */
    sums(): Total[] {
      const costOf = ({ credits_at_most }: Total): number => credits_at_most ?? 0;
      return [...totals.values()].sort((a, b) =>
        by === 'day'
          ? Number(String(a.of) > String(b.of)) - Number(String(a.of) < String(b.of))
          : costOf(b) - costOf(a) || b.purchases - a.purchases,
      );
    },
  };
}

const nothing = {
  purchases: 0,
  leads: 0,
  charged: 0,
  maybe_charged: 0,
  credits_at_most: null,
  unpriced: 0,
  unsettled: 0,
} as const;

const groupOf: { readonly [By in TotalsBy]: (purchase: KnownPurchase, zone: Zone) => string | null } = {
  // The day where this machine is, as people count days.
  day: ({ intent }, zone) => toMinutes(new Date(intent.time), zone).slice(0, 10),
  command: ({ record }) => record.command,
  list: ({ record }) => record.list,
  profile: ({ intent }) => intent.profile,
};
