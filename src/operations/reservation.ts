import { isUncharged, type LeadpipeError } from '../errors.ts';
import { RequestError } from '../transport/request-error.ts';
import type { Buyer } from './buyer.ts';
import { areOf, refused, toDayCheck, toUnknownPrice } from './day-limit.ts';
import type { Reader } from './journal/operation-index.ts';
import type { PaidKind } from './kinds/kinds.ts';
import { type Cost, creditsOf, exact, missingPrice, nothing, times } from './prices.ts';
import type { Spending } from './spending.ts';
import { countOf } from './wording.ts';

/** Timeout for the balance if nothing depends on it, in milliseconds. */
const timeoutMs = 3000;

/** What a run can cost: one purchase, the rows of a list, or nothing. */
export type Costs =
  | { readonly is: 'nothing' }
  | { readonly is: 'once'; readonly worst: Cost }
  /**
   * `sent` are rows that earlier runs of the list have sent, `rest` those that are left, undefined where they can't be counted; `again` are rows that may
   * have been sent on an earlier day, and are sent again today. `fits`: how many rows of the input the limits of the run and the day cover, if not all.
   */
  | {
      readonly is: 'rows';
      readonly each: Cost;
      readonly sent: number;
      readonly rest: number | undefined;
      readonly again: number;
      readonly fits?: number | undefined;
      /** The limit that the rows share; undefined where there is none. */
      readonly limit: Spending | undefined;
    };

/** Credits that are reserved for a run, until it ends. */
export interface Reservation {
  /** The balance, which is only requested if there is a limit. */
  readonly available?: number;
  /** The run is over, with this error, if any. */
  settle(error?: unknown): void;
}

/**
 * Reserves the worst case of a run until `settle` is called. Rows of a list reserve their cost one by one; this only checks whether all of them
 * are covered. Throws `credits`, before anything paid is sent, if the worst case is unknown, or not covered by the limit or the balance. Throws
 * what the request for the balance throws.
 */
export async function reserve(
  { connection, context, ...buyer }: Buyer,
  costs: Costs,
  idempotencyKey: string,
): Promise<Reservation> {
  const spending = costs.is === 'rows' ? costs.limit : buyer.spending;
  if (spending === undefined || costs.is === 'nothing') return { settle() {} };
  // A request that is sent again with its key is not paid for twice.
  const isCounted = costs.is === 'once' && spending.inDoubt.has(idempotencyKey);
  const credits = isCounted ? 0 : toReserved(spending, costs);
  const sent = toSent(costs);
  if (buyer.spending === undefined) {
    // The limit of the day does not depend on the balance.
    spending.settle(credits, sent);
    return { settle() {} };
  }
  const settle = (error?: unknown): void => {
    const isFree = isUncharged(error);
    if (error !== undefined && !isFree) spending.inDoubt.add(idempotencyKey);
    spending.settle(credits, isFree ? 0 : undefined);
  };
  try {
    const { value } = await connection.client.balance(context.signal);
    const available = value.available_credits;
    if (credits - sent > available) throw toNotCovered(exact(credits - sent), available);
    if (costs.is === 'once') return { available, settle };
    spending.settle(credits, sent);
    return { available, settle() {} };
  } catch (error) {
    spending.settle(credits, 0);
    throw error;
  }
}

/** Reserves the maximum cost of the whole run, including what is spent already. Throws if that is unknown or too much. */
function toReserved(spending: Spending, costs: Exclude<Costs, { is: 'nothing' }>): number {
  if (costs.is === 'once') return reserveCredits(spending, costs.worst);
  const { each, fits: first, rest, sent } = costs;
  const used = { used: exact(sent * each.credits), first };
  // Of rows that can't be counted, one more is the least: its price has to be known.
  const least = rest ?? (missingPrice(each) === undefined ? 0 : 1);
  return reserveCredits(spending, times(each, sent + least), used);
}

/** Pure: the credits that earlier runs of a list have reserved for rows that they sent. */
function toSent(costs: Costs): number {
  return costs.is === 'rows' ? exact(costs.sent * costs.each.credits) : 0;
}

function reserveCredits(spending: Spending, worst: Cost, used?: Used): number {
  const setting = missingPrice(worst);
  if (setting !== undefined) throw toUnknownPrice(setting);
  if (!spending.reserve(worst.credits)) throw toOverLimit(worst.credits, spending, 'this', used);
  return worst.credits;
}

