import { fromWallTime, toMinutes, type Zone } from '../clock.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { limits } from '../contract/limits.ts';
import { type Charged, LeadpipeError } from '../errors.ts';
import { RequestError } from '../transport/request-error.ts';
import type { Buyer } from './buyer.ts';
import { entry, type UnknownCost } from './journal/entries.ts';
import type { IndexLine } from './journal/index-lines.ts';
import type { Journal } from './journal/journal.ts';
import { type Admit, type OperationIndex, openIndex, type Reader } from './journal/operation-index.ts';
import type { Kind, PriceName, Tariff } from './kinds/kind.ts';
import { type BodyOf, kinds, type PaidKind } from './kinds/kinds.ts';
import { createSpending, exact, type Spending } from './spending.ts';
import { countOf, plural } from './wording.ts';

type Prices = Pick<Connection['settings'], PriceName>;

/** The most that a purchase can cost; null where it is not known: it pays for this many units, whose price, `setting`, is not set. */
export type WorstCase =
  | { readonly credits: number }
  | { readonly credits: null; readonly setting: PriceName; readonly units: number };

/** What a purchase can cost depends on the service, and on the prices in the settings. */
export type Priced = Pick<Connection, 'origin'> & { readonly settings: Prices };

/** Pure: how many units a purchase pays for at most, and the setting with their price. */
function tariffOf<Name extends PaidKind>(kind: Name, body: BodyOf<Name>): Tariff {
  const { tariff }: Kind<BodyOf<Name>> = kinds[kind] as never;
  return tariff(body);
}

/**
 * Pure: the most that a purchase can cost. By the interface, a plain search reserves up to `limit` credits. A setting above one credit
 * counts nevertheless, since a limit that is too strict costs nothing.
 */
export function toWorstCase<Name extends PaidKind>(
  kind: Name,
  body: BodyOf<Name>,
  { origin, settings }: Priced,
): WorstCase {
  // The local service is free, whatever the prices say.
  if (origin === 'local') return { credits: 0 };
  const { setting, units, plain } = tariffOf(kind, body);
  const price = plain ? Math.max(1, settings[setting] ?? 1) : settings[setting];
  return price === undefined ? { credits: null, setting, units } : { credits: exact(units * price) };
}

/**
 * Pure: what a purchase has cost at most, once it is over. Only of searches does the interface say that they are settled by
 * what they brought; of all others the worst case holds, unless nothing was charged. Null where it is not known.
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
  if (isSettled && leads === 0) return 0;
  if (worst === null || !isSettled) return worst;
  return exact(worst * Math.min(1, leads / (body.limit ?? limits.entityLimit.default)));
}

/** Pure: the same, with the setting that is missing where it is not known. */
export function toCost(
  kind: PaidKind,
  body: { readonly limit?: number | undefined },
  worst: WorstCase,
  ended: Parameters<typeof toCostAtMost>[3],
): WorstCase {
  const credits = toCostAtMost(kind, body, worst.credits, ended);
  return credits === null ? worst : { credits };
}

/** How long to wait for the balance where nothing depends on it. */
const patienceMs = 3000;

/** What a run can cost: one purchase, the rows of a list, or nothing. */
export type Costs =
  | { readonly is: 'nothing' }
  | { readonly is: 'once'; readonly worst: WorstCase }
  /** `sent` are rows that earlier runs of the list have sent, `rest` those that are left; undefined where they can't be counted. */
  | {
      readonly is: 'rows';
      readonly each: WorstCase;
      readonly sent: number;
      readonly rest: number | undefined;
      /** The limit that the rows share; undefined where there is none. */
      readonly limit: Spending | undefined;
    };

/** Credits that are reserved for a run, until it ends. */
export interface Reservation {
  /** The balance; it is only asked for where there is a limit. */
  readonly available?: number;
  /** The run is over, with this error, if any. */
  settle(error?: unknown): void;
}

