import { type Argument, type Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { type EntitySearchRequest, streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import type { FolderLock } from '../../files/folder-lock.ts';
import { isSameFile } from '../../files/target.ts';
import { type Buyer, checkSameBuyer } from '../../operations/buyer.ts';
import type { OperationEvent, Running } from '../../operations/events.ts';
import type { Intent } from '../../operations/journal/entries.ts';
import { withOperation } from '../../operations/journal/journal.ts';
import { readKnown } from '../../operations/journal/stored.ts';
import { completeAdditionTo, isPartOf } from '../../operations/output-owner.ts';
import type { RestOfSearch } from '../../operations/rest-of-search.ts';
import { type BoughtSearch, buySearch } from '../../operations/search/buy.ts';
import type { LeftSearch } from '../../operations/search/continue.ts';
import { toCostAtMost, toWorstCase } from '../../operations/spending.ts';
import { countOf } from '../../operations/wording.ts';
import { checkStreamEntityType, toEntitySearchRequest } from '../../requests/entity-search.ts';
import { defineCommand } from '../command.ts';
import { withConnection } from '../connect.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { close, toNothingFound, toNothingNew, toSaving } from '../messages/closing-line.ts';
import { toMissing } from '../messages/corrected.ts';
import { checkNotDropped, timeOf } from '../messages/earlier-runs.ts';
import { createNotes } from '../messages/status-line.ts';
import {
  createEntityArguments,
  createEntityOptions,
  type EntitySearchOptions,
  type ListOptions,
  leadColumns,
  leadShape,
  listOptions,
  readEntitySearchInput,
  toListTerms,
} from '../options/entity-search.ts';
import { fileOf, inputNames, option, type RecordOptions, toId } from '../options/options.ts';
import {
  fromTerms,
  type Purchase,
  type PurchaseOptions,
  printedAs,
  toBuyer,
  toOrder,
  withPurchase,
} from '../records/orders.ts';
import { openOutput, withHeldOutput } from '../records/record-output.ts';
import { runOperation } from '../records/run-operation.ts';

interface SearchOptions extends PurchaseOptions, EntitySearchOptions, ListOptions {
  readonly exitStatus?: true;
  readonly continue?: string;
}

export const createCommand = defineCommand({
  name: 'search',
  description: 'Finds leads that fit your objective, and prints them as they are found.',
  arguments: createEntityArguments(streamEntityTypes, 'optional'),
  options: createEntityOptions([
    option('--continue <operation-id>', 'buy only the rest of an earlier search that was interrupted', toId),
    new Option('--exit-status', 'exit with code 7 when nothing was found'),
    ...listOptions,
  ]),
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --limit 20 --local',
    'leadpipe search company "dental clinics" --only-new --local -o clinics.csv',
  ],
  output: ['one lead on each line (jsonl), as the service sent it:', ...leadShape, ...leadColumns],
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
  async run(
    context,
    entityType: string | undefined,
    objective: string | undefined,
    options: SearchOptions,
    command: Command,
  ) {
    if (options.continue !== undefined) {
      const { limit, enrichFields, dedupServiceLeads, dedupCustomLeads, list, onlyNew } = options;
      const more = [entityType, limit, enrichFields, dedupServiceLeads, dedupCustomLeads, list, onlyNew];
      if (more.every((one) => one === undefined))
        return await continueSearch(context, options.continue, options);
      throw new UsageError(
        '--continue resumes the earlier search: leave out the arguments and the options of "What to find"',
      );
    }
    // Before standard input is read for an objective that could not be used.
    if (entityType !== undefined) checkStreamEntityType(entityType);
    if (entityType === undefined || objective === undefined) {
      const [type, text] = command.registeredArguments as [Argument, Argument];
      throw toMissing(command, entityType === undefined ? type : text);
    }
    const input = await readEntitySearchInput(context, objective, options);
    const request = toEntitySearchRequest({ entity_type: entityType, ...input }, inputNames);
    const terms = { list: toListTerms(options) };
    const buying = async ({ buyer, order, open, earlier, lock }: Purchase<'search'>) => {
      if (earlier.is !== 'rest') {
        return await runSearch(context, options, request, buyer, buySearch(buyer, order, open));
      }
      // It was left in the same file: its rest alone is bought, whatever has become of the file.
      const { isOurs, operation, rest } = earlier;
      const since = timeOf(context, operation);
      const beginning = `Resuming ${operation.operationId} (the same search, unfinished since ${since})`;
      return await withOperation(context, operation.operationId, (journal) =>
        goOn(context, options, buyer, { rest, journal, into: 'same', isOurs, lock, beginning }),
      );
    };
    const end = await withPurchase(context, options, 'search', request, buying, terms);
    if (end !== undefined && end.leads === end.excluded && options.exitStatus)
      throw toNothingFound(end, options);
  },
});

/**
 * Runs a search and says what it came to; the error of one that was cut says it. `before` is what the searches have brought whose
 * rest this one buys, and what is said when it begins. Throws as `buySearch`.
 */
async function runSearch(
  context: Context,
  options: SearchOptions,
  request: EntitySearchRequest,
  { connection }: Buyer,
  search: Running<BoughtSearch | undefined>,
  before?: RestOfSearch & { readonly beginning: string },
): Promise<BoughtSearch | undefined> {
  const { limit = limits.entityLimit.default } = request;
  const on = (event: OperationEvent): void => {
    if (event.is === 'begun' && before) createNotes(context, options).say(before.beginning);
  };
  const end = await runOperation(context, options, search, { most: limit, on });
  if (end === undefined) return undefined;
  const { excluded, list, operationId, stopReason } = end;
  const leads = end.leads - excluded;
  const { credits } = toWorstCase('search', request, connection.settings);
  const ended = { charged: null, complete: true, leads: end.leads };
  // Of the searches before, those whose leads can be shown again.
  const shown = before?.isKept ? before.chain.filter(({ sent }) => sent > 0) : [];
  const kept = operationId === undefined ? [] : [...shown.map((one) => one.operationId), operationId];
  const again = kept.map((id) => `leadpipe history show ${id}`);
  close(context, options, {
    leads,
    before: before && { arrived: before.arrived, delivered: before.brought.length },
    excluded,
    stopReason,
    limit: limit + (before?.arrived ?? 0),
    costAtMost: toCostAtMost('search', request, credits, ended),
    ids: end,
    why: list && toNothingNew(leads, list),
    next: toSaving(context, options, leads, again),
  });
  return end;
}

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
  const begun = await readBegun(intent, given);
  const options = { ...given, ...begun };
  const { idsOf, readRest } = await import('../../operations/rest-of-search.ts');
  await withHeldOutput(context, options, async (lock) => {
    if (begun?.output !== undefined) await completeAdditionTo(context, begun.output);
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
 * The output that an earlier search began, where the rows go there again: also where that file is named again. Throws UsageError
 * where it is to be written in another form.
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

/** Buys the rest, or, where there is none, completes the output; `isOurs`: what stands in the .part is of this search. Returns what the rest came to. Throws as `buyRest`. */
async function goOn(
  context: Context,
  options: SearchOptions,
  buyer: Buyer,
  { beginning, isOurs, lock, ...left }: Resuming,
): Promise<BoughtSearch | undefined> {
  const { buyRest, finishSearch } = await import('../../operations/search/continue.ts');
  const { settings } = buyer.connection;
  const { rest } = left;
  const { brought, intent, request } = rest;
  const printed = {
    ...printedAs('search', request ?? JSON.parse(intent.body ?? '{}')),
    settings,
    // All of it is written again from what is stored, where that is all of it.
    opening: isOurs && rest.isKept ? ({ anew: true } as const) : ('new' as const),
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
  // The rest is another request, which a key that was used already would not buy.
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
  // What the last one before has brought: nothing, where its answer was lost.
  const isLost = !isFree && chain.length > 1 && chain.at(-1)?.sent === 0;
  const lost = isLost
    ? ' The answer of the last attempt was lost, and it may have been charged; check `leadpipe balance`.'
    : '';
  const free = isFree ? '' : ' You are not charged again for what arrived.';
  return `${countOf(brought.length)} stored.${lost} Buying up to ${limit} more${price}.${free}`;
}
