import type { Connection } from '../connection/connection.ts';
import type { Cost, PriceName } from './journal/entries.ts';
import type { Kind } from './kinds/kind.ts';
import { type BodyOf, kinds, type PaidKind } from './kinds/kinds.ts';

export type { Cost, PriceName };

export type Prices = Pick<Connection['settings'], PriceName>;

/** The facts that a cost depends on: the service, and the prices in the settings. */
export type Priced = Pick<Connection, 'origin'> & { readonly settings: Prices };

export const nothing: Cost = { credits: 0 };

/**
 * Pure: the maximum cost of a purchase. By the interface, a plain search reserves up to `limit` credits. A price setting above one credit is
 * used nevertheless, because a worst case that is too high does no harm.
 */
export function toWorstCase<Name extends PaidKind>(
  kind: Name,
  body: BodyOf<Name>,
  { origin, settings }: Priced,
): Cost {
  // The local service is free, whatever the prices say.
  if (origin === 'local') return nothing;
  const { tariff }: Kind<BodyOf<Name>> = kinds[kind] as never;
  const { setting, units, plain } = tariff(body);
  const price = plain ? Math.max(1, settings[setting] ?? 1) : settings[setting];
  return price === undefined
    ? { credits: 0, unknown: { setting, units } }
    : { credits: exact(units * price) };
}

/** Pure: what this many purchases cost, or this part of one. */
export function times({ credits, unknown }: Cost, count: number): Cost {
  const known = { credits: exact(credits * count) };
  if (unknown === undefined || count === 0) return known;
  if (unknown === 'rows') return { ...known, unknown };
  return { ...known, unknown: { ...unknown, units: exact(unknown.units * count) } };
}

/** Pure: what purchases of one kind cost together. */
export function sumOf(costs: readonly Cost[]): Cost {
  return costs.reduce(
    (sum, { credits, unknown }) => ({
      credits: exact(sum.credits + credits),
      unknown: both(sum.unknown, unknown),
    }),
    nothing,
  );
}

function both(one: Cost['unknown'], other: Cost['unknown']): Cost['unknown'] {
  if (one === undefined || other === undefined) return one ?? other;
  if (one === 'rows' || other === 'rows') return 'rows';
  return { ...one, units: exact(one.units + other.units) };
}

/** Pure: the same cost by the prices of now, where a price was not set at that time. */
export function priced(cost: Cost, prices: Prices): Cost {
  const { unknown } = cost;
  const price = unknown === undefined || unknown === 'rows' ? undefined : prices[unknown.setting];
  if (price === undefined || unknown === undefined || unknown === 'rows') return cost;
  return { credits: exact(cost.credits + unknown.units * price) };
}

/** Pure: the credits; null where they are not known. */
export function creditsOf({ credits, unknown }: Cost): number | null {
  return unknown === undefined ? credits : null;
}

/** Pure: the setting that is missing; undefined where the cost is known, or is that of rows that were not counted. */
export function missingPrice({ unknown }: Cost): PriceName | undefined {
  return unknown === undefined || unknown === 'rows' ? undefined : unknown.setting;
}

/** Pure: a sum without the errors of binary fractions: prices have six decimals at most. */
export function exact(credits: number): number {
  return Math.round(credits * 1e6) / 1e6;
}
