import { fromWallTime, toMinutes, type Zone } from '../clock.ts';
import type { Context, StoreContext } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { isLocked } from '../files/folder-lock.ts';
import type { Buyer } from './buyer.ts';
import type { Cost, UnknownCost } from './journal/entries.ts';
import { folderOf } from './journal/folders.ts';
import type { IndexLine } from './journal/index-lines.ts';
import { createJournals } from './journal/journal-file.ts';
import { type OperationIndex, openIndex, type Reader } from './journal/operation-index.ts';
import { readOperation, readSpent } from './known-operations.ts';
import {
  creditsOf,
  exact,
  missingPrice,
  nothing,
  type PriceName,
  type Prices,
  priced,
  sumOf,
  times,
} from './prices.ts';
import { createSpending, type Spending } from './spending.ts';
import { countOf, plural } from './wording.ts';

/*
 * `max_credits_per_day`. An ended purchase counts with the maximum that it has cost, an active one with its worst case, each on the day on which it
 * was sent. The sum is computed from the lines of the index.
 */

/** A purchase whose maximum cost is unknown. */
interface UnknownPurchase {
  readonly op: string;
  readonly kind: string;
  readonly time: string;
  readonly why: UnknownCost;
}

type MoneyLine = Extract<IndexLine, { is: 'begun' | 'reserved' | 'ended' }>;

/** A cost, and the time for which it counts. */
interface Counted {
  readonly time: string;
  readonly cost: Cost;
}

/** The maximum cost of all purchases since midnight, by today's prices. `unknown`: purchases not included, newest first. Throws LocalIoError. */
export async function usedToday(
  index: OperationIndex,
  prices: Prices,
  context: StoreContext & Pick<Context, 'zone'>,
): Promise<{ readonly credits: number; readonly unknown: readonly UnknownPurchase[] }> {
  const today = dayOf(context.clock.now(), context.zone);
  const midnight = fromWallTime(`${today}T00:00`, context.zone).getTime();
  const lines = new Map<string, MoneyLine[]>();
  const unknown: UnknownPurchase[] = [];
  let credits = 0;
  for (const line of index.newest()) {
    if (line.is !== 'begun' && line.is !== 'reserved' && line.is !== 'ended') continue;
    const { op } = line;
    const later = lines.get(op) ?? [];
    if (line.is !== 'begun') {
      lines.set(op, [line, ...later]);
      continue;
    }
    lines.delete(op);
    for (const { cost, time } of await countedOf([line, ...later], context)) {
      if (!(Date.parse(time) >= midnight)) continue;
      const known = priced(cost, prices);
      credits = exact(credits + known.credits);
      if (known.unknown !== undefined) unknown.push({ op, kind: line.kind, time, why: known.unknown });
    }
  }
  return { credits, unknown };
}

/** The costs that one operation counts, from its lines in their order: its recorded cost replaces its worst case. */
async function countedOf(lines: readonly MoneyLine[], context: StoreContext): Promise<readonly Counted[]> {
  const counted: Counted[] = [];
  let open: Counted[] = [];
  let soFar = nothing;
  const settle = (spent: Cost): void => {
    const cost = minus(spent, soFar);
    // A killed run counts with its worst case until its end is known.
    const { time = '' } = (cost.credits < 0 ? undefined : open.at(-1)) ?? counted.at(-1) ?? {};
    counted.push({ time, cost });
    open = [];
    soFar = spent;
  };
  for (const line of lines) {
    if (line.is === 'ended') settle(line.spent ?? nothing);
    else if (line.worst !== undefined) {
      open.push({ time: line.time, cost: line.worst });
      // `moved` was counted for an earlier day and is sent again now, so it may cost on this day.
      if (line.is === 'reserved' && line.moved !== undefined) soFar = minus(soFar, line.moved);
    }
  }
  const [{ op } = { op: '' }] = lines;
  if (open.length > 0 && !isLocked(folderOf(context.directories.state, op))) {
    // It was killed: the journal says what it has sent. Without a journal, it has sent nothing.
    const reading = readOperation(createJournals(context.directories.state), op);
    const spent = reading.then(async (found) =>
      found === undefined ? nothing : (await readSpent(found)).spent,
    );
    await spent.then(settle, () => undefined);
  }
  return [...counted, ...open];
}

function minus(cost: Cost, earlier: Cost): Cost {
  const { unknown } = sumOf([cost, times(earlier, -1)]);
  const isKnown = unknown === undefined || (unknown !== 'rows' && unknown.units <= 0);
  return { credits: exact(cost.credits - earlier.credits), ...(isKnown ? {} : { unknown }) };
}

/** Pure: the day at this place, such as 2026-11-27. */
export function dayOf(time: Date, zone: Zone): string {
  return toMinutes(time, zone).slice(0, 10);
}

/** The limit of the day; undefined if there is none, or for the free local service. Throws `credits` if the worst case is unknown. */
function limitOf({ connection, context }: Buyer, worst: Cost) {
  const { max_credits_per_day: limit } = connection.settings;
  if (limit === undefined || connection.origin === 'local') return undefined;
  const setting = missingPrice(worst);
  if (setting !== undefined) throw toUnknownPrice(setting);
  return {
    limit,
    /** The credits that are left today. Throws `credits` if the maximum cost of a purchase of today is unknown. */
    async leftIn(index: OperationIndex): Promise<number> {
      const { credits, unknown } = await usedToday(index, connection.settings, context);
      const [first] = unknown;
      if (first === undefined) return exact(Math.max(0, limit - credits));
      throw toUnknownDay(first, limit, context.zone);
    },
  };
}

