import type { EntityType } from '../contract/types.ts';
import { createSearch } from './catalogue-search.ts';
import type { FinishedRows } from './database.ts';
import { type Lead, type LeadRow, ofType, toLead } from './lead.ts';

/** A lead that fits an objective. */
export interface Match {
  readonly lead: Lead;
  /** From 0 to 1. */
  readonly score: number;
  /** The share of what was asked for that it has. */
  readonly coverage: number;
  /** How many of the words it has. */
  readonly words: number;
  readonly reason: string;
}

export interface SearchResult {
  /** The best first. Each is read when it is asked for, and others get their turn in between. */
  readonly matches: AsyncGenerator<Match, void, undefined>;
  /** How many leads were looked at, rejected ones included. */
  readonly considered: number;
}

export interface Catalogue {
  /** Leads that fit. */
  search(entityType: EntityType | undefined, objective: string): Promise<SearchResult>;
  all(entityType: EntityType | undefined): Lead[];
  /** Leads of exactly this name, as plain text; a few dozen at most. */
  named(plainName: string): Lead[];
  /** The lead with a link to an address, given without scheme, `www.` and last slash. */
  linked(address: string): Lead | undefined;
  /** Leads that have a host in their links or facts, `most` of them. */
  mentioning(host: string, most: number): Lead[];
}

/** Reads a finished catalogue. */
export function openCatalogue(rows: FinishedRows): Catalogue {
  const leads = (sql: string, ...values: (string | number)[]): Lead[] =>
    rows.all<LeadRow>(`SELECT leads.* FROM ${sql}`, ...values).map(toLead);
  return {
    search: createSearch(rows),
    all: (entityType) => leads(`leads WHERE ${ofType} ORDER BY id`, entityType ?? ''),
    named: (plainName) => leads('names JOIN leads USING (id) WHERE names.name = ? LIMIT 50', plainName),
    linked: (address) => leads('leads JOIN addresses USING (id) WHERE address = ? LIMIT 1', address)[0],
    mentioning(host, most) {
      const words = host.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? '';
      if (words === '') return [];
      return leads(
        'words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY words.rowid LIMIT ?',
        `{links facts} : "${words}"`,
        most,
      );
    },
  };
}

/** The first of them. */
export async function firstOf<Item>(
  items: AsyncGenerator<Item, void, undefined>,
  most: number,
): Promise<Item[]> {
  const first: Item[] = [];
  for await (const item of items) if (first.push(item) >= most) break;
  return first;
}
