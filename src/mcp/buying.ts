import { join } from 'node:path';
import { pause } from '../clock.ts';
import { endpoints } from '../contract/endpoints.ts';
import { digestOf } from '../digest.ts';
import { type Charged, LeadpipeError, UsageError } from '../errors.ts';
import { lockAt } from '../files/folder-lock.ts';
import { makePrivateFolder } from '../files/private-folder.ts';
import type { JsonText } from '../json/text.ts';
import { buyAnswer } from '../operations/answer.ts';
import type { Buyer } from '../operations/buyer.ts';
import type { OpenDelivery } from '../operations/delivery.ts';
import type { Earlier } from '../operations/earlier.ts';
import type { Arrived, OperationEvent, Running } from '../operations/events.ts';
import { anew, findEarlier, toWanted } from '../operations/find-earlier.ts';
import { readAnswer } from '../operations/journal/answers.ts';
import { isGone } from '../operations/journal/failed.ts';
import { folderOf } from '../operations/journal/folders.ts';
import { withOperation } from '../operations/journal/journal.ts';
import { countStoredLeads } from '../operations/journal/leads.ts';
import { type AnswerKind, type BodyOf, failureOf, isKept, kinds } from '../operations/kinds.ts';
import { openFilter, toListed } from '../operations/only-new/filter.ts';
import type { Order } from '../operations/purchase.ts';
import { readRest } from '../operations/rest-of-search.ts';
import { buySearch } from '../operations/search/buy.ts';
import { buyRest } from '../operations/search/continue.ts';
import { toWorstCase, type WorstCase } from '../operations/spending.ts';
import { buyTask } from '../operations/task/buy.ts';
import { createProgress, type Tell } from './progress.ts';

export type ToolKind = 'search' | 'task create' | AnswerKind;

/** A request that has been checked, and may cost. */
export interface Wanted<Kind extends ToolKind = ToolKind> {
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
  /** Whether leads that earlier searches on this machine brought are excluded. */
  readonly onlyNew: boolean;
}

/** The result of a purchase, made now or before. What the journal says of it is read from there. */
export interface Bought {
  /** The last of the operations that hold the records. */
  readonly operationId: string | undefined;
  readonly charged: Charged;
  /** Whether it was made before. */
  readonly stored?: true;
  readonly warnings?: readonly string[];
  /** The one answer, as the service sent it. */
  readonly answer?: JsonText | undefined;
  /** Leads that arrived and could not be stored: the call must return them. */
  readonly unkept?: readonly JsonText[] | undefined;
  /** Why this is not all of it. */
  readonly error?: LeadpipeError | undefined;
}

/** The cost of a purchase that has not been made. `isCounted`: the session's limit has counted it already. */
export interface Unbought {
  readonly worst: WorstCase;
  readonly isCounted: boolean;
}

/** How a purchase is settled: whether it is bought again in any case, and whether it may be bought at all. */
export interface Terms {
  readonly again: boolean;
  readonly mayBuy: boolean;
  readonly tell: Tell;
}

const lookAgainMs = 500;

/**
 * Returns what is stored, continues what was left, or buys. Where it may not buy, returns the possible cost. If several processes are asked
 * for the same at the same time, only one buys: the others look again when its purchase is recorded.
 */
export async function settle(buyer: Buyer, wanted: Wanted, terms: Terms): Promise<Bought | Unbought> {
  if (terms.again) return await settleAs(buyer, wanted, terms, anew);
  const { clock, directories, pid, random, signal } = buyer.context;
  const name = digestOf(`${buyer.connection.origin}\n${JSON.stringify(wanted)}`, 32);
  const folder = join(directories.state, 'beginning');
  await makePrivateFolder(folder);
  for (;;) {
    const lock = await lockAt(join(folder, name), pid, name).catch((error) => {
      if ((error as LeadpipeError).outcome !== 'temporary') throw error;
    });
    if (lock === undefined) {
      await pause(clock, 5 + 20 * random(), signal);
      continue;
    }
    try {
      const earlier = await findEarlier(buyer, toWanted(buyer, toOrder(wanted)));
      if (earlier.is !== 'running') return await settleAs(buyer, wanted, terms, earlier, lock.release);
    } finally {
      lock.release();
    }
    terms.tell('the same purchase is under way elsewhere');
    await pause(clock, lookAgainMs, signal);
  }
}

