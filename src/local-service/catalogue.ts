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
  return {
    search: createSearch(rows),

    all: (entityType) =>
      rows.all<LeadRow>(`SELECT * FROM leads WHERE ${ofType} ORDER BY id`, entityType ?? '').map(toLead),

    named: (plainName) =>
      rows
        .all<LeadRow>(
          'SELECT leads.* FROM names JOIN leads ON leads.id = names.id WHERE names.name = ? LIMIT 50',
          plainName,
        )
        .map(toLead),

    linked(address) {
      const row = rows.get<LeadRow>(
        'SELECT leads.* FROM leads JOIN addresses ON addresses.id = leads.id WHERE address = ? LIMIT 1',
        address,
      );
      return row === undefined ? undefined : toLead(row);
    },

    mentioning(host, most) {
      const words = host.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? '';
      if (words === '') return [];
      return rows
        .all<LeadRow>(
          `SELECT leads.* FROM words JOIN leads ON leads.id = words.rowid WHERE words MATCH ?
           ORDER BY words.rowid LIMIT ?`,
          `{links facts} : "${words}"`,
          most,
        )
        .map(toLead);
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
