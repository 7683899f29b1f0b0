import { dayOf } from './day-limit.ts';
import { entry, type JournalEntry } from './journal/entries.ts';
import { type PaidKind, toRequest } from './kinds/kinds.ts';
import { readSpent } from './known-operations.ts';
import type { Operation } from './operation.ts';
import type { NewIntent } from './order-digests.ts';
import { type Cost, nothing, times } from './prices.ts';
import { toCounted, worstOf } from './reservation.ts';
import type { Plan, Run } from './run-state.ts';

/*
 * What the journal of a run says before anything is sent, and the key of what is sent.
 */

/** Pure: the intent of an operation, before it begins. */
export function toIntent(
  { buyer, idempotencyKey, journal, order }: Run,
  { costs, intent, purchase }: Plan<unknown>,
  available: number | undefined,
): NewIntent {
  const { connection, context, spending } = buyer;
  const { kind, terms } = order;
  const request = purchase && toRequest(kind as PaidKind, purchase.body as never, idempotencyKey);
  return entry.intent({
    version: 1,
    time: context.clock.now().toISOString(),
    command: kind,
    profile: connection.profile,
    origin: connection.origin,
    key_fingerprint: connection.fingerprint(journal.operationId ?? ''),
    ...terms,
    ...intent,
    ...(request === undefined ? {} : { idempotency_key: idempotencyKey, body: request.body ?? '' }),
    ...(costs.is === 'nothing' ? {} : { worst_case: worstOf(costs) }),
    ...(costs.is === 'rows' ? { reserved: toCounted(costs) } : {}),
    ...(spending === undefined || spending.setting !== undefined ? {} : { max_credits: spending.limit }),
    ...(available === undefined ? {} : { credits_before: available }),
  });
}

/** Pure: the intent of a purchase that shall not be recorded: only its cost stays, because the limit of the day adds it up. */
export function toCostOnly({ type, version, time, command, origin, worst_case }: NewIntent): NewIntent {
  const without = { profile: null, key_fingerprint: '', output: null, options: {} };
  const known = worst_case === undefined ? {} : { worst_case };
  return { ...{ type, version, time, command, origin }, ...without, ...known, unrecorded: true };
}

/** The entry with the cost of a run that was killed before it could write it; undefined if it is written, or if nothing more is bought. */
export async function toSpent(operation: Operation): Promise<JournalEntry | undefined> {
  const { isRunOpen, isSearch, end } = operation;
  const isLeft = isSearch ? end === undefined : isRunOpen;
  if (!isLeft) return undefined;
  const { spent, sent_rows } = await readSpent(operation);
  return entry.spent(spent, sent_rows);
}

/** The cost that a resumed run counts for its day; undefined if nothing is bought, or if it is counted for this day already. */
export function toCountedAgain(
  { buyer, operation }: Run,
  { costs, purchase }: Plan<unknown>,
): Cost | undefined {
  if (costs.is === 'nothing') return undefined;
  if (costs.is === 'rows' || purchase?.again === undefined) return toCounted(costs);
  const { clock, zone } = buyer.context;
  const { isSent = false, sentAt: time = '' } = operation?.parts.at(-1) ?? {};
  // A run that was stopped before it sent anything cost nothing.
  if (!isSent) return toCounted(costs);
  return dayOf(new Date(time), zone) === dayOf(clock.now(), zone) ? undefined : worstOf(costs);
}

/** Pure: what the journal of a resumed operation says before anything more is sent. */
export function toBeginning(
  { buyer, idempotencyKey }: Run,
  { costs, purchase, rest }: Plan<unknown>,
  counted: Cost | undefined,
  available: number | undefined,
): JournalEntry[] {
  const time = buyer.context.clock.now();
  if (costs.is === 'rows') {
    const moved = costs.again === 0 ? undefined : times(costs.each, costs.again);
    return [entry.reserved(time, counted ?? nothing, moved)];
  }
  if (purchase === undefined) return [];
  if (rest === undefined) return counted === undefined ? [] : [entry.reserved(time, counted)];
  return [
    entry.rest({
      time: time.toISOString(),
      idempotency_key: idempotencyKey,
      body: JSON.stringify(purchase.body),
      worst_case: worstOf(costs),
      ...(available === undefined ? {} : { credits_before: available }),
      ...rest,
    }),
  ];
}

/**
 * The idempotency key: that of the same request, if it was sent before; else the user's own, unless the operation has used it, because the
 * service would not carry out another request with a used key.
 */
export function toKey({ buyer, operation, order }: Run, { purchase }: Plan<unknown>): string {
  const { idempotencyKey } = order;
  const isUsed = operation?.parts.some((part) => part.idempotencyKey === idempotencyKey);
  return purchase?.again ?? (isUsed ? undefined : idempotencyKey) ?? buyer.context.ids.idempotencyKey();
}