/**
 * Reserves the worst case of a run until `settle` is called. Rows of a list reserve theirs by themselves; here it is only seen whether all of
 * them are covered. Throws `credits` before anything is sent that costs: where the worst case is not known, or where the limit or the balance
 * does not cover it. Throws what asking for the balance throws.
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
  const sent = costs.is === 'rows' ? exact(costs.sent * (costs.each.credits ?? 0)) : 0;
  if (buyer.spending === undefined) {
    // The limit of the day does not depend on the balance.
    spending.settle(credits, sent);
    return { settle() {} };
  }
  const settle = (error?: unknown): void => {
    const isFree = error instanceof LeadpipeError && error.details.charged === 'no';
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

/** Reserves what all of it can cost, with what it has cost. Throws where that is not known, or too much. */
function toReserved(spending: Spending, costs: Exclude<Costs, { is: 'nothing' }>): number {
  if (costs.is === 'once') return reserveCredits(spending, costs.worst);
  const { each, rest = 0, sent } = costs;
  if (each.credits === null) throw toUnknownPrice(each.setting);
  const whole = exact((sent + rest) * each.credits);
  return reserveCredits(spending, { credits: whole }, sent > 0 ? 'the whole list' : 'this');
}

/** What counts for the day: this many credits and, where that is not all of it, why the rest is not known. */
export interface Counted {
  readonly credits: number;
  readonly unknown?: UnknownCost;
}

/** Pure: what counts for the day while a run is active. Rows that no one can count: the limit that they share so far. */
export function toCounted(costs: Costs): Counted {
  if (costs.is === 'nothing') return { credits: 0 };
  if (costs.is === 'once') return times(costs.worst, 1);
  const { each, limit, rest, sent } = costs;
  if (rest !== undefined) return times(each, rest);
  // Of a limit for all runs of the list, earlier ones have used a part, which is counted already.
  if (limit !== undefined) return { credits: exact(Math.max(0, limit.limit - sent * (each.credits ?? 0))) };
  return each.credits === 0 ? { credits: 0 } : { credits: 0, unknown: 'rows' };
}

/** Pure: what this many purchases with this worst case count for the day. */
export function times(
  each: { readonly credits: number } | ({ readonly credits: null } & Exclude<UnknownCost, 'rows'>),
  count: number,
): Counted {
  if (each.credits !== null) return { credits: exact(count * each.credits) };
  const { setting, units } = each;
  return count === 0 ? { credits: 0 } : { credits: 0, unknown: { setting, units: units * count } };
}

/** Pure: the worst case that a limit is compared with. */
export function worstOf(costs: Costs): WorstCase {
  return costs.is === 'nothing' ? { credits: 0 } : costs.is === 'once' ? costs.worst : costs.each;
}

/** Pure: the most that this many rows can cost. */
export function worstOfRows(each: WorstCase, count: number): WorstCase {
  if (count === 0) return { credits: 0 };
  return each.credits === null
    ? { ...each, units: count * each.units }
    : { credits: exact(count * each.credits) };
}

/** The credits that are available; undefined where the service does not answer soon. */
export async function readBalanceSoon(
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
  const left = await readBalanceSoon(buyer);
  const what = kind === 'search' ? 'search' : kind.startsWith('task') ? 'task' : 'request';
  const cost = credits === null ? [] : [`this ${what} may cost ${credits}`];
  const known = left === undefined ? cost : [...cost, `${areOf(left)} left`];
  if (known.length === 0) return error;
  const facts = { is: 'no_credits', worst: credits ?? undefined, left } as const;
  return error.with({ facts }, `${error.words}: ${known.join(', and ')}`);
}

/** Throws as `reserve` would for this balance, and `toAdmit` by what the `reader` finds. Without one, its day has counted it. Reserves nothing. */
export async function checkCovered(
  buyer: Buyer,
  costs: Costs,
  available: number | undefined,
  reader: Reader | undefined,
): Promise<void> {
  if (costs.is === 'nothing') return;
  const spending = costs.is === 'rows' ? costs.limit : buyer.spending;
  if (spending !== undefined) spending.settle(toReserved(spending, costs), 0);
  const { credits } = toCounted(costs);
  const isLimited = buyer.spending !== undefined && available !== undefined;
  if (isLimited && credits > available) throw toNotCovered(credits, available);
  if (reader !== undefined) toAdmit(buyer, worstOf(costs))?.(await reader.openIndex(), credits);
}

