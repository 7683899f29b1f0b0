import type { EntityType } from '../contract/types.ts';
import type { Rows } from './database.ts';
import { otherNames } from './vocabulary.ts';

/** A lead as the catalogue keeps it: `record` is what a search returns, as it was written, without its score. */
export interface CatalogueRecord {
  /** Null: found under every type. */
  readonly entityType: EntityType | null;
  readonly name: string;
  readonly description: string;
  readonly links: ReadonlyMap<string, string>;
  readonly record: string;
  /** By name; numbers as they were written. */
  readonly facts: ReadonlyMap<string, string>;
  /** Where a fact is from, for those of which it is known. */
  readonly sources: ReadonlyMap<string, string>;
  readonly email: string | null;
  readonly phone: string | null;
}

export interface Lead extends CatalogueRecord {
  readonly id: number;
  /** The same for the same lead in every search, whatever its position. */
  readonly identity: string;
}

/** The condition for leads of type ?1; '' is any, and a lead without a type is of every one. */
export const ofType = "(?1 = '' OR entity_type = ?1 OR entity_type IS NULL)";

interface LeadRow extends Pick<Lead, 'id' | 'name' | 'identity' | 'record' | 'email' | 'phone'> {
  readonly entity_type: Lead['entityType'];
  /** Entries of maps, as JSON. */
  readonly links: string;
  readonly facts: string;
  readonly sources: string;
}

/** The leads that a query selects: what stands after FROM, with its values. */
export function leadsFrom(rows: Rows, sql: string, ...values: (string | number)[]): Lead[] {
  return rows.all<LeadRow>(`SELECT leads.* FROM ${sql}`, ...values).map(toLead);
}

function toLead({ links, facts, sources, entity_type: entityType, ...row }: LeadRow): Lead {
  const { description } = JSON.parse(row.record) as { description?: unknown };
  return {
    ...row,
    entityType,
    description: typeof description === 'string' ? description : '',
    links: toMap(links),
    facts: toMap(facts),
    sources: toMap(sources),
  };
}

function toMap(entries: string): ReadonlyMap<string, string> {
  return new Map(JSON.parse(entries) as [string, string][]);
}

/** What the catalogue knows under a name, with where it is from. */
export interface Answer {
  readonly text: string;
  readonly reference: string;
}

/** Fields that only Contact Search may answer. */
// rule: create.no-contacts
const contactField = /e-?mail|phone|mobile|telephone|whats ?app/i;

/** Answers fields by their names, from the facts, links and description of a lead. */
export function answersOf(lead: Lead): (field: string) => Answer | undefined {
  const reference = referenceOf(lead);
  const known = new Map<string, Answer>();
  const note = (name: string, text: string, source = reference) => {
    if (text !== '') known.set(bareName(name), { text, reference: source });
  };
  note('name', lead.name);
  note('description', lead.description);
  for (const [name, link] of lead.links) note(name, link);
  for (const [name, fact] of lead.facts) note(name, fact, lead.sources.get(name));
  return (field) => {
    if (contactField.test(field.replace(/_/g, ' '))) return undefined;
    const asked = bareName(field);
    const name = [asked, ...(otherNames.get(asked) ?? [])].find((one) => known.has(one));
    return name === undefined ? undefined : known.get(name);
  };
}

export function referenceOf({ links }: Lead): string {
  return links.get('website') ?? [...links.values()][0] ?? '';
}

/** A name as it is compared: its letters and digits. */
export function bareName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
