import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import { isSameFile } from '../../../files/target.ts';
import { type Buyer, checkSameBuyer } from '../../../operations/buyer.ts';
import type { OpenDelivery } from '../../../operations/delivery.ts';
import type { Intent } from '../../../operations/journal/entries.ts';
import type { Journal } from '../../../operations/journal/journal.ts';
import { withOperation } from '../../../operations/journal/journal.ts';
import { readKnown } from '../../../operations/journal/stored.ts';
import { completeAdditionTo } from '../../../operations/output-owner.ts';
import { type RestOfSearch, readRest } from '../../../operations/rest-of-search.ts';
import type { SearchOrder } from '../../../operations/search/buy.ts';
import { buyRest, finishSearch, isPartOurs, type RestInto } from '../../../operations/search/continue.ts';
import type { SearchEnd } from '../../../operations/search/cut.ts';
import { creditsOf, toWorstCase } from '../../../operations/spending.ts';
import { countOf } from '../../../operations/wording.ts';
import { withConnection } from '../../connect.ts';
import { checkNotDropped } from '../../messages/dropped.ts';
import { createNotes } from '../../messages/notes.ts';
import { fromTerms, openOutput, toOrder, toShop } from '../../records/orders.ts';
import { printedAs } from '../../records/printed-as.ts';
import { fileOf, withHeldOutput } from '../../records/record-output.ts';
import { createSearchListener, type SearchOptions } from '../search.ts';

/**
 * Goes on where a search was cut, by a new search, which is a new purchase: for the rest only, and into the same file,
 * completed with what arrived and is not there.
 */
export async function continueSearch(
  context: Context,
  operationId: string,
  given: SearchOptions,
): Promise<void> {
  const known = await readKnown(context, operationId);
  checkNotDropped(known);
  const [intent] = known.entries;
  const isSame = await isIntoSame(intent, given);
  if (isSame) checkBegun(intent, given);
  const options = isSame ? { ...given, ...fromTerms(intent) } : given;
  await withHeldOutput(context, options, async (lock) => {
    if (isSame && intent.output !== null) await completeAdditionTo(context, intent.output);
    await withOperation(context, operationId, async (journal, operation) => {
      const rest = await readRest(context, operation);
      await withConnection(context, options, async (connection) => {
        const buyer = toShop(context, options, connection);
        checkSameBuyer(buyer, operation);
        const beginning = `Resuming ${operationId}`;
        const into = isSame ? 'same' : 'other';
        const isOurs = isSame && (await isPartOurs(buyer, rest));
        await goOn(context, options, buyer, rest, journal, { into, isOurs, lock, beginning });
      });
    });
  });
}

/** How a search is gone on with. */
export interface Going {
  readonly into: RestInto;
  /** Whether what stands in the .part is of this search. */
  readonly isOurs: boolean;
  readonly lock: FolderLock | undefined;
  /** The first words about it. */
  readonly beginning: string;
}

/** Buys the rest, or, where there is none, completes the output. Returns what the rest came to. Throws as `buyRest`. */
export async function goOn(
  context: Context,
  options: SearchOptions,
  buyer: Buyer,
  rest: RestOfSearch,
  journal: Journal,
  { beginning, into, isOurs, lock }: Going,
): Promise<SearchEnd | undefined> {
  const { say, warn } = createNotes(context, options);
  const { connection } = buyer;
  const { brought, intent, request } = rest;
  const open: OpenDelivery = openOutput(context, options, {
    ...printedAs('search', request ?? JSON.parse(intent.body ?? '{}')),
    settings: connection.settings,
    // All of it is written again from what is stored, where that is all of it.
    opening: isOurs && rest.isKept ? { anew: true } : 'new',
    lock,
  });
  if (request === undefined) {
    await finishSearch(buyer, rest, journal, { open, into }, warn);
    const file = fileOf(options);
    const place = file === undefined ? '' : ` ${file} is complete.`;
    say(`${beginning}: all ${countOf(brought.length)} had arrived.${place} Nothing was bought.`);
    return undefined;
  }
  const order: SearchOrder = { ...toOrder(context, options, connection, 'search', request), open };
  const cost = toWorstCase('search', request, connection.settings);
  const price =
    cost.credits === null || connection.origin === 'local' ? '' : `, for at most ${creditsOf(cost.credits)}`;
  return await buyRest(
    buyer,
    rest,
    journal,
    { ...order, idempotencyKey: isUsed(rest, order) ? undefined : order.idempotencyKey, into },
    {
      ...createSearchListener(context, options, request, connection.settings, rest),
      goingOn: () =>
        say(
          brought.length === 0
            ? `${beginning}: no leads had arrived, but the first search may have been charged; check \`leadpipe balance\`. Buying up to ${countOf(request.limit ?? 0)}${price}.`
            : `${beginning}: ${countOf(brought.length)} stored. Buying up to ${request.limit} more${price}. You are not charged again for what arrived.`,
        ),
    },
  );
}

/** The rest is another request, which a key that was used already would not buy. */
function isUsed({ chain }: RestOfSearch, { idempotencyKey }: SearchOrder): boolean {
  return chain.some(({ intent }) => intent.idempotency_key === idempotencyKey);
}

/** Whether the rows go where those of the earlier search went: also where that file is named again. */
async function isIntoSame({ output: begun }: Intent, { output }: SearchOptions): Promise<boolean> {
  if (begun === null) return false;
  if (output === undefined) return true;
  return output !== '-' && (await isSameFile(output, begun));
}

/** Throws UsageError for another output than the one that was begun. */
function checkBegun(intent: Intent, given: SearchOptions): void {
  const begun = fromTerms(intent);
  const names = ['format', 'columns', 'csvRaw', 'append'] as const;
  if (names.every((name) => given[name] === undefined || String(given[name]) === String(begun[name]))) return;
  throw new UsageError(
    `${intent.output} was written with other options`,
    'Leave out -f, --columns, --csv-raw and --append, or name another file with -o.',
  );
}
