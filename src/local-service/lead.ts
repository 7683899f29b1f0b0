import type { EntityType } from '../contract/types.ts';

/** A lead of the catalogue. */
export interface Lead {
  readonly id: number;
  readonly entityType: EntityType | null;
  readonly name: string;
  /** The same for the same lead in every search, whatever its position. */
  readonly identity: string;
  readonly record: string;
  readonly links: Readonly<Record<string, string>>;
  readonly facts: Readonly<Record<string, string>>;
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
  links: string;
  facts: string;
  email: string | null;
  phone: string | null;
}

export function toLead({ links, facts, entity_type: entityType, ...row }: LeadRow): Lead {
  return { ...row, entityType, links: JSON.parse(links), facts: JSON.parse(facts) };
}
