import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { ConfigurationError } from '../../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../../json/text.ts';
import { readStoredLeads } from '../journal/leads.ts';
import { withFirst } from '../only-new/exclusions.ts';
import type { Operation, Part } from '../operation.ts';

export type RestOfSearch = Awaited<ReturnType<typeof readRest>>;

/**
 * What is stored of a search that was left, and the request for its rest. `requested` is the request of now, whose limit may be another one.
 * Throws ConfigurationError for damaged leads: without them, the rest would look complete. Throws LocalIoError.
 */
export async function readRest(operation: Operation, requested: EntitySearchRequest) {
  const { folder, parts, progress } = operation;
  const stored: JsonText[] = [];
  let dropped = 0;
  const damaged = (line: number, path: string): never => {
    throw new ConfigurationError(`line ${line} of ${path} is damaged`, { is: 'damaged_leads' });
  };
  for await (const some of readStoredLeads(folder, damaged, () => dropped++)) stored.push(...some);
  const { counted, delivered, excluded, written } = progress;
  /** Leads that the service has sent, including those that were dropped or are no longer stored. */
  const received = Math.max(stored.length + dropped, delivered + excluded);
  return {
    operation,
    /** Everything that was delivered, as stored here, and how many were dropped. */
    stored,
    dropped,
    /** Whether all of it is still stored: leads are removed after some days. */
    isKept: stored.length + dropped >= received,
    received,
    /** How many of the stored leads were certainly in the output when the run stopped. */
    counted,
    stopReason: written?.stopReason,
    ...(written === undefined ? toRest(requested, parts, stored, received) : noRest),
  };
}

const noRest = { request: undefined, mayRepeat: false } as const;

/**
 * Pure: a new search for the rest; undefined when nothing is left to ask for. It excludes what arrived by the IDs of its parts, and by name
 * where the service told no ID. `mayRepeat`: the service's limits had no room for all of them, so that some leads may come again.
 */
function toRest(
  requested: EntitySearchRequest,
  parts: readonly Part[],
  stored: readonly JsonText[],
  received: number,
): { readonly request: EntitySearchRequest | undefined; readonly mayRepeat: boolean } {
  const rest = (requested.limit ?? limits.entityLimit.default) - received;
  if (rest <= 0) return noRest;
  const ids = parts.flatMap(({ leadsSearchId }) => leadsSearchId ?? []);
  // A part that was refused has brought nothing.
  const isUnnamed = parts.some(
    ({ charged, isSent, leadsSearchId }) => isSent && charged !== 'no' && leadsSearchId === undefined,
  );
  const names = isUnnamed ? stored.flatMap((lead) => stringOf(objectMembers(lead).get('name')) ?? []) : [];
  return withFirst({ ...requested, limit: rest }, ids, [...new Set(names)]);
}
