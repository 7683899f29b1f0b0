import type { JsonText } from '../../json/text.ts';
import { fromCheckedLine, isTorn, toCheckedLine } from '../journal/checked-lines.ts';
import { type Identity, identityOfMembers, type Named } from './identity.ts';

/** A line of a list: leads that a run of it delivered. */
export interface Delivered {
  readonly list: string;
  readonly operation_id: string;
  /** When the run began. */
  readonly time: string;
  /** Whose search it was: its ID means something to this key at this address alone. */
  readonly origin: string;
  readonly key_fingerprint: string;
  readonly leads_search_id: string | null;
  /** None of them, where the search brought only what was delivered before. */
  readonly leads: readonly Identity[];
}

const member = 'delivered';

/** Pure. */
export function toDeliveredLine(delivered: Delivered): string {
  return toCheckedLine(member, JSON.stringify(delivered));
}

/**
 * Pure: the lines of a file. A last one that was never finished is left out: its leads were not delivered. So is a damaged
 * one, whose number `damaged` is told.
 */
export function toDelivered(text: string, damaged: (line: number) => void): Delivered[] {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const delivered: Delivered[] = [];
  for (const [index, line] of lines.entries()) {
    const found = fromCheckedLine(line);
    if (found?.member === member) delivered.push(toIdentified(JSON.parse(found.text as JsonText)));
    else damaged(index + 1);
  }
  if (!isTorn(rest)) damaged(lines.length + 1);
  return delivered;
}

/** As a line has it: what leads are known again by, or, of earlier versions, what that is made of. */
type Stored = Omit<Delivered, 'leads'> & { readonly leads: readonly (Identity | Named)[] };

function toIdentified({ leads, ...run }: Stored): Delivered {
  const identities = leads.map((lead) => (isIdentity(lead) ? lead : identityOfMembers(lead)));
  return { ...run, leads: identities.filter((identity) => identity !== undefined) };
}

function isIdentity(lead: Identity | Named): lead is Identity {
  return Array.isArray(lead);
}

/** So much of a list is remembered. A year of a thousand new leads a day takes 30 MB. */
export const kept = { leads: 500_000, searches: 1000 } as const;

/**
 * Pure: the same list in fewer lines: one per search, each lead once, in the order of runs. Of a list that is too long,
 * the oldest goes.
 */
export function folded(lines: readonly Delivered[], most: typeof kept | Most = kept): Delivered[] {
  const seen = new Set<string>();
  const searches = new Map<string, Delivered & { leads: Identity[] }>();
  for (const line of lines.toReversed()) {
    const name = `${line.operation_id} ${line.leads_search_id}`;
    const search = searches.get(name) ?? { ...line, leads: [] };
    searches.set(name, search);
    for (const lead of line.leads.toReversed()) {
      const identity = lead.slice(1).join(' ');
      if (seen.has(identity) || seen.size >= most.leads) continue;
      seen.add(identity);
      search.leads.push(lead);
    }
  }
  return [...searches.values()]
    .filter(({ leads }, index) => leads.length > 0 || index < most.searches)
    .map((search) => ({ ...search, leads: search.leads.reverse() }))
    .reverse();
}

interface Most {
  readonly leads: number;
  readonly searches: number;
}