/** `begun` is called when the purchase has been recorded. */
async function settleAs(
  buyer: Buyer,
  wanted: Wanted,
  { mayBuy, tell }: Terms,
  earlier: Exclude<Earlier, { is: 'running' }>,
  begun = (): void => {},
): Promise<Bought | Unbought> {
  if (earlier.is === 'stored') return await toStored(buyer, earlier);
  if (earlier.is === 'lost') throw toLost(earlier);
  const { kind, body } = wanted;
  const rest = earlier.is === 'rest' ? earlier.rest : undefined;
  if (!mayBuy) {
    const worst = toWorstCase(kind, rest?.request ?? body, buyer.connection.settings);
    const key = earlier.is === 'repeat' ? earlier.operation.entries[0].idempotency_key : undefined;
    return { worst, isCounted: buyer.spending?.inDoubt.has(key ?? '') === true };
  }
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  const { follow, waits } = createProgress(buyer.context.clock, tell, rest?.arrived);
  const watch: Watch = (operation, show) =>
    follow(kind === 'search' ? 'searching' : 'at work', operation, (event) => {
      if (event.is === 'begun') begun();
      if (event.is === 'warning') warn(event.line);
      show?.(event);
    });
  const own = { ...buyer, waits };
  try {
    const bought = await (kind === 'search'
      ? search(own, toOrder(wanted, earlier), earlier, watch)
      : kind === 'task create'
        ? task(own, toOrder(wanted, earlier), watch, warn)
        : answer(own, toOrder(wanted, earlier), watch));
    return { ...bought, warnings };
  } catch (error) {
    const { repetition } = endpoints[kinds[kind].endpoint];
    const isAnswerLost = isGone(error, repetition) && (error as LeadpipeError).details.charged === 'maybe';
    throw isAnswerLost ? (error as LeadpipeError).with({ facts: { is: 'key_used' } }) : error;
  }
}

type Watch = <T>(operation: Running<T>, show?: (event: OperationEvent) => void) => Promise<T>;

/** The leads of a task stay at the service, and count for their list by the task's ID. */
async function task(buyer: Buyer, ordered: Order<'task create'>, watch: Watch, warn: (line: string) => void) {
  const { order, list } = await toListed(buyer, ordered, warn);
  const bought = await watch(buyTask(buyer, order, openInto([])));
  if (bought !== undefined) {
    try {
      const filter = await openFilter(buyer, list, bought);
      filter.check([]).count(bought.leadsSearchId);
      await filter.sync().finally(filter.close);
    } catch (error) {
      warn(`${(error as Error).message}: only_new may bring its leads again`);
    }
  }
  return { operationId: bought?.operationId, charged: 'maybe' } as const;
}

async function answer(buyer: Buyer, order: Order<AnswerKind>, watch: Watch) {
  const { text = 'null', ids } = (await watch(buyAnswer(buyer, order, openInto([])))) ?? {};
  return { operationId: ids?.operationId, charged: 'yes', answer: text } as const;
}

