import { LeadpipeError } from '../errors.ts';
import { RequestError } from '../transport/errors.ts';
import type { PaidKind } from './kinds.ts';
import type { Shop } from './purchase.ts';
import {
  areOf,
  type Spending,
  toNotCovered,
  toOverLimit,
  toUnknownPrice,
  type WorstCase,
} from './spending.ts';

/** How long a look at the balance may take that nothing depends on. */
const patienceMs = 3000;

/**
 * Runs `work` with its worst case set aside. Under a limit it is given the credits that are available; without one the
 * balance is not asked for. Throws `credits`, before anything is sent that costs, where the worst case is not known, or the
 * limit or the balance does not cover it; what asking for the balance throws; and what `work` throws.
 */
export async function withCovered<T>(
  { connection, context, spending }: Shop,
  worst: WorstCase,
  idempotencyKey: string,
  work: (available: number | undefined) => Promise<T>,
): Promise<T> {
  if (spending === undefined) return await work(undefined);
  // What is sent again with its key is not paid for twice.
  const credits = spending.inDoubt.has(idempotencyKey) ? 0 : setAside(spending, worst);
  let cost: number | undefined = 0;
  try {
    const { value } = await connection.client.balance(context.signal);
    if (credits > value.available_credits) throw toNotCovered(credits, value.available_credits);
    cost = undefined;
    return await work(value.available_credits);
  } catch (error) {
    if (error instanceof LeadpipeError && error.details.charged === 'no') cost = 0;
    if (cost === undefined) spending.inDoubt.add(idempotencyKey);
    throw error;
  } finally {
    spending.settle(credits, cost);
  }
}

/** The credits that are available, where they can be had soon; for what goes on without them too. */
export async function glanceAtBalance(
  { connection, context }: Shop,
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

/** The same error; where the service says that there are not enough credits, with both numbers. */
export async function withNumbers(
  shop: Shop,
  kind: PaidKind,
  { credits }: WorstCase,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof RequestError) || error.fault !== 'no_credits') return error;
  const left = await glanceAtBalance(shop);
  const what = kind === 'search' ? 'search' : kind.startsWith('task') ? 'task' : 'request';
  const known = [
    ...(credits === null ? [] : [`this ${what} may cost ${credits}`]),
    ...(left === undefined ? [] : [`${areOf(left)} left`]),
  ];
  if (known.length === 0) return error;
  const facts = { is: 'no_credits', worst: credits ?? undefined, left } as const;
  return error.with({ facts }, `${error.words}: ${known.join(', and ')}`);
}

/** Throws as `withCovered` would, for these credits. */
export function checkCovered(
  { spending }: Pick<Shop, 'spending'>,
  worst: WorstCase,
  available: number | undefined,
  idempotencyKey = '',
): void {
  if (spending === undefined || spending.inDoubt.has(idempotencyKey)) return;
  const credits = setAside(spending, worst);
  spending.settle(credits, 0);
  if (available !== undefined && credits > available) throw toNotCovered(credits, available);
}

/** Throws `credits`. */
function setAside(spending: Spending, worst: WorstCase): number {
  if (worst.credits === null) throw toUnknownPrice(worst.setting);
  if (!spending.reserve(worst.credits)) throw toOverLimit(worst.credits, spending);
  return worst.credits;
}
