import type { Context } from '../../context.ts';
import type { Buyer } from '../../operations/buyer.ts';
import { checkCovered, glanceAtBalance } from '../../operations/credit-limits.ts';
import { createDigests } from '../../operations/journal/digests.ts';
import { type AnswerKind, type BodyOf, toRequest } from '../../operations/kinds.ts';
import type { RowSource } from '../../operations/list/list.ts';
import { isIn, type ListWork, toSent } from '../../operations/list/run.ts';
import { exact } from '../../operations/spending.ts';
import { createNotes } from '../messages/notes.ts';
import { printPreview } from '../messages/preview.ts';
import type { PurchaseOptions } from './orders.ts';

/** Prints the first request, and what all of them can cost; says what can't be sent. */
export async function previewList(
  context: Context,
  options: PurchaseOptions,
  buyer: Buyer,
  work: Pick<ListWork, 'kind' | 'toBody' | 'shard' | 'worst'>,
  source: RowSource,
): Promise<void> {
  const notes = createNotes(context, options);
  const { kind, shard, worst } = work;
  const counted = createDigests();
  let first: BodyOf<AnswerKind> | undefined;
  let sent = 0;
  let flawed = 0;
  for await (const row of source.take()) {
    if (!isIn(shard, row)) continue;
    const one = toSent(work, row);
    if ('flaw' in one) {
      if (flawed++ < 10) notes.warn(one.flaw);
    } else if (counted.get(one.digest) === undefined) {
      counted.set(one.digest, { state: 'sent', offset: 0, length: 0, seen: false });
      first ??= one.request;
      sent++;
    }
  }
  const all = worst.credits === null ? worst : { credits: exact(sent * worst.credits) };
  const available = await glanceAtBalance(buyer);
  if (first !== undefined) {
    const request = buyer.connection.preview(toRequest(kind, first, 'a different key for each row'));
    printPreview(context, options, request, { worst: all, available });
  }
  notes.say(
    `${sent} ${sent === 1 ? 'row' : 'rows'} would be sent${first === undefined ? '' : '; the first request is above'}${flawed === 0 ? '' : `; ${flawed} can't be sent`}. Nothing was sent.`,
  );
  checkCovered(buyer, all, available);
}
