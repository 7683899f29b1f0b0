import { requests } from '../../client.ts';
import type { Context } from '../../context.ts';
import type { InputRow } from '../../input/rows.ts';
import type { JsonText } from '../../json/text.ts';
import { checkCovered, glanceAtBalance } from '../../operations/covered.ts';
import { type AnswerKind, type BodyOf, kinds } from '../../operations/kinds.ts';
import type { Shop } from '../../operations/purchase.ts';
import { exact, type WorstCase } from '../../operations/spending.ts';
import type { Request } from '../../transport/request.ts';
import { createNotes } from '../messages/notes.ts';
import { printPreview } from '../messages/preview.ts';
import type { RowsOptions, Shard } from '../options/rows.ts';
import type { PurchaseOptions } from './orders.ts';
import { countRows } from './rows-input.ts';

/** Prints the first request, and what all of them can cost; says what can't be sent. */
export async function previewList<Kind extends AnswerKind>(
  context: Context,
  options: PurchaseOptions & RowsOptions,
  shop: Shop,
  { kind }: { readonly kind: Kind },
  worst: WorstCase,
  rows: AsyncIterable<InputRow>,
  toBody: (record: JsonText) => BodyOf<Kind>,
  shard: Shard | undefined,
): Promise<void> {
  const notes = createNotes(context, options);
  let first: BodyOf<Kind> | undefined;
  let flawed = 0;
  const sent = await countRows(
    rows,
    (record) => {
      const body = toBody(record);
      first ??= body;
      return body;
    },
    shard,
    (line, why) => {
      if (flawed++ < 10) notes.warn(`line ${line}: ${why}`);
    },
  );
  const all = worst.credits === null ? worst : { credits: exact(sent * worst.credits) };
  const available = await glanceAtBalance(shop);
  if (first !== undefined) {
    const toRequest = requests[kinds[kind].endpoint] as (body: object, key: string) => Request;
    const request = shop.connection.preview(toRequest(first, 'a different key for each row'));
    printPreview(context, options, request, { worst: all, available });
  }
  notes.say(
    `${sent} ${sent === 1 ? 'row' : 'rows'} would be sent${first === undefined ? '' : '; the first request is above'}${flawed === 0 ? '' : `; ${flawed} can't be sent`}. Nothing was sent.`,
  );
  checkCovered(shop, all, available);
}
