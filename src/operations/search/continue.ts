import { LeadpipeError } from '../../errors.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery, OpenDelivery } from '../delivery.ts';
import { type Running, warningsOf } from '../events.ts';
import { toTerminal } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { listOf, newOf, nothingKnown } from '../only-new/filter.ts';
import { isAdded, isPartOf } from '../output-owner.ts';
import { putInPlace } from '../purchase.ts';
import { idsOf, type RestOfSearch } from '../rest-of-search.ts';
import { type BoughtSearch, buySearch, type SearchOrder } from './buy.ts';

/** Where the rows go: into the output that was begun, whose .part is written again from what is stored, or into another. */
export interface RestOutput {
  readonly into: 'same' | 'other';
  readonly open: OpenDelivery;
}

export async function isPartOurs({ context }: Buyer, rest: RestOfSearch): Promise<boolean> {
  const { operation } = rest;
  const facts = { is: 'continue_elsewhere', operationId: operation.operationId } as const;
  return await isPartOf(context, operation, idsOf(rest), { facts });
}

/**
 * Goes on where a search was cut, by a new search, which is a new purchase. All rows are written, those that are stored and those
 * of the new search. Throws as `buySearch`.
 */
export async function* buyRest(
  buyer: Buyer,
  rest: RestOfSearch,
  earlierJournal: Journal,
  order: SearchOrder,
  { into, open }: RestOutput,
): Running<BoughtSearch | undefined> {
  const { operation, intent, brought } = rest;
  const warnings: string[] = [];
  let file: string | undefined;
  const openBegun: OpenDelivery = async () => {
    const delivery = await open();
    file = delivery.file;
    await writeBrought(buyer, rest, into, delivery, warnings).catch(async (error: unknown) => {
      await delivery.cut();
      throw error;
    });
    return delivery;
  };
  const list = { name: intent.list, onlyNew: intent.asked !== undefined };
  const continued = { ...order, list, continues: operation.operationId };
  let going: string | undefined;
  const search = buySearch(buyer, continued, openBegun, {
    brought,
    warnings,
    async before(by) {
      going = by;
      if (by !== undefined) await earlierJournal.append({ type: 'continued', operation_id: by });
    },
  });
  try {
    return yield* search;
  } catch (error) {
    const isInDoubt = error instanceof LeadpipeError && error.details.facts?.is === 'in_doubt';
    if (!isInDoubt || going === undefined) throw error;
    const part = file === undefined ? undefined : `${file}.part`;
    throw error.with({ facts: { is: 'rest_in_doubt', operationId: going, part } });
  }
}

/** Everything has arrived: the output is written, and nothing is bought. Throws LocalIoError. */
export async function* finishSearch(
  buyer: Buyer,
  rest: RestOfSearch,
  journal: Journal,
  { into, open }: RestOutput,
): Running<void> {
  const { operation, own, stopReason = null } = rest;
  const warnings: string[] = [];
  if (!(into === 'same' && isAdded(operation))) {
    const delivery = await open();
    try {
      if (delivery.length !== undefined) await journal.append({ type: 'opened', output_length: 0 });
      await writeBrought(buyer, rest, into, delivery, warnings);
      await putInPlace(journal, delivery, {
        written: (length) =>
          journal.append({
            type: 'written',
            state: null,
            ready_count: null,
            output_length: length ?? null,
            stop_reason: stopReason,
          }),
      });
    } finally {
      await delivery.cut();
    }
  }
  yield* warningsOf(warnings);
  await journal.append(toTerminal('complete', { charged: 'yes', leads: own, stop_reason: stopReason }));
}

async function writeBrought(
  buyer: Buyer,
  rest: RestOfSearch,
  into: RestOutput['into'],
  delivery: Delivery,
  warnings: string[],
): Promise<void> {
  const { brought, counted, intent } = rest;
  const inFile = delivery.file !== undefined;
  const [sure, unsure] =
    inFile && into === 'other' ? [[], brought] : [brought.slice(0, counted), brought.slice(counted)];
  // On standard output they stand already; versions before put the rows of --append straight into the file.
  const isAppended = intent.options.append === true && (intent.version ?? 1) < 2;
  const isThere = !inFile || (into === 'same' && isAppended);
  // Another run of the list may have delivered some since. What a search brought counts for those that went on with it too.
  const list = await listOf(buyer, idsOf(rest), intent, (line) => warnings.push(line));
  const missing = [...(isThere ? [] : sure), ...newOf(unsure, list?.known ?? nothingKnown)];
  if (missing.length > 0) await delivery.write(missing);
  await delivery.sync();
}