function reserveCredits(spending: Spending, worst: WorstCase, what?: LimitedPurchase): number {
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  if (!spending.reserve(worst.credits)) throw toOverLimit(worst.credits, spending, what);
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
      { is: 'over_day_limit', setting: 'max_credits_per_day', worst: more, left },
    );
  };
}

/**
 * The limit for the rows of a list, those that earlier runs have sent too: that of the run or, where the day leaves less, what is counted for
 * the day: `rest` rows or, where no one can count them, a few at first (`extendRowLimit`). So an input that grows meanwhile buys no more than
 * was counted. `toAdmit` refuses what other processes begin at the same time.
 */
export async function findRowLimit(
  buyer: Buyer,
  { each, sent, rest }: Pick<Extract<Costs, { is: 'rows' }>, 'each' | 'sent' | 'rest'>,
  reader: Reader,
): Promise<Spending | undefined> {
  const { spending } = buyer;
  // A price that is not known is refused by `toAdmit`.
  if (each.credits === null) return spending;
  const day = dayOf(buyer, each);
  if (day === undefined) return spending;
  const left =
    rest === undefined
      ? Math.min(day.leftIn(await reader.openIndex()), rowsAhead * each.credits)
      : rest * each.credits;
  const max = exact(sent * each.credits + left);
  return spending !== undefined && spending.limit <= max
    ? spending
    : createSpending(max, 'max_credits_per_day');
}

/** How many rows of an input whose rows can't be counted are counted for the day before they come: the rest is left to other purchases. */
const rowsAhead = 25;

/**
 * Counts some more rows of such an input for the day, and raises the limit of the rows by that, up to the one of the run. False where nothing
 * more can be bought. Throws LocalIoError.
 */
export async function extendRowLimit(
  buyer: Buyer,
  limit: Spending,
  each: WorstCase,
  journal: Pick<Journal, 'begin'>,
): Promise<boolean> {
  const { context, spending } = buyer;
  const day = dayOf(buyer, each);
  if (day === undefined || each.credits === null) return false;
  const ofRun = exact((spending?.limit ?? Number.POSITIVE_INFINITY) - limit.limit);
  if (ofRun <= 0 && spending !== undefined) limit.become(spending);
  const credits = exact(Math.min(rowsAhead * each.credits, ofRun, day.leftIn(await openIndex(context))));
  if (credits < each.credits) return false;
  try {
    await journal.begin(toAdmit(buyer, each), entry.reserved(context.clock.now(), { credits, more: true }));
  } catch (error) {
    // Another process was faster.
    if (error instanceof LeadpipeError && error.outcome === 'credits') return false;
    throw error;
  }
  limit.become({ ...limit, limit: exact(limit.limit + credits) });
  return true;
}

/** The limit of the day, and what is left of it since midnight. Undefined where there is no limit, or nothing costs. */
function dayOf({ connection, context }: Buyer, worst: WorstCase) {
  const { max_credits_per_day: limit } = connection.settings;
  if (limit === undefined || connection.origin === 'local') return undefined;
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  return {
    limit,
    /** Throws `credits` where it is not known what a purchase of today can have cost. */
    leftIn(index: OperationIndex): number {
      const { credits, unknown } = usedToday(index, connection.settings, context);
      const [first] = unknown;
      if (first === undefined) return exact(Math.max(0, limit - credits));
      throw toUnknownDay(first, limit, context.zone);
    },
  };
}

