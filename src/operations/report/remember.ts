import { dayMs } from '../../clock.ts';
import type { StoreContext } from '../../context.ts';
import { LeadpipeError } from '../../errors.ts';
import { createJournals } from '../journal/journal-file.ts';

import { addPast, type PastPurchase } from '../journal/past.ts';
import { keptDays } from '../journal/retention.ts';
import { readOperation } from '../known-operations.ts';
import { isPurchase, type KnownPurchase, toKnownPurchase } from './history.ts';

/**
 * Stores the costs of these operations before their records are removed, and deletes costs older than 400 days. With `byDays`, deletes them only
 * if there were purchases on 30 later days, so that a wrong clock removes nothing. Throws LocalIoError.
 */
export async function rememberCosts(
  context: StoreContext,
  operationIds: readonly string[],
  byDays: boolean,
): Promise<void> {
  const added: PastPurchase[] = [];
  for (const op of operationIds) {
    const one = await readPastPurchase(context, op);
    if (one !== undefined) added.push(one);
  }
  const now = context.clock.now().getTime();
  await addPast(context, added, ({ time }, all) => {
    if (now - Date.parse(time) <= keptDays.costs * dayMs) return false;
    const later = new Set(all.map((one) => one.time.slice(0, 10)).filter((day) => day > time.slice(0, 10)));
    return !byDays || later.size >= keptDays.operations;
  });
}

/** Undefined for an operation that is not a purchase, or can't be read. */
async function readPastPurchase(context: StoreContext, op: string): Promise<PastPurchase | undefined> {
  const operation = await readOperation(createJournals(context.directories.state), op).catch(
    (error: unknown) => {
      if (!(error instanceof LeadpipeError)) throw error;
    },
  );
  if (
    operation === undefined ||
    !isPurchase({ key: operation.intent.index.key, kind: operation.intent.command })
  )
    return undefined;
  return toPastPurchase(await toKnownPurchase(operation));
}

/** Pure: what stays of a purchase when its record is removed. Totals need nothing else. */
export function toPastPurchase({ record, intent, isSettled = false }: KnownPurchase): PastPurchase {
  const { command, list, operation_id: op, service, state } = record;
  const { leads, found, not_found, charged, credits_at_most, credits_before, credits_after } = record;
  const { command: kind, profile, time } = intent;
  const counts = { leads, found, not_found };
  const credits = { charged, credits_at_most, credits_before, credits_after };
  const known = { op, time, kind, profile, list, ...counts, ...credits };
  return { ...known, command: command ?? kind, service: service ?? '', state, is_settled: isSettled };
}
