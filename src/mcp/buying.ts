import { endpoints } from '../contract/endpoints.ts';
import { type Charged, LeadpipeError, UsageError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { buyAnswer } from '../operations/answer.ts';
import type { Buyer } from '../operations/buyer.ts';
import type { Delivery } from '../operations/delivery.ts';
import type { Earlier } from '../operations/earlier.ts';
import { readAnswer } from '../operations/journal/answers.ts';
import { readChainTo } from '../operations/journal/chain.ts';
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

export type ToolKind = 'search' | 'task create' | AnswerKind;

/** A request that is checked, and may cost. */
export interface Wanted<Kind extends ToolKind = ToolKind> {
  /** The same for the same request. */
  readonly name: string;
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
  /** Whether what earlier searches of this machine brought is left out. */
  readonly onlyNew: boolean;
}

export interface Settled {
  /** The first of the operations that the records are kept under. */
  readonly operationId: string | undefined;
  readonly complete: boolean;
  readonly charged: Charged;
  /** What else is known of it, as clients read it. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** The one answer, as the service sent it. */
  readonly answer?: JsonText;
  /** Leads that came and could not be kept: they are here or nowhere. */
  readonly unkept?: readonly JsonText[];
  /** Why this is not all of it. */
  readonly error?: LeadpipeError;
  /** Where there is an error: whether this call has brought something all the same. */
  readonly hasBrought?: boolean;
}

export interface Purchase {
  readonly buyer: Buyer;
  readonly wanted: Wanted;
  /** What was left by an earlier call: a request whose answer was lost, or the rest of a search. */
  readonly earlier: Earlier;
  readonly listener: SearchListener;
  /** Called when it is on the disk. */
  readonly begun: () => void;
}

/** Buys through the door of its kind. Throws as the doors do, where nothing came. */
export async function buy(purchase: Purchase): Promise<Settled> {
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
async function task(purchase: Purchase): Promise<Settled> {
  const { buyer, listener } = purchase;
  const { order, list } = await toListed(buyer, toOrder<'task create'>(purchase), listener.warn);
  const bought = await buyTask(buyer, order, () => {});
  if (bought !== undefined) {
    await withFilter(buyer, list, bought, async (filter) => {
      filter.check([]).count(bought.leadsSearchId);
      await filter.sync();
    }).catch((error: Error) => listener.warn(`${error.message}: only_new may bring its leads again`));
  }
  return {
    operationId: bought?.operationId,
    complete: true,
    charged: 'maybe',
    facts: {
      request_id: bought?.requestId,
      leads_search_id: bought?.leadsSearchId,
      idempotency_key: bought?.idempotencyKey,
    },
  };
}

async function answer(purchase: Purchase): Promise<Settled> {
  const { buyer, listener } = purchase;
  const bought = await buyAnswer(buyer, toOrder<AnswerKind>(purchase), listener);
  return {
    operationId: bought?.ids.operationId,
    complete: true,
    charged: 'yes',
    answer: bought?.text ?? 'null',
    facts: { request_id: bought?.ids.requestId },
  };
}

/** Leads are read from where they are kept; those of a search that brought some and was cut are a result, and no error. */
async function search(purchase: Purchase): Promise<Settled> {
  const { buyer, earlier, listener } = purchase;
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
    if (thrown.details.charged !== 'yes' && earlier.is !== 'rest') throw thrown;
    error = thrown;
  }
  const own = end?.operationId ?? error?.details.operationId;
  const { leads = 0, excluded = 0, leadsSearchId, stopReason } = end ?? {};
  const [first] = 'operation' in earlier ? await readChainTo(buyer.context, earlier.operation) : [];
  return {
    operationId: first?.operationId ?? own,
    complete: error === undefined,
    charged: error?.details.charged ?? (leads > 0 ? 'yes' : 'no'),
    facts: {
      request_id: end?.requestId ?? error?.details.requestId,
      leads_search_id: leadsSearchId,
      stop_reason: stopReason,
      not_new: excluded || undefined,
    },
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
  const { buyer, earlier, listener } = purchase;
  const order = toOrder<'search'>(purchase, delivered);
  if (earlier.is !== 'rest') return await buySearch(buyer, order, listener);
  return await withOperation(buyer.context, earlier.operation.operationId, async (journal, operation) => {
    const rest = await readRest(buyer.context, operation);
    // It was decided that something is missing: it has come meanwhile.
    if (rest.request === undefined) throw new UsageError('all leads that the search asked for have arrived');
    const watching = { ...listener, goingOn() {} };
    return await buyRest(buyer, rest, journal, { ...order, body: rest.request, into: 'other' }, watching);
  });
}

/** What is bought is kept, and read from there; in memory it stays for as long as the call goes on. */
export function toOrder<Kind extends ToolKind>(
  { wanted, earlier, begun }: Pick<Purchase, 'wanted'> & Partial<Purchase>,
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
  const again = earlier?.is === 'repeat' ? earlier.operation : undefined;
  const { kind, body, onlyNew } = wanted;
  return {
    kind: kind as Kind,
    again,
    begun,
    keep: true,
    // What marks an operation that a tool began; others are for the command that began them to go on with.
    terms: { output: null, options: { tool: true } },
    open: (work) => work(delivery),
    ...(again === undefined ? { body: body as BodyOf<Kind>, list: { onlyNew } } : asSent(again)),
  };
}

/** To the byte what was sent, without what its list has got since. */
function asSent({ entries: [{ body = '{}', list }] }: StoredOperation) {
  return { body: JSON.parse(body), list: { name: list } };
}

/** What was bought before, and is given again for nothing. */
export async function toStored(
  { context }: Buyer,
  { first, operation }: Extract<Earlier, { is: 'stored' }>,
): Promise<Settled> {
  const facts: Record<string, unknown> = { stored: true };
  for (const entry of operation.entries) {
    if (entry.type === 'created' || entry.type === 'batch')
      facts.leads_search_id = entry.leads_search_id ?? facts.leads_search_id;
    if (entry.type === 'terminal') facts.stop_reason = entry.stop_reason ?? undefined;
    if ('request_id' in entry) facts.request_id = entry.request_id ?? facts.request_id;
  }
  const [{ command, idempotency_key }] = operation.entries;
  if (command === 'task create') facts.idempotency_key = idempotency_key;
  const answer = await readAnswer(folderOf(context.directories.state, first.operationId));
  return {
    operationId: first.operationId,
    complete: true,
    charged: 'no',
    facts,
    ...(answer === undefined ? {} : { answer }),
  };
}

/** The error that it ended with, once more. */
export function toLost({ failed, operation }: Extract<Earlier, { is: 'lost' }>): LeadpipeError {
  const { outcome, message, error_type, request_id, charged } = failed;
  const { idempotency_key: idempotencyKey = '' } = operation.entries[0];
  return new LeadpipeError(outcome, message, {
    charged: charged ?? 'maybe',
    retryable: false,
    operationId: operation.operationId,
    idempotencyKey,
    ...(error_type === undefined ? {} : { type: error_type }),
    ...(request_id === null ? {} : { requestId: request_id }),
    facts: { is: 'key_used' },
  });
}
