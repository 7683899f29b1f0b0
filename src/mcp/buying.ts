import { endpoints } from '../contract/endpoints.ts';
import { LeadpipeError, UsageError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { buyAnswer } from '../operations/answer.ts';
import type { Buyer } from '../operations/buyer.ts';
import type { Delivery } from '../operations/delivery.ts';
import { isGone } from '../operations/journal/failed.ts';
import { withOperation } from '../operations/journal/journal.ts';
import { countStoredLeads } from '../operations/journal/leads.ts';
import { folderOf, type StoredOperation } from '../operations/journal/stored.ts';
import { type AnswerKind, type BodyOf, kinds } from '../operations/kinds.ts';
import { toListed, withFilter } from '../operations/only-new/filter.ts';
import type { Order } from '../operations/purchase.ts';
import { readRest } from '../operations/rest-of-search.ts';
import { buySearch, type SearchListener } from '../operations/search/buy.ts';
import { buyRest } from '../operations/search/continue.ts';
import type { SearchEnd } from '../operations/search/cut.ts';
import { buyTask } from '../operations/task/buy.ts';
import { type Buying, begunByTool, type Settled, type ToolKind, type Wanted } from './plan.ts';

/** A purchase that is about to be made. */
export interface Purchase {
  readonly buyer: Buyer;
  readonly wanted: Wanted;
  readonly plan: Buying;
  readonly listener: SearchListener;
  /** Told when it is on the disk. */
  readonly begun: () => void;
}

/** Buys through the door of its kind, as the plan says. Throws as the doors do, where nothing came. */
export async function buy(purchase: Purchase): Promise<Omit<Settled, 'warnings'>> {
  const { kind } = purchase.wanted;
  try {
    if (kind === 'search') return await search(purchase);
    return kind === 'task create' ? await task(purchase) : await answer(purchase);
  } catch (error) {
    const { repetition } = endpoints[kinds[kind].endpoint];
    const isAnswerLost = isGone(error, repetition) && (error as LeadpipeError).details.charged === 'maybe';
    throw isAnswerLost ? (error as LeadpipeError).with({ facts: { is: 'key_used' } }) : error;
  }
}

/** Its leads stay at the service, and count for their list by its ID. */
async function task(purchase: Purchase): Promise<Omit<Settled, 'warnings'>> {
  const { buyer, plan, listener } = purchase;
  const given = toOrder<'task create'>(purchase);
  const asked = plan.is === 'repeat' ? { ...given, ...asSent(plan.last) } : given;
  const { order, list } = await toListed(buyer, asked, listener.warn);
  const bought = await buyTask(buyer, order, () => {});
  if (bought !== undefined) {
    await withFilter(buyer, list, bought, async (filter) => {
      filter.check([]).count(bought.leadsSearchId);
      await filter.sync();
    }).catch((error: Error) => listener.warn(`${error.message}: only_new may bring its leads again`));
  }
  return { operationId: undefined, complete: true, stored: false, charged: 'maybe', ...bought };
}

/** To the byte what was sent, without what its list has got since. */
function asSent({ entries: [{ body = '{}', list }] }: StoredOperation) {
  return { body: JSON.parse(body), list: { name: list } };
}

async function answer(purchase: Purchase): Promise<Omit<Settled, 'warnings'>> {
  const { buyer, listener } = purchase;
  const bought = await buyAnswer(buyer, toOrder<AnswerKind>(purchase), listener);
  const { operationId, ...ids } = { operationId: undefined, ...bought?.ids };
  return {
    operationId,
    complete: true,
    stored: false,
    charged: 'yes',
    answer: bought?.text ?? 'null',
    ...ids,
  };
}

/** Leads are read from where they are kept; those of a search that brought some and was cut are a result, and no error. */
async function search(purchase: Purchase): Promise<Omit<Settled, 'warnings'>> {
  const { buyer, plan, listener } = purchase;
  const delivered: JsonText[] = [];
  let end: SearchEnd | undefined;
  const ended = (one: SearchEnd): void => {
    end = one;
  };
  let error: LeadpipeError | undefined;
  try {
    await searchBy({ ...purchase, listener: { ...listener, ended } }, delivered);
  } catch (thrown) {
    if (!(thrown instanceof LeadpipeError) || thrown.details.operationId === undefined) throw thrown;
    // A rest that could not be had takes nothing away from what came before.
    if (thrown.details.charged !== 'yes' && plan.is !== 'rest') throw thrown;
    error = thrown;
  }
  const own = end?.operationId ?? error?.details.operationId;
  const { leads = 0, excluded = 0, leadsSearchId, stopReason, idempotencyKey } = end ?? {};
  return {
    operationId: plan.is === 'new' ? own : plan.first.operationId,
    complete: error === undefined,
    stored: false,
    charged: error?.details.charged ?? (leads > 0 ? 'yes' : 'no'),
    idempotencyKey: idempotencyKey ?? error?.details.idempotencyKey,
    requestId: end?.requestId ?? error?.details.requestId,
    leadsSearchId,
    stopReason,
    excluded,
    ...(error === undefined ? {} : { error, hasBrought: leads > 0 }),
    ...((await countKept(buyer, own)) < leads - excluded ? { unkept: delivered } : {}),
  };
}

async function countKept({ context }: Buyer, operationId: string | undefined): Promise<number> {
  if (operationId === undefined) return 0;
  const folder = folderOf(context.directories.state, operationId);
  return (await countStoredLeads(folder).catch(() => undefined))?.delivered ?? 0;
}

async function searchBy(purchase: Purchase, delivered: JsonText[]): Promise<SearchEnd | undefined> {
  const { buyer, plan, listener } = purchase;
  const order = toOrder<'search'>(purchase, delivered);
  if (plan.is === 'new') return await buySearch(buyer, order, listener);
  const [{ body, list }] = plan.last.entries;
  if (plan.is === 'repeat') {
    // To the byte what was sent, without what its list has got since.
    return await buySearch(
      buyer,
      { ...order, body: JSON.parse(body ?? '{}'), list: { name: list } },
      listener,
    );
  }
  return await withOperation(buyer.context, plan.last.operationId, async (journal, operation) => {
    const rest = await readRest(buyer.context, operation);
    // It was decided that something is missing: it has come meanwhile.
    if (rest.request === undefined) throw new UsageError('all leads that the search asked for have arrived');
    const watching = { ...listener, goingOn() {} };
    return await buyRest(buyer, rest, journal, { ...order, body: rest.request, into: 'other' }, watching);
  });
}

/** What is bought is kept, and read from there; in memory it stays for as long as the call goes on. */
export function toOrder<Kind extends ToolKind>(
  { wanted, plan, begun }: Pick<Purchase, 'wanted'> & Partial<Purchase>,
  delivered: JsonText[] = [],
): Order<Kind> {
  const delivery: Delivery = {
    file: undefined,
    length: undefined,
    async write(records) {
      for (const record of records) delivered.push(record);
    },
    sync: async () => undefined,
    finish: async (placing) => await placing?.written?.(undefined),
    cut: async () => undefined,
  };
  return {
    kind: wanted.kind as Kind,
    body: wanted.body as BodyOf<Kind>,
    again: plan?.is === 'repeat' ? plan.last : undefined,
    begun,
    list: { onlyNew: wanted.onlyNew },
    keep: true,
    terms: { output: null, options: begunByTool },
    open: (work) => work(delivery),
  };
}
