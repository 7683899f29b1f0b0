import type { CreateTaskRequest } from '../../contract/types.ts';
import type { LineLog } from '../../files/line-log.ts';
import type { Records } from '../../json/text.ts';
import type { Buyer } from '../buyer.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import type { Reader } from '../journal/operation-index.ts';
import { killedRuns } from '../known-operations.ts';
import type { Operation } from '../operation.ts';
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

/** The list of a run, and which of its received leads are left out. */
export interface RunOfList {
  /** Undefined where its leads count for no list. */
  readonly name?: string | undefined;
  /** The leads of earlier runs, if they are left out. */
  readonly delivered: Known;
  /** The number of leads in the list, if they are left out. */
  readonly size?: number;
  /** Leads that this operation has delivered already. They count from the start, since it may have been killed before it counted them. */
  readonly own?: readonly Identity[];
}

/** The list of a purchase, and how many leads it has, if they are left out. */
export interface Listed {
  readonly list?: Pick<RunOfList, 'name' | 'size'> | undefined;
}

/** A search, the list that its leads count for, and whether only leads that are new there are wanted. */
interface Wanted<Body> {
  readonly body: Body;
  readonly list?: { readonly name?: string | undefined; readonly onlyNew?: boolean | undefined } | undefined;
}

const nothingKnown = createKnown([]);

/**
 * The request to send, without the leads of the list if only new ones are wanted; the present list; and the members of the intent about both.
 * `own` leads were delivered by this operation before, and are never delivered twice. Throws LocalIoError.
 */
export async function excludeKnown<
  Body extends Pick<CreateTaskRequest, 'entity_type' | 'dedup_service_leads' | 'dedup_custom_leads'>,
>(
  buyer: Buyer,
  { body, list: { name: given, onlyNew = false } = {} }: Wanted<Body>,
  reader: Reader,
  warn: Damaged,
  own: readonly Identity[] = [],
): Promise<{ readonly body: Body; readonly list: RunOfList; readonly intent: Partial<Intent> }> {
  if (!onlyNew) {
    const list = { name: given, delivered: createKnown(own), own };
    return { body, list, intent: given === undefined ? {} : { list: given } };
  }
  const name = given ?? body.entity_type;
  const { withExclusions } = await import('./exclusions.ts');
  const lines = await readLines(buyer, name, warn);
  const { connection } = buyer;
  const runs = lines.map(({ operation_id }) => operation_id);
  for (const operationId of await killedRuns(reader, runs)) {
    warn(
      `${operationId}, an earlier run of this list, was killed. Its leads count as delivered and are left out, but some may be missing in its file. To get them, resume that operation by its ID`,
    );
  }
  const isOurs = ({ origin, key_fingerprint, operation_id }: Delivered): boolean =>
    origin === connection.origin && key_fingerprint === connection.fingerprint(operation_id);
  const delivered = createKnown([...lines.flatMap(({ leads }) => leads), ...own]);
  return {
    body: withExclusions(body, lines, isOurs),
    list: { name, delivered, size: countLeads(folded(lines)), own },
    intent: { list: name, requested: JSON.stringify(body) },
  };
}

/**
 * The list of an operation that is resumed. Its own leads are not left out. Undefined if they count for no list. Throws LocalIoError.
 */
export async function listOf(
  buyer: Buyer,
  { intent: { list: name, requested }, operationId }: Operation,
  warn: Damaged,
): Promise<RunOfList | undefined> {
  if (name === undefined) return undefined;
  if (requested === undefined) return { name, delivered: nothingKnown };
  const lines = await readLines(buyer, name, warn);
  const others = lines.filter(({ operation_id }) => operation_id !== operationId);
  return { name, delivered: createKnown(others.flatMap(({ leads }) => leads)) };
}

async function readLines({ connection, context }: Buyer, name: string, warn: Damaged): Promise<Delivered[]> {
  return await readList(folderOfList(context.directories.state, name, connection.origin), (what) =>
    warn(`${what}: some leads may be delivered again`),
  );
}

/** Decides which of the leads that arrive are delivered. */
export type LeadFilter = ReturnType<typeof createFilter>;

/** `count` records in `file` which leads were delivered, and by which search. */
function createFilter(
  known: Known,
  count?: (leads: readonly Identity[], leadsSearchId: string | null) => void,
  file?: Pick<LineLog, 'sync' | 'close'>,
) {
  // Identities are only computed if they are needed.
  const isFiltering = count !== undefined || !known.isEmpty;
  return {
    check(leads: Records) {
      const identities = leads.map(isFiltering ? identityOf : () => undefined);
      const isNew = identities.map(known.isUnknown);
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
 * The filter of a list. It counts the leads that it passes, until it is closed; none for an unrecorded operation. Throws LocalIoError if the
 * list can't be written.
 */
export async function openFilter(
  buyer: Buyer,
  list: RunOfList | undefined,
  own: Pick<Journal, 'operationId' | 'confirm'>,
): Promise<LeadFilter> {
  const { operationId } = own;
  const { name, delivered = nothingKnown, own: stored = [] } = list ?? {};
  if (name === undefined || operationId === undefined) return createFilter(delivered);
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
  if (stored.length > 0) count(stored, null);
  return createFilter(delivered, count, file);
}
