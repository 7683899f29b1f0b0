import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { isStop, LeadpipeError } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import { RequestError } from '../../transport/errors.ts';
import type { Buyer } from '../buyer.ts';
import type { Listener } from '../delivery.ts';
import { toDoubtful } from '../journal/failed.ts';
import { type LeadFilter, toListed, withFilter } from '../only-new/filter.ts';
import { type Order, type PaidRequest, purchase } from '../purchase.ts';
import { countOf } from '../wording.ts';
import { createKeeping, type Keeping } from './keeping.ts';
import { type SearchSummary, searchEntities } from './stream.ts';

export type SearchOrder = Order<'search'>;

/** What a search came to. */
export interface SearchEnd extends SearchSummary {
  /** How many of the leads that the service sent were dropped here: an earlier run of the list has delivered them. */
  readonly excluded: number;
  readonly operationId: string | undefined;
  readonly idempotencyKey: string;
}

export interface SearchListener extends Listener {
  /** The stream is over, well or not, and its rows are where they belong. */
  ended(end: SearchEnd): void;
}

/** What a search is the rest of. */
export interface GoingOn {
  /** Leads that are here already. */
  readonly brought: readonly JsonText[];
  /** Awaited before anything is sent, with the ID of the new operation. */
  before(operationId: string | undefined): Promise<void>;
}

/**
 * Buys one search, and delivers what it brings as it comes: each lead is stored, and counts for its list, before it is
 * delivered. Returns undefined after a preview. Throws what ends the search before it begins, and `partial` or `unknown` for
 * one that was cut.
 */
export async function buySearch(
  buyer: Buyer,
  given: SearchOrder,
  listener: SearchListener,
  goingOn: GoingOn = { brought: [], before: async () => {} },
): Promise<SearchEnd | undefined> {
  const { order, list } = await toListed(buyer, given, listener.warn, goingOn.brought);
  if (list.size !== undefined) listener.leavesOut?.(list.name, list.size);
  return await purchase(buyer, order, listener, (paid) =>
    withFilter(buyer, list, paid.journal, (filter) =>
      streamInto(buyer, order.body, paid, filter, listener, goingOn),
    ),
  );
}

async function streamInto(
  buyer: Buyer,
  request: EntitySearchRequest,
  paid: PaidRequest,
  filter: LeadFilter,
  listener: SearchListener,
  { before }: GoingOn,
): Promise<SearchEnd> {
  const { journal, delivery } = paid;
  const { operationId } = journal;
  const kept = await createKeeping(buyer, journal, delivery, filter, (why) =>
    listener.warn(
      `${why}. The next leads are written, but not stored: they can't be printed again, and later searches may deliver and charge them again`,
    ),
  );
  try {
    await before(operationId);
    // Behind it: whoever goes on with that search has to know why its leads stand under this one too.
    filter.begin();
    const summary = await stream(buyer, request, paid, kept, listener);
    const end = { ...summary, excluded: kept.excluded(), operationId, idempotencyKey: paid.idempotencyKey };
    const length = summary.cut === undefined ? undefined : await delivery.sync().catch(() => undefined);
    const error = summary.cut === undefined ? undefined : toCutError(end, request, await delivery.cut());
    await kept.end(summary, error, length);
    // Whatever is said stands behind the last byte.
    if (error === undefined) {
      await place(paid, end);
      await kept.placed(summary);
    }
    // A reader that went away is told nothing: there may be no one to tell.
    if (error?.outcome !== 'reader_closed') {
      for (const warning of summary.warnings) listener.warn(warning);
      listener.ended(end);
    }
    if (error !== undefined) throw error;
    return end;
  } finally {
    await kept.close();
  }
}

/** Throws what the output throws, with what is known of the purchase: all of it has arrived. */
async function place({ delivery }: PaidRequest, end: SearchEnd): Promise<void> {
  const { leads, operationId, idempotencyKey, requestId } = end;
  try {
    await delivery.finish();
  } catch (error) {
    if (!(error instanceof LeadpipeError)) throw error;
    throw error.with({
      charged: leads > 0 ? 'yes' : 'maybe',
      idempotencyKey,
      facts: { is: 'unplaced', operationId },
      ...error.details,
      ...(requestId === undefined ? {} : { requestId }),
    });
  }
}

async function stream(
  { context }: Buyer,
  request: EntitySearchRequest,
  paid: PaidRequest,
  kept: Keeping,
  listener: Listener,
): Promise<SearchSummary> {
  const { delivery, idempotencyKey } = paid;
  const client = await paid.begin();
  return await listener.during('searching', delivery, ({ write }) =>
    searchEntities(
      client,
      request,
      idempotencyKey,
      async (entities, ids) => {
        // What is dropped has arrived all the same: whether the search is whole is counted in what the service sent.
        const fresh = await kept.keep(entities, ids);
        if (fresh.length > 0) await write(fresh);
        await kept.delivered(fresh.length, ids);
      },
      context,
    ).catch(async (thrown: unknown) => {
      const error = paid.isAgain ? toDoubtful(thrown) : thrown;
      await kept.failed(error);
      throw error;
    }),
  );
}

/**
 * The error of a search that was not whole: how it ends is the cause's business when the run was stopped or the output
 * failed, else it is partial, or unknown when nothing came. `kept` is the file that holds what arrived.
 */
export function toCutError(
  {
    cause,
    leads,
    excluded,
    cut,
    isDelivered,
    leadsSearchId,
    operationId,
    requestId,
    idempotencyKey,
  }: SearchEnd,
  request: EntitySearchRequest,
  kept: string | undefined,
): LeadpipeError {
  const ownEnd = cause instanceof LeadpipeError && !(cause instanceof RequestError) ? cause : undefined;
  // What is not an error of leadpipe's own making is its fault, and not the service's.
  const isBug = cause !== undefined && !(cause instanceof LeadpipeError);
  const outcome = ownEnd?.outcome ?? (isBug ? 'bug' : leads > 0 ? 'partial' : 'unknown');
  const fresh = leads - excluded;
  const place = isDelivered
    ? placeOf(fresh, kept)
    : `, but not all of them could be written${kept === undefined ? '' : ` to ${kept}`}`;
  const dropped = excluded === 0 ? '' : `; ${excluded} left out (delivered before)`;
  const arrived = leads === 0 ? 'No leads arrived' : `${countOf(fresh)} arrived${place}${dropped}`;
  const rest = (request.limit ?? limits.entityLimit.default) - leads;
  const technical = cause instanceof RequestError ? cause.details.technical : undefined;
  const why = cause instanceof LeadpipeError ? cause.words : cut;
  const what = isBug ? 'a bug in leadpipe stopped the search' : 'the search stopped before its end';
  const words = isStop(cause) ? `${why}. ${arrived}` : `${what}: ${why}. ${arrived}`;
  return new LeadpipeError(outcome, words, {
    type: ownEnd === undefined ? (isBug ? 'bug' : 'cut') : (ownEnd.details.type ?? ownEnd.outcome),
    charged: leads > 0 ? 'yes' : 'maybe',
    retryable: false,
    ...(technical === undefined ? {} : { technical }),
    idempotencyKey,
    facts:
      leadsSearchId === undefined || leads === 0
        ? { is: 'in_doubt' }
        : { is: 'search_cut', rest, isDelivered, leadsSearchId, operationId, request },
    cause,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

function placeOf(leads: number, kept: string | undefined): string {
  return kept === undefined || leads === 0 ? '' : `, and ${leads === 1 ? 'is' : 'are'} in ${kept}`;
}
