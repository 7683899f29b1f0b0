import { toMinutes } from '../../../clock.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError, outputChanged } from '../../../errors.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import { type StoredOperation, toDamageLine } from '../../../operations/journal/journal.ts';
import { withOperation } from '../../../operations/journal/with-journal.ts';
import type { Shop } from '../../../operations/purchase.ts';
import { findSearchAgain } from '../../../operations/search/again.ts';
import { buySearch, type SearchOrder } from '../../../operations/search/buy.ts';
import type { RestOfSearch, Standing } from '../../../operations/search/continue.ts';
import type { SearchEnd } from '../../../operations/search/cut.ts';
import { createNotes } from '../../messages/notes.ts';
import { openOutput } from '../../records/orders.ts';
import { completePending } from '../../records/pending-addition.ts';
import { printedAs } from '../../records/printed-as.ts';
import { createSearchListener, type SearchOptions } from '../search.ts';
import { goOn, holding, toStanding } from './continue.ts';

/**
 * Buys a search into a file. Where the same search was left there, it goes on with that one in place of buying it again,
 * without a person, whatever has become of the file; what others have left there is put aside. Throws `temporary` where
 * another run is at work on the file, and as `buySearch`.
 */
export async function searchIntoFile(
  context: Context,
  options: SearchOptions,
  shop: Shop,
  order: SearchOrder,
): Promise<SearchEnd | undefined> {
  return await holding(context, options, async (lock) => {
    if (lock !== undefined && options.append) await completePending(context, options.output ?? '');
    const rest = await findSearchAgain(shop, order, await createListener(context, options));
    if (rest !== undefined) return await searchOn(context, options, shop, rest, lock);
    const { settings } = shop.connection;
    const open = openOutput(context, options, { ...printedAs('search', order.body), settings, lock });
    const listener = createSearchListener(context, options, order.body, settings);
    return await buySearch(shop, { ...order, open }, listener);
  });
}

async function searchOn(
  context: Context,
  options: SearchOptions,
  shop: Shop,
  rest: RestOfSearch,
  lock: FolderLock | undefined,
): Promise<SearchEnd | undefined> {
  const { operationId } = rest.operation;
  const beginning = `Resuming ${operationId} (the same search, unfinished since ${timeOf(context, rest.operation)})`;
  return await withOperation(context, operationId, async (journal) => {
    const go = (standing: Standing) =>
      goOn(context, options, shop, rest, journal, { standing, beginning, lock });
    const standing = toStanding(rest);
    try {
      return await go(standing);
    } catch (error) {
      // Nothing was sent: what can't be gone on with is found out before, and leaves no operation.
      if (!(error instanceof LeadpipeError) || error.details.operationId !== undefined) throw error;
      if (error.details.type !== outputChanged) throw error;
      createNotes(context, options).warn(
        `${error.message}. The rest is written without them, since they are not stored any more`,
      );
      return await go('lost');
    }
  });
}

async function createListener(context: Context, options: SearchOptions) {
  const { warn } = createNotes(context, options);
  const output = options.output ?? '';
  const { hasPart, isSameFile } = await import('../../../files/target.ts');
  return {
    hasPart: () => hasPart(output),
    isSame: (other: string) => isSameFile(output, other),
    damaged: (damage: LeadpipeError) => warn(toDamageLine(damage)),
    lost: (one: StoredOperation) =>
      warn(
        `the search ${one.operationId} (${timeOf(context, one)}) was stopped before any lead arrived. It may have been charged; check \`leadpipe balance\`. A new search starts now; it is a new purchase`,
      ),
    unkept: (one: StoredOperation, damage: LeadpipeError | undefined) =>
      warn(
        `the leads of ${one.operationId} (${timeOf(context, one)}) ${damage === undefined ? 'are no longer stored' : `can't be read: ${damage.message}`}. A new search starts now, and all its leads are charged again`,
      ),
  };
}

function timeOf({ zone }: Pick<Context, 'zone'>, { entries: [{ time }] }: StoredOperation): string {
  return toMinutes(new Date(time), zone);
}
