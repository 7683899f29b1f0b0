import type { CatalogueRecord } from './catalogue-file.ts';

/** A lead of the catalogue. */
export interface Lead extends Omit<CatalogueRecord, 'description'> {
  readonly id: number;
  /** The same for the same lead in every search, whatever its position. */
  readonly identity: string;
}

/** The condition for leads of type ?1; '' is any, and a lead without a type is of every one. */
export const ofType = "(?1 = '' OR entity_type = ?1 OR entity_type IS NULL)";

export interface LeadRow extends Pick<Lead, 'id' | 'name' | 'identity' | 'record' | 'email' | 'phone'> {
  readonly entity_type: Lead['entityType'];
  /** Entries of maps, as JSON. */
  readonly links: string;
  readonly facts: string;
  readonly sources: string;
}

export function toLead({ links, facts, sources, entity_type: entityType, ...row }: LeadRow): Lead {
  return { ...row, entityType, links: toMap(links), facts: toMap(facts), sources: toMap(sources) };
}

/** The description that its record has. */
export function descriptionOf({ record }: Lead): string | undefined {
  const { description } = JSON.parse(record) as { description?: unknown };
  return typeof description === 'string' ? description : undefined;
}

function toMap(entries: string): ReadonlyMap<string, string> {
  return new Map(JSON.parse(entries) as [string, string][]);
}
