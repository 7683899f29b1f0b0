import type { Context } from '../../context.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import type { FolderLock } from '../../files/folder-lock.ts';
import { isSameFile } from '../../files/target.ts';
import { type Buyer, checkSameBuyer } from '../../operations/buyer.ts';
import type { Intent } from '../../operations/journal/entries.ts';
import { withOperation } from '../../operations/journal/journal.ts';
import { readKnown } from '../../operations/journal/stored.ts';
import { isPartOf } from '../../operations/output-owner.ts';
import { idsOf, type RestOfSearch, readRest } from '../../operations/rest-of-search.ts';
import type { BoughtSearch } from '../../operations/search/buy.ts';
import { buyRest, finishSearch, type LeftSearch } from '../../operations/search/continue.ts';
import { toWorstCase } from '../../operations/spending.ts';
import { countOf } from '../../operations/wording.ts';
import { withConnection } from '../connect.ts';
import { checkNotDropped } from '../messages/earlier-runs.ts';
import { createNotes } from '../messages/status-line.ts';
import { fileOf, type RecordOptions } from '../options/options.ts';
import { fromTerms, printedAs, toBuyer, toOrder } from '../records/orders.ts';
import { openOutput, withHeldOutput } from '../records/record-output.ts';
import { runOperation } from '../records/run-operation.ts';
import { runSearch, type SearchOptions } from './run-search.ts';

/**
 * Continues a search that was cut by buying another one: only for the rest, and into the same file, completed with what arrived and is not
 * there yet.
 */
export async function continueSearch(
  context: Context,
  operationId: string,
  given: SearchOptions,
): Promise<void> {
  const known = await readKnown(context, operationId);
  checkNotDropped(known);
  const [intent] = known.entries;
  const begun = await readBegun(intent, given);
  const options = { ...given, ...begun };
  await withHeldOutput(context, options, async (lock) => {
    await withOperation(context, operationId, async (journal, operation) => {
      const rest = await readRest(context, operation);
      await withConnection(context, options, async (connection) => {
        const buyer = toBuyer(context, options, connection);
        checkSameBuyer(buyer, operation);
        const facts = { is: 'continue_elsewhere', operationId } as const;
        const isOurs = begun !== undefined && (await isPartOf(context, operation, idsOf(rest), { facts }));
        const into = begun === undefined ? 'other' : 'same';
        const beginning = `Resuming ${operationId}`;
        await goOn(context, options, buyer, { rest, journal, into, isOurs, lock, beginning });
      });
    });
  });
}

/**
 * The output that an earlier search began, if the rows go there again, also if that file is named again. Throws UsageError where it shall
 * be written in another form.
 */
async function readBegun(intent: Intent, given: SearchOptions): Promise<RecordOptions | undefined> {
  const { output } = given;
  if (intent.output === null || output === '-') return undefined;
  if (output !== undefined && !(await isSameFile(output, intent.output))) return undefined;
  const begun = fromTerms(intent);
  const names = ['format', 'columns', 'csvRaw', 'append'] as const;
  if (names.every((name) => given[name] === undefined || String(given[name]) === String(begun[name])))
    return begun;
  throw new UsageError(
    `${intent.output} was written with other options`,
    'Leave out -f, --columns, --csv-raw and --append, or name another file with -o.',
  );
}

/**
 * Buys the rest or, where nothing is left, completes the output. `isOurs`: the .part belongs to this search. Returns what the rest brought.
 * Throws as `buyRest`.
 */
export async function goOn(
  context: Context,
  options: SearchOptions,
  buyer: Buyer,
  { beginning, isOurs, lock, ...left }: Resuming,
): Promise<BoughtSearch | undefined> {
  const { settings } = buyer.connection;
  const { rest } = left;
  const { brought, intent, request } = rest;
  const printed = {
    ...printedAs('search', request ?? JSON.parse(intent.body ?? '{}')),
    settings,
    // If everything is stored, the whole .part is written again.
    opening: isOurs && rest.isKept ? ({ at: 0 } as const) : ('new' as const),
    lock,
  };
  const open = () => openOutput(context, options, printed);
  if (request === undefined) {
    await runOperation(context, options, finishSearch(buyer, { ...left, open }));
    const file = fileOf(options);
    const place = file === undefined ? '' : ` ${file} is complete.`;
    const all = `all ${countOf(brought.length)} had arrived.${place} Nothing was bought.`;
    createNotes(context, options).say(`${beginning}: ${all}`);
    return undefined;
  }
  const order = toOrder(context, options, buyer.connection, 'search', request);
  // The rest is another request, and a key that was used already would not buy it.
  const isUsed = rest.chain.some(({ intent }) => intent.idempotency_key === order.idempotencyKey);
  const idempotencyKey = isUsed ? undefined : order.idempotencyKey;
  const search = buyRest(buyer, { ...left, open }, { ...order, idempotencyKey });
  const saying = `${beginning}: ${toBeginning(rest, request, buyer)}`;
  return await runSearch(context, options, request, buyer, search, { ...rest, beginning: saying });
}

interface Resuming extends Omit<LeftSearch, 'open'> {
  readonly isOurs: boolean;
  readonly lock: FolderLock | undefined;
  readonly beginning: string;
}

/** Pure: what is stored, what is bought now, and what that can cost. */
function toBeginning(
  { brought, chain }: RestOfSearch,
  request: EntitySearchRequest,
  { connection: { origin, settings } }: Buyer,
): string {
  const { limit = 0 } = request;
  const { credits } = toWorstCase('search', request, settings);
  const isFree = origin === 'local';
  const price = credits === null || isFree ? '' : `, for at most ${countOf(credits, 'credit')}`;
  if (brought.length === 0) {
    const doubt = isFree ? '' : ', but the first search may have been charged; check `leadpipe balance`';
    return `no leads had arrived${doubt}. Buying up to ${countOf(limit)}${price}.`;
  }
  // Whether the last search before this one brought nothing, because its answer was lost.
  const isLost = !isFree && chain.length > 1 && chain.at(-1)?.sent === 0;
  const lost = isLost
    ? ' The answer of the last attempt was lost, and it may have been charged; check `leadpipe balance`.'
    : '';
  const free = isFree ? '' : ' You are not charged again for what arrived.';
  return `${countOf(brought.length)} stored.${lost} Buying up to ${limit} more${price}.${free}`;
}
