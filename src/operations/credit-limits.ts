import { fromWallTime, toMinutes } from '../clock.ts';
import { LeadpipeError } from '../errors.ts';
import { RequestError } from '../transport/errors.ts';
import type { Buyer } from './buyer.ts';
import { type Admit, addToIndex, type OperationIndex, openIndex } from './journal/operation-index.ts';
import type { PaidKind } from './kinds.ts';
import { createSpending, exact, type PriceName, type Spending, type WorstCase } from './spending.ts';
import { countOf, toThem } from './wording.ts';

/** How long to wait for the balance where nothing depends on it. */
const patienceMs = 3000;

/**
 * Reserves the worst case of a purchase until `settle` is called, with the error it ended with, if any. `available` is the balance; it is
 * asked for only where there is a limit. Throws `credits` before anything is sent that costs: where the worst case is not known, or where
 * the limit or the balance does not cover it. Throws what asking for the balance throws.
 */
export async function setCreditsAside(
  { connection, context, spending }: Buyer,
  worst: WorstCase,
  idempotencyKey: string,
): Promise<{ readonly available?: number; settle(error?: unknown): void }> {
  if (spending === undefined) return { settle() {} };
  // A request that is sent again with its key is not paid for twice.
  const credits = spending.inDoubt.has(idempotencyKey) ? 0 : setAside(spending, worst);
  const settle = (error?: unknown): void => {
    const isFree = error instanceof LeadpipeError && error.details.charged === 'no';
    if (error !== undefined && !isFree) spending.inDoubt.add(idempotencyKey);
    spending.settle(credits, isFree ? 0 : undefined);
  };
  try {
    const { value } = await connection.client.balance(context.signal);
    if (credits > value.available_credits) throw toNotCovered(credits, value.available_credits);
    return { available: value.available_credits, settle };
  } catch (error) {
    spending.settle(credits, 0);
    throw error;
  }
}

/** The credits that are available; undefined where the service does not answer soon. */
export async function glanceAtBalance(
  { connection, context }: Buyer,
  withinMs = patienceMs,
): Promise<number | undefined> {
  const patience = new AbortController();
  const cancel = context.clock.after(withinMs, () => patience.abort());
  try {
    const { value } = await connection.client.balance(AbortSignal.any([context.signal, patience.signal]));
    return value.available_credits;
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}

/** The same error. Where the service says that there are not enough credits, it gets both numbers. */
export async function withNumbers(
  buyer: Buyer,
  kind: PaidKind,
  { credits }: WorstCase,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof RequestError) || error.fault !== 'no_credits') return error;
  const left = await glanceAtBalance(buyer);
  const what = kind === 'search' ? 'search' : kind.startsWith('task') ? 'task' : 'request';
  const cost = credits === null ? [] : [`this ${what} may cost ${credits}`];
  const known = left === undefined ? cost : [...cost, `${areOf(left)} left`];
  if (known.length === 0) return error;
  const facts = { is: 'no_credits', worst: credits ?? undefined, left } as const;
  return error.with({ facts }, `${error.words}: ${known.join(', and ')}`);
}

/** Throws as `setCreditsAside` would, and where the limit of the day refuses these credits. */
export async function checkCovered(
  buyer: Buyer,
  worst: WorstCase,
  available: number | undefined,
): Promise<void> {
  const { spending } = buyer;
  toAdmit(buyer, worst)?.(await openIndex(buyer.context), worst.credits ?? 0);
  if (spending === undefined) return;
  const credits = setAside(spending, worst);
  spending.settle(credits, 0);
  if (available !== undefined && credits > available) throw toNotCovered(credits, available);
}

function setAside(spending: Spending, worst: WorstCase): number {
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  if (!spending.reserve(worst.credits)) throw toOverLimit(worst.credits, spending);
  return worst.credits;
}

/**
 * Refuses a purchase that could bring the worst cases since midnight above `max_credits_per_day`. Undefined where there is no such limit,
 * or nothing costs. Throws `credits` where the worst case is not known.
 */
export function toAdmit(buyer: Buyer, worst: WorstCase): Admit | undefined {
  const day = dayOf(buyer, worst);
  if (day === undefined) return undefined;
  return (index, more) => {
    const left = day.leftIn(index);
    if (more <= left) return;
    throw refused(
      `this can cost ${countOf(more, 'credit')}, but only ${areOf(left)} left of the ${day.limit} for today; nothing was bought`,
      'over_limit',
      { is: 'over_day_limit', setting: 'max_credits_per_day' },
    );
  };
}

/**
 * For many rows: the same buyer, limited to what is left of the day; unchanged without such a limit. `toAdmit` refuses what other processes
 * begin at the same time. Throws `credits` where the price of a row is not known.
 */
