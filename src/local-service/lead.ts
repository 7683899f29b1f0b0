import type { EntityType } from '../contract/types.ts';

/** A lead of the catalogue. */
export interface Lead {
  readonly id: number;
  readonly entityType: EntityType | null;
  readonly name: string;
  /** The same for the same lead in every search, whatever its position. */
  readonly identity: string;
  readonly record: string;
  readonly links: ReadonlyMap<string, string>;
  readonly facts: ReadonlyMap<string, string>;
  /** Where a fact is from, for those of which it is known. */
  readonly sources: ReadonlyMap<string, string>;
  readonly email: string | null;
  readonly phone: string | null;
}

/** The condition for leads of type ?1; '' is any, and a lead without a type is of every one. */
export const ofType = "(?1 = '' OR entity_type = ?1 OR entity_type IS NULL)";

export interface LeadRow {
  id: number;
  entity_type: EntityType | null;
  name: string;
  identity: string;
  record: string;
  /** Entries of maps, as JSON. */
  links: string;
  facts: string;
  sources: string;
  email: string | null;
  phone: string | null;
}

export function toLead({ links, facts, sources, entity_type: entityType, ...row }: LeadRow): Lead {
  return { ...row, entityType, links: toMap(links), facts: toMap(facts), sources: toMap(sources) };
}

function toMap(entries: string): ReadonlyMap<string, string> {
  return new Map(JSON.parse(entries) as [string, string][]);
}
