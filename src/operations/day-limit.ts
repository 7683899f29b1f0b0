import { fromWallTime, toMinutes } from '../clock.ts';
import {
  type Admit,
  addToIndex,
  type OperationIndex,
  openIndex,
  operationOf,
} from './journal/operation-index.ts';
import type { Shop } from './purchase.ts';
import { createSpending, exact, toOverDayLimit, toUnknownPrice, type WorstCase } from './spending.ts';

/**
 * What refuses a purchase that could bring the worst cases of this machine since midnight above `max_credits_per_day`; undefined
 * where there is no such limit, or nothing costs. Throws `credits` where the worst case is not known.
 */
export function toAdmit({ connection, context }: Shop, worst: WorstCase): Admit | undefined {
  const { max_credits_per_day: limit } = connection.settings;
  if (limit === undefined || connection.origin === 'local') return undefined;
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  const midnight = midnightOf(context);
  return (index, more) => {
    const spent = spentSince(index, midnight);
    if (exact(spent + more) > limit) throw toOverDayLimit(more, spent, limit);
  };
}

/**
 * The same way to buy, for many rows, within what is left of the day; unchanged without such a limit. What begins at the same time
 * is refused by `toAdmit`. Throws `credits` where the price of a row is not known.
 */
export async function withinDay(shop: Shop, worst: WorstCase): Promise<Shop> {
  const { max_credits_per_day: limit } = shop.connection.settings;
  if (limit === undefined || toAdmit(shop, worst) === undefined) return shop;
  const spent = spentSince(await openIndex(shop.context), midnightOf(shop.context));
  const left = exact(Math.max(0, limit - spent));
  const most = Math.min(left, shop.spending?.limit ?? left);
  return { ...shop, spending: createSpending(most) };
}

/** Counts a purchase of which nothing is kept. Throws as `admit`, and LocalIoError. */
export async function admitUnkept({ context }: Shop, { credits }: WorstCase, admit: Admit): Promise<void> {
  const worst = credits ?? 0;
  const line = { reserved: { op: 'unkept', time: context.clock.now().toISOString(), worst } } as const;
  await addToIndex(context, line, { check: (index) => admit(index, worst) });
}

function midnightOf({ clock, zone }: Shop['context']): number {
  return fromWallTime(`${toMinutes(clock.now(), zone).slice(0, 10)}T00:00`, zone).getTime();
}

/** Pure: the worst cases of what was begun since then; of what has ended, what it cost at most. */
function spentSince(index: OperationIndex, since: number): number {
  const ended = new Map<string, number>();
  let spent = 0;
  for (const line of index.newest()) {
    const op = operationOf(line);
    if ('ended' in line && line.ended.worst !== undefined && !ended.has(op)) ended.set(op, line.ended.worst);
    const reserved = 'begun' in line ? line.begun : 'reserved' in line ? line.reserved : undefined;
    if (reserved === undefined) continue;
    const worst = ended.get(op) ?? reserved.worst ?? 0;
    // An earlier part of the same operation counts by itself.
    ended.delete(op);
    if (Date.parse(reserved.time) >= since) spent = exact(spent + worst);
  }
  return spent;
}