export async function withinDay(buyer: Buyer, worst: WorstCase): Promise<Buyer> {
  const day = dayOf(buyer, worst);
  if (day === undefined) return buyer;
  const left = day.leftIn(await openIndex(buyer.context));
  if (buyer.spending !== undefined && buyer.spending.limit <= left) return buyer;
  return { ...buyer, spending: createSpending(left, 'max_credits_per_day') };
}

/** Counts a purchase that leaves no record. Throws as `admit`, and LocalIoError. */
export async function admitUnkept({ context }: Buyer, { credits }: WorstCase, admit: Admit): Promise<void> {
  const worst = credits ?? 0;
  const line = { is: 'reserved', op: 'unkept', time: context.clock.now().toISOString(), worst } as const;
  await addToIndex(context, line, (index) => admit(index, worst));
}

/** The limit of the day, and what is left of it since midnight. Undefined where there is no limit, or nothing costs. */
function dayOf({ connection, context: { clock, zone } }: Buyer, worst: WorstCase) {
  const { max_credits_per_day: limit } = connection.settings;
  if (limit === undefined || connection.origin === 'local') return undefined;
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  const midnight = fromWallTime(`${toMinutes(clock.now(), zone).slice(0, 10)}T00:00`, zone).getTime();
  return {
    limit,
    /** Throws `credits` where a purchase of today had no known price. */
    leftIn(index: OperationIndex): number {
      const { spent, unpriced } = spentSince(index, midnight);
      if (unpriced === 0) return exact(Math.max(0, limit - spent));
      const some = unpriced === 1 ? 'one purchase' : `${unpriced} purchases`;
      throw refused(
        `${some} of today had no known price, so leadpipe can't tell what is left of the ${limit} credits for today; nothing was bought`,
        'price_unknown',
        { is: 'unpriced_day', setting: 'max_credits_per_day' },
      );
    },
  };
}

/**
 * Pure: the sum of the worst cases of everything begun since then; for what has ended, what it cost at most. `unpriced` counts those that
 * are not known.
 */
function spentSince(index: OperationIndex, since: number): { spent: number; unpriced: number } {
  const ended = new Map<string, number>();
  let spent = 0;
  let unpriced = 0;
  for (const line of index.newest()) {
    const { op } = line;
    if (line.is === 'ended' && line.worst !== undefined && !ended.has(op)) ended.set(op, line.worst);
    if (line.is !== 'begun' && line.is !== 'reserved') continue;
    const cost = ended.get(op);
    // Each part of one operation counts by itself.
    ended.delete(op);
    if (Date.parse(line.time) < since) continue;
    spent = exact(spent + (cost ?? line.worst ?? 0));
    if (cost === undefined && line.is === 'begun' && line.unpriced) unpriced++;
  }
  return { spent, unpriced };
}

export function toUnknownPrice(setting: PriceName): LeadpipeError {
  return refused(
    `nothing was bought: leadpipe can't tell what this costs, because the setting ${setting} is not set`,
    'price_unknown',
    { is: 'price_unknown', setting },
  );
}

export function toOverLimit(
  worst: number,
  { limit, reserved, setting, spent }: Spending,
  what: 'this' | 'the next row' = 'this',
): LeadpipeError {
  const left = exact(limit - spent - reserved);
  const isOfDay = setting === 'max_credits_per_day';
  const of = isOfDay ? 'for today' : `of the limit of ${limit}`;
  const some = left === 0 ? 'nothing is' : `only ${areOf(left)}`;
  const room = left === limit && !isOfDay ? `the limit is ${limit}` : `${some} left ${of}`;
  const by = setting === undefined ? '' : ` (setting ${setting})`;
  const end = what === 'this' ? '; nothing was bought' : '';
  return refused(`${what} can cost ${countOf(worst, 'credit')}, but ${room}${by}${end}`, 'over_limit', {
    is: 'over_limit',
    worst,
    left,
    setting,
  });
}

export function toNotCovered(worst: number, available: number): LeadpipeError {
  return refused(
    `this can cost ${countOf(worst, 'credit')}, but ${areOf(available)} available; nothing was bought`,
    'insufficient_credits',
    { is: 'no_credits', worst, left: available },
  );
}

function refused(
  message: string,
  type: string,
  facts: NonNullable<LeadpipeError['details']['facts']>,
): LeadpipeError {
  return new LeadpipeError('credits', message, { type, charged: 'no', facts });
}

/** Pure: `1 is`, `2 are`. */
function areOf(credits: number): string {
  return `${credits} ${toThem(credits, 'is', 'are')}`;
}
