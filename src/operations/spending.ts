import type { Connection } from '../connection/connection.ts';
import { limits, web2listLimit } from '../contract/limits.ts';
import type { Charged } from '../errors.ts';
import type { BodyOf, PaidKind } from './kinds.ts';

/** Settings with the prices, which the service does not tell. */
export type PriceName = Extract<keyof Connection['settings'], `price.${string}`>;
export type Prices = Pick<Connection['settings'], PriceName>;

/** The most that a purchase can cost; null where it is not known, because `setting`, its price, is not set. */
export type WorstCase =
  | { readonly credits: number }
  | { readonly credits: null; readonly setting: PriceName };

interface Tariff {
  readonly setting: PriceName;
  readonly units: number;
  /** Whether the interface promises that a unit costs one credit at most. */
  readonly plain?: boolean;
}

type Lookups = { readonly [Kind in PaidKind]: (body: BodyOf<Kind>) => Tariff };

const task = ({ limit, enrich_fields, enable_web_search }: BodyOf<'task run'>): Tariff => ({
  setting: 'price.task',
  units: limit ?? limits.entityLimit.default,
  plain: !enrich_fields?.length && enable_web_search !== true,
});

// rule: general.reserve, general.contact-reserve
const tariffs: Lookups = {
  search: ({ limit, enrich_fields }) => ({
    setting: 'price.search',
    units: limit ?? limits.entityLimit.default,
    plain: !enrich_fields?.length,
  }),
  'task create': task,
  'task run': task,
  contact: ({ contact_type }) => ({ setting: `price.contact.${contact_type}`, units: 1 }),
  research: () => ({ setting: 'price.research', units: 1 }),
  enrich: () => ({ setting: 'price.enrich', units: 1 }),
  extract: ({ type, limit }) => ({
    setting: 'price.extract',
    units: type === 'web2list' ? web2listLimit : (limit ?? limits.extractLimit.default),
  }),
};

/** Pure: how many units a purchase pays for at most, and the setting with their price. */
export function tariffOf<Kind extends PaidKind>(kind: Kind, body: BodyOf<Kind>): Tariff {
  return tariffs[kind](body);
}

/**
 * Pure: the most that a purchase can cost. By the interface, a plain search reserves up to `limit` credits. A setting above one credit
 * counts nevertheless, since a limit that is too strict costs nothing.
 */
export function toWorstCase<Kind extends PaidKind>(
  kind: Kind,
  body: BodyOf<Kind>,
  prices: Prices,
): WorstCase {
  const { setting, units, plain } = tariffOf(kind, body);
  const price = plain ? Math.max(1, prices[setting] ?? 1) : prices[setting];
  return price === undefined ? { credits: null, setting } : { credits: exact(units * price) };
}

/**
 * Pure: what a purchase has cost at most, once it is over. Only of searches does the interface say that they are settled by
 * what they brought; of all others the worst case holds, unless nothing was charged.
 */
// rule: general.settle, general.task-settles, contact.charged
export function toCostAtMost(
  kind: PaidKind,
  body: { readonly limit?: number | undefined },
  worst: number | null,
  ended: { readonly charged: Charged | null; readonly complete: boolean; readonly leads: number | null },
): number | null {
  const { charged, complete, leads } = ended;
  if (charged === 'no') return 0;
  const isSettled = (kind === 'search' || kind === 'task run') && complete && leads !== null;
  if (worst === null || !isSettled) return worst;
  return exact(worst * Math.min(1, leads / (body.limit ?? limits.entityLimit.default)));
}

/** A limit that purchases share, even those that run at the same time. */
export type Spending = ReturnType<typeof createSpending>;

/**
 * `setting` names where the limit comes from, if it was not given by an option. `spent` and `reserved` together never exceed the limit, as
 * long as nothing costs more than its worst case. If `reserve` returns false while something is under way, there may be room when that is
 * settled.
 */
export function createSpending(limit: number, setting?: 'max_credits' | 'max_credits_per_day') {
  const spending = {
    limit,
    setting,
    /** Keys of purchases whose cost is not known: they have been counted already. */
    inDoubt: new Set<string>(),
    /** What purchases that ended have cost; their worst case where the cost is not known. */
    spent: 0,
    /** The worst cases of those that are under way. */
    reserved: 0,
    /**
     * Reserves the worst case of a purchase that is about to begin. Returns false, and reserves nothing, where the limit does not cover it.
     */
    reserve(worst: number): boolean {
      if (exact(spending.spent + spending.reserved + worst) > limit) return false;
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
 * The limit for all purchases of a run: the given one, else that of the settings, which does not apply to what is free. Undefined where
 * there is no limit.
 */
export function toSpending(
  asked: number | undefined,
  { origin, settings: { max_credits: limit } }: Pick<Connection, 'origin' | 'settings'>,
): Spending | undefined {
  if (asked !== undefined) return createSpending(asked);
  return limit === undefined || origin === 'local' ? undefined : createSpending(limit, 'max_credits');
}

/** Pure: a sum without the errors of binary fractions: prices have six decimals at most. */
export function exact(credits: number): number {
  return Math.round(credits * 1e6) / 1e6;
}
