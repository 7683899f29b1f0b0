import type { Connection } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import { withOutputLock } from '../../../files/output-lock.ts';
import { countOf, type OpenDelivery } from '../../../operations/delivery.ts';
import type { Intent, Journal } from '../../../operations/journal/journal.ts';
import { withOperation } from '../../../operations/journal/with-journal.ts';
import { checkSameBuyer, type Shop } from '../../../operations/purchase.ts';
import type { SearchOrder } from '../../../operations/search/buy.ts';
import {
  buyRest,
  checkSameOutput,
  finishSearch,
  type RestOfSearch,
  readRest,
  type Standing,
} from '../../../operations/search/continue.ts';
import type { SearchEnd } from '../../../operations/search/cut.ts';
import { creditsOf, toWorstCase } from '../../../operations/spending.ts';
import { withConnection } from '../../connect.ts';
import { createNotes } from '../../messages/notes.ts';
import { fromTerms, openOutput, toOrder, toShop } from '../../records/orders.ts';
import { completePending } from '../../records/pending-addition.ts';
import { printedAs } from '../../records/printed-as.ts';
import { fileOf } from '../../records/record-output.ts';
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
  const { state } = context.directories;
  await withOperation(context, operationId, async (earlierJournal, operation) => {
    const { options: terms, output: begun } = operation.entries[0];
    if (begun !== null && terms.append === true) {
      const held = { journal: earlierJournal, operation };
      await withOutputLock(context, begun, () => completePending(context, begun, held));
    }
    const rest = await readRest(state, operation);
    const intoSame = await isIntoSame(rest.intent, given);
    const options = intoSame ? { ...given, ...fromTerms(rest.intent) } : given;
    if (intoSame) checkBegun(rest.intent, given);
    await holding(context, options, async (lock) => {
      if (intoSame) await checkSameOutput(state, rest);
      await withConnection(context, options, async (connection) => {
        const shop = toShop(context, options, connection);
        checkSameBuyer(shop, operation);
        await goOn(context, options, shop, rest, earlierJournal, {
          standing: intoSame ? toStanding(rest) : 'elsewhere',
          beginning: `Resuming ${operationId}`,
          lock,
        });
      });
    });
  });
}

/** How a search is gone on with. */
export interface Going {
  readonly standing: Standing;
  /** The first words about it. */
  readonly beginning: string;
  /** Of its output. */
  readonly lock: FolderLock | undefined;
}

/** Buys the rest, or, where there is none, completes the output. Returns what the rest came to. Throws as `buyRest`. */
export async function goOn(
  context: Context,
  options: SearchOptions,
  shop: Shop,
  rest: RestOfSearch,
  journal: Journal,
  { standing, beginning, lock }: Going,
): Promise<SearchEnd | undefined> {
  const { say, warn } = createNotes(context, options);
  const { connection } = shop;
  const { brought, request } = rest;
  if (request === undefined) {
    const open = openRest(context, options, connection, rest, standing, lock);
    await finishSearch(shop, rest, journal, { open, standing }, warn);
    const file = fileOf(options);
    const place = file === undefined ? '' : ` ${file} is complete.`;
    say(`${beginning}: all ${countOf(brought.length)} had arrived.${place} Nothing was bought.`);
    return undefined;
  }
  const order: SearchOrder = {
    ...toOrder(context, options, connection, 'search', request),
    open: openRest(context, options, connection, rest, standing, lock),
  };
  const cost = toWorstCase('search', request, connection.settings);
  const price = cost.credits === null ? '' : `, for at most ${creditsOf(cost.credits)}`;
  return await buyRest(
    shop,
    rest,
    journal,
    { ...order, idempotencyKey: isUsed(rest, order) ? undefined : order.idempotencyKey, standing },
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

/** Runs `work` as the one run that writes the file of -o. Throws `temporary` where another one does. */
export async function holding<T>(
  context: Context,
  options: SearchOptions,
  work: (lock: FolderLock | undefined) => Promise<T>,
): Promise<T> {
  const file = options.dryRun ? undefined : fileOf(options);
  return file === undefined ? await work(undefined) : await withOutputLock(context, file, work);
}

/** Pure: a .part is written again from what is stored, where that is all of it. */
export function toStanding({ isKept }: RestOfSearch): Standing {
  return isKept ? 'part' : 'counted';
}

function openRest(
  context: Context,
  options: SearchOptions,
  { settings }: Connection,
  { intent, outputLength, request }: RestOfSearch,
  standing: Standing,
  lock: FolderLock | undefined,
): OpenDelivery {
  return openOutput(context, options, {
    ...printedAs('search', request ?? JSON.parse(intent.body ?? '{}')),
    settings,
    opening:
      standing === 'part' ? { anew: true } : standing === 'counted' ? { at: outputLength ?? 0 } : 'new',
    lock,
  });
}

/** The rest is another request, which a key that was used already would not buy. */
function isUsed({ chain }: RestOfSearch, { idempotencyKey }: SearchOrder): boolean {
  return chain.some(({ intent }) => intent.idempotency_key === idempotencyKey);
}

/** Whether the rows go where those of the earlier search went: also where that file is named again. */
async function isIntoSame({ output: begun }: Intent, { output }: SearchOptions): Promise<boolean> {
  if (begun === null) return false;
  if (output === undefined) return true;
  const { isSameFile } = await import('../../../files/target.ts');
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