/** Pure: what counts for the day while a run is active. Rows that can't be counted: the limit that they share so far. */
export function toCounted(costs: Costs): Cost {
  if (costs.is === 'nothing') return nothing;
  if (costs.is === 'once') return costs.worst;
  const { again, each, limit, rest, sent } = costs;
  if (rest !== undefined) return times(each, rest + again);
  // Earlier runs have used a part of the limit of all runs of the list. That part is counted already.
  if (limit !== undefined) return { credits: exact(Math.max(0, limit.limit - sent * each.credits)) };
  return creditsOf(each) === 0 ? nothing : { credits: 0, unknown: 'rows' };
}

/** As `toDayCheck`, for these costs. */
export function checkOfDay(buyer: Buyer, costs: Costs): ReturnType<typeof toDayCheck> {
  return toDayCheck(buyer, worstOf(costs), costs.is === 'rows' ? costs.fits : undefined);
}

/** Pure: the worst case that a limit is compared with. */
export function worstOf(costs: Costs): Cost {
  return costs.is === 'nothing' ? nothing : costs.is === 'once' ? costs.worst : costs.each;
}

/** The credits that are available; undefined where the service does not answer soon. */
export async function readBalanceSoon(
  { connection, context }: Buyer,
  withinMs = timeoutMs,
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

/** The error; if the service says that there are not enough credits, with the cost and the balance. */
export async function withNumbers(
  buyer: Buyer,
  kind: PaidKind,
  worst: Cost,
  isRest: boolean,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof RequestError) || error.fault !== 'no_credits') return error;
  const left = await readBalanceSoon(buyer);
  const what = kind === 'search' ? 'search' : kind.startsWith('task') ? 'task' : 'request';
  const credits = creditsOf(worst);
  const cost = credits === null ? [] : [`this ${what} may cost ${credits}`];
  const known = left === undefined ? cost : [...cost, `${areOf(left)} left`];
  if (known.length === 0) return error;
  const facts = { is: 'no_credits', worst: credits ?? undefined, left, isRest } as const;
  return error.with({ facts }, `${error.words}: ${known.join(', and ')}`);
}

/** Throws as `reserve` with this balance, and as the day's limit. Without a `reader`, the cost is counted for the day already. Reserves nothing. */
export async function checkCovered(
  buyer: Buyer,
  costs: Costs,
  available: number | undefined,
  reader: Reader | undefined,
): Promise<void> {
  if (costs.is === 'nothing') return;
  const spending = costs.is === 'rows' ? costs.limit : buyer.spending;
  if (spending !== undefined) {
    const credits = toReserved(spending, costs);
    spending.settle(credits, 0);
    const left = exact(credits - toSent(costs));
    if (buyer.spending !== undefined && available !== undefined && left > available)
      throw toNotCovered(left, available);
  }
  if (reader !== undefined) await checkOfDay(buyer, costs)?.(await reader.openIndex(), toCounted(costs));
}

/** For a list: the part of the limit that earlier runs have used, and how many rows the limit covers. */
interface Used {
  readonly used: number;
  readonly first?: number | undefined;
}

export function toOverLimit(
  worst: number,
  { limit, reserved, setting, spent }: Spending,
  what: 'this' | 'the next row' = 'this',
  { first, used }: Used = { used: 0 },
): LeadpipeError {
  const left = exact(limit - spent - reserved);
  const isOfDay = setting === 'max_credits_per_day';
  const of = isOfDay ? 'for today' : `of the limit of ${limit}`;
  const some = left === 0 ? 'nothing is' : `only ${areOf(left)}`;
  const room = left === limit && !isOfDay ? `the limit is ${limit}` : `${some} left ${of}`;
  const by = setting === undefined ? '' : ` (setting ${setting})`;
  const end = what === 'the next row' ? '' : '; nothing was bought';
  const words =
    used === 0
      ? `${what} can cost ${countOf(worst, 'credit')}, but ${room}${by}`
      : `the limit is ${countOf(limit, 'credit')}${by}, ${areOf(used)} used, and the rest can cost ${exact(worst - used)}`;
  const needs = exact(spent + reserved + worst);
  return refused(`${words}${end}`, 'over_limit', { is: 'over_limit', worst, left, needs, setting, first });
}

function toNotCovered(worst: number, available: number): LeadpipeError {
  return refused(
    `this can cost ${countOf(worst, 'credit')}, but ${areOf(available)} available; nothing was bought`,
    'insufficient_credits',
    { is: 'no_credits', worst, left: available },
  );
}
