import type { EntityType } from '../contract/types.ts';
import { createSearch } from './catalogue-search.ts';
import type { Rows } from './database.ts';
import { type Lead, type LeadRow, ofType, toLead } from './lead.ts';
import { toIndexText } from './objective.ts';

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
  readonly matches: readonly Match[];
  /** How many leads were looked at, rejected ones included. */
  readonly considered: number;
}

export interface Catalogue {
  /** Leads that fit, the best first, `most` of them. */
  search(entityType: EntityType | undefined, objective: string, most?: number): SearchResult;
  all(entityType: EntityType | undefined): Lead[];
  /** Leads that have a word of the text in their name, the best first; a few dozen at most. */
  named(text: string): Lead[];
  /** The lead with a link to an address, given without scheme, `www.` and last slash. */
  linked(address: string): Lead | undefined;
  /** Leads that have a host in their links or facts. */
  mentioning(host: string): Lead[];
}

/** Reads a finished catalogue. */
export function openCatalogue(rows: Rows): Catalogue {
  return {
    search: createSearch(rows),

    all: (entityType) =>
      rows.all<LeadRow>(`SELECT * FROM leads WHERE ${ofType} ORDER BY id`, entityType ?? '').map(toLead),

    named(text) {
      const words = toIndexText(text).match(/[\p{L}\p{N}]+/gu) ?? [];
      const query = [...new Set(words.slice(0, 200))].map((word) => `"${word}"`).join(' OR ');
      if (query === '') return [];
      return rows
        .all<LeadRow>(
          `SELECT leads.* FROM words JOIN leads ON leads.id = words.rowid
           WHERE words MATCH ? ORDER BY bm25(words) LIMIT 50`,
          `name : (${query})`,
        )
        .map(toLead);
    },

    linked(address) {
      const row = rows.get<LeadRow>(
        'SELECT leads.* FROM leads JOIN addresses ON addresses.id = leads.id WHERE address = ? LIMIT 1',
        address,
      );
      return row === undefined ? undefined : toLead(row);
    },

    mentioning(host) {
      const words = host.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? '';
      if (words === '') return [];
      return rows
        .all<LeadRow>(
          `SELECT leads.* FROM words JOIN leads ON leads.id = words.rowid WHERE words MATCH ? ORDER BY leads.id`,
          `{links facts} : "${words}"`,
        )
        .map(toLead);
    },
  };
}
