import type { LineLog } from '../../files/line-log.ts';
import type { JsonText, Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { OpenDelivery } from '../delivery.ts';
import { type Running, warningsOf } from '../events.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { type Order, type PaidRequest, purchase } from '../purchase.ts';
import { unfinishedRuns } from '../unfinished.ts';
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

/** Which list a run belongs to, and what earlier runs of it have delivered, where that is left out. */
interface RunOfList {
  readonly name: string;
  readonly known: Known;
  /** How many leads it has, where they are left out. */
  readonly size?: number;
  /** Leads that count as delivered from its beginning. */
  readonly brought?: readonly Identity[];
}

const nothingKnown = createKnown([]);

/**
 * The order as it is sent, which leaves out what the list has where only new leads are wanted, and its list as it stands now.
 * Leads that the search before brought, which it goes on with, count as delivered: that one may have been killed before it
 * could say so. Throws LocalIoError.
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
  for (const operationId of await unfinishedRuns(context, runs)) {
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
 * The list of an operation that is gone on with. What it has delivered itself, or what it is the rest of, is no reason to leave
 * anything out: `operationIds` are theirs. Throws LocalIoError.
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

/** What stands between the leads that arrive and the output. */
export type LeadFilter = ReturnType<typeof createFilter>;

/** `count` says that leads were delivered, or brought again by a search; it writes that into the `file`. */
function createFilter(
  known: Known,
  count?: (leads: readonly Identity[], leadsSearchId: string | null) => void,
  file?: Pick<LineLog, 'sync' | 'close'>,
) {
  // What leads are known by need not be found out where nobody asks for it.
  const isAsked = count !== undefined || known !== nothingKnown;
  return {
    check(leads: Records) {
      const identities = isAsked ? leads.map(identityOf) : [];
      const isNew = leads.map((_, at) => !known.has(identities[at]));
      return {
        /** Whether each is to be delivered: no earlier run of the list has. */
        isNew,
        /** From now on they count as delivered, also where none is new: next time, the service leaves out what this search brought again. Throws LocalIoError. */
        count(leadsSearchId = ''): void {
          const fresh = identities.flatMap((identity, at) => (isNew[at] && identity ? [identity] : []));
          count?.(fresh, leadsSearchId || null);
        },
      };
    },
    /** Resolves when what is counted survives a power cut. Throws LocalIoError. */
    sync: async () => await file?.sync(),
    close: async () => await file?.close(),
  };
}

/** Of a run that belongs to no list. */
export const noFilter = createFilter(nothingKnown);

/**
 * The filter of a list, which counts what it lets through until it is closed. Nothing is counted for an operation of which no record is
 * kept. Throws LocalIoError where the list can't be written.
 */
export async function openFilter(
  buyer: Buyer,
  list: RunOfList | undefined,
  { operationId }: Pick<Journal, 'operationId'>,
): Promise<LeadFilter> {
  if (list === undefined || operationId === undefined) return createFilter(list?.known ?? nothingKnown);
  const { name, known, brought = [] } = list;
  const { connection, context } = buyer;
  const { origin } = connection;
  const file = await openRunFile(buyer, folderOfList(context.directories.state, name, origin), operationId);
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

/** What is left out of what is bought: the list of a run, and how many leads it has. */
export interface Listed {
  readonly list?: Pick<RunOfList, 'name' | 'size'>;
}

/** What a purchase is the rest of, if anything. */
export interface GoingOn {
  /** Leads that are here already. */
  readonly brought?: readonly JsonText[];
  /** What is to be said before anything is sent. */
  readonly warnings?: string[];
  /** Awaited before anything is sent, with the ID of the new operation. */
  before?(operationId: string | undefined): Promise<void>;
}

/** As `purchase`, of what counts for a list: what the list has is left out, and what arrives passes its filter. */
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
    // Whoever goes on with that search has to know why its leads stand under this one too.
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
