import { fromWallTime, toMinutes } from '../clock.ts';
import { LeadpipeError } from '../errors.ts';
import { RequestError } from '../transport/errors.ts';
import type { Buyer } from './buyer.ts';
import {
  type Admit,
  addToIndex,
  type OperationIndex,
  openIndex,
  operationOf,
} from './journal/operation-index.ts';
import type { PaidKind } from './kinds.ts';
import {
  areOf,
  toNotCovered,
  toOverDayLimit,
  toOverLimit,
  toUnknownPrice,
  toUnpricedDay,
} from './limit-errors.ts';
import { createSpending, exact, type Spending, type WorstCase } from './spending.ts';

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
  const known = [
    ...(credits === null ? [] : [`this ${what} may cost ${credits}`]),
    ...(left === undefined ? [] : [`${areOf(left)} left`]),
  ];
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
    const spent = day.spentIn(index);
    if (exact(spent + more) > day.limit) throw toOverDayLimit(more, spent, day.limit);
  };
}

/**
 * For many rows: the same buyer, limited to what is left of the day; unchanged without such a limit. `toAdmit` refuses what other processes
 * begin at the same time. Throws `credits` where the price of a row is not known.
 */
export async function withinDay(buyer: Buyer, worst: WorstCase): Promise<Buyer> {
  const day = dayOf(buyer, worst);
  if (day === undefined) return buyer;
  const left = exact(Math.max(0, day.limit - day.spentIn(await openIndex(buyer.context))));
  if (buyer.spending !== undefined && buyer.spending.limit <= left) return buyer;
  return { ...buyer, spending: createSpending(left, 'max_credits_per_day') };
}

/** Counts a purchase that leaves no record. Throws as `admit`, and LocalIoError. */
export async function admitUnkept({ context }: Buyer, { credits }: WorstCase, admit: Admit): Promise<void> {
  const worst = credits ?? 0;
  const line = { reserved: { op: 'unkept', time: context.clock.now().toISOString(), worst } } as const;
  await addToIndex(context, line, (index) => admit(index, worst));
}

/** The limit of the day and what counts for it since midnight. Undefined where there is no limit, or nothing costs. */
function dayOf({ connection, context: { clock, zone } }: Buyer, worst: WorstCase) {
  const { max_credits_per_day: limit } = connection.settings;
  if (limit === undefined || connection.origin === 'local') return undefined;
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  const midnight = fromWallTime(`${toMinutes(clock.now(), zone).slice(0, 10)}T00:00`, zone).getTime();
  return { limit, spentIn: (index: OperationIndex) => spentSince(index, midnight, limit) };
}

/**
 * Pure: the sum of the worst cases of everything begun since then; for what has ended, what it cost at most. Throws `credits` where one of
 * these is not known.
 */
function spentSince(index: OperationIndex, since: number, limit: number): number {
  const ended = new Map<string, number>();
  let spent = 0;
  let unpriced = 0;
  for (const line of index.newest()) {
    const op = operationOf(line);
    if ('ended' in line && line.ended.worst !== undefined && !ended.has(op)) ended.set(op, line.ended.worst);
    const reserved = 'begun' in line ? line.begun : 'reserved' in line ? line.reserved : undefined;
    if (reserved === undefined) continue;
    const worst = ended.get(op) ?? reserved.worst ?? 0;
    const isKnown = ended.has(op) || !('unpriced' in reserved);
    // Each part of one operation counts by itself.
    ended.delete(op);
    if (Date.parse(reserved.time) < since) continue;
    spent = exact(spent + worst);
    if (!isKnown) unpriced++;
  }
  if (unpriced > 0) throw toUnpricedDay(unpriced, limit);
  return spent;
}
