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

/** Adds up purchases, by day in their order, else the dearest first. */
export async function addUp(
  purchases: AsyncIterable<KnownPurchase> | Iterable<KnownPurchase>,
  by: TotalsBy,
  zone: Zone,
): Promise<Total[]> {
  const totals = new Map<string | null, Total>();
  for await (const { intent, record } of purchases) {
    const { charged, credits_at_most: cost, leads, state } = record;
    // The day where this machine is, as people count days.
    const day = toMinutes(new Date(intent.time), zone).slice(0, 10);
    const of = { day, command: record.command, list: record.list, profile: intent.profile }[by];
    const sums = totals.get(of);
    // What a task costs is known when it has ended.
    const isSettled = charged === 'no' || (state === 'complete' && charged !== null);
    totals.set(of, {
      of,
      purchases: (sums?.purchases ?? 0) + 1,
      leads: (sums?.leads ?? 0) + (leads ?? 0),
      charged: (sums?.charged ?? 0) + Number(charged === 'yes'),
      maybe_charged: (sums?.maybe_charged ?? 0) + Number(charged === 'maybe' || charged === null),
      credits_at_most:
        cost === null ? (sums?.credits_at_most ?? null) : exact((sums?.credits_at_most ?? 0) + cost),
      unpriced: (sums?.unpriced ?? 0) + Number(cost === null),
      unsettled: exact((sums?.unsettled ?? 0) + (isSettled ? 0 : (cost ?? 0))),
    });
  }
  const inOrder = (a: Total, b: Total): number =>
    by === 'day'
      ? Number(String(a.of) > String(b.of)) - Number(String(a.of) < String(b.of))
      : (b.credits_at_most ?? 0) - (a.credits_at_most ?? 0) || b.purchases - a.purchases;
  return [...totals.values()].sort(inOrder);
}
