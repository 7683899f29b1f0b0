import { endpoints } from '../contract/endpoints.ts';
import { LeadpipeError, UsageError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { buyAnswer } from '../operations/answer.ts';
import type { Delivery } from '../operations/delivery.ts';
import { isGone } from '../operations/journal/failed.ts';
import { folderOf } from '../operations/journal/journal.ts';
import { countStoredLeads } from '../operations/journal/leads.ts';
import { withOperation } from '../operations/journal/with-journal.ts';
import { type AnswerKind, type BodyOf, kinds } from '../operations/kinds.ts';
import type { Order, Shop } from '../operations/purchase.ts';
import { buySearch, type SearchListener } from '../operations/search/buy.ts';
import { buyRest } from '../operations/search/continue.ts';
import type { SearchEnd } from '../operations/search/cut.ts';
import { readRest } from '../operations/search/rest.ts';
import { buyTask } from '../operations/task/create.ts';
import { begunByTool } from './earlier.ts';
import type { Plan, Settled } from './resumption.ts';

/** What the tools buy. */
export type ToolKind = 'search' | 'task create' | AnswerKind;

/** A request that is checked, and may cost. */
export interface Wanted<Kind extends ToolKind = ToolKind> {
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
}

/** What is left to do, where something is. */
export type Buying = Exclude<Plan, { readonly is: 'stored' | 'lost' }>;

/** Buys through the door of its kind, as the plan says; `begun` is told when it is on the disk. Throws as the doors do, where nothing came. */
export async function buy(
  shop: Shop,
  wanted: Wanted,
  plan: Buying,
  listener: SearchListener,
  warnings: readonly string[],
  begun: () => void,
): Promise<Settled> {
  try {
    return await buyAs(shop, wanted, plan, listener, warnings, begun);
  } catch (error) {
    const { repetition } = endpoints[kinds[wanted.kind].endpoint];
    const isAnswerLost = isGone(error, repetition) && (error as LeadpipeError).details.charged === 'maybe';
    throw isAnswerLost ? (error as LeadpipeError).with({ facts: { is: 'key_used' } }) : error;
  }
}

async function buyAs(
  shop: Shop,
  wanted: Wanted,
  plan: Buying,
  listener: SearchListener,
  warnings: readonly string[],
  begun: () => void,
): Promise<Settled> {
  if (isSearch(wanted)) return await search(shop, wanted, plan, listener, warnings, begun);
  const order = toOrder(wanted, plan, [], begun);
  if (isTask(order)) {
    const task = await buyTask(shop, order, () => {});
    return { ...common(task?.operationId, warnings), charged: 'maybe', ...task };
  }
  const bought = await buyAnswer(shop, order as Order<AnswerKind>, listener);
  const { operationId, requestId } = bought?.ids ?? {};
  return { ...common(operationId, warnings), charged: 'yes', requestId, answer: bought?.text ?? 'null' };
}

/** Leads are read from where they are kept; those of a search that brought some and was cut are a result, and no error. */
async function search(
  shop: Shop,
  wanted: Wanted<'search'>,
  plan: Buying,
  listener: SearchListener,
  warnings: readonly string[],
  begun: () => void,
): Promise<Settled> {
  const delivered: JsonText[] = [];
  let end: SearchEnd | undefined;
  const ended = (one: SearchEnd): void => {
    end = one;
  };
  let error: LeadpipeError | undefined;
  try {
    await searchBy(shop, wanted, plan, { ...listener, ended }, delivered, begun);
  } catch (thrown) {
    if (!(thrown instanceof LeadpipeError) || thrown.details.operationId === undefined) throw thrown;
    // A rest that could not be had takes nothing away from what came before.
    if (thrown.details.charged !== 'yes' && plan.is !== 'rest') throw thrown;
    error = thrown;
  }
  const own = end?.operationId ?? error?.details.operationId;
  const { leads = 0, excluded = 0, leadsSearchId, stopReason } = end ?? {};
  const kept = await countKept(shop.context.directories.state, own);
  return {
    ...common(plan.is === 'new' ? own : plan.first.operationId, warnings),
    complete: error === undefined,
    charged: error?.details.charged ?? (leads > 0 ? 'yes' : 'no'),
    requestId: end?.requestId ?? error?.details.requestId,
    leadsSearchId,
    stopReason,
    ...(error === undefined ? {} : { error, hasBrought: leads > 0 }),
    ...(kept < leads - excluded ? { unkept: delivered } : {}),
  };
}

async function countKept(stateDir: string, operationId: string | undefined): Promise<number> {
  if (operationId === undefined) return 0;
  return (await countStoredLeads(folderOf(stateDir, operationId)).catch(() => undefined))?.delivered ?? 0;
}

async function searchBy(
  shop: Shop,
  wanted: Wanted<'search'>,
  plan: Buying,
  listener: SearchListener,
  delivered: JsonText[],
  begun: () => void,
): Promise<SearchEnd | undefined> {
  const { context } = shop;
  if (plan.is === 'new') return await buySearch(shop, toOrder(wanted, plan, delivered, begun), listener);
  if (plan.is === 'repeat') {
    const body = JSON.parse(plan.last.entries[0].body ?? '{}') as BodyOf<'search'>;
    const order = toOrder({ kind: 'search', body }, plan, delivered, begun);
    return await buySearch(shop, order, listener);
  }
  return await withOperation(context, plan.last.operationId, async (journal, operation) => {
    const rest = await readRest(context, operation);
    // It was decided that something is missing: it has come meanwhile.
    if (rest.request === undefined) throw new UsageError('all leads that the search asked for have arrived');
    const order = toOrder({ kind: 'search', body: rest.request }, plan, delivered, begun);
    const watching = { ...listener, goingOn() {} };
    return await buyRest(shop, rest, journal, { ...order, into: 'other' }, watching);
  });
}

function isSearch(wanted: Wanted): wanted is Wanted<'search'> {
  return wanted.kind === 'search';
}

function isTask(order: Order): order is Order<'task create'> {
  return order.kind === 'task create';
}

function toOrder<Kind extends ToolKind>(
  { kind, body }: Wanted<Kind>,
  plan: Buying,
  delivered: JsonText[],
  begun: () => void,
): Order<Kind> {
  return {
    kind,
    body,
    again: plan.is === 'repeat' ? plan.last : undefined,
    begun,
    keep: true,
    terms: { output: null, options: begunByTool },
    open: (work) => work(toDelivery(delivered)),
  };
}

/** What is bought is kept, and read from there; in memory it stays for as long as the call goes on. */
function toDelivery(delivered: JsonText[]): Delivery {
  return {
    file: undefined,
    length: undefined,
    async write(records) {
      for (const record of records) delivered.push(record);
    },
    sync: async () => undefined,
    finish: async (placing) => await placing?.written?.(undefined),
    cut: async () => undefined,
  };
}

function common(operationId: string | undefined, warnings: readonly string[]) {
  return { operationId, complete: true, stored: false, warnings } as const;
}