/** The leads are read from where they are stored. If a search brought some and was then cut, that is a result, and no error. */
async function search(buyer: Buyer, order: Order<'search'>, earlier: Earlier, watch: Watch): Promise<Bought> {
  const { context } = buyer;
  const delivered: JsonText[] = [];
  const open = openInto(delivered);
  let end: Arrived | undefined;
  let error: LeadpipeError | undefined;
  const run = (operation: Running<unknown>): Promise<unknown> =>
    watch(operation, (event) => {
      if (event.is === 'ended') end = event.arrived;
    });
  const isRest = earlier.is === 'rest';
  try {
    if (!isRest) await run(buySearch(buyer, order, open));
    else {
      await withOperation(context, earlier.operation.operationId, async (journal, operation) => {
        const rest = await readRest(context, operation);
        // Something was missing before, and has arrived meanwhile.
        if (rest.request === undefined)
          throw new UsageError('all leads that the search asked for have arrived');
        const missing = { ...order, body: rest.request };
        await run(buyRest(buyer, { rest, journal, into: 'other', open }, missing));
      });
    }
  } catch (thrown) {
    const isBegun = thrown instanceof LeadpipeError && thrown.details.operationId !== undefined;
    // If the rest fails, what arrived before stays valid.
    if (!isBegun || (thrown.details.charged !== 'yes' && !isRest)) throw thrown;
    error = thrown;
  }
  const { leads = 0, excluded = 0, operationId = error?.details.operationId } = end ?? {};
  const folder = folderOf(context.directories.state, operationId ?? '');
  const kept = await countStoredLeads(folder).catch(() => undefined);
  return {
    operationId,
    charged: error?.details.charged ?? (leads > 0 ? 'yes' : 'no'),
    unkept: (kept?.delivered ?? 0) < leads - excluded ? delivered : undefined,
    error,
  };
}

/** What is bought is stored, and read from there. If it can't be stored, it stays in memory during the call. */
function openInto(delivered: JsonText[]): OpenDelivery {
  return async () => ({
    file: undefined,
    length: undefined,
    async write(records) {
      for (const record of records) delivered.push(record);
    },
    sync: async () => undefined,
    finish: async () => {},
    cut: async () => undefined,
  });
}

function toOrder<Kind extends ToolKind>({ kind, body, onlyNew }: Wanted, earlier?: Earlier): Order<Kind> {
  const again = earlier?.is === 'repeat' ? earlier.operation : undefined;
  const sent = again?.entries[0];
  return {
    kind: kind as Kind,
    // Exactly what was sent, without what its list has got since.
    body: sent === undefined ? (body as BodyOf<Kind>) : JSON.parse(sent.body ?? '{}'),
    list: sent === undefined ? { onlyNew } : { name: sent.list },
    again,
    keep: true,
    // Marks an operation of a tool. Others are only resumed by the commands that began them.
    terms: { output: null, options: { tool: true } },
  };
}

/** What was bought before, again and for free. Throws `no_result` where the service had finished without a result. */
async function toStored(
  { context }: Buyer,
  { operation }: Extract<Earlier, { is: 'stored' }>,
): Promise<Bought> {
  const { entries, last, operationId } = operation;
  const [{ command }] = entries;
  const answer = await readAnswer(folderOf(context.directories.state, operationId));
  const failure = answer && isKept(command) && command !== 'search' ? failureOf(command, answer) : undefined;
  if (failure !== undefined) {
    throw new LeadpipeError('no_result', failure || 'finished without a result', {
      charged: 'no',
      hint: 'This is the stored answer of an earlier call, and cost nothing now. If the person wants to buy it again anyway, repeat the call with again: true.',
      operationId,
      requestId: last.answered?.request_id ?? undefined,
    });
  }
  return { operationId, charged: 'no', stored: true, answer };
}

/** The error with which the operation ended, again. */
function toLost({ failed, operation }: Extract<Earlier, { is: 'lost' }>): LeadpipeError {
  const { outcome, message, error_type, request_id, charged } = failed;
  const { idempotency_key: idempotencyKey = '' } = operation.entries[0];
  return new LeadpipeError(outcome, message, {
    charged: charged ?? 'maybe',
    retryable: false,
    operationId: operation.operationId,
    idempotencyKey,
    type: error_type,
    requestId: request_id ?? undefined,
    facts: { is: 'key_used' },
  });
}