/** The credits that are left today; infinite without a limit, and if they can't be known: `toDayCheck` then says why. */
export async function leftToday(buyer: Buyer, worst: Cost, reader: Reader): Promise<number> {
  const left = async () => limitOf(buyer, worst)?.leftIn(await reader.openIndex());
  return (await left().catch(() => undefined)) ?? Number.POSITIVE_INFINITY;
}

/**
 * Returns a check that refuses a cost above what is left of the day's limit; undefined without a limit, or for the free local service. `first`:
 * how many rows of a list the limit covers. Throws `credits` if the worst case is unknown.
 */
export function toDayCheck(
  buyer: Buyer,
  worst: Cost,
  first: number | undefined,
): ((index: OperationIndex, more: Cost) => Promise<void>) | undefined {
  const day = limitOf(buyer, worst);
  if (day === undefined) return undefined;
  return async (index, { credits }) => {
    const left = await day.leftIn(index);
    if (credits <= left) return;
    throw refused(
      `this can cost ${countOf(credits, 'credit')}, but only ${areOf(left)} left of the ${day.limit} for today; nothing was bought`,
      'over_limit',
      { is: 'over_day_limit', setting: 'max_credits_per_day', worst: credits, left, first },
    );
  };
}

/** How many rows are reserved for the day at a time if the input can't be counted. The rest stays available to other purchases. */
const rowsAhead = 25;

/**
 * The limit for the rows of a list, including those of earlier runs: the limit of the run or, if lower, what is reserved for the day. That is
 * `rest` rows or, if they can't be counted, a few at first (`extendRowLimit`). So an input that grows meanwhile buys no more than was
 * reserved. `toDayCheck` refuses what other processes begin at the same time.
 */
export async function findRowLimit(
  buyer: Buyer,
  { each, sent, rest }: { readonly each: Cost; readonly sent: number; readonly rest: number | undefined },
  reader: Reader,
): Promise<Spending | undefined> {
  const { spending } = buyer;
  const price = creditsOf(each);
  // A price that is not known is refused by `toDayCheck`.
  if (price === null) return spending;
  const day = limitOf(buyer, each);
  if (day === undefined) return spending;
  const left =
    rest === undefined
      ? Math.min(await day.leftIn(await reader.openIndex()), rowsAhead * price)
      : rest * price;
  const max = exact(sent * price + left);
  return spending !== undefined && spending.limit <= max
    ? spending
    : createSpending(max, 'max_credits_per_day');
}

/**
 * Reserves more rows of an input that can't be counted, with `reserve`, and raises the limit of the rows, at most to the limit of the run. Returns
 * false if nothing more can be bought. Throws LocalIoError.
 */
export async function extendRowLimit(
  buyer: Buyer,
  limit: Spending,
  each: Cost,
  reserve: (cost: Cost) => Promise<void>,
): Promise<boolean> {
  const { context, spending } = buyer;
  const day = limitOf(buyer, each);
  if (day === undefined) return false;
  const ofRun = exact((spending?.limit ?? Number.POSITIVE_INFINITY) - limit.limit);
  if (ofRun <= 0 && spending !== undefined) limit.become(spending);
  const left = await day.leftIn(await openIndex(context));
  const credits = exact(Math.min(rowsAhead * each.credits, ofRun, left));
  if (credits < each.credits) return false;
  try {
    await reserve({ credits });
  } catch (error) {
    // Another process was faster.
    if (error instanceof LeadpipeError && error.outcome === 'credits') return false;
    throw error;
  }
  limit.become({ ...limit, limit: exact(limit.limit + credits) });
  return true;
}

function toUnknownDay({ op, kind, time, why }: UnknownPurchase, limit: number, zone: Zone): LeadpipeError {
  const which = `${kind} of ${toMinutes(new Date(time), zone).slice(11)} (${op})`;
  const unknown = why === 'rows' ? 'how many rows it has bought' : 'its cost';
  return refused(
    `${which} counts for today, but ${unknown} is not known, so leadpipe can't tell how much of the ${countOf(limit, 'credit')} is left; nothing was bought`,
    'price_unknown',
    { is: 'unpriced_day', operationId: op, setting: why === 'rows' ? undefined : why.setting },
  );
}

export function toUnknownPrice(setting: PriceName): LeadpipeError {
  return refused(
    `nothing was bought: leadpipe can't tell what this costs, because the setting ${setting} is not set`,
    'price_unknown',
    { is: 'price_unknown', setting },
  );
}

/** The error of a purchase that is refused before anything is sent. */
export function refused(
  message: string,
  type: string,
  facts: NonNullable<LeadpipeError['details']['facts']>,
): LeadpipeError {
  return new LeadpipeError('credits', message, { type, charged: 'no', facts });
}

/** Pure: `1 is`, `2 are`. */
export function areOf(credits: number): string {
  return `${credits} ${plural(credits, 'is', 'are')}`;
}
