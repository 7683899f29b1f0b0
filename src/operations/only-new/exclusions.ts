import { limits } from '../../contract/limits.ts';
import type { CreateTaskRequest } from '../../contract/types.ts';
import { nameKey } from './identity.ts';
import type { Delivered } from './lists.ts';

/**
 * Pure: a search that excludes these lines of a list, within the service's limits: first what was given by hand, then the newest searches
 * that `isOurs` (the service does not know others), then the newest names, beginning with those that the searches don't exclude. Leads that
 * don't fit in are left out when they arrive.
 */
export function withExclusions<
  Request extends Pick<CreateTaskRequest, 'dedup_service_leads' | 'dedup_custom_leads'>,
>(requested: Request, lines: readonly Delivered[], isOurs: (line: Delivered) => boolean): Request {
  const newest = lines.toReversed();
  const { dedup_service_leads: givenIds = [], dedup_custom_leads: givenNames = [] } = requested;
  const begun = { ...requested, dedup_service_leads: givenIds, dedup_custom_leads: givenNames };
  const budget = { bytes: limits.requestBody.max - Buffer.byteLength(JSON.stringify(begun)) };
  const ids = newest.filter(isOurs).flatMap(({ leads_search_id }) => leads_search_id ?? []);
  const searches = fitting(givenIds, ids, limits.dedupServiceLeads.max, budget, (id) => id);
  const isExcluded = (line: Delivered): boolean => searches.includes(line.leads_search_id ?? '');
  const names = [
    ...newest.filter((line) => !isExcluded(line)),
    ...newest.filter((line) => isExcluded(line)),
  ].flatMap(({ leads }) => leads.map(([name]) => name).reverse());
  const custom = fitting(givenNames, names, limits.dedupCustomLeads.max, budget, nameKey);
  return {
    ...requested,
    ...(searches.length === 0 ? {} : { dedup_service_leads: searches }),
    ...(custom.length === 0 ? {} : { dedup_custom_leads: custom }),
  };
}

/** Pure: a search that excludes these, within the service's limits: first the IDs and names given here, then those of the request. */
export function withExclusionsFirst<
  Request extends Pick<CreateTaskRequest, 'dedup_service_leads' | 'dedup_custom_leads'>,
>(requested: Request, ids: readonly string[], names: readonly string[]): Request {
  const { dedup_service_leads: givenIds = [], dedup_custom_leads: givenNames = [] } = requested;
  const empty = { ...requested, dedup_service_leads: [], dedup_custom_leads: [] };
  const budget = { bytes: limits.requestBody.max - Buffer.byteLength(JSON.stringify(empty)) };
  const searches = fitting([], [...ids, ...givenIds], limits.dedupServiceLeads.max, budget, (id) => id);
  const custom = fitting([], [...names, ...givenNames], limits.dedupCustomLeads.max, budget, nameKey);
  return {
    ...requested,
    ...(searches.length === 0 ? {} : { dedup_service_leads: searches }),
    ...(custom.length === 0 ? {} : { dedup_custom_leads: custom }),
  };
}

/** The given values, then the others that the service accepts, each once, up to the limits. */
function fitting(
  given: readonly string[],
  others: readonly string[],
  max: number,
  budget: { bytes: number },
  toKey: (text: string) => string,
): string[] {
  const chosen = [...given];
  const seen = new Set(given.map(toKey));
  for (const text of others) {
    if (chosen.length >= max) break;
    const size = Buffer.byteLength(JSON.stringify(text)) + 1;
    if (text === '' || size > budget.bytes || unsendable.test(text) || seen.has(toKey(text))) continue;
    seen.add(toKey(text));
    chosen.push(text);
    budget.bytes -= size;
  }
  return chosen;
}

/** Control characters and halves of surrogate pairs. Names come from the web, and one of them must not make every search fail. */
const unsendable = /[\p{Cc}\p{Cs}]/u;
