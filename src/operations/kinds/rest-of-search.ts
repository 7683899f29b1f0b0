import { leadLimitOf } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { readReceived, sizeOfReceived, throwDamaged } from '../journal/received.ts';
import { withExclusionsFirst } from '../only-new/exclusions.ts';
import { type Identity, identityOf } from '../only-new/identity.ts';
import type { Operation, Part } from '../operation.ts';

export type RestOfSearch = Awaited<ReturnType<typeof readRest>>;

/**
 * The stored leads of an unfinished search, and the request for its rest. `requested` is the present request, whose limit may differ.
 * Throws ConfigurationError for damaged leads: without them, the rest would look complete. Throws LocalIoError.
 */
export async function readRest(operation: Operation, requested: EntitySearchRequest) {
  const { folder, parts, progress } = operation;
  const own: Identity[] = [];
  const names = new Set<string>();
  let [delivered, dropped] = [0, 0];
  for await (const records of readReceived(folder, throwDamaged)) {
    for (const { isNew, text } of records) {
      if (isNew) delivered++;
      else dropped++;
      const identity = identityOf(text);
      if (!isNew || identity === undefined) continue;
      own.push(identity);
      names.add(identity[0]);
    }
  }
  const stored = delivered + dropped;
  /** Leads that the service has sent, including those that are no longer stored. */
  const received = Math.max(stored, progress.delivered + progress.excluded);
  return {
    operation,
    /** The identities of the delivered leads: they are left out of the rest, even if the service sends them again. */
    own,
    delivered,
    dropped,
    /** Whether all of it is still stored: the file is removed after some days, and a full disk may have had no room for leads. */
    isKept: stored >= received && (await sizeOfReceived(folder)) !== undefined,
    received,
    request: progress.isAnswered ? undefined : toRest(requested, parts, [...names], received),
  };
}

/**
 * Pure: a new search for the rest; undefined if nothing is left. It excludes the received leads by the search IDs of the parts, or by name if
 * the service sent no ID, within the limits of the service.
 */
function toRest(
  requested: EntitySearchRequest,
  parts: readonly Part[],
  names: readonly string[],
  received: number,
): EntitySearchRequest | undefined {
  const rest = leadLimitOf(requested) - received;
  if (rest <= 0) return undefined;
  const ids = parts.flatMap(({ leadsSearchId }) => leadsSearchId ?? []);
  // A part that was refused has no leads.
  const isUnnamed = parts.some(
    ({ charged, isSent, leadsSearchId }) => isSent && charged !== 'no' && leadsSearchId === undefined,
  );
  return withExclusionsFirst({ ...requested, limit: rest }, ids, isUnnamed ? names : []);
}
