import type { LineLog } from '../../files/line-log.ts';
import type { JsonText, Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { OpenDelivery } from '../delivery.ts';
import { type Running, warningsOf } from '../events.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { type Order, type PaidRequest, purchase } from '../purchase.ts';
import { killedRuns } from '../unfinished.ts';
import { createKnown, type Identity, identityOf, type Known } from './identity.ts';
import {
  countLeads,
  type Damaged,
  type Delivered,
  folded,
  folderOfList,
  openRunFile,
  readList,
  toDeliveredLine,
} from './lists.ts';

/** The list that a run belongs to, and what its earlier runs have delivered, if that is excluded. */
interface RunOfList {
  readonly name: string;
  readonly known: Known;
  /** How many leads the list has, if they are excluded. */
  readonly size?: number;
  /** Leads that count as delivered from the start. */
  readonly brought?: readonly Identity[];
}

const nothingKnown = createKnown([]);

/**
 * The order as it is sent, without the leads of the list where only new ones are wanted, and the list as it is now. The leads of a search
 * that is continued count as delivered, since that search may have been killed before it counted them. Throws LocalIoError.
 */
export async function toListed<Kind extends 'search' | 'task run' | 'task create'>(
  buyer: Buyer,
  order: Order<Kind>,
  warn: Damaged,
  before: readonly JsonText[] = [],
): Promise<{ readonly order: Order<Kind>; readonly list: RunOfList }> {
  const { body, list: { name = body.entity_type, onlyNew = false } = {} } = order;
  const terms = { ...order.terms, list: name };
  const brought = before.map(identityOf).filter((identity) => identity !== undefined);
  if (!onlyNew) return { order: { ...order, terms }, list: { name, known: nothingKnown, brought } };
  const { withExclusions } = await import('./exclusions.ts');
  const lines = await readLines(buyer, name, warn);
  const { connection, context } = buyer;
  const runs = lines.map(({ operation_id }) => operation_id);
  for (const operationId of await killedRuns(context, runs)) {
    warn(
      `${operationId}, an earlier run of this list, was killed. Its leads count as delivered and are left out, but some may be missing in its file. To get them, resume that operation by its ID`,
    );
  }
  const isOurs = ({ origin, key_fingerprint, operation_id }: Delivered): boolean =>
    origin === connection.origin && key_fingerprint === connection.fingerprint(operation_id);
  const known = createKnown([...lines.flatMap(({ leads }) => leads), ...brought]);
  return {
    order: {
      ...order,
      body: withExclusions(body, lines, isOurs),
      terms: { ...terms, asked: JSON.stringify(body) },
    },
    list: { name, known, size: countLeads(folded(lines)), brought },
  };
}

/**
 * The list of an operation that is resumed. `operationIds` are that operation and those that it continues: what they delivered is not
 * excluded. Throws LocalIoError.
 */
export async function listOf(
  buyer: Buyer,
  operationIds: readonly string[],
  { list: name, asked }: Intent,
  warn: Damaged,
): Promise<RunOfList | undefined> {
  if (name === undefined) return undefined;
  if (asked === undefined) return { name, known: nothingKnown };
  const lines = await readLines(buyer, name, warn);
  const others = lines.filter(({ operation_id }) => !operationIds.includes(operation_id));
  return { name, known: createKnown(others.flatMap(({ leads }) => leads)) };
}

async function readLines({ connection, context }: Buyer, name: string, warn: Damaged): Promise<Delivered[]> {
  return await readList(folderOfList(context.directories.state, name, connection.origin), (what) =>
    warn(`${what}: some leads may be delivered again`),
  );
}

/** Decides which of the leads that arrive are delivered. */
export type LeadFilter = ReturnType<typeof createFilter>;

/** `count` writes into the `file` that leads were delivered, or were brought again by a search. */
function createFilter(
  known: Known,
  count?: (leads: readonly Identity[], leadsSearchId: string | null) => void,
  file?: Pick<LineLog, 'sync' | 'close'>,
) {
  // The identities of leads are only made where they are needed.
  const isAsked = count !== undefined || known !== nothingKnown;
  return {
    check(leads: Records) {
      const identities = isAsked ? leads.map(identityOf) : [];
      const isNew = leads.map((_, at) => !known.has(identities[at]));
      return {
        /** For each lead, whether no earlier run of the list has delivered it. */
        isNew,
        /**
         * From now on these leads count as delivered. Even without a new lead the search is remembered, so that the service can exclude it
         * next time. Throws LocalIoError.
         */
        count(leadsSearchId = ''): void {
          const fresh = identities.flatMap((identity, at) => (isNew[at] && identity ? [identity] : []));
          count?.(fresh, leadsSearchId || null);
        },
      };
    },
    /** Resolves when everything counted survives a power cut. Throws LocalIoError. */
    sync: async () => await file?.sync(),
    close: async () => await file?.close(),
  };
}

/** For a run that belongs to no list. */
export const noFilter = createFilter(nothingKnown);

/**
 * The filter of a list. It counts what it lets through until it is closed. Counts nothing for an operation without a record. Throws
 * LocalIoError where the list can't be written.
 */
export async function openFilter(
  buyer: Buyer,
  list: RunOfList | undefined,
  own: Pick<Journal, 'operationId' | 'confirm'>,
): Promise<LeadFilter> {
  const { operationId } = own;
  if (list === undefined || operationId === undefined) return createFilter(list?.known ?? nothingKnown);
  const { name, known, brought = [] } = list;
  const { connection, context } = buyer;
  const { origin } = connection;
  const folder = folderOfList(context.directories.state, name, origin);
  const file = await openRunFile(buyer, folder, operationId, own);
  const run = {
    list: name,
    operation_id: operationId,
    time: context.clock.now().toISOString(),
    origin,
    key_fingerprint: connection.fingerprint(operationId),
  };
  const count = (leads: readonly Identity[], leads_search_id: string | null): void =>
    void file.append(toDeliveredLine({ ...run, leads_search_id, leads }));
  if (brought.length > 0) count(brought, null);
  return createFilter(known, count, file);
}

/** What is excluded from a purchase: the list of a run, and how many leads it has. */
export interface Listed {
  readonly list?: Pick<RunOfList, 'name' | 'size'>;
}

/** What a purchase continues, if anything. */
export interface GoingOn {
  /** Leads that arrived earlier. */
  readonly brought?: readonly JsonText[];
  /** What to say before anything is sent. */
  readonly warnings?: string[];
  /** Awaited before anything is sent, with the ID of the new operation. */
  before?(operationId: string | undefined): Promise<void>;
}

/** As `purchase`, for leads that count for a list: the leads of the list are excluded, and what arrives goes through its filter. */
export async function* purchaseForList<Kind extends 'search' | 'task run', T>(
  buyer: Buyer,
  given: Order<Kind>,
  open: OpenDelivery,
  { brought, before, warnings = [] }: GoingOn,
  way: (paid: PaidRequest, filter: LeadFilter, body: Order<Kind>['body']) => Running<T>,
): Running<(T & Listed) | undefined> {
  const { order, list } = await toListed(buyer, given, (line) => warnings.push(line), brought);
  yield* warningsOf(warnings);
  const result = yield* purchase(buyer, order, open, async function* (paid) {
    // The continued search must say that its leads also stand in this operation.
    await before?.(paid.journal.operationId);
    yield* warningsOf(warnings);
    const filter = await openFilter(buyer, list, paid.journal);
    try {
      return yield* way(paid, filter, order.body);
    } finally {
      await filter.close();
    }
  });
  return result && { ...result, list };
}