function toUnknownDay({ op, kind, time, cost }: UnknownPurchase, limit: number, zone: Zone): LeadpipeError {
  const which = `${kind} of ${toMinutes(new Date(time), zone).slice(11)} (${op})`;
  const why = cost === 'rows' ? 'it is not known how many rows' : 'it is not known what';
  const has = cost === 'rows' ? 'has bought' : 'has cost';
  return refused(
    `${why} ${which} ${has}, so leadpipe can't tell what is left of the ${limit} credits for today; nothing was bought`,
    'price_unknown',
    { is: 'unpriced_day', operationId: op, setting: cost === 'rows' ? undefined : cost.setting },
  );
}

/** A purchase of which it is not known what it can have cost. */
interface UnknownPurchase {
  readonly op: string;
  readonly kind: string;
  readonly time: string;
  readonly cost: UnknownCost;
}

/**
 * Pure: the sum of the worst cases of everything begun since midnight, by today's prices; for what has ended, what it cost at most. `unknown`
 * are the purchases that are not in it, newest first.
 */
export function usedToday(
  index: OperationIndex,
  prices: Prices,
  { clock, zone }: Pick<Context, 'clock' | 'zone'>,
): { readonly credits: number; readonly unknown: readonly UnknownPurchase[] } {
  const midnight = fromWallTime(`${toMinutes(clock.now(), zone).slice(0, 10)}T00:00`, zone).getTime();
  const ended = new Map<string, Ended>();
  /** Parts of an operation whose beginning is an earlier line, which alone says what it is. */
  const parts = new Map<string, UnknownPurchase>();
  const unknown: UnknownPurchase[] = [];
  let credits = 0;
  for (const line of index.newest()) {
    const { op } = line;
    // What the run said counts, and not what was said of all runs of the list together when it was dropped.
    if (line.is === 'ended' && (line.worst !== undefined || line.unknown)) ended.set(op, line);
    if (line.is !== 'begun' && line.is !== 'reserved') continue;
    const end = ended.get(op);
    // How the run ended counts where it began.
    if (line.is === 'reserved' && line.more && end !== undefined) continue;
    const { worst = 0, unknown: cost } = end ?? line;
    // Each part of one operation counts by itself.
    ended.delete(op);
    const isToday = Date.parse(line.time) >= midnight;
    const price = cost === undefined || cost === 'rows' ? undefined : prices[cost.setting as PriceName];
    const priced = price === undefined || cost === undefined || cost === 'rows' ? 0 : cost.units * price;
    if (isToday) credits = exact(credits + worst + priced);
    if (isToday && cost !== undefined && price === undefined)
      parts.set(op, { op, kind: '', time: line.time, cost });
    const part = line.is === 'begun' ? parts.get(op) : undefined;
    if (line.is === 'begun' && part !== undefined) unknown.push({ ...part, kind: line.kind });
  }
  return { credits, unknown };
}

type Ended = Extract<IndexLine, { is: 'ended' }>;

export function toUnknownPrice(setting: PriceName): LeadpipeError {
  return refused(
    `nothing was bought: leadpipe can't tell what this costs, because the setting ${setting} is not set`,
    'price_unknown',
    { is: 'price_unknown', setting },
  );
}

/** The limit of a list is one for all of its runs. */
type LimitedPurchase = 'this' | 'the next row' | 'the whole list';

export function toOverLimit(
  worst: number,
  { limit, reserved, setting, spent }: Spending,
  what: LimitedPurchase = 'this',
): LeadpipeError {
  const left = exact(limit - spent - reserved);
  const isOfDay = setting === 'max_credits_per_day';
  const of = isOfDay ? 'for today' : `of the limit of ${limit}`;
  const some = left === 0 ? 'nothing is' : `only ${areOf(left)}`;
  const room = left === limit && !isOfDay ? `the limit is ${limit}` : `${some} left ${of}`;
  const by = setting === undefined ? '' : ` (setting ${setting})`;
  const end = what === 'the next row' ? '' : '; nothing was bought';
  return refused(`${what} can cost ${countOf(worst, 'credit')}, but ${room}${by}${end}`, 'over_limit', {
    is: 'over_limit',
    worst,
    left,
    needs: exact(spent + reserved + worst),
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
  return `${credits} ${plural(credits, 'is', 'are')}`;
}
