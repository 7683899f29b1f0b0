import { LeadpipeError } from '../errors.ts';
import { exact, type PriceName, type Spending } from './spending.ts';
import { countOf, toThem } from './wording.ts';

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

export function toOverDayLimit(worst: number, spent: number, limit: number): LeadpipeError {
  const left = exact(Math.max(0, limit - spent));
  return refused(
    `this can cost ${countOf(worst, 'credit')}, but only ${areOf(left)} left of the ${limit} for today; nothing was bought`,
    'over_limit',
    { is: 'over_day_limit', setting: 'max_credits_per_day' },
  );
}

export function toUnpricedDay(purchases: number, limit: number): LeadpipeError {
  return refused(
    `${purchases === 1 ? 'one purchase' : `${purchases} purchases`} of today had no known price, so leadpipe can't tell what is left of the ${limit} credits for today; nothing was bought`,
    'price_unknown',
    { is: 'unpriced_day', setting: 'max_credits_per_day' },
  );
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
export function areOf(credits: number): string {
  return `${credits} ${toThem(credits, 'is', 'are')}`;
}
