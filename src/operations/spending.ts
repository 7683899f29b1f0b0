import type { Connection } from '../connection/connection.ts';
import { exact } from './prices.ts';

/** A limit that purchases share, even those that run at the same time. */
export type Spending = ReturnType<typeof createSpending>;

/**
 * `setting` names where the limit comes from, if it was not given by an option. `spent` and `reserved` together never exceed the limit, as
 * long as nothing costs more than its worst case. If `reserve` returns false while something is in progress, there may be room when that is
 * settled.
 */
export function createSpending(limit: number, setting?: 'max_credits' | 'max_credits_per_day') {
  const spending = {
    limit,
    setting,
    /** Replaces the limit. */
    become(other: { readonly limit: number; readonly setting?: typeof setting }): void {
      spending.limit = other.limit;
      spending.setting = other.setting;
    },
    /** Keys of purchases whose cost is not known: they have been counted already. */
    inDoubt: new Set<string>(),
    /** The total cost of ended purchases; of one with an unknown cost, its worst case. */
    spent: 0,
    /** The total worst case of purchases in progress. */
    reserved: 0,
    /**
     * Reserves the worst case of a purchase that is about to begin. Returns false, and reserves nothing, where the limit does not cover it.
     */
    reserve(worst: number): boolean {
      if (exact(spending.spent + spending.reserved + worst) > spending.limit) return false;
      spending.reserved = exact(spending.reserved + worst);
      return true;
    },
    /** A purchase with this worst case is over. Where `cost` is not known, it counts as its worst case. */
    settle(worst: number, cost = worst): void {
      spending.reserved = exact(spending.reserved - worst);
      spending.spent = exact(spending.spent + cost);
    },
  };
  return spending;
}

/**
 * The limit for all purchases of a run: the given one, else that of the settings. Undefined where there is no limit, and with the local
 * service, which is free.
 */
export function toSpending(
  requested: number | undefined,
  { origin, settings: { max_credits: limit } }: Pick<Connection, 'origin' | 'settings'>,
): Spending | undefined {
  if (origin === 'local') return undefined;
  if (requested !== undefined) return createSpending(requested);
  return limit === undefined ? undefined : createSpending(limit, 'max_credits');
}
