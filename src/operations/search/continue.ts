import { LeadpipeError } from '../../errors.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery, OpenDelivery } from '../delivery.ts';
import { type Running, warningsOf } from '../events.ts';
import { toTerminal } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { listOf } from '../only-new/filter.ts';
import { identityOf } from '../only-new/identity.ts';
import { type Order, putInPlace } from '../purchase.ts';
import { idsOf, type RestOfSearch } from '../rest-of-search.ts';
import { type BoughtSearch, buySearch } from './buy.ts';

/** A search that was left, and where its rows go. */
export interface LeftSearch {
  readonly rest: RestOfSearch;
  /** The journal of the search that is continued. */
  readonly journal: Journal;
  /** Whether the rows go to the output that was begun, whose .part is written again from what is stored, or to another one. */
  readonly into: 'same' | 'other';
  readonly open: OpenDelivery;
}

/**
 * Continues a search that was cut by buying another one. Writes all rows: the stored ones and those of the new search. Throws as
 * `buySearch`.
 */
export async function* buyRest(
  buyer: Buyer,
  left: LeftSearch,
  order: Order<'search'>,
): Running<BoughtSearch | undefined> {
  const { operation, intent, brought } = left.rest;
  const warnings: string[] = [];
  let part: string | undefined;
  const openBegun: OpenDelivery = async () => {
    const delivery = await left.open();
    part = delivery.file && `${delivery.file}.part`;
    await writeBrought(buyer, left, delivery, warnings).catch(async (error: unknown) => {
      await delivery.cut();
      throw error;
    });
    return delivery;
  };
  const list = { name: intent.list, onlyNew: intent.asked !== undefined };
  const continued = { ...order, list, continues: operation.operationId };
  try {
    return yield* buySearch(buyer, continued, openBegun, {
      brought,
      warnings,
      async before(by) {
        if (by !== undefined) await left.journal.append({ type: 'continued', operation_id: by });
      },
    });
  } catch (error) {
    if (!(error instanceof LeadpipeError)) throw error;
    const { facts, operationId } = error.details;
    if (facts?.is !== 'in_doubt' || operationId === undefined) throw error;
    throw error.with({ facts: { is: 'rest_in_doubt', operationId, part } });
  }
}

/** Everything has arrived: the output is written, and nothing is bought. Throws LocalIoError. */
export async function* finishSearch(buyer: Buyer, left: LeftSearch): Running<void> {
  const { into, journal, open, rest } = left;
  const { operation, own, stopReason: stop_reason = null } = rest;
  const warnings: string[] = [];
  if (into === 'other' || !operation.progress.isPlaced) {
    const delivery = await open();
    try {
      if (delivery.length !== undefined) await journal.append({ type: 'opened', output_length: 0 });
      await writeBrought(buyer, left, delivery, warnings);
      await putInPlace(journal, delivery, {
        written(length) {
          const output_length = length ?? null;
          return journal.append({
            type: 'written',
            state: null,
            ready_count: null,
            output_length,
            stop_reason,
          });
        },
      });
    } finally {
      await delivery.cut();
    }
  }
  yield* warningsOf(warnings);
  await journal.append(toTerminal('complete', { charged: 'yes', leads: own, stop_reason }));
}

async function writeBrought(
  buyer: Buyer,
  { into, rest }: LeftSearch,
  delivery: Delivery,
  warnings: string[],
): Promise<void> {
  const { brought, counted, intent } = rest;
  const inFile = delivery.file !== undefined;
  const sure = inFile && into === 'other' ? 0 : counted;
  // On standard output they were printed already, and earlier versions wrote the rows of --append directly into the file.
  const isAppended = intent.options.append === true && (intent.version ?? 1) < 2;
  const isThere = !inFile || (into === 'same' && isAppended);
  // Another run of the list may have delivered some of them since. What this chain of searches brought is not excluded.
  const list = await listOf(buyer, idsOf(rest), intent, (line) => warnings.push(line));
  const missing = brought.filter((lead, at) => (at < sure ? !isThere : !list?.known.has(identityOf(lead))));
  if (missing.length > 0) await delivery.write(missing);
  await delivery.sync();
}
