import { toMinutes, type Zone } from '../../clock.ts';
import type { PastPurchase } from '../journal/past.ts';
import { exact } from '../prices.ts';

export const totalsBy = ['day', 'month', 'command', 'list', 'profile'] as const;
export type TotalsBy = (typeof totalsBy)[number];

export interface Total {
  /** What these purchases have in common; null where this machine does not know it. */
  readonly of: string | null;
  /** Those that were not refused. */
  readonly purchases: number;
  /** Leads and items, and lookups with and without a result. */
  readonly leads: number;
  readonly found: number;
  readonly not_found: number;
  /** The most that they cost together, as far as that is known; null where it is not known of any. */
  readonly credits_at_most: number | null;
  /** How many of them may have been charged at a price that was not known. */
  readonly unpriced: number;
  /** The part of `credits_at_most` that belongs to purchases that did not end: how much of it was charged is not known here. */
  readonly unsettled: number;
  /** How far the balance fell, of purchases before and after which it was asked for; null where there are none. */
  readonly balance_fell: number | null;
}

/** Adds up purchases: by day or month, in their order, else the most expensive first. */
export async function addUp(
  purchases: AsyncIterable<PastPurchase> | Iterable<PastPurchase>,
  by: TotalsBy,
  zone: Zone,
): Promise<Total[]> {
  const totals = new Map<string | null, Total>();
  for await (const one of purchases) {
    const { charged, credits_at_most: cost, credits_after, credits_before, leads, state } = one;
    if (state === 'failed' && charged === 'no') continue;
    // The day in the time zone of this machine.
    const day = toMinutes(new Date(one.time), zone).slice(0, 10);
    const month = day.slice(0, 7);
    const of = { ...one, day, month }[by];
    const sums = totals.get(of);
    // The cost of a task is known when it has ended.
    const isSettled = charged === 'no' || one.is_settled || (state === 'complete' && charged !== null);
    totals.set(of, {
      of,
      purchases: (sums?.purchases ?? 0) + 1,
      leads: (sums?.leads ?? 0) + (leads ?? 0),
      found: (sums?.found ?? 0) + (one.found ?? 0),
      not_found: (sums?.not_found ?? 0) + (one.not_found ?? 0),
      credits_at_most:
        cost === null ? (sums?.credits_at_most ?? null) : exact((sums?.credits_at_most ?? 0) + cost),
      unpriced: (sums?.unpriced ?? 0) + Number(cost === null),
      unsettled: exact((sums?.unsettled ?? 0) + (isSettled ? 0 : (cost ?? 0))),
      balance_fell:
        credits_before == null || credits_after == null
          ? (sums?.balance_fell ?? null)
          : exact((sums?.balance_fell ?? 0) + credits_before - credits_after),
    });
  }
  const inOrder = (a: Total, b: Total): number =>
    by === 'day' || by === 'month'
      ? Number(String(a.of) > String(b.of)) - Number(String(a.of) < String(b.of))
      : (b.credits_at_most ?? 0) - (a.credits_at_most ?? 0) || b.purchases - a.purchases;
  return [...totals.values()].sort(inOrder);
}
